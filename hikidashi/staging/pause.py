"""Whether a person paused the workspace, or one session: while they did, nothing of it is captured or consolidated.

A paused session is a file `sessions/<hash>.paused` with its ID, beside what hooks keep of sessions: they look there
without opening the database.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Final

from hikidashi.atomic import make_folder, remove_file, write_atomic
from hikidashi.config.glance import digest
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.times import Clock, format_time, now

__all__ = ["newest_session", "pause_session", "paused_session_file", "paused_sessions", "paused_since", "set_paused"]

_SQL: Final = queries("meta")
_KEY: Final = "paused_at"

#: Below `.hikidashi/`: what hooks keep of sessions, one file each.
_SESSIONS: Final = "sessions"
_SUFFIX: Final = ".paused"


def paused_since(connection: sqlite3.Connection) -> str | None:
    """Since when (ISO 8601) the workspace is paused, None when it is not."""
    with database_errors("workspace.sqlite"):
        row = connection.execute(_SQL["get_meta"], {"key": _KEY}).fetchone()
    return None if row is None else row[0] or None


def set_paused(connection: sqlite3.Connection, on: bool, clock: Clock = now) -> None:
    """Pause or resume, in a transaction of its own; pausing twice keeps the first time."""
    with transaction(connection):
        if not on or paused_since(connection) is None:
            connection.execute(_SQL["delete_meta"], {"key": _KEY})
        if on:
            connection.execute(_SQL["add_meta"], {"key": _KEY, "value": format_time(clock())})


def paused_session_file(home: Path, session_id: str) -> Path:
    """The file that says that a session is paused. `home`: the workspace's `.hikidashi/`."""
    return home / _SESSIONS / (digest(session_id.encode("utf-8", "replace"))[:32] + _SUFFIX)


def pause_session(home: Path, session_id: str, on: bool) -> None:
    """Pause one session or go on with it. Raises `StorageFailure`."""
    file = paused_session_file(home, session_id)
    if on:
        make_folder(file.parent)
        write_atomic(file, session_id.encode("utf-8", "replace"))
    else:
        remove_file(file)


def paused_sessions(home: Path) -> frozenset[str]:
    """The IDs of the paused sessions."""
    found = set()
    for file in (home / _SESSIONS).glob(f"*{_SUFFIX}"):
        with contextlib.suppress(OSError):
            found.add(file.read_bytes().decode("utf-8", "replace"))
    return frozenset(found - {""})


def newest_session(home: Path) -> str:
    """The ID of the session whose hook ran last; '' when none did."""
    newest, found = 0, ""
    for file in (home / _SESSIONS).glob("*.json"):
        with contextlib.suppress(OSError, ValueError):
            data = json.loads(file.read_bytes())
            name = data.get("session_id") if isinstance(data, dict) else None
            touched = file.stat().st_mtime_ns
            if isinstance(name, str) and name and touched > newest:
                newest, found = touched, name
    return found
