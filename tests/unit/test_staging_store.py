"""Entries and their files: captured once, never lost, never staged twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.errors import CorruptData
from hikidashi.source import Source
from hikidashi.staging.entry import MAX_ENTRY_BYTES, Disposition, Entry, entry_id
from hikidashi.staging.store import StagedEntry, StagingStore, SweepReport, next_batch
from hikidashi.times import format_time

MORNING = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)


def make_entry(number: int, **changes: Any) -> Entry:
    at = format_time(MORNING + timedelta(minutes=number))
    values: dict[str, Any] = {
        "id": entry_id("claude-code", at, f"uuid-{number}", "decision", 0),
        "kind": "decision",
        "title": f"Use port {8000 + number}",
        "body": "The proxy keeps 8080.",
        "why": "8080 is taken",
        "quote": "let us use another port",
        "source": Source(host="claude-code", session_id="s1", lines=(1, 2), uuids=("a", "b"), at=at),
        "trust": "user",
    }
    return Entry(**(values | changes))


class Desk:
    """A workspace's staging over a fresh database, with a clock that a test can set."""

    def __init__(self, home: Path) -> None:
        staging = home / "staging"
        self.workspace: Any = SimpleNamespace(
            staging=staging,
            quarantine=staging / "quarantine",
            claim_path=staging / "consolidation.lock",
            guard_path=staging / ".guard",
        )
        home.mkdir(parents=True, exist_ok=True)
        self.now = MORNING + timedelta(hours=1)
        self.connection: sqlite3.Connection = connect(home / "workspace.sqlite")
        migrate(self.connection)
        self.store = StagingStore(self.workspace, self.connection, clock=lambda: self.now)

    def capture(self, *entries: Entry) -> None:
        with transaction(self.connection):
            self.store.add_pending(entries)
        self.store.flush_pending()

    def consume(self, run_id: str, *dispositions: Disposition) -> None:
        with transaction(self.connection):
            self.store.consume(run_id, dispositions)

    def file(self, entry: Entry) -> Path:
        path: Path = self.workspace.staging / f"{entry.id}.json"
        return path

    def names(self) -> list[str]:
        folder: Path = self.workspace.staging
        return sorted(p.name for p in folder.iterdir() if p.name != "quarantine") if folder.is_dir() else []

    def quarantine(self) -> list[str]:
        folder: Path = self.workspace.quarantine
        return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []

    def state(self, entry: Entry) -> str:
        row = self.connection.execute("SELECT state FROM entries WHERE id = ?", (entry.id,)).fetchone()
        return str(row["state"])


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "a project's folder é" / ".hikidashi")
    yield made
    made.connection.close()


def applied(entry: Entry) -> Disposition:
    return Disposition(entry_id=entry.id, kind="applied", record="memory/decisions/port.md")


def discarded(entry: Entry) -> Disposition:
    return Disposition(entry_id=entry.id, kind="discarded", reason="noise")


def test_a_captured_entry_becomes_a_file_and_waits(desk: Desk) -> None:
    entry = make_entry(1)
    with transaction(desk.connection):
        assert desk.store.add_pending([entry]) == [entry.id]
    assert desk.names() == []
    assert desk.store.flush_pending() == 1
    assert desk.file(entry).read_text(encoding="utf-8") == entry.to_json()
    assert desk.file(entry).stat().st_mode & 0o777 == 0o600
    assert [staged.entry for staged in desk.store.staged()] == [entry]


def test_the_oldest_waits_first(desk: Desk) -> None:
    desk.capture(make_entry(3), make_entry(1))
    desk.capture(make_entry(2))
    assert [staged.entry.id for staged in desk.store.staged()] == [make_entry(n).id for n in (1, 2, 3)]


def test_a_known_id_is_ignored_in_every_state(desk: Desk) -> None:
    first, second = make_entry(1), make_entry(2)
    desk.capture(first)
    desk.consume("R1", applied(first))
    desk.store.delete_files([first.id])
    with transaction(desk.connection):
        assert desk.store.add_pending([first, second, first]) == [second.id]
    desk.store.flush_pending()
    assert desk.names() == [f"{second.id}.json"]
    assert desk.state(first) == "consumed"
