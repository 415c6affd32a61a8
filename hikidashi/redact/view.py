"""A second reading of a text, from which every place can be found again in the original.

Secrets hide behind notations that a reader's eye undoes: colour codes in the middle of a token, a shell line
continued with a backslash, percent encoding, JSON's escapes. A `View` holds the undone text and knows, for
each of its characters, which characters of the original it stands for.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

__all__ = ["HIDDEN", "View", "replaced", "unwrapped"]

#: Stands for a place that is redacted already. No token and no name contains it.
HIDDEN: Final = "\0"

#: ESC, raw or as the escapes of JSON, Python, C and shell write it.
_ESC: Final = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e(?=\[))"

#: What `unwrapped` takes out or decodes. Every repetition is bounded or possessive: the pass is linear.
_WRAPPING: Final = re.compile(
    rf"(?P<colour>{_ESC}(?:\[[0-9;:?]{{0,32}}+[ -/]{{0,4}}+[@-~]|\][^\x07\x1b]{{0,256}}+(?:\x07|\x1b\\)))"
    r"|(?P<joined>\\\r?\n|\\\\\\n)(?P<indent>[ \t]{0,64}+)"
    r"|%(?:25){0,3}+(?P<percent>[2-6][0-9A-Fa-f]|7[0-9A-Ea-e])"
    r"|\\{1,4}+u00(?P<unicode>[2-6][0-9A-Fa-f]|7[0-9A-Ea-e])"
    r"|(?P<slash>\\{1,4}+/)"
    r"|&(?P<entity>quot|amp|apos|lt|gt|#39|#x27|#34);"
    r"|(?P<invisible>[\u200b\u200c\u200d\u2060\ufeff\u00ad])"
)
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
    """`source` without colour codes, line joints, invisible characters, percent and JSON escapes; None when
    it has none of them."""
    if not ("\\" in source or "%" in source or "&" in source or "\x1b" in source or not source.isascii()):
        return None
    pieces = [piece for match in _WRAPPING.finditer(source) if (piece := _piece(source, match)) is not None]
    return View(source, pieces) if pieces else None


def _piece(source: str, match: re.Match[str]) -> tuple[int, int, str] | None:
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
