"""A turn moves what it asked for, notes what it was given, and waits for nobody."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from hikidashi.drawer.fact import Scope, fact_subject
from hikidashi.drawer.store import Drawer
from hikidashi.errors import HikidashiError
from hikidashi.recall.seen import WAIT_MS, note_turn
from hikidashi.times import format_time
from hikidashi.usage.events import uses_of
from tests.support.drawers import NOW, Filled, fact, filled, in_global

LATER = NOW + timedelta(days=3)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Filled]:
    with filled(
        tmp_path,
        fact("cache:redis", "Redis 7 on the host pelican"),
        fact("rule:cache", "Never flush the cache", type="rule"),
        in_global(fact("editor:indent", "four blanks")),
    ) as drawers:
        yield drawers


def databases(folder: Path) -> dict[Scope, Path]:
    return {"workspace": folder / "workspace.sqlite", "global": folder / "global.sqlite"}


def last_seen(here: Filled, scope: Scope, key: str) -> str:
    row = here.connections[scope].execute("SELECT last_seen FROM facts WHERE key = ?", (key,)).fetchone()
    return str(row[0])


def test_what_the_prompt_names_was_asked_for_and_what_is_given_is_an_exposure(here: Filled, tmp_path: Path) -> None:
    found = here.recall("which cache, and what indent?")
    assert note_turn(found, databases(tmp_path), session_id="s1", via="hook", at=LATER) == []
    noted: list[tuple[Scope, str]] = [
        ("workspace", "cache:redis"),
        ("workspace", "rule:cache"),
        ("global", "editor:indent"),
    ]
    for scope, key in noted:
        assert last_seen(here, scope, key) == format_time(LATER), key
        (use,) = uses_of(here.connections[scope], fact_subject(scope, key))
        assert (use["kind"], use["via"], use["session_id"], use["uses"]) == ("exposure", "hook", "s1", 1)


def test_being_named_makes_no_stale_fact_active_and_moves_nothing_else(here: Filled, tmp_path: Path) -> None:
    here.change("cache:redis", status="stale")
    connection = here.connections["workspace"]
    before = dict(connection.execute("SELECT * FROM facts WHERE key = 'cache:redis'").fetchone())
    note_turn(here.recall("which cache?"), databases(tmp_path), session_id="s1", via="hook", at=LATER)
    after = dict(connection.execute("SELECT * FROM facts WHERE key = 'cache:redis'").fetchone())
    assert after == before | {"last_seen": format_time(LATER)}
    note_turn(here.recall("which cache?"), databases(tmp_path), session_id="s1", via="hook", at=NOW)
    assert last_seen(here, "workspace", "cache:redis") == format_time(LATER), "a clock that was set back"


def test_a_fact_that_was_forgotten_during_the_turn_leaves_no_trace(here: Filled, tmp_path: Path) -> None:
    found = here.recall("which cache, and what indent?")
    Drawer(here.connections["workspace"], "workspace").forget("cache:redis")
    note_turn(found, databases(tmp_path), session_id="s1", via="hook", at=LATER)
    subjects = here.connections["workspace"].execute("SELECT subject FROM usage_events").fetchall()
    assert [row["subject"] for row in subjects] == ["fact:workspace:rule:cache"]


def test_what_came_by_words_was_only_shown(here: Filled, tmp_path: Path) -> None:
    found = here.recall("where is pelican?")
    assert [match.fact.key for match in found.facts] == ["cache:redis"]
    note_turn(found, databases(tmp_path), session_id="s1", via="hook", at=LATER)
    assert last_seen(here, "workspace", "cache:redis") == format_time(NOW)
    assert len(uses_of(here.connections["workspace"], fact_subject("workspace", "cache:redis"))) == 1


def test_a_clock_that_was_set_back_moves_nothing(here: Filled, tmp_path: Path) -> None:
    note_turn(here.recall("cache?"), databases(tmp_path), session_id="", via="hook", at=NOW - timedelta(days=400))
    assert last_seen(here, "workspace", "cache:redis") == format_time(NOW)


def test_another_writer_is_waited_for_shortly_and_said(here: Filled, tmp_path: Path) -> None:
    found = here.recall("which cache, and what indent?")
    with closing(sqlite3.connect(tmp_path / "workspace.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        busy = note_turn(found, databases(tmp_path), session_id="s1", via="hook", at=LATER)
        assert time.monotonic() - start < WAIT_MS / 1000 + 2  # the machine may be busy, but nobody waits 30 s
        other.execute("ROLLBACK")
    assert busy == ["workspace"]
    assert last_seen(here, "workspace", "cache:redis") == format_time(NOW)
    assert last_seen(here, "global", "editor:indent") == format_time(LATER)


def test_nothing_found_opens_nothing_and_makes_nothing(here: Filled, tmp_path: Path) -> None:
    nowhere: dict[Scope, Path] = {"workspace": tmp_path / "gone.sqlite"}
    assert note_turn(here.recall("write a poem"), nowhere, session_id="", via="hook", at=LATER) == []
    with pytest.raises(HikidashiError, match=r"gone\.sqlite"):
        note_turn(here.recall("cache?"), nowhere, session_id="", via="hook", at=LATER)
    assert not nowhere["workspace"].exists()
