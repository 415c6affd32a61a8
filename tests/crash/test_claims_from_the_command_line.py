"""A claim that somebody left, and one that somebody holds, as `status` and `consolidate` deal with them.

`test_claim_left_behind.py` has the finer cases; here everything is real: processes, clocks, the command line.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hikidashi.processes import SYSTEM_PROCESSES
from hikidashi.staging.claim import Claim, take_claim
from hikidashi.times import format_time, now
from hikidashi.ulid import random_ulid
from tests.support.commands import Commands
from tests.support.prepared import Prepared, prepare
from tests.support.project import Project

NUMBERS = range(2)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, run: Commands) -> Prepared:
    """Two entries are staged."""

    def make(root: Path) -> Project:
        project = Project.made(root, run)
        project.keep(project.choices("one", NUMBERS))
        run("extract", "--no-consolidate", cwd=project.root)
        return project

    return prepare(tmp_path_factory, run, make)


@pytest.fixture
def project(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> Project:
    return prepared.project(monkeypatch)


@pytest.fixture
def ended_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has ended and that nobody asked about yet: a zombie."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    while SYSTEM_PROCESSES.look(process.pid).state != "zombie":
        time.sleep(0.01)
    yield process
    process.wait()


def _claim(*, age: timedelta = timedelta(minutes=1), **changes: object) -> Claim:
    """A claim of this very process, with changes."""
    at = format_time(now() - age)
    own = dataclasses.asdict(SYSTEM_PROCESSES.own())
    claim = Claim(run_id=random_ulid(now()), started_at=at, heartbeat_at=at, **own)
    return dataclasses.replace(claim, **changes)  # type: ignore[arg-type]


def _gone() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


Made = Callable[[], Claim]

LEFT: dict[str, tuple[Made, str]] = {
    "a dead process": (lambda: _claim(pid=_gone()), "gone"),
    "a pid that another process has now": (lambda: _claim(start_id="1"), "belongs to another one now"),
    "another start of the machine": (lambda: _claim(boot_id="11111111-2222-3333-4444-555555555555"), "restarted"),
    "a dead process 40 days ago": (lambda: _claim(pid=_gone(), age=timedelta(days=40)), "gone"),
    "a dead process in the future": (lambda: _claim(pid=_gone(), age=timedelta(days=-40)), "gone"),
    "another machine, silent for an hour": (
        lambda: _claim(host="desk", boot_id="11111111-2222-3333-4444-555555555555", age=timedelta(hours=1)),
        "on another machine",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_claim_of_the_dead_is_said_and_taken_over(project: Project, run: Commands, name: str) -> None:
    make, words = LEFT[name]
    claim = make()
    path = project.workspace.claim_path
    path.write_text(claim.to_json())
    old = time.time() - 3_600
    os.utime(path, (old, old))
    status = run("status", "--json", cwd=project.root).json()["claim"]
    assert (status["alive"], status["run_id"]) == (False, claim.run_id)
    assert words in status["reason"]
    run_ = run("consolidate", "--json", cwd=project.root).json()
    assert run_["outcome"] == "done"
    assert any(claim.run_id in line and words in line for line in run_["recovered"]), run_["recovered"]
    project.assert_whole(NUMBERS)


def test_a_zombie_s_claim_is_taken_over(
    project: Project, run: Commands, ended_process: subprocess.Popen[bytes]
) -> None:
    start = SYSTEM_PROCESSES.look(ended_process.pid).start_id
    project.workspace.claim_path.write_text(_claim(pid=ended_process.pid, start_id=start).to_json())
    assert "zombie" in run("status", "--json", cwd=project.root).json()["claim"]["reason"]
    run("consolidate", cwd=project.root)
    project.assert_whole(NUMBERS)


@pytest.mark.parametrize("what", ["empty", "garbage", "a folder", "half of one"])
def test_what_is_no_claim_is_set_aside(project: Project, run: Commands, what: str) -> None:
    path = project.workspace.claim_path
    if what == "a folder":
        path.mkdir()
        (path / "note.txt").write_text("keep me")
    else:
        text = {"empty": "", "garbage": "\x00\xff not a claim", "half of one": _claim().to_json()[:60]}[what]
        path.write_bytes(text.encode("latin-1"))
    status = run("status", "--json", cwd=project.root).json()["claim"]
    assert not status["alive"]
    assert "unusable" in status["reason"]
    run_ = run("consolidate", "--json", cwd=project.root).json()
    assert any("quarantine/" in line for line in run_["recovered"])
    kept = [p for p in project.workspace.quarantine.iterdir() if not p.name.endswith(".reason")]
    assert len(kept) == 1
    if what == "a folder":
        assert (kept[0] / "note.txt").read_text() == "keep me"
    project.assert_whole(NUMBERS)


@pytest.mark.parametrize("days", [0, 1, 400, -1, -400])
def test_a_live_owner_is_respected_whatever_the_clock_says(project: Project, run: Commands, days: int) -> None:
    before = project.everything()
    held = take_claim(project.workspace, random_ulid(now()), max_seconds=3_600)
    held.start_heartbeat(0.5)
    try:
        status = run("status", "--json", cwd=project.root, clock_by=days * 86_400).json()["claim"]
        assert (status["alive"], status["pid"]) == (True, os.getpid())
        busy = run("consolidate", "--json", cwd=project.root, clock_by=days * 86_400, code=3).json()
        assert busy["outcome"] == "busy"
        assert f"pid {os.getpid()}" in busy["message"]
        assert busy["message"].endswith("try again when it has ended")
        assert project.everything() == before
    finally:
        held.release()
    run("consolidate", cwd=project.root, clock_by=days * 86_400)
    project.assert_whole(NUMBERS)


def test_a_live_process_on_another_machine_is_respected(project: Project, run: Commands) -> None:
    claim = _claim(host="desk", boot_id="11111111-2222-3333-4444-555555555555", age=timedelta(seconds=30))
    project.workspace.claim_path.write_text(claim.to_json())
    assert "on desk" in run("consolidate", cwd=project.root, code=3).out
    assert run("status", "--json", cwd=project.root).json()["claim"]["alive"]
    assert project.workspace.claim_path.read_text() == claim.to_json()


@pytest.mark.slow
def test_an_owner_that_hangs_past_its_time_is_watched_and_taken_over(project: Project, run: Commands) -> None:
    claim = _claim(age=timedelta(days=2))  # our own process, alive, that never beats again
    project.workspace.claim_path.write_text(claim.to_json())
    began = time.monotonic()
    run_ = run("consolidate", "--json", cwd=project.root).json()
    assert time.monotonic() - began > 20
    assert any("heartbeat stands still" in line for line in run_["recovered"])
    project.assert_whole(NUMBERS)


@pytest.mark.parametrize("days", [-400, -1, 1, 400])
def test_the_whole_way_under_a_wrong_clock_and_back(tmp_path: Path, run: Commands, days: int) -> None:
    """Extract and consolidate with a wrong clock, then go on with the right one."""
    project = Project.made(tmp_path / "shop", run)
    project.keep(project.choices("one", NUMBERS))
    run("extract", "--no-consolidate", cwd=project.root, clock_by=days * 86_400)
    run("consolidate", cwd=project.root, clock_by=days * 86_400)
    project.keep(project.choices("two", range(2, 4)))
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", "--drain", cwd=project.root)
    run("status", cwd=project.root)
    project.assert_whole(range(4 if days > 0 else 2))
    run("lint", cwd=project.root)
