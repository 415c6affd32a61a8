"""Bringing a record back: the text that history has, as a new commit of a person (design section 3)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath

from hikidashi.config.settings import Settings
from hikidashi.config.workspace import HOME_NAME, Workspace
from hikidashi.errors import UsageError
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.records.history import Commit, History, blob_id
from hikidashi.staging.claim import HeldClaim, take_claim
from hikidashi.times import Clock, format_time, now
from hikidashi.ulid import random_ulid
from hikidashi.worker.bench import Bench, Checkpoint, no_checkpoint
from hikidashi.worker.edits import commit_edits
from hikidashi.worker.journal import is_publishable
from hikidashi.worker.ledger import protect
from hikidashi.worker.recover import recover
from hikidashi.worker.tree_files import put

__all__ = ["RestoreReport", "held_claim", "restore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What was brought back."""

    path: str
    #: Object ID of the new commit.
    commit: str
    #: The commit whose text it is.
    from_commit: str
    #: When that was committed, ISO 8601.
    from_at: str
    #: What recovery found and did before, one line each.
    recovered: list[str]

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {
            "path": self.path,
            "commit": self.commit,
            "from_commit": self.from_commit,
            "from_at": self.from_at,
            "recovered": list(self.recovered),
        }


def restore(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    path: str,
    *,
    clock: Clock = now,
    checkpoint: Checkpoint = no_checkpoint,
    processes: Processes = SYSTEM_PROCESSES,
) -> RestoreReport:
    """Bring `path` back to its last text in history that differs from what is there now, and protect it.

    `path` is relative to `.hikidashi/` (a leading `.hikidashi/` is dropped). What is there now is committed
    first, so a restore can itself be taken back by another one. Raises `UsageError` for a path without such a
    text, `Busy` while a run goes.
    """
    name = _record_path(path)
    with held_claim(workspace, settings, clock, processes) as held:
        bench = Bench.open(workspace, connection, clock, checkpoint)
        bench.store.sweep()
        with held.guard():
            recovered = recover(bench, held.claim.run_id)
            edits = commit_edits(bench)
            if name in edits.refused:
                raise UsageError(f"{name} cannot be restored: {edits.refused[name].message}")
            commit, text = _last_other(bench.history, name, edits.tree.get(name))
            at = bench.clock()
            # Protected, written, committed: killed in between, the next start finds a person's edit with the
            # very text that is protected, and commits it.
            protect(connection, {name: blob_id(text)}, "restored", format_time(at))
            checkpoint("restore:protected")
            put(workspace, name, text)
            checkpoint("restore:written")
            new = bench.history.commit(
                {**edits.kept, **edits.tree, name: text},
                author="person",
                subject=f"Restore {name}",
                trailers={"Restored-From": commit.id},
                at=at,
            )
    return RestoreReport(path=name, commit=new, from_commit=commit.id, from_at=commit.at, recovered=recovered)


@contextmanager
def held_claim(workspace: Workspace, settings: Settings, clock: Clock, processes: Processes) -> Iterator[HeldClaim]:
    """The claim, as a run takes it, so that neither works on the other's files."""
    run_id = random_ulid(clock())
    held = take_claim(workspace, run_id, max_seconds=settings.worker.max_seconds, clock=clock, processes=processes)
    try:
        held.start_heartbeat()
        yield held
    finally:
        held.stop_heartbeat()
        held.release()


def _record_path(path: str) -> str:
    name = PurePosixPath(path.replace("\\", "/")).as_posix().removeprefix(f"{HOME_NAME}/")
    if not (is_publishable(name) or (name.startswith("memory/workflow/") and is_publishable(f"memory/{name[16:]}"))):
        raise UsageError(
            f"{path[:200]!r} is no record; give a path like memory/decisions/some-slug.md "
            "(`hikidashi log -p` lists them)"
        )
    return name


def _last_other(history: History, path: str, live: bytes | None) -> tuple[Commit, bytes]:
    """The newest text of `path` that is not what is there now."""
    versions = history.versions(path)
    for commit, text in versions:
        if text is not None and text != live:
            return commit, text
    if live is not None:
        raise UsageError(f"{path} has no earlier text in history; `hikidashi log -p` shows what changed when")
    raise UsageError(f"{path} was never in history; `hikidashi log -p` lists the records that were")
