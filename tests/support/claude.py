"""The real Claude Code, with hooks of this checkout in its settings and a fake model behind it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hikidashi.serve.host_event import EVENTS
from hikidashi.testing import FakeMessages, call
from hikidashi.testing.turns import Block, TurnLike
from tests.support.hooks import HOOK

__all__ = ["Agent", "Scripted", "run", "texts_of"]


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
