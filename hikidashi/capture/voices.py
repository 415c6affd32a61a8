"""What of a prompt a person said, and what was only put into it: code, logs, quotes, documents (design section 5.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from hikidashi.capture.asks import is_terminal_line
from hikidashi.capture.lasting_prompt import is_document, is_unsaid

__all__ = ["MAX_TYPED", "voices"]

#: Characters: nobody types a longer text into a prompt.
MAX_TYPED: Final = 4_000

_FENCE: Final = re.compile(r"\s*(```|~~~)")
#: A line that opens an element and nothing else; what stands up to its end was put there.
_OPENS: Final = re.compile(r"\s*<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]*)?>")
#: What a client or the redaction put in front of typed words.
_PLACEHOLDER: Final = re.compile(r"\s*(?:\[(?:Image|Pasted text|redacted:)[^\[\]\n]{0,200}\]\s*)+")
#: Only so much of a line is looked at.
_LINE_HEAD: Final = 400


def voices(text: str) -> list[tuple[bool, str]]:
    """A prompt as (whether the person said it, part), in order; the parts joined are the prompt."""
    lines = text.splitlines(keepends=True)
    own = list(_own_lines(lines))
    said = "".join(line for line, is_own in zip(lines, own, strict=True) if is_own)
    if len(said) > MAX_TYPED or is_document(text, said):
        return [(False, text)]
    marked = zip(_with_blanks(lines, own), lines, strict=True)
    return [
        (is_own, "".join(line for _, line in group)) for is_own, group in groupby(marked, key=lambda pair: pair[0])
    ] or [(True, text)]


def _own_lines(lines: list[str]) -> Iterator[bool]:
    """For each line whether a person says it."""
    closing = ""  # what ends the block that the line stands in; "\n": a blank line does
    rest = _last_places(lines)
    for number, line in enumerate(lines):
        head = _PLACEHOLDER.sub("", line[:_LINE_HEAD], count=1)
        if closing:
            yield False
            ended = not line.strip() if closing == "\n" else closing in line
            closing = "" if ended else closing
            continue
        fence, opened = _FENCE.match(head), _OPENS.match(head)
        if fence:
            closing = fence[1]
            yield False
        elif opened and rest.get(opened[1], -1) >= number:
            end = f"</{opened[1]}>"
            closing = "" if end in line else end
            yield False
        elif line.strip() and is_terminal_line(head):
            closing = "\n"
            yield False
        else:
            yield not is_unsaid(head)


_CLOSES: Final = re.compile(r"</([A-Za-z][\w:.-]{0,60})>")


def _last_places(lines: list[str]) -> dict[str, int]:
    """For each element that is closed somewhere, the last line on which it is."""
    return {name: number for number, line in enumerate(lines) if "</" in line for name in _CLOSES.findall(line)}


def _with_blanks(lines: list[str], own: list[bool]) -> list[bool]:
    """Blank lines belong to what stands before them: they make no part of their own."""
    marks: list[bool] = []
    for line, is_own in zip(lines, own, strict=True):
        marks.append(marks[-1] if marks and not line.strip() else is_own)
    return marks
