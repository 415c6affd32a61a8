"""Processes whose parent is the system's first one.

The command looks at the processes above it, and this suite may itself be run by an agent. So a test that runs a real
process starts it through a second one that nobody waits for: the system takes that over, and nothing of whoever runs
the suite stands above it.
"""

from __future__ import annotations

import os
import pty
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Detached", "DetachedPty", "detach", "run_detached"]

_STATUS = struct.Struct("i")


def detach() -> None:
    """Go on as another process, whose parent is not the one that started this; that one sees this one end."""
    first = os.getpid()
    if os.fork() != 0:
        os._exit(0)
    while os.getppid() == first:
        time.sleep(0.001)


@dataclass(frozen=True, slots=True)
class Detached:
    """A detached command that ended."""

    code: int
    out: str
    err: str


def run_detached(command: Sequence[str], *, cwd: Path, environ: Mapping[str, str], seconds: float = 60) -> Detached:
    """Run `command` below nobody, without a terminal, and wait for it."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:

        def run() -> int:
            return subprocess.run(
                command, cwd=cwd, env=dict(environ), stdin=subprocess.DEVNULL, stdout=out, stderr=err, timeout=seconds
            ).returncode

        code = _in_a_detached_process(run)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    return Detached(code, *texts)


def _in_a_detached_process(run: Callable[[], int]) -> int:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            detach()
            os.write(writer, _STATUS.pack(run()))
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    answer = os.read(reader, _STATUS.size)
    os.close(reader)
    assert len(answer) == _STATUS.size, "the detached process ended before its command did"
    return int(_STATUS.unpack(answer)[0])


@dataclass(slots=True)
class DetachedPty:
    """A command on a terminal of its own, below nobody. `become` runs in it and must not come back."""

    become: Callable[[], None]
    #: The terminal's other end, and the command's process ID.
    fd: int = field(init=False)
    pid: int = field(init=False)
    _status: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self._status, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            try:
                self._status.close()
                detach()
                self._serve(theirs)
            finally:
                os._exit(70)
        theirs.close()
        os.waitpid(child, 0)
        message, (self.fd,), _, _ = socket.recv_fds(self._status, _STATUS.size, 1)
        self.pid = _STATUS.unpack(message)[0]

    def _serve(self, theirs: socket.socket) -> None:
        pid, fd = pty.fork()
        if pid == 0:
            try:
                theirs.close()
                self.become()
            finally:
                os._exit(127)
        socket.send_fds(theirs, [_STATUS.pack(pid)], [fd])
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        theirs.send(_STATUS.pack(status))
        os._exit(0)

    def wait(self) -> int:
        """The exit code (negative: the signal)."""
        answer = self._status.recv(_STATUS.size)
        self._status.close()
        os.close(self.fd)
        return os.waitstatus_to_exitcode(_STATUS.unpack(answer)[0])
