"""Taking a discard back: entries that a run threw away are staged again (design section 6, step 5)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from hikidashi.config.workspace import Workspace
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock, now
from hikidashi.worker.runs import find_run

__all__ = ["RequeueReport", "requeue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueReport:
    """Which entries of which run are staged again."""

    run_id: str
    entries: list[str]


def requeue(workspace: Workspace, connection: sqlite3.Connection, name: str, *, clock: Clock = now) -> RequeueReport:
    """Stage again what the run that `name` means (an ID, its beginning, `last`) discarded.

    A run may be under way: it took its entries before, these wait for the next one. Raises `UsageError`.
    """
    row = find_run(connection, name)
    return RequeueReport(run_id=row.run_id, entries=StagingStore(workspace, connection, clock).requeue(row.run_id))
