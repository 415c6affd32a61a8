"""Who runs a command: a person, or an agent. By what hosts set for their commands, and by the processes above."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from hikidashi.config.settings import Settings, load_settings, user_file
from hikidashi.drawer import person
from hikidashi.drawer.person import (
    MARKERS,
    NO_MARKERS,
    PROGRAMS,
    Ancestor,
    Left,
    Marker,
    find_agent,
    require_person,
    system_ancestors,
)
from hikidashi.errors import BadSettings, GateClosed


def _above(*ancestors: Ancestor) -> Callable[[], tuple[Ancestor, ...]]:
    return lambda: ancestors


NOBODY = _above(Ancestor("bash", ("-bash",)), Ancestor("tmux: server", ("tmux",)), Ancestor("systemd", ("/sbin/init",)))


@pytest.mark.parametrize("marker", MARKERS, ids=lambda marker: marker.variable)
def test_a_marker_is_a_host(marker: Marker) -> None:
    found = find_agent({marker.variable: marker.value or "1"}, NOBODY)
    assert found is not None
    assert (found.host, found.sign) == (marker.host, f"{marker.variable} is set")
    assert find_agent({marker.variable: ""}, NOBODY) is None, "tmux hands a variable on as empty to take it away"
    if marker.value:
        assert find_agent({marker.variable: "something-else"}, NOBODY) is None


def test_what_stands_in_a_person_s_own_terminal_is_no_marker() -> None:
    assert find_agent(dict.fromkeys(NO_MARKERS, "1"), NOBODY) is None
    assert not set(NO_MARKERS) & {marker.variable for marker in MARKERS}


AGENTS = [
    ("native", Ancestor("claude", ("claude", "--continue")), "Claude Code"),
    ("name of a version", Ancestor("2.1.197", ("/home/mika/.local/share/claude/versions/2.1.197",)), "Claude Code"),
    ("node runs it", Ancestor("node", ("node", "/usr/local/bin/gemini")), "Gemini CLI"),
    ("with options", Ancestor("node", ("/opt/node/bin/node", "--no-warnings", "/usr/lib/bin/gemini.js")), "Gemini CLI"),
    ("a package", Ancestor("node", ("node", "/n/node_modules/@openai/codex/bin/start.js")), "Codex"),
    ("renamed thread", Ancestor("MainThread", ("node", "/usr/bin/codex")), "Codex"),
    ("a script of the shell", Ancestor("sh", ("/bin/sh", "/home/mika/bin/claude")), "Claude Code"),
    ("python", Ancestor("aider", ("/home/mika/.venv/bin/python3.12", "/home/mika/.venv/bin/aider")), "Aider"),
    ("a module", Ancestor("python3", ("python3", "-m", "aider")), "Aider"),
    ("windows", Ancestor("claude.exe", (r"C:\Users\Mika\.local\bin\claude.exe",)), "Claude Code"),
    ("hidden arguments", Ancestor("opencode"), "OpenCode"),
    ("cursor's agent", Ancestor("node", ("node", "/h/.local/share/cursor-agent/versions/7/index.js")), "Cursor"),
]

PEOPLE = [
    ("a shell", Ancestor("zsh", ("-zsh",))),
    ("an editor with a terminal", Ancestor("cursor", ("/opt/Cursor/cursor", "/home/mika/shop"))),
    ("a desktop program", Ancestor("Claude", ("/Applications/Claude.app/Contents/MacOS/Claude",))),
    ("a file's name only", Ancestor("vim", ("vim", "claude"))),
    ("a word of a command", Ancestor("bash", ("bash", "-c", "cat /notes/claude"))),
    ("a login shell's command", Ancestor("bash", ("bash", "-lc", "ls /usr/bin/codex"))),
    ("a server that node runs", Ancestor("node", ("node", "server.js"))),
    ("text that node runs", Ancestor("node", ("node", "-e", "codex"))),
    ("a folder of that name", Ancestor("node", ("node", "/home/mika/claude/server.js"))),
    ("nothing to see", Ancestor("", ())),
]


@pytest.mark.parametrize(("ancestor", "host"), [case[1:] for case in AGENTS], ids=[case[0] for case in AGENTS])
def test_a_host_among_the_ancestors(ancestor: Ancestor, host: str) -> None:
    found = find_agent({}, _above(Ancestor("bash", ("bash", "-c", "hikidashi approve 7K2QF")), ancestor))
    assert found is not None
    assert found.host == host


@pytest.mark.parametrize("ancestor", [case[1] for case in PEOPLE], ids=[case[0] for case in PEOPLE])
def test_other_ancestors(ancestor: Ancestor) -> None:
    assert find_agent({}, _above(ancestor)) is None


def test_every_host_s_program_is_known_by_its_name() -> None:
    for name, host in PROGRAMS.items():
        found = find_agent({}, _above(Ancestor(name, (name,))))
        assert found is not None
        assert found.host == host


def test_the_real_look_up_sees_the_parent() -> None:
    found = list(system_ancestors())
    assert found, "a test has a parent"
    assert found[0].name == psutil.Process(os.getppid()).name()
    assert len(found) <= 32


@pytest.fixture
def settings() -> Settings:
    return load_settings(None, environ={})


def test_a_person_passes_and_nothing_is_left(settings: Settings) -> None:
    require_person(settings, " ".join, ["approve", "7K2QF"], leave=_not_called, environ={}, ancestors=NOBODY)


def _not_called() -> Left:
    raise AssertionError("nothing is left for a person who passes")


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (Left(""), ": run `hk write port 3000` in a terminal of your own"),
        (Left("two go on waiting"), "; two go on waiting: run `hk write port 3000` in a terminal of your own"),
        (Left("7K2QF waits", ("approve", "7K2QF")), "; 7K2QF waits: run `hk approve 7K2QF` in a terminal of your own"),
    ],
)
def test_an_agent_is_refused_with_the_command_and_what_waits(settings: Settings, left: Left, said: str) -> None:
    with pytest.raises(GateClosed) as caught:
        require_person(
            settings,
            lambda words: f"hk {' '.join(words)}",
            ["write", "port", "3000"],
            leave=lambda: left,
            environ={"CLAUDECODE": "1"},
            ancestors=NOBODY,
        )
    assert str(caught.value) == f"this is for a person to do, and Claude Code runs it (CLAUDECODE is set){said}"
    assert caught.value.exit_code == 14


def test_the_user_s_own_file_opens_the_gate(home: Path) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text("[gate]\nallow_agent = true\n")
    settings = load_settings(None, environ={})
    require_person(settings, " ".join, ["trust"], leave=_not_called, environ={"CLAUDECODE": "1"}, ancestors=NOBODY)


def test_an_agent_s_environment_does_not_open_it() -> None:
    with pytest.raises(BadSettings, match=r"only .* may set gate\.allow_agent"):
        load_settings(None, environ={"HIKIDASHI_GATE_ALLOW_AGENT": "true"})


def test_defaults_are_this_process_s_own(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(person, "system_ancestors", NOBODY)
    assert find_agent() is None
    monkeypatch.setenv("GEMINI_CLI", "1")
    found = find_agent()
    assert found is not None
    assert dataclasses.asdict(found) == {"host": "Gemini CLI", "sign": "GEMINI_CLI is set"}
