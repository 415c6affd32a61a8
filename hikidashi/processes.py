"""Who a process is, so that a pid that was given to another process is told from the old one.

A pid alone proves nothing: it is used again after a while, and at once after a restart. On Linux the kernel
counts a process's start in ticks since the machine started, which no clock change moves, and gives each
start of the machine an ID. Elsewhere psutil's creation time stands in, with a tolerance.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

import psutil

__all__ = [
    "SYSTEM_PROCESSES",
    "LinuxProcesses",
    "OwnIdentity",
    "Processes",
    "PsutilProcesses",
    "Sighting",
    "same_start",
]

#: Creation times are computed from the wall clock on some systems and move with it (seconds).
_CREATION_TOLERANCE: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnIdentity:
    """This process, as it writes itself into a claim."""

    pid: int
    #: Linux: start in ticks since the machine's start, digits only. Elsewhere: creation time, seconds with a point.
    start_id: str
    #: ID of this start of the machine; '' where the system has none.
    boot_id: str
    #: Pid namespace (`pid:[4026531836]`): the same pid means another process in another one. '' where there are none.
    pid_ns: str
    #: Name of the machine.
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What is to be seen of a pid. `hidden`: something runs there, but not what or since when."""

    state: Literal["running", "zombie", "gone", "hidden"]
    start_id: str = ""


class Processes(Protocol):
    """The processes of a machine; tests pass a fake."""

    def own(self) -> OwnIdentity:
        """This process."""

    def look(self, pid: int) -> Sighting:
        """What runs under `pid` in our own pid namespace."""


def same_start(one: str, other: str) -> bool:
    """Whether two start IDs mean one start: equal ticks, or creation times at most 5 seconds apart."""
    if "." not in one or "." not in other:
        return one == other
    try:
        return abs(float(one) - float(other)) <= _CREATION_TOLERANCE
    except ValueError:
        return False


def _exists(pid: int) -> bool:
    """Whether a process that we may not look at has this pid (`/proc` mounted with hidepid)."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


class LinuxProcesses:
    """Processes by `/proc`."""

    def __init__(self, proc: Path = Path("/proc")) -> None:
        self._proc = proc

    def works(self) -> bool:
        """Whether this system has what the other methods read."""
        return self.look(os.getpid()).state == "running" and self._read("sys/kernel/random/boot_id") != ""

    def own(self) -> OwnIdentity:
        """This process."""
        try:
            pid_ns = str((self._proc / "self" / "ns" / "pid").readlink())
        except OSError:  # a kernel built without namespaces
            pid_ns = ""
        return OwnIdentity(
            pid=os.getpid(),
            start_id=self.look(os.getpid()).start_id,
            boot_id=self._read("sys/kernel/random/boot_id"),
            pid_ns=pid_ns,
            host=platform.node(),
        )

    def look(self, pid: int) -> Sighting:
        """What runs under `pid`: state and start ticks are fields 3 and 22 of its `stat` (proc(5))."""
        text = self._read(f"{pid}/stat")
        # The program's name stands in brackets and may itself hold brackets and spaces.
        fields = text[text.rfind(")") + 1 :].split()
        if len(fields) < 20:
            # Without a kill: in a fake /proc of a test the real pid means nothing.
            return Sighting(state="hidden" if self._proc == Path("/proc") and _exists(pid) else "gone")
        return Sighting(state="zombie" if fields[0] in "ZXx" else "running", start_id=fields[19])

    def _read(self, name: str) -> str:
        try:
            return (self._proc / name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""


class PsutilProcesses:
    """Processes by psutil, for systems without Linux's `/proc` (macOS, BSD, Windows)."""

    def own(self) -> OwnIdentity:
        """This process. Without a boot ID the creation time alone tells a process of an earlier start."""
        return OwnIdentity(
            pid=os.getpid(), start_id=self.look(os.getpid()).start_id, boot_id="", pid_ns="", host=platform.node()
        )

    def look(self, pid: int) -> Sighting:
        """What runs under `pid`."""
        try:
            process = psutil.Process(pid)
            zombie = process.status() == psutil.STATUS_ZOMBIE
            return Sighting(state="zombie" if zombie else "running", start_id=f"{process.create_time():.6f}")
        except psutil.ZombieProcess:
            return Sighting(state="zombie")
        except psutil.NoSuchProcess:
            return Sighting(state="gone")
        except psutil.AccessDenied:
            return Sighting(state="hidden")


def _system() -> Processes:
    linux = LinuxProcesses()
    return linux if linux.works() else PsutilProcesses()  # probed: BSDs may mount a /proc that is another one


#: The processes of this machine.
SYSTEM_PROCESSES: Final[Processes] = _system()
