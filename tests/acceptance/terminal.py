"""A command on a terminal of its own (a pty): what it shows, and what a person types.

Its process is forked from this one, which has everything imported already; `real=True` starts a Python of its own,
as a shell does, at ten times the cost.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import sys
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.commands import import_all, run_program
from tests.support.detached import DetachedPty

_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07)")


@dataclass
class Terminal:
    """One process on a pty; `close` waits for its end."""

    arguments: list[str]
    cwd: Path
    columns: int = 80
    environment: dict[str, str] = field(default_factory=dict)
    real: bool = False

    def __post_init__(self) -> None:
        import_all()
        self.raw = b""
        self._process = DetachedPty(self._become)  # a person's terminal has no agent above it
        self._pid, self._fd = self._process.pid, self._process.fd

    def _become(self) -> None:
        os.chdir(self.cwd)
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])}
        environment.pop("COLUMNS", None)
        environment |= self.environment
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the suite runs in the background
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        # The width must stand before the first line is drawn.
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, self.columns, 0, 0))
        if self.real:
            os.execve(sys.executable, [sys.executable, "-m", "hikidashi", *self.arguments], environment)
        os.environ.clear()
        os.environ.update(environment)
        os._exit(_as_a_program(self.arguments))

    @property
    def text(self) -> str:
        """What was shown, without colours and cursor movements."""
        return _SEQUENCE.sub("", self.raw.decode(errors="replace")).replace("\r\n", "\n")

    def wait_for(self, text: str, seconds: float = 30) -> None:
        """Read until `text` was shown."""
        end = time.monotonic() + seconds
        while text not in self.text:
            assert time.monotonic() < end, f"{text!r} did not come:\n{self.text}"
            if not self._read():
                break
        assert text in self.text, self.text

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._fd, text.encode())

    def close(self, seconds: float = 60, *, pressing: str = "") -> int:
        """Wait for the end and give the exit code (negative: the signal).

        `pressing` is pressed again each two seconds, as a person would: the interpreter misses an interrupt that
        comes between its look for signals and its wait for a line.
        """
        end = time.monotonic() + seconds
        again = time.monotonic() + 2
        while self._read():
            if pressing and time.monotonic() > again:
                self.type(pressing)
                again = time.monotonic() + 2
            if time.monotonic() > end:
                os.kill(self._pid, signal.SIGKILL)
                self._process.wait()
                raise AssertionError(f"it does not end:\n{self.text}")
        return self._process.wait()

    def _read(self) -> bool:
        ready, _, _ = select.select([self._fd], [], [], 0.5)
        if not ready:
            return True
        try:
            data = os.read(self._fd, 65536)
        except OSError:  # the other end is closed
            return False
        self.raw += data
        return bool(data)


def _as_a_program(arguments: list[str]) -> int:
    """In a forked child: run the command as the interpreter runs a program, and give its exit code."""
    sys.argv = ["hikidashi", *arguments]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    return run_program()
