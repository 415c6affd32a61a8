"""Reading single keys from the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from typing import Any, Final, Self

import click

try:
    import termios
    import tty
except ImportError:  # Windows, where click reads keys through msvcrt
    termios = tty = None  # type: ignore[assignment]

__all__ = ["Keys"]

#: The rest of an arrow key's sequence comes at once; a bare Escape has none (seconds).
_SEQUENCE: Final = 0.05


class Keys:
    """The keyboard while a dialog has it: keys come without Enter and are not shown.

    A context manager; the terminal is as before afterwards. Ctrl+C still interrupts.
    """

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._before: list[Any] | None = None

    def __enter__(self) -> Self:
        if termios is not None:
            self._before = termios.tcgetattr(self._fd)
            tty.setcbreak(self._fd, termios.TCSADRAIN)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _restore(self) -> None:
        if termios is not None and self._before is not None:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal as another program expects it: an editor, a question with Enter."""
        self._restore()
        try:
            yield
        finally:
            if termios is not None:
                tty.setcbreak(self._fd, termios.TCSADRAIN)

    def forget(self) -> None:
        """Drop what was typed so far: a key pressed too long decides nothing that was not shown yet."""
        if termios is not None:
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def read(self) -> str:
        """The next key: a letter, or the sequence of a special one; '' when the terminal is gone."""
        if termios is None:
            return click.getchar()
        tty.setcbreak(self._fd, termios.TCSADRAIN)  # a shell that had us stopped may have changed it
        data = os.read(self._fd, 1)
        if data == b"\x1b":
            while select.select([self._fd], [], [], _SEQUENCE)[0] and (more := os.read(self._fd, 16)):
                data += more
        elif data and data[0] >= 0xC0:  # the first byte of a letter beyond ASCII says how many follow
            data += os.read(self._fd, 1 + (data[0] >= 0xE0) + (data[0] >= 0xF0))
        return data.decode("utf-8", "replace")
