"""What the database knows of runs, protected records and losses; all statements are in `db/sql/worker.sql`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.errors import CorruptData
from hikidashi.records.record import Tree
from hikidashi.times import format_time
from hikidashi.worker.report import Operation, RunReport

__all__ = [
    "LOSING",
    "PROTECTED_CAUSES",
    "RunRow",
    "add_losses",
    "batch_limit",
    "close_run",
    "entry_state",
    "halve_batch",
    "last_run",
    "losses_left",
    "note_run",
    "protect",
    "protected_blobs",
    "protected_times",
    "run_entries",
    "run_row",
    "runs_like",
    "set_batch_limit",
    "start_run",
    "unfinished_runs",
]

_SQL: Final = queries("worker")

#: Operations by which a record is lost (design section 6, "Protection").
LOSING: Final = frozenset({"drop", "merge", "split"})

Cause = Literal["person", "restored", "pinned"]

PROTECTED_CAUSES: Final = ("person", "restored", "pinned")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One row of `runs`."""

    run_id: str
    engine: str
    #: `running` until it ends, then an `Outcome`.
    outcome: str
    started_at: str
    finished_at: str
    #: IDs of the entries it took.
    batch: tuple[str, ...]
    #: `RunReport.to_dict()` as it was last saved.
    report: dict[str, Any]

    @property
    def phases(self) -> frozenset[str]:
        """Phases that it published: `integration`, `clean-up`."""
        commits = self.report.get("commits")
        return frozenset(commits) if isinstance(commits, dict) else frozenset()


def _one(connection: sqlite3.Connection, name: str, values: Mapping[str, object]) -> sqlite3.Row | None:
    with database_errors("workspace.sqlite"):
        row: sqlite3.Row | None = connection.execute(_SQL[name], dict(values)).fetchone()
    return row


def _run(row: sqlite3.Row) -> RunRow:
    try:
        batch, report = json.loads(row["batch"]), json.loads(row["report"])
    except ValueError as exc:
        raise CorruptData(
            f"the row of run {row['run_id']} in workspace.sqlite is damaged; restore the file from a backup"
        ) from exc
    return RunRow(
        run_id=row["run_id"],
        engine=row["engine"],
        outcome=row["outcome"],
        started_at=row["started_at"],
        finished_at=row["finished_at"] or "",
        batch=tuple(batch),
        report=report,
    )


def start_run(connection: sqlite3.Connection, report: RunReport, batch: Iterable[str]) -> None:
    """Note that a run took `batch` and begins; own transaction."""
    values = {
        "run_id": report.run_id,
        "engine": report.engine,
        "started_at": report.started_at,
        "batch": json.dumps(list(batch)),
        "report": json.dumps(report.to_dict()),
    }
    with transaction(connection):
        connection.execute(_SQL["start_run"], values)


def note_run(connection: sqlite3.Connection, run_id: str, engine: str, at: str, report: Mapping[str, object]) -> None:
    """Save how far a run has come; inside the caller's transaction."""
    values = {"run_id": run_id, "engine": engine, "started_at": at, "report": json.dumps(report)}
    connection.execute(_SQL["note_run"], values)


def close_run(
    connection: sqlite3.Connection, run_id: str, outcome: str, at: datetime, report: Mapping[str, object]
) -> None:
    """Save how a run ended; own transaction."""
    values = {"run_id": run_id, "outcome": outcome, "finished_at": format_time(at), "report": json.dumps(report)}
    with transaction(connection):
        connection.execute(_SQL["finish_run"], values)


def run_row(connection: sqlite3.Connection, run_id: str) -> RunRow | None:
    """The row of one run."""
    row = _one(connection, "run_row", {"run_id": run_id})
    return None if row is None else _run(row)


def last_run(connection: sqlite3.Connection) -> RunRow | None:
    """The row of the run that started last."""
    row = _one(connection, "last_run", {})
    return None if row is None else _run(row)


def runs_like(connection: sqlite3.Connection, prefix: str) -> list[RunRow]:
    """The rows of runs whose ID begins with `prefix` (letters and digits only)."""
    with database_errors("workspace.sqlite"):
        rows = connection.execute(_SQL["runs_like"], {"prefix": prefix}).fetchall()
    return [_run(row) for row in rows]


def run_entries(connection: sqlite3.Connection, run_id: str) -> list[sqlite3.Row]:
    """The entries that a run consumed and still has: id, kind, content, disposition, record, reason."""
    with database_errors("workspace.sqlite"):
        return connection.execute(_SQL["run_entries"], {"run_id": run_id}).fetchall()


def entry_state(connection: sqlite3.Connection, entry_id: str) -> tuple[str, str]:
    """An entry's state and the run that consumed it; '' and '' for one that no row knows."""
    row = _one(connection, "entry_state", {"id": entry_id})
    return ("", "") if row is None else (row["state"], row["run_id"] or "")


def unfinished_runs(connection: sqlite3.Connection, but: str) -> list[RunRow]:
    """Runs that never ended, except `but`: whoever holds the claim knows that they were killed."""
    with database_errors("workspace.sqlite"):
        rows = connection.execute(_SQL["unfinished_runs"], {"run_id": but}).fetchall()
    return [_run(row) for row in rows]


def protect(connection: sqlite3.Connection, blobs: Mapping[str, str | None], cause: Cause, at: str) -> None:
    """Protect each path with the object ID of its text; None (a person deleted it) lifts the protection."""
    with transaction(connection):
        for path, blob in sorted(blobs.items()):
            if blob is None:
                connection.execute(_SQL["unprotect"], {"path": path})
            else:
                connection.execute(_SQL["protect"], {"path": path, "blob": blob, "cause": cause, "at": at})


def protected_blobs(connection: sqlite3.Connection) -> dict[str, str]:
    """Path -> object ID in history of the last text of a person."""
    with database_errors("workspace.sqlite"):
        return {row["path"]: row["blob"] for row in connection.execute(_SQL["protected"])}


def protected_times(connection: sqlite3.Connection) -> dict[str, str]:
    """Path -> when a person wrote or restored the text that is protected there, ISO 8601."""
    with database_errors("workspace.sqlite"):
        return {row["path"]: row["at"] for row in connection.execute(_SQL["protected"])}


def lost_paths(operations: Iterable[Operation], before: Tree, after: Tree) -> dict[str, str]:
    """Path -> operation, for each record that `operations` took away or split."""
    lost: dict[str, str] = {}
    for operation in operations:
        for path in operation.paths:
            gone = path in before and path not in after
            if operation.op in LOSING and (gone or operation.op == "split"):
                lost[path] = operation.op
    return lost


def add_losses(connection: sqlite3.Connection, run_id: str, lost: Mapping[str, str], at: str) -> None:
    """Count losing operations; inside the caller's transaction."""
    for path, op in lost.items():
        connection.execute(_SQL["add_loss"], {"run_id": run_id, "path": path, "op": op, "at": at})


def losses_left(connection: sqlite3.Connection, records: int, fraction: float, now: datetime) -> int:
    """How many records clean-up may still lose: max(1, floor(fraction * records)) per rolling 24 hours."""
    since = format_time(now - timedelta(hours=24))
    row = _one(connection, "losses_since", {"since": since})
    used = 0 if row is None else int(row["count"])
    return max(0, max(1, int(fraction * records)) - used)


def _meta(connection: sqlite3.Connection, key: str) -> str:
    row = _one(connection, "get_meta", {"key": key})
    return "" if row is None else str(row["value"])


def _set_meta(connection: sqlite3.Connection, key: str, value: str) -> None:
    with transaction(connection):
        if value:
            connection.execute(_SQL["set_meta"], {"key": key, "value": value})
        else:
            connection.execute(_SQL["delete_meta"], {"key": key})


def batch_limit(connection: sqlite3.Connection) -> int | None:
    """The smaller batch that failed runs left; None for no limit but the settings'."""
    text = _meta(connection, "batch_limit")
    return max(1, int(text)) if text.isdecimal() else None


def set_batch_limit(connection: sqlite3.Connection, limit: int | None) -> None:
    """Set or (None) lift the smaller batch."""
    _set_meta(connection, "batch_limit", "" if limit is None else str(limit))


def halve_batch(connection: sqlite3.Connection, entries: int) -> None:
    """After a run that failed over so many entries: the next takes half as many, one at least."""
    set_batch_limit(connection, max(1, entries // 2))
