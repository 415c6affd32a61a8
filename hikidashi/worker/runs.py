"""Looking at a run afterwards: its report, its entries, what it changed; and staging again what it discarded."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import database_errors, queries
from hikidashi.errors import CorruptData, UsageError
from hikidashi.records.history import FileDiff, History
from hikidashi.staging.entry import Entry
from hikidashi.staging.store import StagingStore
from hikidashi.worker.ledger import RunRow, last_run, run_row
from hikidashi.worker.status import run_form

__all__ = ["RunDetails", "find_run", "requeue_run", "run_details"]

_SQL: Final = queries("worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """One run with what it worked on."""

    #: The run's form in `status --json`.
    run: dict[str, Any]
    #: Phase -> the changes that it published.
    diffs: dict[str, list[FileDiff]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the run, and under `changes` the unified diffs by phase."""
        changes = {
            phase: [{"path": diff.path, "diff": diff.text} for diff in diffs] for phase, diffs in self.diffs.items()
        }
        return {**self.run, "changes": changes}


def find_run(connection: sqlite3.Connection, word: str) -> RunRow:
    """The run with the ID `word`, the only one whose ID begins so, or the newest for `last`.

    Raises `UsageError` when there is none, or more than one.
    """
    if word == "last":
        row = last_run(connection)
        if row is None:
            raise UsageError("nothing was consolidated here yet; run `hikidashi consolidate`")
        return row
    prefix = word.upper()
    with database_errors("workspace.sqlite"):
        found = [row["run_id"] for row in connection.execute(_SQL["runs_like"], {"prefix": prefix})] if prefix else []
    if len(found) > 1:
        raise UsageError(f"more than one run begins with {word!r}; give more of its ID (`hikidashi log` has them)")
    row = run_row(connection, found[0]) if found else None
    if row is None:
        raise UsageError(
            f"no run {word[:40]!r} here; `hikidashi show last` shows the newest, `hikidashi log` lists them"
        )
    return row


def run_details(workspace: Workspace, connection: sqlite3.Connection, word: str) -> RunDetails:
    """What `hikidashi show` prints. Raises `UsageError` as `find_run` does, `CorruptData` for a damaged history."""
    row = find_run(connection, word)
    form = run_form(row)
    form["entries"] = [_with_entry(connection, entry) for entry in form.get("entries", [])]
    history = History(workspace.history)
    return RunDetails(run=form, diffs={phase: history.diff(commit) for phase, commit in _commits(form).items()})


def _commits(form: dict[str, Any]) -> dict[str, str]:
    commits = form.get("commits")
    return commits if isinstance(commits, dict) else {}


def _with_entry(connection: sqlite3.Connection, entry: dict[str, Any]) -> dict[str, Any]:
    """A disposition with kind, title, trust and source of its entry."""
    with database_errors("workspace.sqlite"):
        row = connection.execute(_SQL["entry_content"], {"id": entry["id"]}).fetchone()
    if row is None:  # a database made anew since
        return entry
    try:
        found = Entry.from_json(row["content"])
    except CorruptData:  # the disposition is worth showing without it
        return entry
    return {
        **entry,
        "kind": found.kind,
        "title": found.title,
        "trust": found.trust,
        "source": found.source.to_dict(),
    }


def requeue_run(workspace: Workspace, connection: sqlite3.Connection, word: str) -> tuple[str, Sequence[str]]:
    """Stage again what a run discarded; gives its ID and theirs. Raises `UsageError` as `find_run` does."""
    row = find_run(connection, word)
    return row.run_id, StagingStore(workspace, connection).requeue(row.run_id)
