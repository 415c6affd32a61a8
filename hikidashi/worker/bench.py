"""What every step of a run works with, and the names of the moments at which a run may be killed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hikidashi.config.workspace import Workspace
from hikidashi.records.history import History
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock

__all__ = ["CHECKPOINTS", "Bench", "Checkpoint", "no_checkpoint"]

#: Called with each name of `CHECKPOINTS` as a run passes there. It does nothing; the crash tests pass one that
#: kills its own process.
Checkpoint = Callable[[str], None]

#: Every checkpoint of a run, in the order in which a run with both phases passes them first. Those of
#: `publish:` come once a phase, `publish:file-replaced` once a file; those of `recover:` only after a crash.
CHECKPOINTS: Final = (
    "run:claimed",
    "recover:journal-read",
    "recover:file-taken-back",
    "recover:taken-back",
    "recover:journal-dropped",
    "recover:runs-closed",
    "run:recovered",
    "run:swept",
    "run:started",
    "edits:protected",
    "edits:committed",
    "run:snapshot",
    "run:materials",
    "run:integrated",
    "run:checked",
    "publish:guarded",
    "publish:journal-renamed",
    "publish:file-replaced",
    "publish:replaced",
    "publish:committed",
    "publish:database",
    "publish:entries-deleted",
    "publish:journal-dropped",
    "run:published",
    "run:cleaned-up",
    "run:clean-up-published",
    "run:saved",
    "run:released",
)


def no_checkpoint(name: str) -> None:
    """The checkpoint of ordinary runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The workspace's stores, opened once for a run (or a restore) and handed to each step."""

    workspace: Workspace
    connection: sqlite3.Connection
    store: StagingStore
    history: History
    clock: Clock
    checkpoint: Checkpoint = no_checkpoint

    @classmethod
    def open(
        cls, workspace: Workspace, connection: sqlite3.Connection, clock: Clock, checkpoint: Checkpoint = no_checkpoint
    ) -> Bench:
        """The stores of `workspace` over an open and migrated database."""
        return cls(
            workspace=workspace,
            connection=connection,
            store=StagingStore(workspace, connection, clock),
            history=History(workspace.history),
            clock=clock,
            checkpoint=checkpoint,
        )
