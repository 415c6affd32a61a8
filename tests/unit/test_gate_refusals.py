"""What a person turned down or had forgotten does not come back, and cannot be read from the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer import refusals

AT = "2026-05-03T09:30:00.000Z"


@pytest.fixture
def drawer(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(tmp_path / "workspace.sqlite")
    migrate(connection)
    yield connection
    connection.close()


def test_a_forgotten_key_stays_out_until_it_is_written_anew(drawer: sqlite3.Connection) -> None:
    assert not refusals.is_forgotten(drawer, scope="workspace", key="deploy:harbour")
    with transaction(drawer):
        refusals.note_forgotten(drawer, scope="workspace", key="deploy:harbour", at=AT)
        refusals.note_forgotten(drawer, scope="workspace", key="deploy:harbour", at=AT)
    assert refusals.is_forgotten(drawer, scope="workspace", key="deploy:harbour")
    assert not refusals.is_forgotten(drawer, scope="global", key="deploy:harbour")
    assert not refusals.is_forgotten(drawer, scope="workspace", key="deploy:harbou")
    with transaction(drawer):
        refusals.allow(drawer, scope="workspace", key="deploy:harbour")
    assert not refusals.is_forgotten(drawer, scope="workspace", key="deploy:harbour")


def test_a_rejection_is_of_one_content_of_one_key(drawer: sqlite3.Connection) -> None:
    one = refusals.content_of("", "never push  on\nFriday")
    with transaction(drawer):
        refusals.note_rejected(drawer, scope="workspace", key="rule:friday", content=one, at=AT)
    same = refusals.content_of("", "never push on Friday")
    assert refusals.is_rejected(drawer, scope="workspace", key="rule:friday", content=same)
    assert not refusals.is_rejected(drawer, scope="workspace", key="rule:monday", content=same)
    other = refusals.content_of("d1", "never push on Friday")
    assert not refusals.is_rejected(drawer, scope="workspace", key="rule:friday", content=other)
    with transaction(drawer):
        refusals.take_back_rejected(drawer, scope="workspace", key="rule:friday", content=same)
    assert not refusals.is_rejected(drawer, scope="workspace", key="rule:friday", content=same)


def test_a_digest_that_reads_like_a_body_is_another_content() -> None:
    assert refusals.content_of("x", "") != refusals.content_of("", "x")


def test_marks_differ_between_databases_and_hold_no_text(drawer: sqlite3.Connection, tmp_path: Path) -> None:
    other = connect(tmp_path / "other.sqlite")
    migrate(other)
    marks = []
    for connection in (drawer, other):
        with transaction(connection):
            refusals.note_forgotten(connection, scope="workspace", key="deploy:harbour", at=AT)
        marks.append(connection.execute("SELECT mark FROM refusals").fetchone()[0])
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
    assert marks[0] != marks[1]
    for file in tmp_path.iterdir():
        assert b"harbour" not in file.read_bytes()


def test_outside_a_transaction_nothing_is_noted(drawer: sqlite3.Connection) -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        refusals.note_forgotten(drawer, scope="workspace", key="deploy:harbour", at=AT)
    assert drawer.execute("SELECT count(*) FROM meta WHERE key = 'refusal_key'").fetchone()[0] == 0
