"""Entries, from "committed with the watermark" to "consumed by a run" (design sections 5.3 and 6).

The row is the truth and outlives the file: a consumed ID is never staged again. Files are immutable; one
that was changed by hand is set aside and the row's content is written again.

Every step that touches a file and a row does so under the database's write lock, with the row read again
there: an extractor and a worker may sweep at the same time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.errors import CorruptData
from hikidashi.redact import find_secrets
from hikidashi.staging.backlog import StagedEntry, StagingTotals, SweepReport, next_batch
from hikidashi.staging.entry import Disposition, Entry
from hikidashi.staging.folder import EntryFolder, NotAnEntry
from hikidashi.times import Clock, format_time, now
from hikidashi.ulid import is_ulid

__all__ = ["LONE_FAILURES", "StagedEntry", "StagingStore", "StagingTotals", "SweepReport", "next_batch"]

#: An entry that failed this often as the whole batch goes to quarantine (design section 6, step 9).
LONE_FAILURES: Final = 3

#: Files written under one hold of the database's write lock: others wait for a moment, not for a backlog.
_FLUSH_AT_ONCE: Final = 50

_SQL: Final = queries("staging")


class StagingStore:
    """Staging of one workspace, over an open and migrated database."""

    def __init__(self, workspace: Workspace, connection: sqlite3.Connection, clock: Clock = now) -> None:
        self._connection = connection
        self._clock = clock
        self._folder = EntryFolder(
            staging=workspace.staging,
            quarantine=workspace.quarantine,
            reserved=frozenset(
                (workspace.claim_path.name, workspace.guard_path.name, workspace.quarantine.name),
            ),
            clock=clock,
        )

    def add_pending(self, entries: Iterable[Entry]) -> list[str]:
        """Add rows in the CALLER's transaction, beside its watermark; gives the IDs that were new.

        An ID that is known in any state is ignored: this is where "exactly once" is kept.
        """
        return [entry.id for entry in entries if self._insert("add_pending", entry, entry.to_json())]

    def flush_pending(self) -> int:
        """Write the files of pending rows and make them staged; gives how many. Raises `StorageFailure`."""
        pending = self._ids("pending")
        if pending:
            self._folder.prepare()
        written = 0
        for start in range(0, len(pending), _FLUSH_AT_ONCE):
            with transaction(self._connection):
                for entry_id in pending[start : start + _FLUSH_AT_ONCE]:
                    row = self._row(entry_id)
                    if row is None or row["state"] != "pending":  # another process wrote it
                        continue
                    self._folder.write(entry_id, row["content"], folder_later=True)
                    self._connection.execute(_SQL["written"], {"id": entry_id})
                    written += 1
                self._folder.flush()  # before the commit says that they are there
        return written

    def sweep(self) -> SweepReport:
        """Make folder and rows agree again, whatever happened to either; nothing a person wrote is deleted."""
        report = SweepReport()
        self._folder.prepare()
        for name in self._folder.names():
            entry_id = name.removesuffix(".json")
            if name.endswith(".json") and is_ulid(entry_id):
                self._sweep_file(entry_id, report)
            else:
                self._set_aside(name, "it is not named like an entry (<ULID>.json)", report)
        report.flushed = self.flush_pending()
        self._sweep_rows(report)
        report.temporaries = self._folder.remove_old_temporaries()
        return report

    def staged(self) -> list[StagedEntry]:
        """What waits, oldest first. Raises `CorruptData` for a row that a sweep would set aside."""
        with database_errors("workspace.sqlite"):
            rows = self._connection.execute(_SQL["staged"]).fetchall()
        return [
            StagedEntry(
                entry=Entry.from_json(row["content"]),
                bytes=row["bytes"],
                attempts=row["attempts"],
                lone_failures=row["lone_failures"],
                added_at=row["added_at"],
            )
            for row in rows
        ]

    def totals(self) -> StagingTotals:
        """What waits, from the index and two folder listings; no known entry is opened."""
        with database_errors("workspace.sqlite"):
            staged = self._connection.execute(_SQL["totals"], {"state": "staged"}).fetchone()
            pending = self._connection.execute(_SQL["totals"], {"state": "pending"}).fetchone()
        return StagingTotals(
            entries=staged["entries"],
            bytes=staged["bytes"],
            pending=pending["entries"],
            invalid=sum(self._is_invalid(name) for name in self._folder.names()),
            quarantined=self._folder.quarantined(),
            oldest_at=staged["oldest_at"],
        )

    def consume(self, run_id: str, dispositions: Sequence[Disposition]) -> None:
        """Record what became of entries, in the CALLER's transaction; files go by `delete_files` after it.

        Doing it again for the same run changes nothing (a journal may be redone). Raises `CorruptData` for an
        entry that is not staged: two runs may never both consume one.
        """
        at = format_time(self._clock())
        for disposition in dispositions:
            changed = self._connection.execute(
                _SQL["consume"],
                {
                    "id": disposition.entry_id,
                    "run_id": run_id,
                    "disposition": disposition.kind,
                    "record": disposition.record or None,
                    "reason": disposition.reason or None,
                    "consumed_at": at,
                },
            ).rowcount
            if not changed:
                self._require_consumed_by(run_id, disposition.entry_id)

    def delete_files(self, entry_ids: Iterable[str]) -> SweepReport:
        """Delete the files of consumed entries, after the transaction that consumed them.

        A file that was changed since it was captured is set aside instead, and the report says so; an entry
        that is staged (again) keeps its file.
        """
        report = SweepReport()
        for entry_id in entry_ids:
            self._reconcile(entry_id, report)
        return report

    def count_failure(self, entry_ids: Sequence[str]) -> list[str]:
        """Count a run that failed on the content of these entries; gives those that went to quarantine.

        Only a run over one entry proves that the entry is at fault; the third such run sets it aside.
        """
        alone = len(entry_ids) == 1
        reason = f"{LONE_FAILURES} runs failed on it alone"
        quarantined = []
        with transaction(self._connection):
            for entry_id in entry_ids:
                self._connection.execute(_SQL["count_failure"], {"id": entry_id, "alone": int(alone)})
            if alone:
                found = self._connection.execute(_SQL["failed_alone"], {"id": entry_ids[0], "limit": LONE_FAILURES})
                quarantined = [row["id"] for row in found.fetchall()]
            for entry_id in quarantined:
                self._connection.execute(_SQL["quarantine"], {"id": entry_id, "reason": reason})
        for entry_id in quarantined:
            self._keep_quarantined(entry_id, SweepReport())
        return quarantined

    def release(self, run_id: str) -> int:
        """Stage again all that `run_id` consumed, in the CALLER's transaction; gives how many.

        For a publication that is taken back. Their files are written by the next `sweep`.
        """
        return self._connection.execute(_SQL["release"], {"run_id": run_id}).rowcount

    def requeue(self, run_id: str) -> list[str]:
        """Stage again what `run_id` discarded; gives the IDs. Own transaction, files written."""
        with transaction(self._connection):
            found = [r["id"] for r in self._connection.execute(_SQL["discarded_by"], {"run_id": run_id}).fetchall()]
            for entry_id in found:
                self._connection.execute(_SQL["requeue"], {"id": entry_id})
        self.flush_pending()
        return found

    # One file or row at a time

    def _sweep_file(self, entry_id: str, report: SweepReport) -> None:
        row = self._row(entry_id)
        if row is not None and row["state"] == "staged" and self._folder.holds(entry_id, row["content"]):
            return  # as it should be; no lock was needed to see it
        self._reconcile(entry_id, report)

    def _reconcile(self, entry_id: str, report: SweepReport) -> None:
        """Make one file agree with its row, under the write lock."""
        with transaction(self._connection):
            row = self._row(entry_id)
            if row is None:
                self._adopt(entry_id, report)
                return
            same = self._folder.holds(entry_id, row["content"])
            state = row["state"]
            if same is False:
                reason = self._why_changed(entry_id)
                self._set_aside(f"{entry_id}.json", reason, report)
            elif same and state == "consumed":
                self._folder.delete(entry_id)
                report.deleted.append(entry_id)
            elif same and state == "quarantined":
                self._set_aside(f"{entry_id}.json", row["reason"] or "it was set aside before", report)
            if state == "staged" and not same:
                self._folder.write(entry_id, row["content"])
                report.rewritten.append(entry_id)

    def _adopt(self, entry_id: str, report: SweepReport) -> None:
        try:
            entry, text = self._folder.read(entry_id)
        except FileNotFoundError:
            return
        except NotAnEntry as exc:
            self._set_aside(f"{entry_id}.json", str(exc), report)
            return
        secret = _secret(entry)
        if secret:  # capture redacts before it writes; this file was written by somebody else
            self._set_aside(f"{entry_id}.json", secret, report)
        elif self._insert("adopt", entry, text):
            report.adopted.append(entry_id)

    def _why_changed(self, entry_id: str) -> str:
        try:
            self._folder.read(entry_id)
        except FileNotFoundError:
            return "it vanished while it was looked at"
        except NotAnEntry as exc:
            return str(exc)
        return "it was changed after it was captured; entry files are immutable, the captured text was written again"

    def _sweep_rows(self, report: SweepReport) -> None:
        present = set(self._folder.names())
        with database_errors("workspace.sqlite"):
            rows = self._connection.execute(_SQL["staged"]).fetchall()
        for row in rows:
            problem = _problem(row["id"], row["content"])
            if problem:  # it would stop every run from now on
                with transaction(self._connection):
                    self._connection.execute(_SQL["quarantine"], {"id": row["id"], "reason": problem})
                self._keep_quarantined(row["id"], report)
            elif f"{row['id']}.json" not in present:
                self._reconcile(row["id"], report)

    def _keep_quarantined(self, entry_id: str, report: SweepReport) -> None:
        """Put the file of a row that was just quarantined into quarantine, from the row where there is none."""
        self._folder.prepare()
        row = self._row(entry_id)
        if row is None or row["state"] != "quarantined":
            return
        if not self._folder.holds(entry_id, row["content"]):
            kept = self._folder.keep_text(f"{entry_id}.json", row["content"], row["reason"])
            report.quarantined[kept] = row["reason"]
        self._reconcile(entry_id, report)

    def _set_aside(self, name: str, reason: str, report: SweepReport) -> None:
        kept = self._folder.set_aside(self._folder.staging / name, reason)
        if kept:
            report.quarantined[kept] = reason

    def _is_invalid(self, name: str) -> bool:
        entry_id = name.removesuffix(".json")
        if not (name.endswith(".json") and is_ulid(entry_id)):
            return True
        if self._row(entry_id) is not None:
            return False
        try:
            self._folder.read(entry_id)
        except FileNotFoundError:
            return False
        except NotAnEntry:
            return True
        return False

    # Rows

    def _insert(self, statement: str, entry: Entry, content: str) -> bool:
        values = {
            "id": entry.id,
            "kind": entry.kind,
            "content": content,
            "host": entry.source.host,
            "session_id": entry.source.session_id,
            "added_at": format_time(self._clock()),
        }
        return self._connection.execute(_SQL[statement], values).rowcount == 1

    def _ids(self, state: str) -> list[str]:
        with database_errors("workspace.sqlite"):
            return [row["id"] for row in self._connection.execute(_SQL["ids_in_state"], {"state": state}).fetchall()]

    def _row(self, entry_id: str) -> sqlite3.Row | None:
        with database_errors("workspace.sqlite"):
            found: sqlite3.Row | None = self._connection.execute(_SQL["row"], {"id": entry_id}).fetchone()
        return found

    def _require_consumed_by(self, run_id: str, entry_id: str) -> None:
        row = self._row(entry_id)
        if row is None:
            raise CorruptData(f"entry {entry_id} is not in the database; run `hikidashi status` to see what waits")
        if row["state"] != "consumed" or row["run_id"] != run_id:
            raise CorruptData(
                f"entry {entry_id} is {row['state']} (run {row['run_id']}), not staged: "
                "another run consumed it; run `hikidashi status` to see what waits"
            )


def _secret(entry: Entry) -> str:
    """Which text of an entry holds a secret; '' for none."""
    for name in ("title", "body", "why", "quote", "topic"):
        for found in find_secrets(getattr(entry, name)):
            return f"its {name} holds a secret ({found.kind}); take it out and put the file back"
    return ""


def _problem(entry_id: str, content: str) -> str:
    """What is wrong with a row's content; '' for nothing."""
    try:
        found = Entry.from_json(content).id
    except CorruptData as exc:
        return f"its row in the database is damaged: {exc}"
    return "" if found == entry_id else f"its row in the database holds another entry ({found})"
