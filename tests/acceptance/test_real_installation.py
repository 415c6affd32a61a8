"""`hikidashi install` on the real hosts: what it registers is run, by settings and as a plugin, and goes again."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hikidashi.hosts.claude_plugin import marketplace_folder, write_plugin
from hikidashi.hosts.install import handlers
from hikidashi.hosts.program import Program
from hikidashi.testing import FakeMessages, call, say
from hikidashi.testing.turns import TurnLike
from tests.acceptance import fake_responses, test_real_codex
from tests.acceptance.test_real_claude_code import Scripted
from tests.support.hooks import Project

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(240)]

#: What the fact of `Project` says.
BODY = "npm run dist, then s3 cp"


def _claude(claude: str, cwd: Path, *arguments: str, url: str = "http://127.0.0.1:9") -> str:
    environment = {
        **os.environ,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "not-a-key",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    done = subprocess.run(
        [claude, *arguments],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class _Waiting(Scripted):
    """A model that lets time pass until our tools are there, and then ends.

    On a busy machine the host makes its first request before our server is up.
    """

    def __init__(self, most: int) -> None:
        super().__init__([])
        self._most = most

    def __call__(self, body: dict[str, Any]) -> TurnLike:
        if super().__call__(body) == "ok":
            return "ok"
        if _tools(body) or len(self.requests) > self._most:
            return [say("Well.")]
        return [call("Bash", {"command": "sleep 1", "description": "Wait"})]


def _requests(claude: str, cwd: Path, prompt: str, *, most: int = 0) -> list[dict[str, Any]]:
    """What the model is sent in a session, which ends once our tools are offered, or after `most` waits of a second."""
    model = _Waiting(most)
    with FakeMessages(model) as fake:
        _claude(claude, cwd, "-p", prompt, "--permission-mode", "bypassPermissions", url=fake.url)
    return model.requests


def _first_request(claude: str, cwd: Path, prompt: str) -> dict[str, Any]:
    """What the model is sent first in a session."""
    return _requests(claude, cwd, prompt)[0]


def _tools(request: dict[str, Any]) -> set[str]:
    return {tool["name"] for tool in request["tools"] if "memory_read" in tool["name"]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A workspace with a fact, in a folder whose name a shell would trip over."""
    return Project(tmp_path / 'a shop\'s "best" $HOME')


def test_the_plugin_is_valid_in_the_host_s_own_eyes(claude: str, tmp_path: Path) -> None:
    program = Program(package=Program().package)
    folder = write_plugin(program, handlers("claude-code", program))
    assert {path.parent.name for path in folder.rglob("SKILL.md")} == {"inbox", "status"}
    for path in (folder, folder / "hikidashi"):
        assert "Validation passed" in _claude(claude, tmp_path, "plugin", "validate", "--strict", str(path))


def test_installed_by_settings_it_works_and_goes_without_a_trace(
    claude: str, home: Path, project: Project, hikidashi_json: Callable[..., Any]
) -> None:
    (home / ".claude").mkdir()
    settings = home / ".claude" / "settings.json"
    settings.write_bytes(b'{\n\t"theme" : "dark"\n}')
    hikidashi_json("install", "claude-code", cwd=project.root)
    requests = _requests(claude, project.root, "deploy lantern please", most=30)
    assert [json.dumps(request["messages"]).count(BODY) for request in requests] == [1] * len(requests)
    assert _tools(requests[-1]) == {"mcp__hikidashi__memory_read"}
    found = hikidashi_json("doctor", cwd=project.root)
    assert found["works"], found
    hikidashi_json("uninstall", "claude-code", cwd=project.root)
    assert settings.read_bytes() == b'{\n\t"theme" : "dark"\n}'
    requests = _requests(claude, project.root, "deploy lantern please", most=1)
    assert BODY not in json.dumps(requests)
    assert [_tools(request) for request in requests] == [set()] * 2


def test_installed_for_one_project_it_works_there_only(
    claude: str, project: Project, tmp_path: Path, hikidashi_json: Callable[..., Any]
) -> None:
    other = Project(tmp_path / "other")
    hikidashi_json("install", "claude-code", "--scope", "project", cwd=project.root)
    requests = _requests(claude, project.root, "deploy lantern please", most=30)
    assert [json.dumps(request["messages"]).count(BODY) for request in requests] == [1] * len(requests)
    assert _tools(requests[-1]) == {"mcp__hikidashi__memory_read"}
    requests = _requests(claude, other.root, "deploy lantern please", most=1)
    assert BODY not in json.dumps(requests)
    assert [_tools(request) for request in requests] == [set()] * 2


def test_installed_as_a_plugin_it_works_lists_and_goes(
    claude: str, project: Project, hikidashi_json: Callable[..., Any]
) -> None:
    install = ("install", "claude-code", "--via", "plugin", "--program", claude)
    hikidashi_json("install", "claude-code", cwd=project.root)
    done = hikidashi_json(*install, cwd=project.root)  # takes the place of the hooks in the settings
    assert done["plugin"]
    hikidashi_json(*install, cwd=project.root)
    requests = _requests(claude, project.root, "deploy lantern please", most=30)
    assert [json.dumps(request["messages"]).count(BODY) for request in requests] == [1] * len(requests)
    assert _tools(requests[-1]) == {"mcp__plugin_hikidashi_hikidashi__memory_read"}
    found = hikidashi_json("doctor", cwd=project.root)
    assert found["works"], found
    assert any("6 ran" in finding["what"] for finding in found["findings"])

    listed = json.dumps(_first_request(claude, project.root, "/hikidashi:inbox")["messages"])
    assert "__main__.py candidates" in listed
    assert "Decide nothing" in listed

    assert hikidashi_json("uninstall", "claude-code", "--program", claude, cwd=project.root)["plugin"]
    assert json.loads(_claude(claude, project.root, "plugin", "list", "--json")) == []
    assert not marketplace_folder().exists()
    assert BODY not in json.dumps(_first_request(claude, project.root, "deploy lantern please"))


def test_installed_in_codex_it_works_once_trusted(
    codex: str, home: Path, project: Project, hikidashi_json: Callable[..., Any]
) -> None:
    with fake_responses.FakeResponses([[fake_responses.say("Well.")]]) as fake:
        test_real_codex.configure(home, fake)
        before = (home / ".codex" / "config.toml").read_bytes()
        hikidashi_json("install", "codex", cwd=project.root)
        said = test_real_codex.session(codex, home, project.root, "--skip-git-repo-check", "deploy lantern please")
        (request,) = fake.requests
    assert "Failed" not in said
    assert json.dumps(request["input"]).count(BODY) == 1
    assert "memory_read" in json.dumps(request["tools"])
    found = hikidashi_json("doctor", cwd=project.root)
    assert found["works"], found
    hikidashi_json("uninstall", "codex", cwd=project.root)
    assert not (home / ".codex" / "hooks.json").exists()
    assert "hikidashi" not in (home / ".codex" / "config.toml").read_text()
    assert before in (home / ".codex" / "config.toml").read_bytes()
