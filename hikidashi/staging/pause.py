"""Whether a person paused the workspace: while they did, nothing is captured or consolidated."""

from __future__ import annotations

import sqlite3
from typing import Final

from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.times import Clock, format_time, now

__all__ = ["paused_since", "set_paused"]

_SQL: Final = queries("meta")
_KEY: Final = "paused_at"


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
