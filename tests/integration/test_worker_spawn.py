"""A background worker starts when one is due, detached, with nothing of its parent's but what it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hikidashi
from hikidashi.config.settings import load_settings, user_file
from hikidashi.staging.claim import take_claim
from hikidashi.staging.pause import set_paused
from hikidashi.worker.spawn import LOG_BYTES, spawn_worker, start_if_due, worker_command, worker_environment
from hikidashi.worker.status import workspace_status
from tests.support.workshop import Workshop

LOOK = """
import json, os, sys
open_files = []
for descriptor in range(3, 64):
    try:
        os.fstat(descriptor)
        open_files.append(descriptor)
    except OSError:
        pass
print("to the log")
print("errors too", file=sys.stderr)
json.dump({"session": os.getsid(0), "pid": os.getpid(), "cwd": os.getcwd(), "environment": dict(os.environ),
           "stdin": sys.stdin.read(), "open": open_files, "path": sys.path}, open(sys.argv[1] + ".part", "w"))
os.rename(sys.argv[1] + ".part", sys.argv[1])
"""

AMBIENT = {
    "HOME": "/home/somebody",
    "PATH": os.environ["PATH"],
    "LC_ALL": "C.UTF-8",
    "XDG_DATA_HOME": "/data",
    "HIKIDASHI_MEMORY_API_KEY": "their own key",
    "HTTPS_PROXY": "http://proxy",
    "ANTHROPIC_API_KEY": "secret",
    "CLAUDECODE": "1",
    "CODEX_SANDBOX": "1",
    "PYTHONPATH": "/somewhere",
    "LD_PRELOAD": "x.so",
    "AWS_SECRET_ACCESS_KEY": "secret",
}


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "a project", environ={"HIKIDASHI_STAGING_MAX_FILES": "2"})
    yield workshop
    workshop.close()


def _wait_for(path: Path) -> dict[str, Any]:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, "the worker did not start"
        time.sleep(0.02)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="sessions and descriptors of POSIX")
def test_a_worker_is_detached_and_gets_only_what_it_needs(workshop: Workshop, tmp_path: Path) -> None:
    ours = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(ours, True)
    answer = tmp_path / "answer.json"
    pid = spawn_worker(workshop.workspace, command=[sys.executable, "-c", LOOK, str(answer)], environ=AMBIENT)
    found = _wait_for(answer)
    os.close(ours)
    assert (found["pid"], found["session"]) == (pid, pid)
    assert found["cwd"] == str(workshop.workspace.root)
    assert (found["stdin"], found["open"]) == ("", [])
    kept = {name for name in found["environment"] if name in AMBIENT or name.startswith("HIKIDASHI")}
    assert kept == {
        "HOME",
        "PATH",
        "LC_ALL",
        "XDG_DATA_HOME",
        "HIKIDASHI_MEMORY_API_KEY",
        "HTTPS_PROXY",
        "HIKIDASHI_WORKER",
    }
    assert "to the log" in workshop.workspace.log_file.read_text()
    assert "errors too" in workshop.workspace.log_file.read_text()
    assert workshop.workspace.log_file.stat().st_mode & 0o777 == 0o600


def test_the_command_does_not_look_for_modules_in_the_project(tmp_path: Path) -> None:
    (tmp_path / "hikidashi.py").write_text("raise SystemExit('the project was asked')")
    command = worker_command()
    assert command[0] == sys.executable
    assert command[1:] == ["-P", str(Path(hikidashi.__file__).parent / "__main__.py"), "consolidate", "--automatic"]
    helped = subprocess.run([*command[:3], "--help"], cwd=tmp_path, env={}, capture_output=True, check=True)
    assert b"consolidate" in helped.stdout
    assert worker_environment({})["HIKIDASHI_WORKER"] == "1"


def test_the_one_variable_that_the_user_named_comes_along_and_no_other() -> None:
    named = worker_environment(AMBIENT, key_variable="ANTHROPIC_API_KEY")
    assert named.keys() - worker_environment(AMBIENT).keys() == {"ANTHROPIC_API_KEY"}
    assert worker_environment({"": "x"}, key_variable="").keys() == {"HIKIDASHI_WORKER"}
    assert "OTHER_KEY" not in worker_environment(AMBIENT, key_variable="OTHER_KEY")


def test_a_started_worker_gets_the_variable_of_the_settings(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('[memory]\napi_key_variable = "MY_KEY"\n')
    settings = load_settings(None, environ={"HIKIDASHI_STAGING_MAX_FILES": "1"})
    workshop.stage(1)
    seen: list[str] = []
    monkeypatch.setattr("hikidashi.worker.spawn.spawn_worker", lambda *a, key_variable, **k: seen.append(key_variable))
    assert start_if_due(workshop.workspace, settings, workshop.connection, clock=workshop.clock, environ={})
    assert seen == ["MY_KEY"]


def test_no_worker_starts_for_an_engine_that_cannot_consolidate(workshop: Workshop) -> None:
    settings = load_settings(None, environ={"HIKIDASHI_STAGING_MAX_FILES": "1", "HIKIDASHI_MEMORY_ENGINE": "anthropic"})
    workshop.stage(1)
    assert start_if_due(workshop.workspace, settings, workshop.connection, clock=workshop.clock, environ={}) == ""
    status = workspace_status(workshop.workspace, settings, workshop.connection, clock=workshop.clock)
    assert "`hikidashi consolidate --engine rules`" in status["idle_reason"]


def test_the_log_is_cut_to_its_newest_half_at_a_line(workshop: Workshop) -> None:
    log = workshop.workspace.log_file
    log.write_bytes(b"".join(b"line %07d\n" % number for number in range(LOG_BYTES // 10)))
    spawn_worker(workshop.workspace, command=[sys.executable, "-c", ""], environ={})
    text = log.read_bytes()
    assert len(text) <= LOG_BYTES // 2
    assert text.startswith(b"line ")
    assert b"line %07d\n" % (LOG_BYTES // 10 - 1) in text


def test_a_worker_starts_only_when_one_is_due(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr("hikidashi.worker.spawn.spawn_worker", lambda *a, **k: started.append(a))

    def due(**environ: str) -> str:
        return start_if_due(
            workshop.workspace, workshop.settings, workshop.connection, clock=workshop.clock, environ=environ
        )

    workshop.stage(1)
    assert due() == ""
    workshop.stage(2)
    assert due(HIKIDASHI_DISABLE="1") == ""
    set_paused(workshop.connection, True)
    assert due() == ""
    set_paused(workshop.connection, False)
    held = take_claim(workshop.workspace, "01KQS55DE0WR4VJPYNTPRWQWRJ", max_seconds=900, clock=workshop.clock)
    assert due() == ""
    held.release()
    assert started == []
    assert "2 entries wait" in due(HIKIDASHI_DISABLE="0")
    assert len(started) == 1
