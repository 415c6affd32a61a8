"""Records that a person brings in from elsewhere: written, protected and committed in their name."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from hikidashi.capture.from_auto_memory import RecordAction, record_action
from hikidashi.config.settings import Settings
from hikidashi.config.workspace import Workspace
from hikidashi.errors import UsageError
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.records.history import blob_id
from hikidashi.records.record import Record, render_record
from hikidashi.times import Clock, format_time, now
from hikidashi.worker.bench import Bench, Checkpoint, no_checkpoint
from hikidashi.worker.edits import commit_edits
from hikidashi.worker.ledger import protect
from hikidashi.worker.recover import recover
from hikidashi.worker.restore import held_claim
from hikidashi.worker.tree_files import put

__all__ = ["add_records"]


def add_records(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    records: Sequence[Record],
    *,
    subject: str,
    replace: bool = False,
    clock: Clock = now,
    checkpoint: Checkpoint = no_checkpoint,
    processes: Processes = SYSTEM_PROCESSES,
) -> list[RecordAction]:
    """Write `records` as one commit of a person, `subject` its first line; gives what became of each.

    One that is there with another text is left as it is, unless `replace`: then history keeps the old text. Raises
    `Busy` while a run goes, `UsageError` where something that is no file stands in a record's place.
    """
    with held_claim(workspace, settings, clock, processes) as held:
        bench = Bench.open(workspace, connection, clock, checkpoint)
        bench.store.sweep()
        with held.guard():
            recover(bench, held.claim.run_id)
            edits = commit_edits(bench)
            for record in records:
                if record.path in edits.refused:
                    raise UsageError(f"{record.path} cannot be written: {edits.refused[record.path].message}")
            actions = [record_action(edits.tree, record, replace=replace) for record in records]
            new = {
                record.path: render_record(record)
                for record, action in zip(records, actions, strict=True)
                if action in ("create", "replace")
            }
            if not new:
                return actions
            at = bench.clock()
            # Protected, written, committed: as `restore` does, so that a kill in between loses nothing.
            protect(connection, {path: blob_id(data) for path, data in new.items()}, "person", format_time(at))
            checkpoint("add:protected")
            for path, data in new.items():
                put(workspace, path, data)
            checkpoint("add:written")
            bench.history.commit({**edits.kept, **edits.tree, **new}, author="person", subject=subject, at=at)
    return actions
