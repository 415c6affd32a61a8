"""Keys of counted events: held in memory or looked up, they answer alike, and nothing counts before its commit."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.capture import seen
from hikidashi.capture.seen import seen_keys
from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(connect(tmp_path / "w.sqlite")) as connection:
        migrate(connection)
        yield connection


def stored(database: sqlite3.Connection) -> set[bytes]:
    return {row["key"] for row in database.execute("SELECT key FROM seen_events").fetchall()}


@pytest.mark.parametrize("ahead", [0, 1 << 30])
def test_keys_of_earlier_readings_are_known_and_new_ones_wait_for_their_commit(
    database: sqlite3.Connection, ahead: int
) -> None:
    first = seen_keys(database, bytes_ahead=ahead)
    first.add(b"a" * 16)
    with transaction(database):
        first.commit(database, first.mark)
    first.committed(1)
    keys = seen_keys(database, bytes_ahead=ahead)
    assert b"a" * 16 in keys
    assert b"b" * 16 not in keys
    keys.add(b"b" * 16)
    keys.add(b"c" * 16)
    assert keys.mark == 2
    with transaction(database):
        keys.commit(database, 1)  # the second belongs to a line that is not taken yet
    keys.committed(1)
    assert stored(database) == {b"a" * 16, b"b" * 16}
    assert b"b" * 16 in keys
    keys.forget()
    assert b"b" * 16 in keys
    assert b"c" * 16 not in keys


def test_a_large_table_is_not_read_into_memory(database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "_PRELOAD_ROWS", 3)
    database.executemany("INSERT INTO seen_events (key) VALUES (?)", [(bytes([n]) * 16,) for n in range(5)])
    keys = seen_keys(database, bytes_ahead=1 << 30)
    assert len(keys) == 0
    assert bytes([4]) * 16 in keys
