"""Reading single keys from the terminal."""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Iterator
from typing import Any, Final, Self

import click

if sys.platform != "win32":  # there click reads keys through msvcrt
    import termios
    import tty

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
        if sys.platform != "win32":
            self._before = termios.tcgetattr(self._fd)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        self._give_back()

    def _take(self) -> None:
        if sys.platform != "win32":
            with contextlib.suppress(termios.error):  # the terminal was closed
                tty.setcbreak(self._fd, termios.TCSADRAIN)

    def _give_back(self) -> None:
        if sys.platform != "win32" and self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """The terminal as another program expects it: an editor, a question with Enter."""
        self._give_back()
        try:
            yield
        finally:
            self._take()

    def forget(self) -> None:
        """Drop what was typed so far: a key pressed too long decides nothing that was not shown yet."""
        if sys.platform != "win32":
            with contextlib.suppress(termios.error):
                termios.tcflush(self._fd, termios.TCIFLUSH)

    def read(self) -> str:
        """The next key: a letter, or the sequence of a special one; '' when the terminal is gone."""
        if sys.platform == "win32":
            return click.getchar()
        self._take()  # a shell that had us stopped may have changed it
        try:
            data = os.read(self._fd, 1)
            if data == b"\x1b":
                while select.select([self._fd], [], [], _SEQUENCE)[0] and (more := os.read(self._fd, 16)):
                    data += more
            elif data and data[0] >= 0xC0:  # the first byte of a letter beyond ASCII says how many follow
                data += os.read(self._fd, 1 + (data[0] >= 0xE0) + (data[0] >= 0xF0))
        except OSError:
            return ""
        return data.decode("utf-8", "replace")
