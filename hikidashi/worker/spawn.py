"""Starting a consolidation run in the background, when one is due (design section 5.8).

Whoever starts it (a hook, the extractor) waits for nothing and shares nothing with it: own session, no open
descriptors, no terminal, no variables but those a worker needs.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Final

from hikidashi.atomic import FILE_MODE, storage_errors, write_atomic
from hikidashi.config.defaults import MARKER_VARIABLE
from hikidashi.config.engine import resolve_engine
from hikidashi.config.settings import Settings
from hikidashi.config.workspace import Workspace
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.staging.claim import read_claim
from hikidashi.staging.pause import paused_since
from hikidashi.staging.store import StagingStore
from hikidashi.staging.trigger import over_threshold
from hikidashi.times import Clock, now

__all__ = ["LOG_BYTES", "spawn_worker", "start_if_due", "worker_command", "worker_environment"]

#: A larger log is cut to its newest half before a worker writes on.
LOG_BYTES: Final = 512 * 1024

#: What a worker needs of its parent's environment. A host's markers, keys and options are not among it.
_KEPT: Final = frozenset(
    {
        "ALL_PROXY",
        "APPDATA",
        "COMSPEC",
        "HOME",
        "HOMEDRIVE",
        "HOMEPATH",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LANG",
        "LANGUAGE",
        "LOCALAPPDATA",
        "LOGNAME",
        "NO_PROXY",
        "PATH",
        "PATHEXT",
        "PROGRAMDATA",
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "USERNAME",
        "USERPROFILE",
        "WINDIR",
    }
)
_KEPT_PREFIXES: Final = ("HIKIDASHI_", "LC_", "XDG_")

#: Started workers; kept so that one that ended is reaped by the next start and is no zombie of a server.
_STARTED: Final[list[subprocess.Popen[bytes]]] = []


def worker_command() -> list[str]:
    """The command of a background run. `-P` keeps the project's folder from shadowing our modules."""
    return [sys.executable, "-P", "-m", "hikidashi", "consolidate", "--automatic"]


def worker_environment(environ: Mapping[str, str], *, key_variable: str = "") -> dict[str, str]:
    """What of `environ` a worker gets, with the marker by which its sessions are told from the user's.

    `key_variable`: the one variable that the user's own file names as the holder of the key, '' for none.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name.upper() in _KEPT or name.upper().startswith(_KEPT_PREFIXES) or name == (key_variable or None)
    }
    return {**kept, MARKER_VARIABLE: "1"}


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
    _cut_log(workspace)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with storage_errors("start the consolidation worker"):
        log = os.open(workspace.log_file, flags, FILE_MODE)
        try:
            process = subprocess.Popen(
                list(command if command is not None else worker_command()),
                cwd=workspace.root,
                env=worker_environment(os.environ if environ is None else environ, key_variable=key_variable),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                close_fds=True,
                start_new_session=sys.platform != "win32",
                creationflags=_creation_flags(),
            )
        finally:
            os.close(log)
    _STARTED.append(process)
    return process.pid


def _creation_flags() -> int:
    """Windows: no console of the parent's, no Ctrl+C with it. Elsewhere none."""
    names = ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP")
    return sum(getattr(subprocess, name, 0) for name in names) if sys.platform == "win32" else 0


def _cut_log(workspace: Workspace) -> None:
    path = workspace.log_file
    with storage_errors(f"read {path}"):
        if not path.is_file() or path.stat().st_size <= LOG_BYTES:
            return
        with path.open("rb") as stream:
            stream.seek(-(LOG_BYTES // 2), os.SEEK_END)
            newest = stream.read()
    write_atomic(path, newest.partition(b"\n")[2], sync=False)


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
