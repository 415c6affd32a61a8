"""Keys of events that were counted before, in any file of the workspace (design section 5.3).

The table has a row an event for ever, so it is read into memory only when much is to be read and it is small;
else each key is looked up. New keys stay here until the transaction that commits them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple, cast

from hikidashi.db.connection import database_errors, queries

__all__ = ["SeenKeys", "seen_keys", "shown_keys"]

_SQL: Final = queries("capture")


class _Table(NamedTuple):
    """The statements of one table of keys: look one up, add some."""

    find: str
    add: str


_COUNTED: Final = _Table("seen", "add_seen")
_SHOWN: Final = _Table("shown", "add_shown")

#: Rows that are read into memory at once: about 30 MB.
_PRELOAD_ROWS: Final = 250_000

#: Below this many bytes to read, looking keys up one by one is faster than loading them.
_PRELOAD_BYTES: Final = 4 << 20


class SeenKeys(dict[bytes, None]):
    """The keys of the database, and behind them those that are new, in order.

    For a host it is a set, which it asks and adds to for every line. A dict does both as fast as a set does and
    keeps the order, which tells the keys of lines that are taken from those of the line in hand.
    """

    #: Count the event of this key.
    add = dict.setdefault

    def __init__(self, known: Iterable[bytes] = (), table: _Table = _COUNTED) -> None:
        super().__init__(dict.fromkeys(known))
        self._table = table
        #: How many of the keys, from the first on, are in the database.
        self.known = len(self)

    @property
    def as_set(self) -> set[bytes]:
        """Itself, under the type that hosts ask for; they use `in` and `add` alone."""
        return cast("set[bytes]", self)

    @property
    def mark(self) -> int:
        """How many keys are new so far."""
        return len(self) - self.known

    def commit(self, connection: sqlite3.Connection, mark: int) -> None:
        """Write the first `mark` new keys, in the CALLER's transaction."""
        keys = sorted(islice(self, self.known, self.known + mark))  # in the table's order
        connection.execute(_SQL[self._table.add], {"keys": b"".join(keys)})

    def committed(self, mark: int) -> None:
        """The transaction of `commit` is through."""
        self.known += mark

    def forget(self, mark: int = 0) -> None:
        """Take back the new keys behind the first `mark`: their file could not be read to the end."""
        while self.mark > mark:
            self.popitem()


class _LookedUp(SeenKeys):
    """Holds the new keys only; the others are looked up in the database."""

    def __init__(self, connection: sqlite3.Connection, table: _Table = _COUNTED) -> None:
        super().__init__((), table)
        self._connection = connection

    def __contains__(self, key: object) -> bool:
        """Whether the event of this key was counted before."""
        if super().__contains__(key):
            return True
        return self._connection.execute(_SQL[self._table.find], (key,)).fetchone() is not None

    def committed(self, mark: int) -> None:
        """The transaction of `commit` is through: the database knows these keys from now on."""
        for key in list(islice(self, mark)):
            del self[key]


def seen_keys(connection: sqlite3.Connection, *, bytes_ahead: int) -> SeenKeys:
    """The keys for a reading of about `bytes_ahead` bytes."""
    if bytes_ahead >= _PRELOAD_BYTES:
        with database_errors("workspace.sqlite"):
            rows = connection.execute(_SQL["all_seen"], {"limit": _PRELOAD_ROWS + 1}).fetchall()
        if len(rows) <= _PRELOAD_ROWS:
            return SeenKeys(row[0] for row in rows)
    return _LookedUp(connection)


def shown_keys(connection: sqlite3.Connection) -> SeenKeys:
    """The keys of events that a model was shown. Each is looked up: beside a model's answer that takes no time."""
    return _LookedUp(connection, _SHOWN)
