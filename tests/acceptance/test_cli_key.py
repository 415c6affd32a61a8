"""At a terminal: a key that lies in the environment is used only after a person's yes, and that yes is no accident."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.settings import user_file
from hikidashi.testing import FakeMessages, say, turn
from tests.acceptance.terminal import Terminal
from tests.support.command import hikidashi, put_demo_sessions
from tests.support.readers import KEY, age_sessions, answer_about, use_model

#: Nothing is sent in these tests, and whoever tried would meet the suite's own guard.
HAS_KEY = {"ANTHROPIC_API_KEY": KEY, "HIKIDASHI_MEMORY_LOCAL_ONLY": "0"}


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    put_demo_sessions(home, folder)
    age_sessions(home)
    return folder


def test_the_question_names_price_and_cap_and_bare_enter_is_no(project: Path) -> None:
    terminal = Terminal(["init"], project, columns=200, environment=HAS_KEY)
    terminal.wait_for("Use this key? [y/N]")
    assert "ANTHROPIC_API_KEY is set here. Hikidashi uses it only if you say so." in terminal.text
    assert "What it would read now: 4 sessions, about " in terminal.text
    assert "less than $0.01" in terminal.text
    assert "stopped at $1.00 in 24 hours (memory.day_usd)" in " ".join(terminal.text.split())
    terminal.type("\n")
    terminal.wait_for("Extract them now? [Y/n]")
    terminal.type("n\n")
    assert terminal.close() == 0
    assert not user_file().exists()
    assert KEY not in terminal.text


def test_a_yes_is_one_line_of_the_person_s_own_file(project: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("# mine\n[staging]\nmax_files = 7\n")
    terminal = Terminal(["init"], project, columns=200, environment=HAS_KEY)
    terminal.wait_for("Use this key? [y/N]")
    terminal.type("y\n")
    terminal.wait_for("Take it out to stop.")
    terminal.wait_for("Have claude-haiku-5-5 read them? [y/N]")
    terminal.type("n\n")
    terminal.wait_for("Extract them now by the rules alone? [Y/n]")
    terminal.type("n\n")
    assert terminal.close() == 0
    assert user_file().read_text() == (
        '# mine\n[staging]\nmax_files = 7\n\n[memory]\napi_key_variable = "ANTHROPIC_API_KEY"\n'
    )
    assert user_file().stat().st_mode & 0o777 == 0o600
    assert KEY not in terminal.text


def test_nobody_is_asked_twice_or_under_an_agent_or_where_rules_were_chosen(project: Path) -> None:
    for settings, environment in (
        ('[memory]\nengine = "rules"\n', HAS_KEY),
        ('[memory]\nbase_url = "http://127.0.0.1:9"\n', HAS_KEY),
        ("", {**HAS_KEY, "CLAUDECODE": "1"}),
        ("", {}),
    ):
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text(settings)
        terminal = Terminal(["init"], project, columns=200, environment=environment)
        terminal.wait_for("?")
        terminal.type("n\n" * 2)
        assert terminal.close() == 0
        assert "Use this key?" not in terminal.text
        assert user_file().read_text() == settings


def test_extract_asks_before_it_spends_and_shows_how_far_it_is(project: Path) -> None:
    with FakeMessages(lambda body: answer_about(body, "Use pnpm instead of npm.")) as fake:
        use_model(fake)
        hikidashi("init", cwd=project)
        terminal = Terminal(["extract"], project, columns=160)
        terminal.wait_for("Have claude-haiku-5-5 read them? [y/N]")
        assert fake.calls == []
        terminal.type("y\n")
        terminal.wait_for("read 4 sessions in")
        assert terminal.close() == 0
        assert "claude-haiku-5-5 reads" in terminal.text
        assert fake.requests


def test_ctrl_c_in_the_middle_of_an_answer_keeps_what_was_read(project: Path) -> None:
    """The next extraction goes on there, without another yes."""
    stalled = turn(say("nothing yet"), wait=30)

    def model(body: dict[str, Any]) -> Any:
        return stalled if "search page" in str(body["messages"]) else answer_about(body, "Use pnpm instead of npm.")

    with FakeMessages(model) as fake:
        use_model(fake)
        hikidashi("init", cwd=project)
        terminal = Terminal(["extract", "--yes"], project, columns=160)
        deadline = time.monotonic() + 30
        while not any("search page" in str(call.body) for call in fake.requests):
            assert time.monotonic() < deadline, terminal.text
            time.sleep(0.02)
        terminal.type("\x03")
        assert terminal.close(pressing="\x03") == 130
        assert "stopped; run the same command again to go on" in terminal.text
        assert "running" in hikidashi("show", "extraction", cwd=project).out
        assert len(fake.requests) >= 2
    with FakeMessages(lambda body: answer_about(body, "Use pnpm instead of npm.")) as again:
        use_model(again)
        ran = hikidashi("extract", cwd=project)
        assert (ran.code, again.requests != []) == (0, True)
        assert len(again.requests) < 4, "what was answered is not asked again"
