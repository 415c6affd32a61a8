"""Entries and their files: captured once, never lost, never staged twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect, queries, transaction
from hikidashi.db.migrations import migrate
from hikidashi.errors import CorruptData
from hikidashi.source import Source
from hikidashi.staging.entry import Disposition, Entry, entry_id
from hikidashi.staging.store import StagedEntry, StagingStore, StagingTotals, next_batch
from hikidashi.staging.trigger import over_threshold
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

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root, "0" * 32)
        self.workspace.home.mkdir(parents=True, exist_ok=True)
        self.now = MORNING + timedelta(hours=1)
        self.connection: sqlite3.Connection = connect(self.workspace.database)
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
        return self.workspace.staging / f"{entry.id}.json"

    def names(self) -> list[str]:
        folder = self.workspace.staging
        return sorted(p.name for p in folder.iterdir() if p.name != "quarantine") if folder.is_dir() else []

    def quarantine(self) -> list[str]:
        folder = self.workspace.quarantine
        return sorted(p.name for p in folder.iterdir()) if folder.is_dir() else []

    def state(self, entry: Entry) -> str:
        row = self.connection.execute("SELECT state FROM entries WHERE id = ?", (entry.id,)).fetchone()
        return str(row["state"])


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "a project's folder é")
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


def test_a_capture_that_is_rolled_back_leaves_nothing(desk: Desk) -> None:
    with pytest.raises(RuntimeError), transaction(desk.connection):
        desk.store.add_pending([make_entry(1)])
        raise RuntimeError("the extractor failed")
    assert desk.store.flush_pending() == 0
    assert desk.store.staged() == []


def test_the_next_start_finishes_what_a_killed_writer_began(desk: Desk) -> None:
    entry = make_entry(1)
    with transaction(desk.connection):
        desk.store.add_pending([entry])
    # Killed between the file and the row: the file is there, the row still says pending.
    desk.workspace.staging.mkdir()
    desk.file(entry).write_text(entry.to_json(), encoding="utf-8")
    report = desk.store.sweep()
    assert (report.flushed, report.quarantined, desk.state(entry)) == (1, {}, "staged")


def test_half_a_surrogate_pair_in_a_captured_text_does_not_stop_capture(desk: Desk) -> None:
    desk.capture(make_entry(1, body="cut \ud83d here"))
    assert desk.store.staged()[0].entry.body == "cut ? here"


def test_consuming_records_what_became_of_it_and_then_the_file_goes(desk: Desk) -> None:
    entry = make_entry(1)
    desk.capture(entry)
    desk.consume("R1", applied(entry))
    assert desk.names() == [f"{entry.id}.json"], "the file goes after the transaction, not in it"
    desk.store.delete_files([entry.id])
    assert desk.names() == []
    row = desk.connection.execute("SELECT * FROM entries").fetchone()
    assert (row["state"], row["run_id"], row["disposition"], row["record"], row["reason"], row["consumed_at"]) == (
        "consumed", "R1", "applied", "memory/decisions/port.md", None, format_time(desk.now),
    )  # fmt: skip


def test_a_redone_publication_consumes_nothing_twice(desk: Desk) -> None:
    entry = make_entry(1)
    desk.capture(entry)
    for _ in range(2):
        desk.consume("R1", applied(entry))
        desk.store.delete_files([entry.id])
    assert desk.state(entry) == "consumed"


def test_two_runs_never_both_consume_one_entry(desk: Desk) -> None:
    entry, other = make_entry(1), make_entry(2)
    desk.capture(entry, other)
    desk.consume("R1", applied(entry))
    with pytest.raises(CorruptData, match="another run consumed it"):
        desk.consume("R2", applied(other), applied(entry))
    assert desk.state(other) == "staged", "the second run's transaction was rolled back as a whole"


def test_an_unknown_id_is_not_consumed(desk: Desk) -> None:
    with pytest.raises(CorruptData, match="is not in the database"):
        desk.consume("R1", applied(make_entry(1)))


@pytest.mark.parametrize("hostile", ["../../memory/summary", "..", "", "x" * 5000])
def test_a_journal_that_names_a_path_for_an_id_deletes_nothing(desk: Desk, hostile: str) -> None:
    with pytest.raises(CorruptData, match="is not an entry ID"):
        desk.store.delete_files([hostile])


def test_a_publication_that_is_taken_back_frees_exactly_its_entries(desk: Desk) -> None:
    first, second, third = (make_entry(n) for n in (1, 2, 3))
    desk.capture(first, second, third)
    desk.consume("R1", applied(first), discarded(second))
    desk.consume("R2", applied(third))
    desk.store.delete_files([first.id, second.id, third.id])
    with transaction(desk.connection):
        assert desk.store.release("R1") == 2
    desk.store.sweep()
    assert desk.names() == [f"{first.id}.json", f"{second.id}.json"]
    assert [staged.entry for staged in desk.store.staged()] == [first, second]


def test_requeue_stages_only_what_that_run_discarded(desk: Desk) -> None:
    kept, thrown, other = (make_entry(n) for n in (1, 2, 3))
    desk.capture(kept, thrown, other)
    desk.consume("R1", applied(kept), discarded(thrown))
    desk.consume("R2", discarded(other))
    desk.store.delete_files([kept.id, thrown.id, other.id])
    assert desk.store.requeue("R1") == [thrown.id]
    assert desk.names() == [f"{thrown.id}.json"]
    assert [staged.entry for staged in desk.store.staged()] == [thrown]
    assert desk.store.requeue("R1") == [], "a second time there is nothing left to stage"
    assert desk.store.requeue("no such run") == []


def test_an_entry_that_failed_alone_three_times_goes_to_quarantine(desk: Desk) -> None:
    bad, good = make_entry(1), make_entry(2)
    desk.capture(bad, good)
    for _ in range(5):
        assert desk.store.count_failure([bad.id, good.id]) == [], "a batch proves nothing against one entry"
    assert desk.store.count_failure([bad.id]) == []
    assert desk.store.count_failure([bad.id]) == []
    assert [(s.attempts, s.lone_failures) for s in desk.store.staged()] == [(7, 2), (5, 0)]
    assert desk.store.count_failure([bad.id]) == [bad.id]
    assert [staged.entry for staged in desk.store.staged()] == [good]
    assert desk.names() == [f"{good.id}.json"]
    assert desk.quarantine() == [f"{bad.id}.json", f"{bad.id}.json.reason"]
    assert "3 runs failed on it alone" in (desk.workspace.quarantine / f"{bad.id}.json.reason").read_text()


def test_a_quarantined_entry_is_kept_even_if_its_file_is_gone(desk: Desk) -> None:
    entry = make_entry(1)
    desk.capture(entry)
    desk.file(entry).unlink()
    for _ in range(3):
        desk.store.count_failure([entry.id])
    assert (desk.workspace.quarantine / f"{entry.id}.json").read_text(encoding="utf-8") == entry.to_json()


def test_totals_say_what_waits(desk: Desk) -> None:
    assert desk.store.totals().oldest_at is None
    first, second, third = make_entry(1), make_entry(2, body="日本語"), make_entry(3)
    desk.capture(first)
    early = format_time(desk.now)
    desk.now += timedelta(hours=5)
    desk.capture(second)
    with transaction(desk.connection):
        desk.store.add_pending([third])
    (desk.workspace.staging / "notes.txt").write_text("hello")
    (desk.workspace.staging / f"{make_entry(9).id}.json").write_text("{}")
    totals = desk.store.totals()
    size = desk.file(first).stat().st_size + desk.file(second).stat().st_size
    assert (totals.entries, totals.bytes, totals.pending, totals.oldest_at) == (2, size, 1, early)
    assert (totals.invalid, totals.quarantined) == (2, 0)
    desk.store.sweep()
    totals = desk.store.totals()
    assert (totals.entries, totals.invalid, totals.quarantined) == (3, 0, 2)


def test_totals_are_answered_from_the_index(desk: Desk) -> None:
    statement = queries("staging")["totals"]
    plan = desk.connection.execute(f"EXPLAIN QUERY PLAN {statement}", {"state": "staged"}).fetchall()
    assert any("COVERING INDEX entries_by_state" in row["detail"] for row in plan)


def waiting(size: int, number: int = 1) -> StagedEntry:
    return StagedEntry(entry=make_entry(number), bytes=size, attempts=0, lone_failures=0, added_at="")


@pytest.mark.parametrize(
    ("sizes", "override", "taken"),
    [
        ([], None, 0),
        ([10, 10, 10], None, 3),
        ([10, 10, 10, 10], None, 3),  # the budget of entries
        ([60, 60], None, 1),  # the budget of bytes
        ([60, 40, 1], None, 2),
        ([5000, 1], None, 1),  # one entry always fits
        ([60, 60, 1], None, 1),  # the oldest first: a small one behind does not overtake
        ([10, 10, 10], 1, 1),
        ([10, 10, 10], 0, 1),
        ([10, 10, 10, 10], 99, 3),  # an override never raises the budget
    ],
)
def test_a_run_takes_the_oldest_entries_that_fit(sizes: list[int], override: int | None, taken: int) -> None:
    limits = {"HIKIDASHI_WORKER_BATCH_ENTRIES": "3", "HIKIDASHI_WORKER_BATCH_BYTES": "1000"}
    settings = load_settings(None, environ=limits)
    staged = [waiting(10 * size, number) for number, size in enumerate(sizes)]
    assert next_batch(staged, settings, override) == staged[:taken]


@pytest.mark.parametrize(
    ("entries", "size", "age_hours", "said"),
    [
        (0, 0, None, None),
        (19, 199_999, 23.9, None),
        (20, 1, 0.0, "20 entries wait (staging.max_files is 20)"),
        (1, 200_000, 0.0, "200000 bytes of entries wait (staging.max_bytes is 200000)"),
        (1, 1, 24.0, "an entry has waited 24 hours (staging.max_age_hours is 24)"),
        (1, 1, -9000.0, None),  # the clock was set back
    ],
)
def test_a_run_starts_by_itself_once_enough_waits(
    entries: int, size: int, age_hours: float | None, said: str | None
) -> None:
    settings = load_settings(None, environ={})
    oldest = None if age_hours is None else format_time(MORNING - timedelta(hours=age_hours))
    totals = StagingTotals(entries=entries, bytes=size, pending=0, invalid=0, quarantined=0, oldest_at=oldest)
    assert over_threshold(totals, settings, MORNING) == said


def test_a_writer_that_comes_late_does_not_bring_a_consumed_file_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = make_entry(1)
    desk.capture(entry)
    desk.consume("R1", applied(entry))
    desk.store.delete_files([entry.id])
    monkeypatch.setattr(desk.store, "_ids", lambda state: [entry.id])  # it listed them before all this
    assert desk.store.flush_pending() == 0
    assert desk.names() == [] and desk.state(entry) == "consumed"
