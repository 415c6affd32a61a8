"""Where a token goes on that somebody broke in two: over the end of a line, or as two strings in a row.

    ghp_a1B2…          "ghp_a1B2…" +          token: >-
    c3D4…                "c3D4…"                ghp_a1B2…
                                                c3D4…

What follows a joint counts as the next piece only when it reads like a piece of a token and not like a word, a
date or a name; the caller knows how many characters are missing.
"""

from __future__ import annotations

import re
from typing import Final

from hikidashi.redact.values import is_numbered

__all__ = ["MAX_PIECES", "Joint", "joint_at", "next_piece"]

#: A token is broken into this many pieces at most.
MAX_PIECES: Final = 24

_LINE_END: Final = r"(?:\r?\n|\\{1,4}r\\{1,4}n|\\{1,4}n)"
_QUOTE: Final = r"\\{0,4}[\"'`]"
#: The end of a line, and the margin of the next one: spaces, quotation marks and bars.
_WRAPPED: Final = re.compile(rf"[ \t]{{0,4}}=?{_LINE_END}[ \t]{{0,40}}+(?:[>|│┃] ?)?")
_GAP: Final = r"[ \t]{0,20}+"
_NEXT_LINE: Final = rf"(?:\\?{_LINE_END}[ \t]{{0,40}}+)?"
_ADDED: Final = r"[A-Za-z_$][\w$.]{0,40}[ \t]{0,4}[+.]=[ \t]{0,4}"
#: A string that ends and one that begins: with an operator, on the next line, or right behind it; `x += "…"`.
_CONCATENATED: Final = re.compile(
    rf"{_QUOTE}(?:{_GAP}{_NEXT_LINE}(?:\+|\.\.?|&|~|\|\|)(?![=>]){_GAP}{_NEXT_LINE}"
    rf"|{_GAP}\\?{_LINE_END}[ \t]{{0,40}}+(?:{_ADDED})?|[;)]?{_GAP}{_NEXT_LINE}{_ADDED}|)[bBfFrRuU]{{0,2}}{_QUOTE}"
)
_STARTS: Final = frozenset("\"'`\\\r\n \t=")
#: What may stand behind the last character of a piece: what ends a string, a line or a sentence, but no sign that
#: makes a name, a call or a path of it.
_AFTER: Final = re.compile(r"[\s\"'`\\)\]},;|<…]|\.(?:[\s\"'`]|\.\.|\Z)|\Z|[^\x00-\x7f]|-\d(?!\w)")
_DATE: Final = re.compile(r"\d{1,4}[-/]\d\d?(?:[-/]|\Z)|\d{1,5}\Z")
_WORD: Final = re.compile(r"[A-Z]?[a-z]*\d{0,3}|[A-Z]+\d{0,3}")


class Joint:
    """A place where a token may go on."""

    __slots__ = ("concatenated", "end")

    def __init__(self, end: int, concatenated: bool) -> None:
        #: Where the next piece begins.
        self.end = end
        #: Between two strings, which leaves no doubt that they are one.
        self.concatenated = concatenated


def joint_at(text: str, at: int) -> Joint | None:
    """The joint at `at`, behind the last character of a piece."""
    if text[at : at + 1] not in _STARTS:
        return None
    match = _CONCATENATED.match(text, at)
    if match is not None:
        return Joint(match.end(), concatenated=True)
    match = _WRAPPED.match(text, at)
    return None if match is None else Joint(match.end(), concatenated=False)


def next_piece(text: str, start: int, run: re.Pattern[str]) -> int:
    """Where the piece of a token at `start` ends, which is a match of `run`; 0 when none is there."""
    match = run.match(text, start)
    if match is None or match.end() == start:
        return 0
    piece = match.group().rstrip(".")
    end = start + len(piece)
    if not piece or _DATE.match(piece) or _WORD.fullmatch(piece) or is_numbered(piece):
        return 0
    if _AFTER.match(text, end) is None:
        return 0
    mixed = any(char.isdigit() for char in piece) or (piece != piece.lower() and piece != piece.upper())
    return end if mixed else 0
