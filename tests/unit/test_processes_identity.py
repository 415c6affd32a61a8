"""A process is told from another one that has its pid, on Linux by ticks, elsewhere by its creation time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hikidashi.processes import (
    SYSTEM_PROCESSES,
    LinuxProcesses,
    Processes,
    PsutilProcesses,
    Sighting,
    same_start,
)

needs_proc = pytest.mark.skipif(not LinuxProcesses().works(), reason="this system has no Linux /proc")

BOTH = [pytest.param(LinuxProcesses(), marks=needs_proc, id="proc"), pytest.param(PsutilProcesses(), id="psutil")]


@pytest.mark.parametrize("processes", BOTH)
def test_we_see_ourselves_as_we_describe_ourselves(processes: Processes) -> None:
    own = processes.own()
    assert own.pid == os.getpid() and own.host and own.start_id
    seen = processes.look(own.pid)
    assert seen.state == "running" and same_start(seen.start_id, own.start_id)


@pytest.mark.parametrize("processes", BOTH)
def test_a_child_is_running_then_a_zombie_then_gone(processes: Processes) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert processes.look(child.pid).state == "running"
    child.kill()
    deadline = time.monotonic() + 10
    while processes.look(child.pid).state == "running" and time.monotonic() < deadline:
        time.sleep(0.005)
    assert processes.look(child.pid).state == "zombie", "killed, but its parent has not looked yet"
    child.communicate()
    assert processes.look(child.pid).state == "gone"


@pytest.mark.parametrize("processes", BOTH)
@pytest.mark.parametrize("pid", [2**22 + 1, 2**31 - 1])
def test_a_pid_that_nobody_has_is_gone(processes: Processes, pid: int) -> None:
    assert processes.look(pid).state == "gone"


STAT_TAIL = " 1 1 1 0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 92412 3133440 358"


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        ("7 (python) S" + STAT_TAIL, Sighting(state="running", start_id="92412")),
        ("7 (a) R 9 (b) Z) T" + STAT_TAIL, Sighting(state="running", start_id="92412")),  # brackets in its name
        ("7 (\n) D" + STAT_TAIL, Sighting(state="running", start_id="92412")),
        ("7 (python) Z" + STAT_TAIL, Sighting(state="zombie", start_id="92412")),
        ("7 (python) X" + STAT_TAIL, Sighting(state="zombie", start_id="92412")),
        ("", Sighting(state="gone")),
        ("7 (python) S 1 1", Sighting(state="gone")),
    ],
)
def test_the_kernels_line_is_read_whatever_the_program_is_called(tmp_path: Path, stat: str, expected: Sighting) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text(stat)
    assert LinuxProcesses(tmp_path).look(7) == expected


def test_a_proc_of_another_system_is_not_taken_for_linux(tmp_path: Path) -> None:
    assert not LinuxProcesses(tmp_path).works()


def test_without_namespaces_the_identity_is_still_whole(tmp_path: Path) -> None:
    folder = tmp_path / str(os.getpid())
    folder.mkdir()
    (folder / "stat").write_text(f"{os.getpid()} (python) R" + STAT_TAIL)
    own = LinuxProcesses(tmp_path).own()
    assert (own.start_id, own.boot_id, own.pid_ns) == ("92412", "", "")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("92412", "92412", True),
        ("92412", "92413", False),
        ("", "92412", False),
        ("1770000000.10", "1770000005.00", True),  # the clock was set by a little
        ("1770000000.10", "1770000005.20", False),
        ("1770000000.10", "1770000000", False),
        ("1.x", "1.y", False),
        ("nan.", "1.0", False),
    ],
)
def test_start_ids(one: str, other: str, same: bool) -> None:
    assert same_start(one, other) is same and same_start(other, one) is same


def test_this_machines_processes_are_probed() -> None:
    assert isinstance(SYSTEM_PROCESSES, LinuxProcesses) is LinuxProcesses().works()
