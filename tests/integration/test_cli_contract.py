"""What programs and people may rely on: JSON keys, help, the README's table of commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from hikidashi.cli.main import COMMANDS, cli
from hikidashi.cli.transfer import WithClaudeMemory
from tests.support.command import hikidashi, put_demo_sessions

ROOT = Path(__file__).parents[2]

RUN = {
    "run_id", "engine", "outcome", "message", "started_at", "seconds", "consumed", "remaining", "dispositions",
    "entries", "operations", "commits", "turns", "tokens", "recovered", "notices",
}  # fmt: skip
STATUS = {
    "workspace", "workspace_id", "network_file_system", "engine", "engine_reason", "extraction",
    "staging", "drawer", "models", "claim", "last_run", "paused_at",
    "unfinished_publication", "prompts", "read_only", "idle_reason",
}  # fmt: skip
STAGING = {"entries", "bytes", "pending", "invalid", "quarantined", "over_threshold", "batch_limit"}
CLAIM = {"run_id", "pid", "host", "started_at", "entries", "alive", "reason"}
EXTRACT = {
    "candidates", "borne_out", "redacted", "queued", "paused_since",
    "files", "unchanged", "bytes", "lines", "skipped", "kinds", "entries", "results",
    "recovered", "model", "withheld", "seconds",
}  # fmt: skip
STAGED = {"id", "kind", "status", "title", "why", "trust", "source"}
MODELS = {"problem", "requests", "counted_tokens", "cost_micro_usd", "unknown_cost", "budgets", "blocked"}
BUDGET = {"setting", "scope", "unit", "limit", "used", "left"}
COST = {
    "at", "workspace", "user", "by_phase", "by_model", "by_run", "more_runs", "by_workspace", "budgets", "blocked",
    "prices",
}  # fmt: skip
TOTALS = {
    "requests", "failed", "running", "lost", "input_tokens", "output_tokens", "cache_read_tokens",
    "cache_write_tokens", "counted_tokens", "reserved_tokens", "cost_micro_usd", "unknown_cost", "seconds",
    "first_at", "last_at",
}  # fmt: skip
COMMIT = {"id", "parent", "author", "at", "subject", "body", "trailers", "files"}
#: `ping`; what is in them, tests/integration/test_model_ping.py says.
PING = {"base_url", "models", "left_out"}
PINGED = {"model", "settings", "works", "answered", "seconds", "tokens", "cost_micro_usd", "error"}
OPERATION = {"op", "paths", "into", "categories", "reason"}


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    put_demo_sessions(home, folder)
    return folder


def _json(*arguments: str, cwd: Path, keys: set[str]) -> Any:
    ran = hikidashi(*arguments, "--json", cwd=cwd)
    assert (ran.code, ran.err) == (0, "")
    assert set(ran.json) == keys
    return ran.json


def _all_commands() -> list[tuple[str, click.Command]]:
    context = click.Context(cli, info_name="hikidashi")
    found = [(name, cli.get_command(context, name)) for name in cli.list_commands(context)]
    commands = [(name, command) for name, command in found if command is not None]
    return commands + [
        (f"{name} claude-memory", command.claude_memory())
        for name, command in commands
        if isinstance(command, WithClaudeMemory)
    ]


def test_the_json_of_every_command_has_its_keys(project: Path) -> None:
    made = _json(
        "init", cwd=project, keys={"workspace", "id", "shared", "sessions", "key", "expected_cost", "extracted"}
    )
    assert set(made["sessions"]) == {"found", "bytes", "days"}
    assert made["sessions"]["found"] == 4
    assert made["extracted"] is None  # nobody said yes
    new = _json("status", cwd=project, keys=STATUS)
    assert set(new["staging"]) == STAGING
    assert set(new["extraction"]) == {
        "engine", "reason", "model", "trouble", "exposed_key", "withheld", "last", "damaged"
    }  # fmt: skip
    assert set(new["models"]) == MODELS
    assert [set(budget) for budget in new["models"]["budgets"]] == [BUDGET] * 3
    cost = _json("cost", cwd=project, keys=COST)
    for owner in ("workspace", "user"):
        assert {span: set(found) for span, found in cost[owner].items()} == {"day": TOTALS, "days_30": TOTALS}
    assert (new["claim"], new["last_run"], new["idle_reason"]) == (None, None, "nothing is staged")

    extracted = _json("extract", "--no-consolidate", cwd=project, keys=EXTRACT | {"expected_cost", "consolidation"})
    assert all(set(entry) == STAGED for entry in extracted["entries"])
    waiting = _json("status", cwd=project, keys=STATUS)
    assert waiting["staging"]["entries"] == len(extracted["entries"]) > 0
    assert "`hikidashi consolidate`" in waiting["idle_reason"]

    run = _json("consolidate", cwd=project, keys=RUN | {"runs"})
    assert [set(one) for one in run["runs"]] == [RUN]
    assert (run["outcome"], run["consumed"], run["remaining"]) == ("done", len(extracted["entries"]), 0)
    assert sum(run["dispositions"].values()) == run["consumed"]
    assert all(set(operation) == OPERATION for operation in run["operations"])
    last = _json("status", cwd=project, keys=STATUS)["last_run"]
    assert set(last) == RUN | {"finished_at"}
    assert {key: last[key] for key in RUN - {"seconds", "notices"}} == {
        key: run[key] for key in RUN - {"seconds", "notices"}
    }

    shown = _json("show", "last", cwd=project, keys=RUN | {"finished_at", "diffs"})
    assert all({"id", "disposition", "record", "reason", "kind", "title"} == set(entry) for entry in shown["entries"])
    assert shown == _json("show", run["run_id"][:12].lower(), cwd=project, keys=set(shown))
    commits = _json("log", "-p", cwd=project, keys={"commits"})["commits"]
    assert all(set(commit) == COMMIT for commit in commits)
    assert {commit["id"] for commit in commits} == set(run["commits"].values())
    assert all(commit["files"] for commit in commits)
    assert [c["files"] for c in _json("log", "-n", "1", cwd=project, keys={"commits"})["commits"]] == [None]
    assert _json("lint", cwd=project, keys={"records", "errors", "findings"})["errors"] == 0

    path = "memory/requests/plan-a-search-page-for-the-articles.md"
    text = (project / ".hikidashi" / path).read_text(encoding="utf-8")
    (project / ".hikidashi" / path).unlink()
    restored = _json("restore", path, cwd=project, keys={"path", "commit", "from_commit", "from_at", "recovered"})
    assert restored["path"] == path
    assert (project / ".hikidashi" / path).read_text(encoding="utf-8") == text
    assert _json("requeue", "last", cwd=project, keys={"run_id", "entries"})["entries"] == []
    assert _json("pause", cwd=project, keys={"workspace", "paused_at"})["paused_at"]
    assert "hikidashi resume" in _json("status", cwd=project, keys=STATUS)["idle_reason"]
    assert _json("consolidate", cwd=project, keys=RUN | {"runs"})["outcome"] == "idle"
    assert _json("extract", cwd=project, keys=EXTRACT | {"expected_cost", "consolidation"})["paused_since"]
    assert _json("resume", cwd=project, keys={"workspace", "paused_at"})["paused_at"] is None
    trust = {"workspace", "kind", "moved_from", "adopted", "set_aside", "aside", "links", "refused_settings"}
    assert _json("trust", cwd=project, keys=trust)["kind"] == "already"


def test_a_status_over_its_thresholds_says_so_to_people_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hikidashi("init", "--yes", cwd=project)
    monkeypatch.setenv("HIKIDASHI_STAGING_MAX_FILES", "2")
    ran = hikidashi("status", cwd=project)
    assert ran.code == 0
    assert "staging.max_files is 2" in ran.out
    assert "next" in ran.out
    assert hikidashi("status", "--json", cwd=project).json["staging"]["over_threshold"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_json_and_a_place_in_the_readme(name: str) -> None:
    command = dict(_all_commands())[name]
    assert command.help, "a docstring is the help"
    if name in COMMANDS:
        assert len(COMMANDS[name][1].rstrip(".")) < 90
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.name
    if name not in ("hook", "mcp"):  # they speak JSON only, with a host
        assert "--json" in {option for parameter in command.params for option in parameter.opts}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = [line for line in readme.splitlines() if line.startswith("| `")]
    assert any(re.search(rf"`{name}\b", row.split(" | ")[0]) for row in rows), "add it to the README's table"


def test_every_command_line_in_the_documents_is_one() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    found = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        quoted = re.findall(r"`(hikidashi [^`\n]+)`", text)
        typed = re.findall(r"^(?:\$ )?(hikidashi [^#|\n]+)", text, re.MULTILINE)
        for line in [*quoted, *typed]:
            arguments = shlex.split(line.replace("[", "").replace("]", "").replace("…", ""))[1:]
            _assert_known(arguments, f"{page.name}: {line}")
            found += 1
    assert found > 10


def _assert_known(arguments: list[str], where: str) -> None:
    """Its command exists, and every option in it; values are not looked at."""
    if not arguments or arguments[0].startswith("-"):
        return
    commands = dict(_all_commands())
    named = " ".join(arguments[:2]) if "claude-memory" in arguments[1:2] else arguments[0]
    assert named in commands, where
    options = {option for parameter in commands[named].params for option in parameter.opts} | {"--help", "-h"}
    for argument in arguments[1:]:
        if argument.startswith("-"):
            assert argument.partition("=")[0] in options, where


def test_help_without_a_command_and_the_version() -> None:
    here = Path.cwd()
    for arguments in ([], ["--help"], ["-h"]):
        ran = hikidashi(*arguments, cwd=here)
        assert (ran.code, ran.err) == (0, "")
        assert "hikidashi demo" in ran.out
        assert all(re.search(rf"^  {name} ", ran.out, re.MULTILINE) for name in COMMANDS)
        assert all(len(line) <= 80 for line in ran.out.splitlines())
    assert hikidashi("--version", cwd=here).out.startswith("hikidashi, version ")
    for name in COMMANDS:
        ran = hikidashi(name, "--help", cwd=here)
        assert (ran.code, ran.err) == (0, "")
        assert "--automatic" not in ran.out  # for the program itself


def test_text_goes_to_a_pipe_in_whole_lines_without_colour(project: Path) -> None:
    hikidashi("init", "--yes", cwd=project)
    hikidashi("consolidate", cwd=project)
    for arguments in (["status"], ["log", "-p"], ["show", "last"], ["lint"]):
        ran = hikidashi(*arguments, cwd=project)
        assert ran.code == 0
        assert "\x1b" not in ran.out
        assert not [
            line for line in ran.out.splitlines() if line != line.rstrip() and not line.startswith((" ", "+", "-"))
        ]
    assert "memory/requests/plan-a-search-page-for-the-articles.md" in hikidashi("show", "last", cwd=project).out


def test_what_a_transcript_says_does_not_drive_the_terminal(tmp_path: Path) -> None:
    from tests.transcripts import Session

    project = tmp_path / "shop"
    project.mkdir()
    session = Session(cwd=str(project))
    session.user("Use \x1b[31mred\x1b[0m pnpm instead of npm in the \x07 workspace.\x1b]0;title\x07")
    session.says("Understood.")
    session.write(tmp_path / "one.jsonl")
    hikidashi("init", cwd=project)
    ran = hikidashi("extract", str(tmp_path / "one.jsonl"), cwd=project)
    shown = ran.out + hikidashi("consolidate", cwd=project).out + hikidashi("log", "-p", cwd=project).out
    assert "pnpm instead of npm" in shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown)
