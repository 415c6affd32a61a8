"""The MCP server inside the real Claude Code and the real Codex: called by the model, answered by the person."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hikidashi.testing import FakeMessages, call, say
from hikidashi.testing.turns import TurnLike
from tests.acceptance import fake_responses as responses
from tests.acceptance.test_real_claude_code import Scripted
from tests.acceptance.test_real_codex import configure, session

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(180)]

WRITE = {"key": "deploy:harbour", "type": "capability", "body": "`make deploy` puts the harbour onto the quay."}
ALLOWED = ("--permission-mode", "bypassPermissions")
ROOT = Path(__file__).parents[2]

#: Colours, movements and titles.
_MOVES = re.compile(r"\x1b(?:\[[0-9;?>=]*[a-zA-Z]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>78])")


def environment(home: Path, fake: FakeMessages) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR", "TERM")}
    return kept | {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": fake.url,
        "ANTHROPIC_API_KEY": "not-a-key",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }


def servers() -> dict[str, Any]:
    """The server as docs/mcp.md has a host told of it, from this checkout."""
    started = {"command": sys.executable, "args": ["-m", "hikidashi", "mcp"], "env": {"PYTHONPATH": str(ROOT)}}
    return {"mcpServers": {"hikidashi": {"type": "stdio"} | started}}


def results(model: Scripted) -> list[str]:
    """What the tools gave, as the model was told it."""
    found = []
    for message in model.requests[-1]["messages"]:
        content = message["content"]
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                inner = block["content"]
                found.append(inner if isinstance(inner, str) else "".join(part.get("text", "") for part in inner))
    return found


class Patient(Scripted):
    """A model that calls our tools one after the other, each again until the server is there: a busy machine is slower
    to start it than the host is with its first request."""

    def __init__(self, *calls: tuple[str, dict[str, Any]]) -> None:
        super().__init__([])
        self._calls = calls

    def __call__(self, body: dict[str, Any]) -> TurnLike:
        if super().__call__(body) == "ok":
            return "ok"
        given = results(self)
        if given and "No such tool" in given[-1]:
            return [call("Bash", {"command": "sleep 1", "description": "Wait"})]
        left = self._calls[len(self.given) :]
        return [call(f"mcp__hikidashi__{left[0][0]}", left[0][1])] if left else [say("I have noted it.")]

    @property
    def given(self) -> list[str]:
        """What our tools gave."""
        return [one for one in results(self) if one.startswith("{")]


@pytest.fixture
def project(tmp_path: Path, hikidashi: Callable[..., Any]) -> Path:
    folder = tmp_path / "a 'shop'"
    folder.mkdir()
    hikidashi("init", cwd=folder)
    hikidashi("write", "test:harbour", "`make test` takes a minute.", "--type", "capability", cwd=folder)
    return folder


def test_claude_code_calls_the_tools_where_nobody_can_be_asked(
    claude: str, home: Path, project: Path, hikidashi_json: Callable[..., Any]
) -> None:
    model = Patient(
        ("memory_read", {"key": "test:harbor"}),
        ("memory_read", {"query": "how long do the harbour's tests take"}),
        ("memory_write", WRITE),
        ("memory_search", {"query": "harbour"}),
    )
    with FakeMessages(model) as fake:
        done = subprocess.run(
            [claude, "-p", "remember it", *ALLOWED, "--mcp-config", json.dumps(servers())],
            cwd=project,
            env=environment(home, fake),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    near, read, written, searched = model.given
    assert "test:harbour" in near
    assert "takes a minute" in read
    assert '"waiting"' in written
    assert '"hits"' in searched
    (candidate,) = hikidashi_json("candidates", cwd=project)["candidates"]
    assert f"approve {candidate['id']}" in written
    assert [fact["key"] for fact in hikidashi_json("facts", cwd=project)["facts"]] == ["test:harbour"]
    offered = [tool for tool in model.requests[-1].get("tools") or [] if tool["name"].startswith("mcp__hikidashi__")]
    assert len(offered) == 4


class Interactive:
    """Claude Code in a terminal of its own, as a person uses it."""

    def __init__(self, claude: str, project: Path, environ: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        self.child = subprocess.Popen(
            [claude, "--allowedTools", "mcp__hikidashi__memory_write", "Bash(sleep 1)"],
            cwd=project,
            env=environ | {"TERM": "xterm-256color"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self._shown = b""

    def __enter__(self) -> Interactive:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self.child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait(10)
        os.close(self.master)

    def press(self, keys: str, then: str, *, seconds: float = 60) -> None:
        """Press keys, and wait until something is shown for it (blanks do not count: they are cursor movements)."""
        self._shown = b""
        os.write(self.master, keys.encode())
        self.wait(then, seconds=seconds)

    def wait(self, text: str, *, seconds: float = 60) -> None:
        """Wait until a text is shown."""
        end = time.monotonic() + seconds
        while "".join(text.split()) not in self.text:
            assert time.monotonic() < end, f"{text!r} did not come: {self.text[-1500:]}"
            if select.select([self.master], [], [], 0.5)[0]:
                self._shown += os.read(self.master, 65536)

    @property
    def text(self) -> str:
        """What was shown since the last key, without colours, movements and blanks."""
        return "".join(_MOVES.sub("", self._shown.decode("utf-8", "replace")).split())


#: The person's keys in the dialog, each with what is shown for it, and what becomes of the proposal.
RIGHT, DOWN = "\x1b[C", "\x1b[B"
KEYS = {
    "keep": ([(RIGHT, "reject"), ("\r", "keep"), ("\r", "I have noted it")], "written"),
    "decline": ([("\r", "Accept"), (DOWN, "Decline"), ("\r", "I have noted it")], "waiting"),
    "escape": ([("\x1b", "I have noted it")], "waiting"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
@pytest.mark.parametrize("decision", KEYS)
def test_the_person_decides_in_claude_codes_dialog(
    claude: str, home: Path, project: Path, hikidashi_json: Callable[..., Any], decision: str
) -> None:
    seen_before = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, **servers()}
    settings = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["not-a-key"], "rejected": []},
        "projects": {os.path.realpath(project): seen_before},
    }
    (home / ".claude.json").write_text(json.dumps(settings))
    model = Patient(("memory_write", WRITE))
    pressed, outcome = KEYS[decision]
    with FakeMessages(model) as fake, Interactive(claude, project, environment(home, fake)) as terminal:
        terminal.wait("? for shortcuts")
        terminal.press("remember the deploy", "remember the deploy")
        terminal.press("\r", "puts the harbour onto the quay")
        terminal.wait("Keep it?")
        for keys, shown in pressed:
            terminal.press(keys, shown)
    (written,) = model.given
    assert json.loads(written)["outcome"] == outcome
    facts = {fact["key"]: fact for fact in hikidashi_json("facts", cwd=project)["facts"]}
    assert ("deploy:harbour" in facts) is (outcome == "written")
    assert len(hikidashi_json("candidates", cwd=project)["candidates"]) == (outcome == "waiting")
    if outcome == "written":
        assert facts["deploy:harbour"]["trust"] == "user"


def named(body: dict[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    """How this version of Codex calls a tool of ours: its name, and where there is one its namespace."""
    for tool in body["tools"]:
        if tool.get("name", "").endswith(f"hikidashi__{name}"):
            return tool["name"], {}
        if tool.get("type") == "namespace" and "hikidashi" in tool["name"]:
            return name, {"namespace": tool["name"]}
    raise AssertionError(f"{name} is not offered: {[tool.get('name') for tool in body['tools']]}")


def test_codex_calls_the_tools(codex: str, home: Path, project: Path, hikidashi_json: Callable[..., Any]) -> None:
    """`codex exec` turns down every question, since nobody is there: the candidate waits."""

    def ask(name: str, arguments: dict[str, Any]) -> Callable[[dict[str, Any]], list[Any]]:
        return lambda body: [responses.call(named(body, name)[0], arguments) | named(body, name)[1]]

    turns: list[responses.Turn] = [
        ask("memory_read", {"key": "test:harbor"}),
        ask("memory_read", {"query": "how long do the harbour's tests take"}),
        ask("memory_write", WRITE),
        [responses.say("Done.")],
    ]
    started = servers()["mcpServers"]["hikidashi"]
    extra = (
        f"[mcp_servers.hikidashi]\ncommand = {json.dumps(started['command'])}\n"
        f"args = {json.dumps(started['args'])}\nenv = {{ PYTHONPATH = {json.dumps(str(ROOT))} }}\n"
    )
    with responses.FakeResponses(turns) as fake:
        configure(home, fake, extra)
        session(codex, home, project, "--skip-git-repo-check", "remember it")
        outputs = [item for item in fake.requests[-1]["input"] if item.get("type") == "function_call_output"]
    near, read, written = (json.dumps(item["output"]) for item in outputs)
    assert "test:harbour" in near
    assert "takes a minute" in read
    (candidate,) = hikidashi_json("candidates", cwd=project)["candidates"]
    assert f"approve {candidate['id']}" in written
    assert [fact["key"] for fact in hikidashi_json("facts", cwd=project)["facts"]] == ["test:harbour"]
