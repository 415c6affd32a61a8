"""The real Claude Code, with hooks of this checkout in its settings and a fake model behind it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hikidashi.serve.host_event import EVENTS
from hikidashi.testing import FakeMessages, call
from hikidashi.testing.turns import Block, TurnLike
from tests.support.hooks import HOOK

__all__ = ["Agent", "AtTerminal", "Scripted", "run", "texts_of"]


def run(command: str) -> Block:
    """A call of the Bash tool."""
    return call("Bash", {"command": command, "description": "Run a command"})


def texts_of(body: dict[str, Any]) -> str:
    """All that a request tells the model, but for the tools."""
    return json.dumps({"system": body.get("system"), "messages": body["messages"]}, ensure_ascii=False)


class Scripted:
    """The model: requests of a session's main thread take the next turn of the script.

    Any other (titles, summaries) is answered with one word.
    """

    def __init__(self, turns: Sequence[TurnLike], *, sub_agent: str = "") -> None:
        """`sub_agent`: the prompt that a sub-agent begins with; it is answered in one turn."""
        self._turns = list(turns)
        self._sub_agent = sub_agent
        #: Bodies of the requests of the main thread, of sub-agents, and others.
        self.requests: list[dict[str, Any]] = []
        self.sub_requests: list[dict[str, Any]] = []
        self.others: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> TurnLike:
        names = {tool.get("name") for tool in body.get("tools") or []}
        if "Bash" not in names:
            self.others.append(body)
            return "A summary of what was done."
        if self._sub_agent and self._sub_agent in json.dumps(body["messages"][0]):
            self.sub_requests.append(body)
            return "Nothing there."
        self.requests.append(body)
        return self._turns.pop(0) if self._turns else "Done."


class Agent:
    """Claude Code in a home of its own; each call of `session` is one process."""

    def __init__(self, program: str, home: Path, project: Path) -> None:
        self.program, self.home, self.project = program, home, project
        self.commands = home / "bin"
        self.commands.mkdir(parents=True, exist_ok=True)
        self.settings = home / ".claude" / "settings.json"
        self.settings.parent.mkdir(exist_ok=True)
        hooks = {
            event: [{"hooks": [{"type": "command", "command": sys.executable, "args": ["-I", "-S", str(HOOK), event]}]}]
            for event in EVENTS
        }
        self.settings.write_text(json.dumps({"hooks": hooks}))

    def install(self, name: str, script: str) -> None:
        """Put a command on the agent's PATH."""
        file = self.commands / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def environment(self, fake: FakeMessages) -> dict[str, str]:
        """What the agent runs in."""
        return {
            **os.environ,
            "HOME": str(self.home),
            "PATH": f"{self.commands}{os.pathsep}{os.environ['PATH']}",
            "ANTHROPIC_BASE_URL": fake.url,
            "ANTHROPIC_API_KEY": "not-a-key-but-twenty-characters",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
            "IS_SANDBOX": "1",
        }

    def session(
        self, prompt: str, model: Scripted, *options: str, cwd: Path | None = None, **environ: str
    ) -> dict[str, Any]:
        """One `claude -p`; gives what it says at its end as JSON."""
        with FakeMessages(model) as fake:
            command = [self.program, "-p", prompt, "--permission-mode", "bypassPermissions", "--output-format", "json"]
            done = subprocess.run(
                [*command, *options],
                cwd=cwd or self.project,
                env={**self.environment(fake), **environ},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=150,
                check=False,
            )
        assert done.returncode == 0, done.stdout + done.stderr
        said: dict[str, Any] = json.loads(done.stdout)
        return said


#: Seconds after which a turn whose words were shown is over.
_SETTLED = 2.0

#: Seconds after which a line that changed nothing is typed again.
_PATIENCE = 8.0


class AtTerminal:
    """Claude Code at a terminal of its own, as a person uses it."""

    #: Colours and cursor movements.
    _SEQUENCE = re.compile(rb"\x1b\[[0-9;?>]*[a-zA-Z]")

    def __init__(self, agent: Agent, fake: FakeMessages) -> None:
        environment = agent.environment(fake)
        answers = {"approved": [environment["ANTHROPIC_API_KEY"][-20:]], "rejected": []}
        trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        (agent.home / ".claude.json").write_text(
            json.dumps(
                {
                    "hasCompletedOnboarding": True,
                    "theme": "dark",
                    "customApiKeyResponses": answers,
                    "projects": {str(agent.project): trusted},
                }
            )
        )
        self._shown = b""
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(agent.project)
            os.execve(agent.program, [agent.program], {**environment, "TERM": "xterm-256color"})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))

    def wait_for(self, text: str, seconds: float = 60) -> None:
        """Read until `text` was shown; blanks do not count, since the screen moves over them."""
        wanted = "".join(text.split()).encode()
        deadline = time.monotonic() + seconds
        while wanted not in b"".join(self._SEQUENCE.sub(b"", self._shown).split()):
            assert time.monotonic() < deadline, self._SEQUENCE.sub(b"", self._shown)[-2_000:].decode(errors="replace")
            self._read()

    def wait_until(self, happened: Callable[[], bool], seconds: float = 60) -> None:
        """Read until that happened. Words of an answer are no good sign: the screen is drawn by what changed on it."""
        deadline = time.monotonic() + seconds
        while not happened():
            assert time.monotonic() < deadline, self._SEQUENCE.sub(b"", self._shown)[-2_000:].decode(errors="replace")
            self._read()

    def settle(self) -> None:
        """Read until the turn that was answered is over."""
        settled = time.monotonic() + _SETTLED
        while time.monotonic() < settled:
            self._read()

    def type(self, text: str) -> None:
        """Type a line and press Return."""
        os.write(self._fd, text.encode())
        self._read(1.0)
        os.write(self._fd, b"\r")

    def close(self, seconds: float = 60) -> None:
        """Leave, and wait for the end.

        A line that arrives while a turn is ending goes to the model as a prompt, and one that arrives while the screen
        is busy may be taken for pasted text, its Return with it: so it is typed after a while, and once more later.
        """
        self.settle()
        self.type("/exit")
        deadline, again = time.monotonic() + seconds, time.monotonic() + _PATIENCE
        while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self._pid, signal.SIGKILL)
                raise AssertionError("it does not end")
            if time.monotonic() > again:
                again = time.monotonic() + _PATIENCE
                os.write(self._fd, b"\x03")
                self._read(1.0)
                with contextlib.suppress(OSError):  # it ended meanwhile
                    self.type("/exit")
            self._read()
        os.close(self._fd)

    def _read(self, seconds: float = 0.2) -> None:
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if ready:
            with contextlib.suppress(OSError):  # it ended
                self._shown += os.read(self._fd, 65536)
