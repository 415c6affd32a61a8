"""Starting a process that outlives its parent, shares nothing with it and is waited for by nobody.

Standard library only, and little of it: the hosts' hook starts the extraction so when a session ends, and the host
gives it a second and a half. No settings, no staging: what is to run comes in.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence

from hikidashi.config.defaults import MARKER_VARIABLE

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["LOG_BYTES", "command_line", "start_detached", "worker_environment"]

#: A larger log is cut to its newest half before a worker writes on.
LOG_BYTES: Final = 512 * 1024

_MODE: Final = 0o600

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

#: `hikidashi/__main__.py`, which runs without being installed too.
_MAIN: Final = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__main__.py")


def command_line(*words: str) -> list[str]:
    """A `hikidashi` command of this very program. `-P` keeps the project's folder from shadowing our modules."""
    return [sys.executable, "-P", _MAIN, *words]


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


def start_detached(
    command: Sequence[str], *, folder: str, log: str, environ: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start `command` in `folder` with exactly that environment; its output is appended to `log`, which is kept small.

    Raises `OSError`.
    """
    _cut(log)
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    out = os.open(log, flags, _MODE)
    try:
        return subprocess.Popen(
            list(command),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            close_fds=True,
            start_new_session=sys.platform != "win32",
            creationflags=_creation_flags(),
        )
    finally:
        os.close(out)


def _cut(log: str) -> None:
    """Leave the newest half of a log that has grown too large."""
    try:
        status = os.lstat(log)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) or status.st_size <= LOG_BYTES:
        return
    with open(log, "rb") as stream:
        stream.seek(-(LOG_BYTES // 2), os.SEEK_END)
        newest = stream.read().partition(b"\n")[2]
    draft = f"{log}.{os.getpid()}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), _MODE)
    with open(descriptor, "wb") as stream:
        stream.write(newest)
    os.replace(draft, log)


def _creation_flags() -> int:
    """Windows: no console of the parent's, no Ctrl+C with it. Elsewhere none."""
    names = ("DETACHED_PROCESS", "CREATE_NEW_PROCESS_GROUP")
    return sum(getattr(subprocess, name, 0) for name in names) if sys.platform == "win32" else 0
