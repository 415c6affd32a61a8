"""What a pass that begins inside a transcript knows of the lines before it.

The watermark holds a place in the file, not the reader's memory. So the last stretch before it is read again
without being told, and what lies further back (the call of a build that ran for hours) is searched when its
result comes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from hikidashi.hosts.lines import LineShape, parse_line, read_lines
from hikidashi.hosts.transcript import Position, ReadReport

__all__ = ["LOOK_BACK_BYTES", "Before", "Feed", "look_back"]

#: So much before the start is read again.
LOOK_BACK_BYTES: Final = 4 << 20
#: So much may be searched further back in one pass, in all searches together.
MAX_SEARCHED_BYTES: Final = 1 << 30

#: Takes a line object, its number and the length of its line with its newline.
Feed = Callable[[dict[str, object], int, int], object]


class Before:
    """The part of a file before the stretch that was read again."""

    def __init__(self, path: Path, end: int, max_line_bytes: int, shape: LineShape) -> None:
        self._path = path
        self._shape = shape
        self._end = end
        self._max_line_bytes = max_line_bytes
        self._left = MAX_SEARCHED_BYTES

    def feed_first(self, word: str, kind: str, feed: Feed) -> None:
        """Feed the first line of type `kind` there that holds `word` as a whole JSON text, if there is one."""
        if not word.isascii() or '"' in word or "\\" in word or self._left <= 0:
            return
        needle = f'"{word}"'.encode()
        report = ReadReport()
        with self._path.open("rb") as stream:
            lines = read_lines(
                stream, start=Position(), report=report, max_line_bytes=self._max_line_bytes, stop=self._end
            )
            for number, offset, raw in lines:
                if needle in raw:
                    for line in parse_line(raw, report, self._shape):
                        if line.get("type") == kind:
                            self._left -= offset
                            feed(line, number, len(raw) + 1)
                            return
        self._left -= self._end

    def feed_last(self, needle: bytes, feed: Feed) -> None:
        """Feed the last line there that holds `needle`, if there is one."""
        if self._left <= 0:
            return
        last: tuple[int, bytes] | None = None
        report = ReadReport()
        with self._path.open("rb") as stream:
            for number, _, raw in read_lines(
                stream, start=Position(), report=report, max_line_bytes=self._max_line_bytes, stop=self._end
            ):
                if needle in raw:
                    last = number, raw
        self._left -= self._end
        if last is not None:
            for line in parse_line(last[1], report, self._shape):
                feed(line, last[0], len(last[1]) + 1)


def look_back(stream: BinaryIO, start: Position, max_line_bytes: int, shape: LineShape, feed: Feed) -> int:
    """Feed the lines just before `start`; gives the offset from which on it did."""
    back = max(0, start.offset - LOOK_BACK_BYTES)
    stream.seek(back)
    before = stream.read(start.offset - back)
    first = before.find(b"\n") + 1 if back else 0
    lines = before.count(b"\n", first) + (0 if before.endswith(b"\n") else 1)
    if back and not first:
        return start.offset
    del before
    report = ReadReport()
    position = Position(offset=back + first, line=max(0, start.line - lines))
    for number, _, raw in read_lines(
        stream, start=position, report=report, max_line_bytes=max_line_bytes, stop=start.offset
    ):
        for line in parse_line(raw, report, shape):
            feed(line, number, len(raw) + 1)
    return position.offset
