"""Starting a consolidation run in the background, when one is due (design section 5.8).

Whoever starts it (a hook, the extractor) waits for nothing and shares nothing with it: own session, no open
descriptors, no terminal, no variables but those a worker needs.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from hikidashi.atomic import storage_errors
from hikidashi.config.engine import resolve_engine
from hikidashi.config.settings import Settings
from hikidashi.config.workspace import Workspace
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.staging.claim import read_claim
from hikidashi.staging.pause import paused_since
from hikidashi.staging.store import StagingStore
from hikidashi.staging.trigger import over_threshold
from hikidashi.times import Clock, now
from hikidashi.worker.detached import LOG_BYTES, command_line, start_detached, worker_environment

__all__ = ["LOG_BYTES", "spawn_worker", "start_if_due", "worker_command", "worker_environment"]

#: Started workers; kept so that one that ended is reaped by the next start and is no zombie of a server.
_STARTED: Final[list[subprocess.Popen[bytes]]] = []


def worker_command() -> list[str]:
    """The command of a background run."""
    return command_line("consolidate", "--automatic")


def spawn_worker(
    workspace: Workspace,
    *,
    command: Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
    key_variable: str = "",
) -> int:
    """Start a detached worker in the workspace and give its process ID. Raises `StorageFailure`.

    Its output goes to `worker.log`. `key_variable`: see `worker_environment`.
    """
    for process in list(_STARTED):
        if process.poll() is not None:
            _STARTED.remove(process)
    with storage_errors("start the consolidation worker"):
        process = start_detached(
            command if command is not None else worker_command(),
            folder=str(workspace.root),
            log=str(workspace.log_file),
            environ=worker_environment(os.environ if environ is None else environ, key_variable=key_variable),
        )
    _STARTED.append(process)
    return process.pid


def start_if_due(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    *,
    clock: Clock = now,
    processes: Processes = SYSTEM_PROCESSES,
    command: Sequence[str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> str:
    """Start a worker if enough waits, nobody consolidates and nothing forbids it.

    Gives the reason in one line; '' when none was started (`status` says why).
    """
    environ = os.environ if environ is None else environ
    if environ.get("HIKIDASHI_DISABLE", "0") not in ("", "0") or paused_since(connection) is not None:
        return ""
    reason = over_threshold(StagingStore(workspace, connection, clock).totals(), settings, clock())
    if reason is None:
        return ""
    if resolve_engine(settings, "consolidation").name != "rules":  # that run would only say that it cannot
        return ""
    claim = read_claim(workspace, clock=clock, processes=processes, max_seconds=settings.worker.max_seconds)
    if claim is not None and claim.alive:
        return ""
    spawn_worker(workspace, command=command, environ=environ, key_variable=settings.memory.api_key_variable)
    return reason
