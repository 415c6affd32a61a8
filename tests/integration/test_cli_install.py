"""`install`, `uninstall` and `doctor` on hosts' files: what is foreign keeps its bytes."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.atomic import Step, observed
from hikidashi.hosts.program import EVENTS, Program
from hikidashi.serve import host_event
from tests.support.command import hikidashi

SETTINGS = (
    '{\n    "model": "opus",  \n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say \'done\'"}]}]},\n'
    '    "enabledPlugins": {},\n    "permissions": {"allow": ["Bash(ls *)", "Bash(日本)"]}\n}'
)
SERVERS = '{\r\n\t"numStartups": 3,\r\n\t"mcpServers": {"docs": {"command": "docs"}},\r\n\t"oauth": {"x": "y"}\r\n}\r\n'
CODEX = '# mine\nmodel = "gpt"   # keep\n\n[mcp_servers.docs]\ncommand = "docs"\n'


@pytest.fixture
def claude_home(home: Path) -> Path:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_bytes(SETTINGS.encode())
    (home / ".claude.json").write_bytes(SERVERS.encode())
    return home


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / 'a shop\'s "best"'
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


def _good(*arguments: str, cwd: Path) -> Any:
    ran = hikidashi(*arguments, "--json", cwd=cwd)
    assert (ran.code, ran.err) == (0, "")
    return ran.json


def _files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _foreign(folder: Path) -> dict[str, bytes]:
    return {name: data for name, data in _files(folder).items() if not name.startswith(".local/share/hikidashi")}


def test_the_events_are_those_that_the_hook_answers() -> None:
    assert EVENTS == host_event.EVENTS


def test_foreign_settings_keep_their_bytes_and_the_way_back_is_exact(claude_home: Path, tmp_path: Path) -> None:
    before = _foreign(claude_home)
    done = _good("install", "claude-code", cwd=tmp_path)
    assert set(done) == {"host", "scope", "via", "files", "hooks", "server", "statusline", "plugin", "elsewhere"}
    assert [set(one) for one in done["files"]] == [{"path", "changed", "backup"}] * 2
    for name, one in zip((".claude/settings.json", ".claude.json"), done["files"], strict=True):
        backup = Path(one["backup"])
        assert backup.read_bytes() == before[name]
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    settings = (claude_home / ".claude" / "settings.json").read_text(encoding="utf-8")
    for line in SETTINGS.split("\n"):
        if '"hooks"' not in line:
            assert line in settings
    hooks = json.loads(settings)["hooks"]
    assert set(hooks) == set(EVENTS)
    assert hooks["Stop"][0]["hooks"][0]["command"] == "say 'done'"
    assert hooks["Stop"][1]["hooks"][0]["args"][-1] == "Stop"
    servers = (claude_home / ".claude.json").read_bytes()
    assert servers.count(b"\n") == servers.count(b"\r\n")
    assert json.loads(servers)["mcpServers"]["hikidashi"]["args"][-1] == "mcp"
    assert json.loads(servers)["mcpServers"]["docs"] == {"command": "docs"}

    again = _good("install", "claude-code", cwd=tmp_path)
    assert [one["changed"] for one in again["files"]] == [False, False]
    assert (claude_home / ".claude.json").read_bytes() == servers

    assert all(one["changed"] for one in _good("uninstall", "claude-code", cwd=tmp_path)["files"])
    assert _foreign(claude_home) == before
    assert not any(one["changed"] for one in _good("uninstall", "claude-code", cwd=tmp_path)["files"])


def test_what_was_changed_meanwhile_stays(claude_home: Path, tmp_path: Path) -> None:
    _good("install", "claude-code", cwd=tmp_path)
    path = claude_home / ".claude" / "settings.json"
    values = json.loads(path.read_bytes())
    values["theme"] = "dark"
    path.write_text(json.dumps(values, indent=2) + "\n")
    servers = json.loads((claude_home / ".claude.json").read_bytes())
    servers["numStartups"] = 4
    (claude_home / ".claude.json").write_text(json.dumps(servers))
    _good("uninstall", "claude-code", cwd=tmp_path)
    assert json.loads(path.read_bytes()) == {**json.loads(SETTINGS), "theme": "dark"}
    assert json.loads((claude_home / ".claude.json").read_bytes()) == {**json.loads(SERVERS), "numStartups": 4}


def test_files_that_were_not_there_are_made_and_go_again(home: Path, tmp_path: Path) -> None:
    for host in ("claude-code", "codex"):
        done = _good("install", host, cwd=tmp_path)
        assert all(one["changed"] and one["backup"] is None for one in done["files"])
        _good("install", host, cwd=tmp_path)
        _good("uninstall", host, cwd=tmp_path)
        assert _foreign(home) == {}


def test_another_installation_of_ours_is_replaced_not_doubled(claude_home: Path, tmp_path: Path) -> None:
    _good("install", "claude-code", cwd=tmp_path)
    path = claude_home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace(sys.executable, "/gone/python"))
    _good("install", "claude-code", cwd=tmp_path)
    text = path.read_text()
    assert "/gone/python" not in text
    assert text.count("hook.py") == len(EVENTS)
    _good("uninstall", "claude-code", cwd=tmp_path)
    assert path.read_bytes() == SETTINGS.encode()


def test_a_project_s_hooks_stand_in_its_local_settings_only(claude_home: Path, project: Path) -> None:
    _good("install", "claude-code", "--scope", "project", cwd=project)
    assert sorted(_files(project / ".claude")) == ["settings.local.json"]
    assert (claude_home / ".claude" / "settings.json").read_bytes() == SETTINGS.encode()
    servers = json.loads((claude_home / ".claude.json").read_bytes())
    assert "hikidashi" in servers["projects"][os.path.realpath(project)]["mcpServers"]
    assert _good("install", "claude-code", cwd=project)["elsewhere"] == [
        str(Path(os.path.realpath(project)) / ".claude" / "settings.local.json")
    ]
    assert "still registers Hikidashi" in hikidashi("uninstall", "claude-code", cwd=project).out
    below = project / "src"
    below.mkdir()
    _good("uninstall", "claude-code", "--scope", "project", cwd=below)
    assert _files(project / ".claude") == {}
    assert (claude_home / ".claude.json").read_bytes() == SERVERS.encode()


def test_codex_gets_its_two_files(home: Path, tmp_path: Path) -> None:
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(CODEX)
    (folder / "hooks.json").write_text('{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}')
    before = _files(folder)
    done = _good("install", "codex", cwd=tmp_path)
    assert done["server"]
    assert (folder / "config.toml").read_text().startswith(CODEX)
    server = tomllib.loads((folder / "config.toml").read_text())["mcp_servers"]["hikidashi"]
    assert [server["command"], *server["args"]] == Program().server
    hooks = json.loads((folder / "hooks.json").read_text())["hooks"]
    assert set(hooks) == set(EVENTS)
    assert all(set(handler) == {"type", "command", "timeout"} for handler in hooks["Stop"][1]["hooks"])
    assert "/hooks" in hikidashi("install", "codex", cwd=tmp_path).out
    _good("uninstall", "codex", cwd=tmp_path)
    assert _files(folder) == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"hooks": {'),
        (".claude/settings.json", "// mine\n{}"),
        (".claude/settings.json", '{"hooks": []}'),
        (".claude.json", '{"mcpServers": 1}'),
        (".codex/config.toml", "[broken"),
        (".codex/config.toml", "mcp_servers = 1\n"),
        (".codex/hooks.json", "[]"),
    ],
)
def test_a_file_that_cannot_be_changed_is_left_and_named(home: Path, tmp_path: Path, name: str, text: str) -> None:
    path = home / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    ran = hikidashi("install", "codex" if "codex" in name else "claude-code", cwd=tmp_path)
    assert ran.code == 6
    assert path.name in ran.err
    assert ran.err.count("\n") == 1
    assert path.read_text() == text


def test_a_linked_settings_file_stays_a_link_and_keeps_its_mode(home: Path, tmp_path: Path) -> None:
    (home / ".claude").mkdir()
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    (home / ".claude" / "settings.json").symlink_to(real)
    _good("install", "claude-code", cwd=tmp_path)
    assert (home / ".claude" / "settings.json").is_symlink()
    assert "hook.py" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_moved_folders_of_hosts_are_found(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "c c"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "x x"))
    _good("install", "claude-code", cwd=tmp_path)
    _good("install", "codex", cwd=tmp_path)
    assert sorted(_files(tmp_path / "c c")) == [".claude.json", "settings.json"]
    assert sorted(_files(tmp_path / "x x")) == ["config.toml", "hooks.json"]
    assert _foreign(home) == {}


def test_an_agent_is_refused(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    for line in (("install", "codex"), ("uninstall", "codex"), ("doctor", "--mend")):
        ran = hikidashi(*line, cwd=tmp_path)
        assert ran.code == 14
        assert " ".join(line) in ran.err
    assert _foreign(home) == {}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("install",), 2),
        (("install", "emacs"), 2),
        (("install", "codex", "--via", "plugin"), 2),
        (("install", "codex", "--statusline"), 2),
        (("install", "claude-code", "--via", "plugin", "--program", "/no/claude"), 2),
        (("install", "claude-code", "--scope", "project"), 4),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(
    home: Path, tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    ran = hikidashi(*arguments, cwd=tmp_path)
    assert (ran.code, ran.err.count("\n")) == (code, 1)
    assert _foreign(home) == {}


def test_init_says_how_until_it_is_done(home: Path, tmp_path: Path) -> None:
    assert "hikidashi install claude-code" in hikidashi("init", cwd=tmp_path).out
    _good("install", "codex", cwd=tmp_path)
    assert "hikidashi install" not in hikidashi("init", cwd=tmp_path).out


def test_a_status_line_is_set_where_there_is_none(claude_home: Path, tmp_path: Path) -> None:
    path = claude_home / ".claude" / "settings.json"
    assert _good("install", "claude-code", "--statusline", cwd=tmp_path)["statusline"]
    assert "statusline.py" in json.loads(path.read_bytes())["statusLine"]["command"]
    assert _good("install", "claude-code", cwd=tmp_path)["statusline"]  # it stays
    _good("uninstall", "claude-code", cwd=tmp_path)
    assert path.read_bytes() == SETTINGS.encode()
    path.write_text('{"statusLine": {"type": "command", "command": "mine"}}')
    assert "another status line is set" in hikidashi("install", "claude-code", "--statusline", cwd=tmp_path).out
    _good("uninstall", "claude-code", cwd=tmp_path)
    assert path.read_text() == '{"statusLine": {"type": "command", "command": "mine"}}'


def test_a_disk_that_refuses_leaves_each_file_old_or_new(claude_home: Path, tmp_path: Path) -> None:
    names = (".claude/settings.json", ".claude.json")
    old = {name: (claude_home / name).read_bytes() for name in names}
    _good("install", "claude-code", cwd=tmp_path)
    new = {name: (claude_home / name).read_bytes() for name in names}
    for command, wanted in (("uninstall", old), ("install", new)):
        for refused in range(100):
            steps = iter(range(1000))

            def refuse(step: Step, path: Path, *, steps: Iterator[int] = steps, refused: int = refused) -> None:
                if next(steps) == refused:
                    raise OSError(errno.ENOSPC, "no space")

            with observed(refuse):
                ran = hikidashi(command, "claude-code", cwd=tmp_path)
            for name in names:
                assert (claude_home / name).read_bytes() in (old[name], new[name])
            if ran.code == 0:
                break
            assert (ran.code, ran.err.count("\n")) == (12, 1)
        assert ran.code == 0
        assert refused > 4
        assert {name: (claude_home / name).read_bytes() for name in names} == wanted


def _findings(cwd: Path, *, code: int = 0) -> dict[tuple[str, str], str]:
    ran = hikidashi("doctor", "--json", cwd=cwd)
    assert (ran.code, ran.err) == (code, "")
    assert set(ran.json) == {"works", "mended", "findings"}
    assert ran.json["works"] == (code == 0)
    for one in ran.json["findings"]:
        assert set(one) == {"check", "state", "what", "mend"}
        assert bool(one["mend"]) == (one["state"] != "ok"), one
    found: dict[tuple[str, str], str] = {}
    for one in ran.json["findings"]:
        key = (one["check"], one["state"])
        found[key] = f"{found.get(key, '')}{one['what']} {one['mend']}\n"
    return found


def test_the_doctor_runs_what_is_registered(home: Path, project: Path) -> None:
    found = _findings(project)
    assert "hikidashi install" in found["hooks", "note"]
    for host in ("claude-code", "codex"):
        _good("install", host, cwd=project)
    found = _findings(project)
    assert found["hooks", "ok"].count("6 ran") == 2
    assert found["server", "ok"].count("memory_read") == 2
    assert not [state for _, state in found if state == "trouble"]
    assert "All that was looked at works" in hikidashi("doctor", cwd=project).out


def test_the_doctor_says_what_is_broken_and_mends_paths(claude_home: Path, project: Path) -> None:
    _good("install", "claude-code", cwd=project)
    settings, servers = claude_home / ".claude" / "settings.json", claude_home / ".claude.json"
    for path in (settings, servers):
        path.write_text(path.read_text().replace(sys.executable, "/gone/python"))
    found = _findings(project, code=1)
    assert "/gone/python cannot be run" in found["hooks", "trouble"]
    assert "hikidashi install claude-code" in found["server", "trouble"]
    ran = hikidashi("doctor", "--mend", "--json", cwd=project)
    assert ran.code == 0
    assert sorted(ran.json["mended"]) == sorted(map(str, (settings, servers)))
    assert ("hooks", "trouble") not in _findings(project)


def test_the_doctor_sees_switches_doubles_and_neighbours(
    claude_home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _good("install", "claude-code", cwd=project)
    _good("install", "claude-code", "--scope", "project", cwd=project)
    path = claude_home / ".claude" / "settings.json"
    text = path.read_text().replace('"enabledPlugins": {}', '"enabledPlugins": {"claude-mem@x": true}')
    path.write_text(text.replace("{\n", '{\n    "disableAllHooks": true,\n', 1))
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in os.path.realpath(project))
    memory = claude_home / ".claude" / "projects" / slug / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- [One](one.md)\n")
    monkeypatch.setenv("HIKIDASHI_DISABLE", "1")
    hikidashi("pause", cwd=project)
    found = _findings(project, code=1)
    assert "disableAllHooks" in found["host files", "trouble"]
    assert found["twice", "trouble"].startswith("Claude Code has our hooks twice")
    assert "claude-mem" in found["neighbours", "note"]
    assert "a memory of its own here, 1 file" in found["neighbours", "note"]
    assert "HIKIDASHI_DISABLE is set" in found["switch", "note"]
    assert "paused since" in found["switch", "note"]


def test_the_doctor_asks_the_hosts_for_their_version(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, does in (("claude", "echo '2.1.197 (Claude Code)'"), ("codex", "echo broken >&2; exit 3")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = _findings(tmp_path, code=1)
    assert "Claude Code 2.1.197 (Claude Code)" in found["host", "ok"]
    assert "exit code 3: broken" in found["host", "trouble"]


def test_the_doctor_looks_outside_a_workspace_and_at_broken_files(home: Path, tmp_path: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text("{")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text("[")
    found = _findings(tmp_path, code=1)
    assert "hikidashi init" in found["workspace", "note"]
    assert "no JSON" in found["host files", "trouble"]
    assert "no TOML" in found["host files", "trouble"]
