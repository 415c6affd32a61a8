"""A session's end and its compaction start reading it, detached; what no hook reported is found at the next start."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

from hikidashi.db import migrations
from tests.support.command import hikidashi, put_demo_sessions
from tests.support.hooks import Project


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Project:
    project = Project(tmp_path / "blyck")
    put_demo_sessions(home, project.root)
    return project


def transcripts(home: Path) -> list[Path]:
    return sorted((home / ".claude").rglob("*.jsonl"))


def wait_for(condition: object, seconds: float = 20) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def runs(project: Project) -> int:
    """Extractions that ended, as the log has them."""
    log = project.workspace.log_file
    return log.read_text().count('"queued"') if log.exists() else 0


@pytest.mark.parametrize("name", ["SessionEnd", "PreCompact"])
def test_the_hook_ends_at_once_and_the_session_is_read(project: Project, home: Path, name: str) -> None:
    answer = project.fire(name, transcript_path=str(transcripts(home)[0]), reason="other")
    assert (answer.said, answer.err) == (None, "")
    assert answer.seconds < 1.5
    wait_for(lambda: runs(project) == 1)
    assert project.query("SELECT count(*) FROM candidates")[0][0] > 0
    assert project.query("SELECT count(*) FROM watermarks")[0][0] == len(transcripts(home))


def test_capture_that_is_off_or_paused_starts_nothing(project: Project, home: Path) -> None:
    config = home / ".config" / "hikidashi"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[capture]\nautomatic = false\n")
    project.fire("SessionEnd")
    (config / "config.toml").unlink()
    assert hikidashi("pause", cwd=project.root).code == 0
    project.fire("SessionEnd")
    assert hikidashi("resume", cwd=project.root).code == 0
    assert hikidashi("pause", "--session", "session-1", cwd=project.root).code == 0
    project.fire("SessionEnd")
    assert not project.workspace.log_file.exists()
    project.fire("SessionEnd", session_id="session-2")
    wait_for(lambda: runs(project) == 1)


def test_fifty_rounds_in_our_own_session_start_no_process(project: Project) -> None:
    for name in ("SessionStart", "SessionEnd") * 25:
        project.fire(name, environ={"HIKIDASHI_WORKER": "1"})
    assert not project.workspace.log_file.exists()


def test_a_session_whose_end_nobody_saw_is_read_at_the_next_start_once(project: Project, home: Path) -> None:
    transcript = transcripts(home)[0]
    project.fire("SessionStart", source="startup", transcript_path=str(transcript))
    project.fire("SessionStart", source="startup", session_id="session-2")
    assert not project.workspace.log_file.exists()  # it may be going on
    old = time.time() - 3_600
    os.utime(transcript, (old, old))
    project.fire("SessionStart", source="resume", session_id="session-2")
    assert not project.workspace.log_file.exists()
    project.fire("SessionStart", source="startup", session_id="session-3")
    wait_for(lambda: runs(project) == 1)
    project.fire("SessionStart", source="startup", session_id="session-4")
    time.sleep(0.5)
    assert runs(project) == 1


def test_a_paused_session_is_not_read_and_not_noted(project: Project, home: Path) -> None:
    transcript = transcripts(home)[0]
    session = transcript.stem
    project.fire("SessionStart", source="startup", session_id=session, transcript_path=str(transcript))
    ran = hikidashi("pause", "--session", "--json", cwd=project.root)
    assert ran.json == {"workspace": str(project.root), "session": session, "paused": True}
    before = project.query("SELECT count(*) FROM usage_events")
    assert project.prompt("deploy it", session_id=session).said is None
    assert project.query("SELECT count(*) FROM usage_events") == before
    project.fire("SessionEnd", session_id=session, transcript_path=str(transcript))
    extract = ("extract", "--no-consolidate", "--json")
    assert hikidashi(*extract, cwd=project.root).json["files"] == len(transcripts(home)) - 1
    assert project.query("SELECT count(*) FROM watermarks WHERE session_id = '" + session + "'") == [(0,)]
    assert hikidashi("resume", "--session", session, cwd=project.root).code == 0
    assert hikidashi(*extract, cwd=project.root).json["files"] == len(transcripts(home))


def test_the_session_is_the_one_that_the_command_runs_in(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = hikidashi("pause", "--session", cwd=project.root)
    assert ran.code == 2
    assert "give its ID" in ran.err
    project.fire("SessionStart", source="startup", session_id="older")
    project.fire("SessionStart", source="startup", session_id="newest")
    assert hikidashi("pause", "--session", "--json", cwd=project.root).json["session"] == "newest"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "mine")
    assert hikidashi("pause", "--session", "--json", cwd=project.root).json["session"] == "mine"
    assert hikidashi("pause", "--session", "named", "--json", cwd=project.root).json["session"] == "named"


def test_files_of_sessions_go_after_thirty_days(project: Project) -> None:
    project.fire("SessionStart", source="startup", session_id="old")
    hikidashi("pause", "--session", "old", cwd=project.root)
    folder = project.workspace.home / "sessions"
    long_ago = time.time() - 40 * 86_400
    for file in folder.glob("*"):
        if json.loads(file.read_text() if file.suffix == ".json" else "{}").get("session_id") == "old":
            os.utime(file, (long_ago, long_ago))
    project.fire("SessionStart", source="startup", session_id="new")
    assert len([file for file in folder.glob("*.json") if file.name != "told.json"]) == 1
    assert len(list(folder.glob("*.paused"))) == 1


def test_uses_that_waited_are_taken_in_by_extract(project: Project) -> None:
    spool = project.workspace.home / "workspace.sqlite.spool"
    line = {"session_id": "s", "via": "hook", "at": "2026-05-03T09:30:00.000Z", "named": [1], "given": [1, 2, "x", 99]}
    spool.write_text(json.dumps(line) + "\n{cut\n7\n")
    assert hikidashi("extract", "--no-consolidate", cwd=project.root).code == 0
    assert project.query("SELECT subject FROM usage_events ORDER BY id") == [
        ("fact:workspace:deploy:lantern",),
        ("fact:workspace:rule:friday",),
    ]
    assert not list(project.workspace.home.glob("*.spool*"))


def test_a_database_of_an_older_version_is_brought_up_to_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(migrations, "_FILES", migrations._FILES[:4])
        older.setattr(migrations, "LATEST", 4)
        project = Project(tmp_path / "old")
    assert project.query("PRAGMA user_version") == [(4,)]
    project.workspace.config_file.write_text("")
    off = project.prompt("deploy it", environ={"HIKIDASHI_CAPTURE_AUTOMATIC": "0"})
    assert off.err.endswith("run `hikidashi status` once\n")
    first = project.prompt("deploy it")
    assert (first.said, "brought up to date now" in first.err) == (None, True)
    wait_for(lambda: runs(project) >= 1)
    assert project.query("PRAGMA user_version") == [(migrations.LATEST,)]
    assert "`deploy:lantern`" in project.prompt("deploy it").context


def ours(root: Path) -> list[str]:
    """Command lines of the processes that work in a folder."""
    shown = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout.splitlines()
    mine = []
    for line in shown[1:]:
        pid, _, command = line.strip().partition(" ")
        with contextlib.suppress(OSError):
            if Path(f"/proc/{pid}/cwd").resolve(strict=True) == root.resolve() or str(root) in command:
                mine.append(command)
    return mine


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="the folder of a process is read from /proc")
@pytest.mark.parametrize("worker", [True, False], ids=["our own session", "a person's"])
def test_after_fifty_rounds_no_process_and_no_session_is_left(project: Project, home: Path, worker: bool) -> None:
    before = transcripts(home)
    for _ in range(50):
        project.fire("SessionStart", environ={"HIKIDASHI_WORKER": "1"} if worker else {})
        project.fire("SessionEnd", environ={"HIKIDASHI_WORKER": "1"} if worker else {})
        assert not worker or ours(project.root) == []
    wait_for(lambda: ours(project.root) == [], seconds=120)
    assert transcripts(home) == before
    assert project.workspace.log_file.exists() is not worker
