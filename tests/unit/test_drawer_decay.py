"""What nobody asks for becomes stale, then retired; a clock that jumps takes nothing away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.db.connection import connect, queries
from hikidashi.db.migrations import migrate
from hikidashi.drawer import decay
from hikidashi.drawer.decay import Decayed, Passes, apply_decay, decay_if_due, next_status, passes_of, unseen
from hikidashi.drawer.fact import Draft, FactStatus, FactType
from hikidashi.drawer.seen import note_read
from hikidashi.drawer.store import Drawer
from hikidashi.times import format_time

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(tmp_path / "workspace.sqlite")
    migrate(connection)
    yield connection
    connection.close()


def day(number: float) -> datetime:
    return START + number * DAY


def write(connection: sqlite3.Connection, key: str, type: FactType = "decision", on: float = 0) -> None:
    drawer = Drawer(connection, "workspace", lambda: day(on))
    drawer.write(Draft(key=key, type=type, body="b", confidence=1, trust="user", origin="command"))


def look(connection: sqlite3.Connection, number: float) -> Decayed:
    """What a command does on that day."""
    return decay_if_due(connection, "workspace", day(number), stale_days=90, retired_days=180)


def status(connection: sqlite3.Connection, key: str = "k") -> FactStatus:
    fact = Drawer(connection, "workspace").find(key)
    assert fact is not None
    return fact.status


@pytest.mark.parametrize(
    ("type", "was", "days", "becomes"),
    [
        ("decision", "active", 89.99, "active"),
        ("decision", "active", 90, "stale"),
        ("decision", "active", 180, "stale"),  # one step a pass
        ("decision", "active", 4000, "stale"),
        ("decision", "stale", 0, "stale"),  # being named revives nothing
        ("decision", "stale", 179.99, "stale"),
        ("decision", "stale", 180, "retired"),
        ("decision", "retired", 0, "retired"),
        ("fact", "active", 89, "active"),
        ("fact", "active", 90, "stale"),
        ("fact", "stale", 179, "stale"),
        ("fact", "stale", 180, "retired"),
        ("capability", "active", 4000, "active"),
        ("capability", "stale", 4000, "stale"),
        ("rule", "active", 4000, "active"),
        ("procedure", "active", 4000, "active"),
    ],
)
def test_one_pass(type: FactType, was: FactStatus, days: float, becomes: FactStatus) -> None:
    assert next_status(type, was, days * DAY, stale_days=90, retired_days=180) == becomes


def test_day_by_day_from_active_to_retired(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    write(connection, "kept", "capability")
    found = {}
    for number in range(1, 200):
        look(connection, number)
        found[number] = status(connection)
    assert {number: found[number] for number in (1, 89, 90, 179, 180, 199)} == {
        1: "active", 89: "active", 90: "stale", 179: "stale", 180: "retired", 199: "retired",
    }  # fmt: skip
    assert status(connection, "kept") == "active"
    row = connection.execute("SELECT decayed_at FROM facts WHERE key = 'k'").fetchone()
    assert row["decayed_at"] == format_time(day(180))


def test_a_pass_moves_one_step_and_comes_once_a_day(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    for number in range(20, 181, 20):
        if number < 180:
            look(connection, number)
    connection.execute("UPDATE facts SET status = 'active'")
    assert look(connection, 185) == Decayed(stale=1)
    assert look(connection, 185.9) == Decayed(), "the day is not over"
    assert look(connection, 186) == Decayed(retired=1)


def test_of_two_processes_that_find_a_pass_due_one_makes_it(
    connection: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(connection, "k")
    for number in range(20, 180, 20):
        apply_decay(connection, "workspace", day(number), stale_days=500, retired_days=501)
    other = connect(tmp_path / "workspace.sqlite")
    real, calls = decay.passes_of, []

    def faster(asked: sqlite3.Connection) -> Passes:
        calls.append(asked)
        found = real(asked)
        if len(calls) == 1:  # between its look and its transaction
            assert look(other, 185) == Decayed(stale=1)
        return found

    monkeypatch.setattr(decay, "passes_of", faster)
    assert look(connection, 185) == Decayed()
    assert status(connection) == "stale"
    other.close()


def test_being_read_or_named_starts_the_days_again(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    write(connection, "n")
    for number in range(1, 120):
        look(connection, number)
    assert (status(connection, "k"), status(connection, "n")) == ("stale", "stale")
    fact = Drawer(connection, "workspace").find("k")
    named = Drawer(connection, "workspace").find("n")
    assert fact is not None and named is not None
    note_read(connection, fact, format_time(day(119.5)))
    values = {"ids": f"[{named.id}]", "at": format_time(day(119.5))}
    connection.execute(queries("recall")["move_seen"], values)  # a prompt named it (`recall.seen`)
    found = {}
    for number in range(120, 320):
        look(connection, number)
        found[number] = status(connection, "k"), status(connection, "n")
    assert found[120] == ("active", "stale"), "only an explicit read revives"
    assert (found[209], found[210]) == (("active", "stale"), ("stale", "stale"))
    assert (found[299], found[300]) == (("stale", "stale"), ("retired", "retired"))


def test_a_forward_jump_counts_thirty_days(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    for number in range(1, 51):
        look(connection, number)
    for jump in range(5):  # ten years each time: 50 days before, 30 for each, and a day between
        look(connection, 50 + (jump + 1) * 3650)
        expected = "active" if 50 + (jump + 1) * 30 < 90 else "stale" if jump < 4 else "retired"
        assert status(connection) == expected, jump


def test_an_absence_of_three_months_makes_nothing_stale(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    assert look(connection, 100) == Decayed()
    assert look(connection, 159.9) == Decayed()  # 30 + 30 days counted
    assert look(connection, 189.9) == Decayed(stale=1)


def test_a_backward_jump_counts_nothing_and_takes_back_the_jump_before_it(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    for number in range(1, 70):
        look(connection, number)
    look(connection, 5000)  # 69 and 30 days: stale
    assert status(connection) == "stale"
    look(connection, 70)
    assert passes_of(connection) == Passes(last=day(70))
    for number in range(71, 180):
        look(connection, number)
        assert status(connection) == "stale"
    assert look(connection, 180) == Decayed(retired=1)


def test_a_clock_at_its_factory_setting_moves_nothing(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    for number in range(1, 81):
        look(connection, number)
    look(connection, -20_000)
    assert status(connection) == "active"
    look(connection, 81)  # 55 years since that pass, but 30 days at most since the fact was seen
    assert status(connection) == "active"
    assert unseen(START, day(81), passes_of(connection).gaps) == 30 * DAY


def test_seen_while_the_clock_was_ahead(connection: sqlite3.Connection) -> None:
    write(connection, "k", on=1000)
    look(connection, 5)
    assert status(connection) == "active"
    assert unseen(day(1000), day(5)) == timedelta()


def test_gaps_that_matter_to_nobody_are_not_kept(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    for number in range(0, 4000, 40):
        look(connection, number)
        fact = Drawer(connection, "workspace").find("k")
        assert fact is not None
        note_read(connection, fact, format_time(day(number)))
    assert len(passes_of(connection).gaps) <= 2


@pytest.mark.parametrize("value", ["", "[]", "{}", '{"last": 3, "gaps": []}', '{"last": "2026", "gaps": [1]}'])
def test_a_damaged_note_of_the_last_pass_counts_as_none(connection: sqlite3.Connection, value: str) -> None:
    write(connection, "k")
    connection.execute("UPDATE meta SET value = ? WHERE key = 'decay_pass'", (value,))
    assert passes_of(connection) == Passes()
    look(connection, 1)
    assert passes_of(connection).last == day(1)


def test_settings_decide_the_days(connection: sqlite3.Connection) -> None:
    write(connection, "k")
    assert apply_decay(connection, "workspace", day(7), stale_days=7, retired_days=14) == Decayed(stale=1)
    assert apply_decay(connection, "workspace", day(13.9), stale_days=7, retired_days=14) == Decayed()
    assert apply_decay(connection, "workspace", day(14), stale_days=7, retired_days=14) == Decayed(retired=1)


@given(st.lists(st.floats(-400, 4000), min_size=1, max_size=30))
def test_whatever_the_clock_does_no_more_counts_than_thirty_days_a_pass(days: list[float]) -> None:
    passes = Passes(last=START)
    for number in days:
        before = unseen(START, passes.last or START, passes.gaps)
        passes = passes.at(day(number))
        after = unseen(START, day(number), passes.gaps)
        assert timedelta() <= after <= before + 30 * DAY
    assert all(end <= start for (_, end), (start, _) in pairwise(passes.gaps))
