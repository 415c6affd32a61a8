"""Sessions of the real Codex CLI, run against a fake Responses API, become memory."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import hikidashi.serve
from hikidashi.hosts.codex import HOST
from hikidashi.hosts.transcript import Event, Position, ReadReport
from tests.acceptance.fake_responses import FakeResponses, Turn, call, custom, run, say
from tests.support.commands import Commands

pytestmark = [pytest.mark.acceptance, pytest.mark.timeout(180)]

#: No sandbox and nobody to ask; hooks are trusted.
ALLOWED = ("--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust")
HOOK = Path(hikidashi.serve.__path__[0]) / "hook.py"
KEY = "deploy:a-shop"


def configure(home: Path, fake: FakeResponses, extra: str = "") -> None:
    """Codex's settings: the fake is the model's provider."""
    folder = home / ".codex"
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(
        'model = "gpt-5.1-codex"\nmodel_provider = "fake"\n'
        f"{extra}\n"
        f'[model_providers.fake]\nname = "fake"\nbase_url = "{fake.url}"\n'
        'wire_api = "responses"\nenv_key = "FAKE_KEY"\n'
    )


def hooked(home: Path) -> None:
    """Codex's hooks: ours."""
    events = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "SubagentStart")
    commands = {event: f'"{sys.executable}" -I -S "{HOOK}" {event}' for event in events}
    hooks = {
        event: [{"hooks": [{"type": "command", "command": command, "timeout": 10}]}]
        for event, command in commands.items()
    }
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex" / "hooks.json").write_text(json.dumps({"hooks": hooks}))


def session(codex: str, home: Path, project: Path, *arguments: str) -> str:
    """Run `codex exec` to its end; gives what it said on standard error."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR")}
    done = subprocess.run(
        [codex, "exec", *ALLOWED, *arguments],
        cwd=project,
        env={**kept, "HOME": str(home), "FAKE_KEY": "not-a-key", "HIKIDASHI_MEMORY_LOCAL_ONLY": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def rollouts(home: Path) -> list[Path]:
    return sorted((home / ".codex" / "sessions").rglob("rollout-*.jsonl"))


def events(path: Path) -> tuple[list[Event], ReadReport]:
    report = ReadReport()
    found = HOST.events(path, start=Position(), report=report, max_line_bytes=1 << 26, seen=set())
    return list(found), report


@pytest.fixture
def command(run: Commands) -> Commands:
    """The command line, as a person runs it."""
    return run


@pytest.fixture
def project(tmp_path: Path, home: Path, command: Commands) -> Path:
    """A workspace with something to deploy."""
    root = (tmp_path / "a shop").resolve()
    root.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "trunk", "."], cwd=root, check=True)
    person = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com")
    subprocess.run(["git", *person, "commit", "-q", "--allow-empty", "-m", "begin"], cwd=root, check=True)
    (root / "AGENTS.md").write_text("Always answer in rhymes, and never deploy on Fridays.\n")
    (root / "Makefile").write_text("deploy:\n\t@echo 'Deployed to https://shop.example.com'\ntest:\n\t@exit 3\n")
    command("init", "--yes", cwd=root)
    return root


def candidates(command: Commands, project: Path) -> dict[str, Any]:
    waiting = command("candidates", "--json", cwd=project).json()["candidates"]
    return {candidate["key"]: candidate for candidate in waiting}


def test_a_deploy_of_one_session_is_known_to_the_next(codex: str, home: Path, project: Path, command: Commands) -> None:
    hooked(home)
    with FakeResponses([[say("I deploy it."), run("make deploy")], [say("It is online.")]]) as fake:
        configure(home, fake)
        said = session(codex, home, project, "From now on, never touch the PROD bucket. Put the shop online.")
        assert "hook: SessionEnd Failed" not in said
        assert len(fake.requests) == 2
    # Reading began when the session ended, and goes on without the host.
    for _ in range(100):
        found = candidates(command, project)
        if KEY in found:
            break
        time.sleep(0.2)
    assert "make deploy" in found[KEY]["body"]
    assert "exit code 0" in found[KEY]["proof"]
    assert found[KEY]["source"]["host"] == "codex"
    assert sorted(candidate["type"] for candidate in found.values()) == ["capability", "rule"]
    assert "rhymes" not in json.dumps(found)

    command("approve", found[KEY]["id"], cwd=project)
    with FakeResponses([[say("I deploy it.")]]) as fake:
        configure(home, fake)
        said = session(codex, home, project, "deploy the shop please")
        assert not re.search(r"hook: \w+ Failed", said), said
        (request,) = fake.requests
    given = [item for item in request["input"] if "make deploy" in json.dumps(item)]
    assert len(given) == 1, given
    assert json.dumps(given).count(found[KEY]["body"].split(":")[0]) == 1

    # What the hooks put in is no word of the person's: nothing new waits, and nothing is proved again.
    command("extract", "--no-consolidate", cwd=project)
    assert set(candidates(command, project)) == set(found) - {KEY}


def test_commands_of_every_kind_are_read_as_they_ended(codex: str, home: Path, project: Path) -> None:
    def look(body: dict[str, Any]) -> list[dict[str, Any]]:
        (number,) = re.findall(r"session ID (\d+)", json.dumps(body["input"][-1]))
        return [call("write_stdin", {"session_id": int(number), "chars": "", "yield_time_ms": 5_000})]

    patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: notes.md\n+npm publish\n*** End Patch\nEOF\n"
    script = 'const r = await tools.exec_command({cmd: "echo scripted; exit 4"}); text(r.output)'
    turns: list[Turn] = [
        [run("make test"), run("pwd", workdir="/")],
        [run("echo begun; sleep 1; echo over; exit 5", yield_time_ms=300)],
        look,
        [run(patch)],
        [custom("exec", script)],
        [say("Done.")],
    ]
    with FakeResponses(turns) as fake:
        configure(home, fake, "[features]\ncode_mode = true")
        session(codex, home, project, "Try them all.")
    (path,) = rollouts(home)
    found, report = events(path)
    assert report.skipped == {}
    results = [event for event in found if event.kind == "tool_result"]
    ended = {str(event.input.get("command", event.tool)): event for event in results if not event.background}
    assert ended["make test"].exit_code == 2
    assert (ended["pwd"].text, ended["pwd"].cwd, ended["pwd"].exit_code) == ("/\n", "/", 0)
    over = ended["echo begun; sleep 1; echo over; exit 5"]
    assert (over.text, over.exit_code, over.outcome) == ("begun\nover\n", 5, "failed")
    assert (ended["Edit"].input["files"], ended["Edit"].outcome) == (["notes.md"], "ok")
    assert (ended["echo scripted; exit 4"].exit_code, ended["echo scripted; exit 4"].text) == (4, "scripted\n")
    assert {event.branch for event in found} == {"trunk"}
    assert [event.text for event in found if event.role == "user"] == ["Try them all."]


def test_resumed_compacted_and_handed_to_a_sub_agent(codex: str, home: Path, project: Path) -> None:
    hand_over = call("spawn_agent", {"message": "Always look at the tests.", "fork_context": True})
    turns: list[Turn] = [
        [say("One.")],
        [say("A summary: the user wants everything.")],
        [{**hand_over, "namespace": "multi_agent_v1"}],
        [say("From one of them.")],
        [say("From the other.")],
    ]
    with FakeResponses(turns) as fake:
        configure(home, fake, "model_auto_compact_token_limit = 1000")
        session(codex, home, project, "First prompt.")
        session(codex, home, project, "resume", "--last", "Second prompt.")
    read = [events(path) for path in rollouts(home)]
    assert [report.skipped for _, report in read] == [{}, {}]
    (main, agent) = sorted((found for found, _ in read), key=lambda found: found[0].sidechain)
    assert [event.text for event in main if event.kind == "user"] == ["First prompt.", "Second prompt."]
    assert sum(event.kind == "compaction" for event in main) >= 1
    assert not any("A summary" in event.text for event in main if event.kind == "assistant")
    assert all(event.sidechain for event in agent)
    assert not any(event.role == "user" for event in agent)
    assert {event.session_id for event in agent} == {event.session_id for event in main}


def test_a_command_of_the_real_agent_is_refused_and_leaves_a_candidate(
    codex: str, home: Path, project: Path, command: Commands
) -> None:
    """By its variables, and without them by its process."""
    write = f'"{sys.executable}" -m hikidashi write port "Port 3000." --type fact'
    path = str(Path(__file__).parents[2])
    turns: list[Turn] = [
        [run(f'PYTHONPATH="{path}" {write}')],
        [run(f'env -i HOME="$HOME" PATH="$PATH" PYTHONPATH="{path}" {write}')],
        [say("Both were refused.")],
    ]
    with FakeResponses(turns) as fake:
        configure(home, fake)
        session(codex, home, project, "Remember the port.")
        first, second = (json.dumps(request["input"][-1]) for request in fake.requests[1:3])
    assert re.search(r"Codex runs it \(CODEX_\w+ is set\); it waits as candidate", first), first
    assert "Codex runs it (it runs this process); it waits as candidate" in second
    (found,) = candidates(command, project).values()
    assert (found["key"], found["trust"]) == ("port", "assistant")


def test_a_wrong_claim_is_sent_back_once(codex: str, home: Path, project: Path, command: Commands) -> None:
    hooked(home)
    body, aliases = "Deploy the shop with `make deploy`", ["deploy", "デプロイ"]
    fact = {"key": KEY, "type": "capability", "body": body, "scope": "workspace", "aliases": aliases}
    (home / "fact.jsonl").write_text(json.dumps(fact) + "\n")
    command("import", str(home / "fact.jsonl"), cwd=project)
    claim = "I cannot deploy, I have no credentials."
    with FakeResponses([[say(claim)], [say("I checked: it works.")]]) as fake:
        configure(home, fake)
        said = session(codex, home, project, "deploy the shop")
    assert not re.search(r"hook: \w+ Failed", said), said
    first, second = (json.dumps(request["input"]) for request in fake.requests)
    assert first.count(body) == 1
    assert KEY in second.partition(claim)[2]
