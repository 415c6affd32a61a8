"""A second reading of a text, from which every place can be found again in the original.

Secrets hide behind notations that a reader's eye undoes: colour codes in the middle of a token, a shell line
continued with a backslash, percent encoding, JSON's escapes. A `View` holds the undone text and knows, for
each of its characters, which characters of the original it stands for.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

__all__ = ["HIDDEN", "View", "replaced", "unwrapped"]

#: Stands for a place that is redacted already. No token and no name contains it.
HIDDEN: Final = "\0"

#: A colour or cursor code, a title or link, after ESC.
_CODE: Final = r"(?:\[[0-9;:?]{0,32}+[ -/]{0,4}+[@-~]|\][^\x07\x1b]{0,256}+(?:\x07|\x1b\\))"
_RAW_CODE: Final = re.compile("\x1b" + _CODE)
#: ESC as JSON, Python, C and shell write it; a joined line, raw or inside a JSON string; JSON's escapes.
#: Patterns begin with a literal so that the engine can skip to it; every repetition is bounded or possessive.
_BACKSLASHED: Final = re.compile(
    rf"\\(?:(?P<colour>(?:u001[bB]|x1[bB]|033|e(?=\[)){_CODE})"
    r"|(?P<joined>\r?\n|\\\\n)(?P<indent>[ \t]{0,64}+)"
    r"|\\{0,3}+u(?P<unicode>(?:00[2-7]|0[1-9A-Fa-f][0-9A-Fa-f]|[1-9A-CEFa-cef][0-9A-Fa-f]{2}|[Dd][0-7][0-9A-Fa-f])[0-9A-Fa-f])"
    r"|\\{0,3}+(?P<slash>/))"
)
_PERCENT: Final = re.compile(r"%(?:25){0,3}+(?P<percent>[2-6][0-9A-Fa-f]|7[0-9A-Ea-e])")
_ENTITY: Final = re.compile(r"&(?P<entity>quot|amp|apos|lt|gt|#39|#x27|#34);")
_INVISIBLE: Final = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
#: How far a line is read around a place that was undone, at most, and what keeps two lines apart.
_REACH: Final = 2048
_ENTITIES: Final = {"quot": '"', "amp": "&", "apos": "'", "lt": "<", "gt": ">", "#39": "'", "#x27": "'", "#34": '"'}


class View:
    """A text made from another one by replacing pieces of it."""

    __slots__ = ("_origins", "_starts", "_widths", "text")

    def __init__(self, source: str, pieces: Iterable[tuple[int, int, str]]) -> None:
        """`pieces`: (start, end, replacement) in `source`, in order, without overlaps."""
        parts: list[str] = []
        #: Where each piece begins in `text` and in `source`; width 0 marks a piece copied as it is, any other
        #: number is the length in `source` of a piece that was replaced.
        self._starts: list[int] = [0]
        self._origins: list[int] = [0]
        self._widths: list[int] = [0]
        length = last = 0
        for start, end, replacement in pieces:
            for piece, origin, width in ((source[last:start], last, 0), (replacement, start, end - start)):
                if piece:
                    parts.append(piece)
                    self._starts.append(length)
                    self._origins.append(origin)
                    self._widths.append(width)
                    length += len(piece)
            last = end
        parts.append(source[last:])
        self._starts.append(length)
        self._origins.append(last)
        self._widths.append(0)
        self.text = "".join(parts)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The place in the source of `text[start:end]`, which is not empty."""
        first = bisect_right(self._starts, start) - 1
        last = bisect_right(self._starts, end - 1) - 1
        begin = self._origins[first] + (0 if self._widths[first] else start - self._starts[first])
        if self._widths[last]:
            return begin, self._origins[last] + self._widths[last]
        return begin, self._origins[last] + end - self._starts[last]


def replaced(source: str, places: Iterable[tuple[int, int]]) -> View:
    """`source` with `HIDDEN` in place of each of `places` (in order, without overlaps)."""
    return View(source, ((start, end, HIDDEN) for start, end in places))


def unwrapped(source: str) -> View | None:
    """The lines of `source` that hold colour codes, line joints, invisible characters, percent or JSON escapes,
    without them; None when there are none. Other lines would only be read twice."""
    pieces: list[tuple[int, int, str]] = []
    if "\x1b" in source:
        pieces += [(match.start(), match.end(), "") for match in _RAW_CODE.finditer(source)]
    for first, pattern in (("\\", _BACKSLASHED), ("%", _PERCENT), ("&", _ENTITY)):
        if first in source:
            pieces += [_piece(source, match) for match in pattern.finditer(source)]
    if not source.isascii():
        for char in _INVISIBLE:
            at = source.find(char)
            while at >= 0:
                pieces.append((at, at + 1, ""))
                at = source.find(char, at + 1)
    return View(source, _with_gaps(source, sorted(pieces))) if pieces else None


def _with_gaps(source: str, pieces: list[tuple[int, int, str]]) -> Iterator[tuple[int, int, str]]:
    """The pieces without overlaps, and line breaks in place of all that is far from any of them."""
    last = done = 0
    for start, end, replacement in pieces:
        if start < done:
            continue  # inside a link's address, for example
        low = max(last, source.rfind("\n", max(0, start - _REACH), start) + 1, start - _REACH)
        if low > last:
            yield last, low, "\n"
        yield start, end, replacement
        done = end
        high = source.find("\n", end, end + _REACH)
        last = max(last, end) if high == end else (high if high >= 0 else min(len(source), end + _REACH))
        last = max(last, done)
    if last < len(source):
        yield last, len(source), "\n"


def _piece(source: str, match: re.Match[str]) -> tuple[int, int, str]:
    start, end = match.span()
    kind = match.lastgroup
    if kind in ("percent", "unicode"):
        return start, end, chr(int(match[kind], 16))
    if kind == "slash":
        return start, end, "/"
    if kind == "entity":
        return start, end, _ENTITIES[match["entity"]]
    if kind == "indent":
        # `--flag \` + newline keeps the gap between two words; a value that was broken in its middle loses it.
        before = source[start - 1 : start]
        return start, (match.start("indent") if before.isspace() or not before else end), ""
    return start, end, ""
