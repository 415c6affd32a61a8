"""Refused keys and accounts stop until the settings change; the others back off; arrivals reset nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.folders import data_folder
from hikidashi.errors import ModelFailure
from hikidashi.model.messages import Usage
from hikidashi.model.standing import Standing, standings
from hikidashi.model.users_database import existing_users_database
from tests.support.ledgers import START, Books, books, make_settings

KEY = "mk-harbour-0123456789-never-shown"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Books]:
    with books(tmp_path / "shop", memory__api_key=KEY) as found:
        yield found


def fail(desk: Books, kind: str, *, model: str = "m", until: datetime | None = None, message: str = "no") -> None:
    """A request whose policy gave up."""
    meter = desk.meter()
    meter.close(meter.open("ping", model, 1, 1), Usage(), kind, 0.1)  # type: ignore[arg-type]
    meter.gave_up(ModelFailure(message, kind=kind), until=until)


def found(desk: Books) -> list[Standing]:
    with existing_users_database() as users:
        assert users is not None
        return standings(users, desk.settings, desk.at, environ=desk.environ)


def may_ask(desk: Books, model: str = "m") -> bool:
    """Whether a new process may ask; its reservation is closed at once, as a failure that is nobody's fault."""
    meter = desk.meter()
    try:
        ticket = meter.open("extraction", model, 1, 1)
    except ModelFailure:
        return False
    meter.close(ticket, Usage(), "content", 0.1)
    return True


@pytest.mark.parametrize("kind", ["auth", "billing"])
def test_a_refused_key_stops_for_good(desk: Books, kind: str) -> None:
    fail(desk, kind)
    for _ in range(3):
        assert not may_ask(desk)
        desk.later(days=20)


CHANGES: list[dict[str, Any]] = [
    {"memory__api_key": "another"},
    {"memory__api_key": KEY, "memory__base_url": "http://127.0.0.1:1"},
]


@pytest.mark.parametrize("kind", ["auth", "billing", "overloaded", "network"])
@pytest.mark.parametrize("change", CHANGES, ids=["key", "server"])
def test_changed_settings_are_not_blocked_and_the_old_ones_still_are(
    desk: Books, kind: str, change: dict[str, Any]
) -> None:
    before = desk.settings
    fail(desk, kind)
    desk.settings = make_settings(**change)
    assert may_ask(desk)
    desk.settings = before
    assert not may_ask(desk)


def test_another_model_is_not_blocked(desk: Books) -> None:
    fail(desk, "auth")
    assert may_ask(desk, "other")
    assert not may_ask(desk)


def test_other_settings_change_nothing(desk: Books) -> None:
    fail(desk, "auth")
    desk.settings = make_settings(memory__api_key=KEY, memory__attempts=9, worker__day_tokens=5_000)
    assert not may_ask(desk)


def test_a_key_in_the_named_variable_counts_as_the_key(desk: Books) -> None:
    folder = Path.home() / ".config" / "hikidashi"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[memory]\napi_key_variable = "MY_KEY"\n')
    desk.settings = make_settings()
    desk.environ = {"MY_KEY": "first"}
    fail(desk, "auth")
    assert not may_ask(desk)
    desk.environ = {"MY_KEY": "second"}
    assert may_ask(desk)


def test_another_workspace_finds_the_block(desk: Books, tmp_path: Path) -> None:
    fail(desk, "billing")
    with books(tmp_path / "garden", memory__api_key=KEY) as other:
        assert not may_ask(other)


def test_back_off_doubles_to_an_hour_and_a_success_ends_it(desk: Books) -> None:
    for minutes in (1, 2, 4, 8, 16, 32, 60, 60, 60):
        fail(desk, "overloaded")
        desk.later(minutes=minutes, seconds=-1)
        assert not may_ask(desk), minutes
        desk.later(seconds=1)
        assert may_ask(desk), minutes
    meter = desk.meter()
    meter.close(meter.open("extraction", "m", 1, 1), Usage(input_tokens=1), "ok", 0.1)
    fail(desk, "network")
    desk.later(minutes=1)
    assert may_ask(desk)


def test_a_failure_that_was_on_its_way_does_not_double(desk: Books) -> None:
    for _ in range(5):
        fail(desk, "overloaded")
        desk.later(seconds=5)
    assert [standing.failures for standing in found(desk)] == [1]
    desk.later(seconds=40)
    assert may_ask(desk)


def test_new_arrivals_and_restarts_reset_nothing(desk: Books) -> None:
    fail(desk, "network")
    for _ in range(50):
        assert not may_ask(desk)
    desk.processes.boot_id, desk.processes.pid = "boot-2", 7
    assert not may_ask(desk)
    assert [standing.failures for standing in found(desk)] == [1]


def test_a_server_may_ask_for_longer_but_not_for_years(desk: Books) -> None:
    fail(desk, "overloaded", until=START + timedelta(hours=5))
    desk.later(hours=4, minutes=59)
    assert not may_ask(desk)
    desk.later(minutes=1)
    assert may_ask(desk)
    fail(desk, "overloaded", until=START + timedelta(days=4_000))
    desk.later(days=6, hours=23)
    assert not may_ask(desk)
    desk.later(hours=1)
    assert may_ask(desk)


def test_a_server_that_asks_for_less_waits_as_the_others_do(desk: Books) -> None:
    fail(desk, "overloaded", until=START + timedelta(seconds=3))
    desk.later(seconds=59)
    assert not may_ask(desk)


@pytest.mark.parametrize("ahead", [1, 400])
def test_a_clock_that_was_ahead_stops_nobody(desk: Books, ahead: int) -> None:
    desk.later(days=ahead)
    fail(desk, "network")
    desk.later(days=-ahead)
    assert may_ask(desk)


def test_a_back_off_is_no_news_about_a_refused_key(desk: Books) -> None:
    fail(desk, "auth", message="the key was refused")
    fail(desk, "network")
    desk.later(days=2)
    assert not may_ask(desk)
    assert [standing.kind for standing in found(desk)] == ["auth"]


def test_a_refused_key_replaces_a_back_off(desk: Books) -> None:
    fail(desk, "network")
    fail(desk, "auth")
    assert [(standing.kind, standing.until, standing.failures) for standing in found(desk)] == [("auth", "", 1)]


def test_a_failure_of_content_stops_nothing(desk: Books) -> None:
    fail(desk, "content")
    assert may_ask(desk)


def test_what_stands_says_why_until_when_and_the_mend(desk: Books) -> None:
    fail(desk, "overloaded", model="a", message="the server has too much to do.")
    fail(desk, "auth", model="b", message="the server refused the key")
    fail(desk, "billing", model="c", message="no money: pay, then run `hikidashi ping`")
    assert [standing.line() for standing in found(desk)] == [
        "no request before 2026-03-01 12:01 UTC, `hikidashi ping` tries it now: the server has too much to do.",
        "no request since 2026-03-01 12:00 UTC, mend it and run `hikidashi ping`: the server refused the key",
        "no request since 2026-03-01 12:00 UTC: no money: pay, then run `hikidashi ping`",
    ]
    with pytest.raises(ModelFailure, match="b is not asked; no request since") as raised:
        desk.meter().open("extraction", "b", 1, 1)
    assert (raised.value.kind, raised.value.reason, raised.value.again) == ("auth", "standing", False)


def test_the_key_is_nowhere_in_what_is_kept(desk: Books) -> None:
    fail(desk, "auth", message=f"invalid key {KEY} for sk-ant-api03-{'x1' * 40}AA")
    assert KEY not in repr(found(desk))
    assert "sk-ant-api03-x1" not in repr(found(desk))
    desk.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    files = [
        *data_folder().rglob("*"),
        *Path(desk.connection.execute("PRAGMA database_list").fetchone()[2]).parent.iterdir(),
    ]
    assert any(file.name == "global.sqlite" for file in files)
    for file in files:
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


def test_the_same_settings_have_another_mark_for_another_user(desk: Books) -> None:
    def marks() -> list[str]:
        with existing_users_database() as users:
            assert users is not None
            return [row[0] for row in users.execute("SELECT fingerprint FROM model_standing")]

    fail(desk, "auth")
    first = marks()
    for file in data_folder().glob("global.sqlite*"):
        file.unlink()
    fail(desk, "auth")
    assert len(first) == len(marks()) == 1
    assert first != marks()
