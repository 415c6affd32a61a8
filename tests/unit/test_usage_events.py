"""Uses are noted in one call, which waits no longer than it may."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer.fact import fact_subject
from hikidashi.errors import Busy
from hikidashi.usage.events import record, uses_of

AT = "2026-03-01T12:00:00.000Z"
LATER = "2026-03-02T12:00:00.000Z"


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(tmp_path / "workspace.sqlite")
    migrate(connection)
    yield connection
    connection.close()


def test_uses_are_counted_by_kind_way_and_session(connection: sqlite3.Connection) -> None:
    subject = fact_subject("workspace", "deploy:harbour")
    assert subject == "fact:workspace:deploy:harbour"
    for session, at in (("s1", AT), ("s1", LATER), ("s2", AT)):
        record(connection, "exposure", subject, session_id=session, via="hook", at=at)
    record(connection, "explicit", subject, via="read", at=AT)
    record(connection, "exposure", "record:memory/summary.md", via="hook", at=AT)
    record(connection, "tokens", "", session_id="s1", via="hook", amount=1200, at=AT)
    assert [tuple(row) for row in uses_of(connection, subject)] == [
        ("explicit", "read", "", 1, AT, AT),
        ("exposure", "hook", "s1", 2, AT, LATER),
        ("exposure", "hook", "s2", 1, AT, AT),
    ]
    tokens = connection.execute("SELECT amount FROM usage_events WHERE kind = 'tokens'").fetchone()
    assert tokens["amount"] == 1200


def test_in_a_transaction_it_is_part_of_it(connection: sqlite3.Connection) -> None:
    with pytest.raises(KeyboardInterrupt), transaction(connection):
        record(connection, "explicit", "fact:workspace:k", via="read", at=AT)
        raise KeyboardInterrupt
    assert uses_of(connection, "fact:workspace:k") == []


def test_it_waits_no_longer_than_it_may(connection: sqlite3.Connection, tmp_path: Path) -> None:
    other = connect(tmp_path / "workspace.sqlite")
    with transaction(other):
        begun = time.monotonic()
        with pytest.raises(Busy):
            record(connection, "exposure", "fact:workspace:k", via="hook", at=AT, busy_ms=20)
        assert time.monotonic() - begun < 1
    assert connection.execute("PRAGMA busy_timeout").fetchone()[0] == 30_000
    record(connection, "exposure", "fact:workspace:k", via="hook", at=AT, busy_ms=20)
    assert len(uses_of(connection, "fact:workspace:k")) == 1
    other.close()
