"""A session of the real Claude Code, run against a fake Messages API, becomes memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hikidashi.drawer.person import MARKERS
from hikidashi.testing import FakeMessages, call, say
from hikidashi.testing.turns import Block, TurnLike

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(180)]


def run(command: str) -> Block:
    """A call of the Bash tool."""
    return call("Bash", {"command": command, "description": "Run a command"})


class Scripted:
    """The model: requests that offer the Bash tool are the session itself and take the next turn of the script.

    Any other (titles, summaries) is answered with one word.
    """

    def __init__(self, turns: Sequence[TurnLike]) -> None:
        self._turns = list(turns)
        #: Bodies of the session's own requests.
        self.requests: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> TurnLike:
        if "Bash" not in {tool.get("name") for tool in body.get("tools") or []}:
            return "ok"
        self.requests.append(body)
        return self._turns.pop(0) if self._turns else "Done."


def _session(claude: str, home: Path, project: Path, prompt: str, fake: FakeMessages) -> None:
    environment = {
        **os.environ,
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": fake.url,
        "ANTHROPIC_API_KEY": "not-a-key",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    done = subprocess.run(
        [claude, "-p", prompt, "--permission-mode", "bypassPermissions"],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_real_session_is_extracted_consolidated_and_readable(
    claude: str, home: Path, tmp_path: Path, hikidashi: Callable[..., Any], hikidashi_json: Callable[..., Any]
) -> None:
    project = tmp_path / "a project"
    project.mkdir()
    (project / "Makefile").write_text("test:\n\t@echo 'AssertionError: totals differ'; exit 3\n")
    hikidashi("init", cwd=project)
    model = Scripted(
        [
            [say("I will run the tests."), run("make test")],
            [say("The tests still fail: totals differ. That is left to do.")],
        ]
    )
    with FakeMessages(model) as fake:
        prompt = "From now on use pnpm instead of npm in this repository. Then run the tests."
        _session(claude, home, project, prompt, fake)
        assert len(model.requests) == 2

    # No PATH: the sessions that the host keeps for this workspace. Settling would take half an hour.
    (home / ".config" / "hikidashi").mkdir(parents=True)
    (home / ".config" / "hikidashi" / "config.toml").write_text("[capture]\nsettle_minutes = 0\n")
    extracted = hikidashi_json("extract", cwd=project)
    assert extracted["files"] == 1
    kinds = sorted(entry["kind"] for entry in extracted["entries"])
    assert kinds == ["decision", "request"], extracted

    report = hikidashi_json("consolidate", "--drain", cwd=project)
    assert report["outcome"] == "done"
    decisions = list((project / ".hikidashi" / "memory" / "decisions").glob("*.md"))
    assert len(decisions) == 1
    text = decisions[0].read_text(encoding="utf-8")
    assert "pnpm instead of npm" in text
    assert "trust: user" in text
    hikidashi("lint", cwd=project)

    # The same session again: nothing new.
    assert hikidashi_json("extract", cwd=project)["entries"] == []
    assert hikidashi_json("status", cwd=project)["staging"]["entries"] == 0


def test_a_command_of_the_real_agent_is_refused_and_leaves_a_candidate(
    claude: str, home: Path, tmp_path: Path, hikidashi_json: Callable[..., Any]
) -> None:
    """By its variables, and without them by its process."""
    project = tmp_path / "a project"
    project.mkdir()
    hikidashi_json("init", cwd=project)
    write = f'"{sys.executable}" -m hikidashi write port "Port 3000." --type fact'
    path = str(Path(__file__).parents[2])
    model = Scripted(
        [
            [run(f'PYTHONPATH="{path}" {write}; env | cut -d= -f1')],
            [run(f'env -i HOME="$HOME" PATH="$PATH" PYTHONPATH="{path}" {write}')],
            [say("Both were refused.")],
        ]
    )
    with FakeMessages(model) as fake:
        _session(claude, home, project, "Remember the port.", fake)
        first, second = (json.dumps(request) for request in model.requests[1:3])
    assert "Claude Code runs it (CLAUDECODE is set); it waits as candidate" in first
    for marker in MARKERS:
        if marker.host == "Claude Code":
            assert marker.variable in first, f"this Claude Code sets no {marker.variable}"
    assert "Claude Code runs it (it runs this process); it waits as candidate" in second
    (found,) = hikidashi_json("candidates", cwd=project)["candidates"]
    assert (found["key"], found["trust"]) == ("port", "assistant")
