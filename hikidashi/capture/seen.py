"""Keys of events that were counted before, in any file of the workspace (design section 5.3).

The table has a row an event for ever, so it is read into memory only when much is to be read and it is small;
else each key is looked up. New keys stay here until the transaction that commits them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from hikidashi.db.connection import database_errors, queries

__all__ = ["SeenKeys", "seen_keys"]

_SQL: Final = queries("capture")

#: Rows that are read into memory at once: about 30 MB.
_PRELOAD_ROWS: Final = 250_000

#: Below this many bytes to read, looking keys up one by one is faster than loading them.
_PRELOAD_BYTES: Final = 4 << 20


class SeenKeys(set[bytes]):
    """The keys of the database and those that are new, and which are new."""

    def __init__(self, known: Iterable[bytes] = ()) -> None:
        super().__init__(known)
        #: The new keys, in order.
        self.fresh: list[bytes] = []

    def add(self, key: bytes) -> None:
        """Count the event of this key."""
        super().add(key)
        self.fresh.append(key)

    @property
    def mark(self) -> int:
        """How many keys are new so far."""
        return len(self.fresh)

    def commit(self, connection: sqlite3.Connection, mark: int) -> None:
        """Write the first `mark` new keys, in the CALLER's transaction."""
        connection.execute(_SQL["add_seen"], {"keys": b"".join(sorted(self.fresh[:mark]))})  # in the table's order

    def committed(self, mark: int) -> None:
        """The transaction of `commit` is through."""
        del self.fresh[:mark]

    def forget(self, mark: int = 0) -> None:
        """Take back the new keys behind the first `mark`: their file could not be read to the end."""
        self.difference_update(self.fresh[mark:])
        del self.fresh[mark:]


class _LookedUp(SeenKeys):
    """Holds the new keys only; the others are looked up in the database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection

    def __contains__(self, key: object) -> bool:
        """Whether the event of this key was counted before."""
        return super().__contains__(key) or self._connection.execute(_SQL["seen"], (key,)).fetchone() is not None

    def committed(self, mark: int) -> None:
        """The transaction of `commit` is through: the database knows these keys from now on."""
        self.difference_update(self.fresh[:mark])
        super().committed(mark)


def seen_keys(connection: sqlite3.Connection, *, bytes_ahead: int) -> SeenKeys:
    """The keys for a reading of about `bytes_ahead` bytes."""
    if bytes_ahead >= _PRELOAD_BYTES:
        with database_errors("workspace.sqlite"):
            rows = connection.execute(_SQL["all_seen"], {"limit": _PRELOAD_ROWS + 1}).fetchall()
        if len(rows) <= _PRELOAD_ROWS:
            return SeenKeys(row[0] for row in rows)
    return _LookedUp(connection)
