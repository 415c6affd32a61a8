"""Real processes: many starters, one holder at a time; killed, stopped and zombie holders are recovered."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hikidashi.config.workspace import Workspace
from hikidashi.errors import Busy, LostClaim
from hikidashi.processes import LinuxProcesses
from hikidashi.staging.claim import read_claim, take_claim
from tests.support.commands import Commands

ROOT = Path(__file__).resolve().parents[2]

#: Takes the claim, marks its time inside with a file that must not exist yet, and says how it went.
STARTER = """
import os, sys, time
from pathlib import Path
from hikidashi.config.workspace import Workspace
from hikidashi.errors import Busy
from hikidashi.staging.claim import take_claim
root, name = Path(sys.argv[1]), sys.argv[2]
marker = root / "inside"
for attempt in range(3):
    try:
        held = take_claim(Workspace(root, "0" * 32), f"RUN-{name}-{attempt}", max_seconds=900)
    except Busy as exc:
        print("busy", str(exc).count("\\n"))
        continue
    os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    held.set_consumed([name])
    with held.guard():
        time.sleep(0.02)
    marker.unlink()
    held.release()
    print("held", *held.found)
"""

#: Takes the claim and waits to be killed.
HOLDER = """
import sys, time
from pathlib import Path
from hikidashi.config.workspace import Workspace
from hikidashi.staging.claim import take_claim
Path(sys.argv[1], ".hikidashi").mkdir(parents=True, exist_ok=True)
held = take_claim(Workspace(Path(sys.argv[1]), "0" * 32), "RUN-HOLDER", max_seconds=float(sys.argv[2]))
held.start_heartbeat(every=0.05)
print("holding", flush=True)
time.sleep(60)
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "project", "0" * 32)
    made.home.mkdir(parents=True)
    return made


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True)


@contextmanager
def holder(workspace: Workspace, max_seconds: float = 900) -> Iterator[subprocess.Popen[str]]:
    process = start(HOLDER, str(workspace.root), str(max_seconds))
    try:
        assert process.stdout is not None and process.stdout.readline() == "holding\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_of_thirty_starters_one_holds_at_any_time(workspace: Workspace, run: Commands) -> None:
    said = []
    for starter in run.python(STARTER, [(workspace.root, number) for number in range(30)]):
        assert starter.code == 0, f"a second one was inside, or something failed: {starter.err}"
        said += starter.out.splitlines()
    assert len(said) == 90
    assert "held" in said
    assert set(said) <= {"held", "busy 0"}, "nobody found a claim that was left behind"
    assert not workspace.claim_path.exists()
    assert not (workspace.root / "inside").exists()


def test_a_killed_holder_is_recovered(workspace: Workspace) -> None:
    with holder(workspace) as process:
        with pytest.raises(Busy, match=rf"run RUN-HOLDER \(pid {process.pid} on "):
            take_claim(workspace, "RUN-2", max_seconds=900)
        process.send_signal(signal.SIGKILL)
        process.wait()
        held = take_claim(workspace, "RUN-2", max_seconds=900)
    assert "was left by a process that is gone" in held.found[0]
    held.release()


def test_a_holder_that_is_a_zombie_is_recovered(workspace: Workspace) -> None:
    with holder(workspace) as process:
        os.kill(process.pid, signal.SIGKILL)
        deadline = time.monotonic() + 10
        while (status := read_claim(workspace)) and status.alive and time.monotonic() < deadline:
            time.sleep(0.01)
        held = take_claim(workspace, "RUN-2", max_seconds=900)  # nobody has waited for the dead child yet
    assert "has ended (a zombie)" in held.found[0]
    held.release()


def test_a_stopped_holder_past_its_time_is_taken_over(workspace: Workspace) -> None:
    """It sleeps through the take-over and, once awake, must not write again."""
    with holder(workspace, max_seconds=900) as process:
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.2)  # until it stands; it may stop while it holds the guard, then a starter says busy
        slept: list[float] = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)

        for _ in range(20):
            try:
                held = take_claim(workspace, "RUN-2", max_seconds=-400, sleep=sleep)
                break
            except Busy:
                process.send_signal(signal.SIGCONT)
                time.sleep(0.03)
                process.send_signal(signal.SIGSTOP)
                time.sleep(0.05)
        assert "stands still; this run took it over" in held.found[0]
        process.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        held.verify()
        held.release()


def test_a_holder_that_works_past_its_time_is_respected(workspace: Workspace) -> None:
    with holder(workspace):
        started = time.monotonic()
        with pytest.raises(Busy, match="RUN-HOLDER"):
            take_claim(workspace, "RUN-2", max_seconds=-400)
        assert time.monotonic() - started < 5, "seen to beat after one look"


@pytest.mark.skipif(not LinuxProcesses().works(), reason="elsewhere two starts within 5 seconds look like one")
def test_a_reused_pid_is_not_the_owner(workspace: Workspace) -> None:
    with holder(workspace) as process:
        text = workspace.claim_path.read_text()
        process.kill()
        process.wait()
        with holder(Workspace(workspace.root / "other", "1" * 32)) as other:  # a live process with "its" pid
            workspace.claim_path.write_text(text.replace(f'"pid": {process.pid}', f'"pid": {other.pid}'))
            held = take_claim(workspace, "RUN-2", max_seconds=900)
            assert "its pid belongs to another one now" in held.found[0]
            with pytest.raises(LostClaim):
                workspace.claim_path.unlink()
                held.verify()
