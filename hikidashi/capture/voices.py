"""What of a prompt a person said, and what was only put into it: code, logs, quotes, documents (design section 5.5).

In doubt a text counts as pasted: it is shown all the same, but it makes no rule and no decision.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Final

from hikidashi.capture.asks import ask_kind, is_terminal_line
from hikidashi.capture.lasting_prompt import is_document, is_unsaid

__all__ = ["MAX_TYPED", "own_and_pasted"]

#: UTF-8 bytes: nobody types a longer text into a prompt.
MAX_TYPED: Final = 2_400

#: What a client or the redaction put in front of typed words.
_PLACEHOLDER: Final = re.compile(r"\s*(?:\[(?:Image|Pasted text|redacted:)[^\[\]\n]{0,200}\]\s*)+")
_FENCE: Final = re.compile(r"\s*(```|~~~)")
#: A line that opens an element; what stands up to its end was put there.
_OPENS: Final = re.compile(r"\s*<([A-Za-z][\w:.-]{0,60})(?:\s[^<>]*)?>")
_CLOSES: Final = re.compile(r"</([A-Za-z][\w:.-]{0,60})>")
#: A line of data: what opens an object or a list, a key with its value.
_DATA: Final = re.compile(r"\s*(?:[{\[]|\"[^\"\n]{1,80}\"\s*:)")
#: Marks by which programs begin lines; people do not type them.
_DECORATED: Final = re.compile(r"^\s*[●⏺⎿☐☒☑✅❌✓✔📋🎉🚀🔍📊🔧📱🎯💡⚠│╭╰]", re.MULTILINE)
#: A line of a log, with its time in front.
_LOGGED: Final = re.compile(r"\s*\[?(?:[A-Z][a-z]{2} +\d{1,2}|\d{4}-\d\d-\d\d)?[T ]?\d\d:\d\d:\d\d")
#: So many lines are not typed beside a long paste: they belong to it.
_MAX_BESIDE: Final = 12
#: Only so much of a line is looked at.
_LINE_HEAD: Final = 400


def own_and_pasted(text: str) -> list[tuple[bool, str]]:
    """A prompt as (whether the person said it, part), in order; the parts joined are the prompt."""
    lines = text.splitlines(keepends=True)
    marks = _marks(lines)
    said = "".join(line for line, own in zip(lines, marks, strict=True) if own)
    if _is_put_there(text, said):
        return [(False, text)]
    parts = groupby(zip(marks, lines, strict=True), key=lambda pair: pair[0])
    return [(own, "".join(line for _, line in group)) for own, group in parts] or [(True, text)]


def _is_put_there(text: str, said: str) -> bool:
    """Whether the whole prompt is something that was pasted; `said`: without lines that nobody says."""
    if len(said.encode("utf-8", "replace")) > MAX_TYPED or is_document(text, said):
        return True
    if len(text) - len(said) > MAX_TYPED and said.count("\n") > _MAX_BESIDE:
        return True
    if "\n" not in text.strip():
        return False
    if ask_kind(text) == "command" or len(_DECORATED.findall(said)) >= 2:
        return True
    filled = [line for line in said.splitlines() if line.strip()]
    # A terminal indents what it shows, and it is copied with that.
    return len(filled) >= 5 and sum(line.startswith("  ") for line in filled) * 5 >= len(filled) * 3


def _marks(lines: list[str]) -> list[bool]:
    """For each line whether a person says it; a blank line belongs to the line before it."""
    marks: list[bool] = []
    block = _Block(lines)
    for number, line in enumerate(lines):
        own = not block.takes(number, line)
        marks.append(marks[-1] if marks and not line.strip() else own)
    return marks


class _Block:
    """The block of pasted lines that the reading stands in, if any."""

    def __init__(self, lines: list[str]) -> None:
        #: For each element that is closed somewhere, the last line on which it is.
        self._closed = {name: n for n, line in enumerate(lines) if "</" in line for name in _CLOSES.findall(line)}
        #: What ends the block: a fence or a closing tag; a blank line for "\n"; "" outside of one.
        self._end = ""
        #: Brackets that are open in a block of data.
        self._depth = 0

    def takes(self, number: int, line: str) -> bool:
        """Whether the line was pasted."""
        if self._depth > 0:
            self._depth = self._depth + _brackets(line) if line.strip() else 0
            return True
        if self._end:
            if not line.strip() if self._end == "\n" else self._end in line:
                self._end = ""
            return True
        head = _PLACEHOLDER.sub("", line[:_LINE_HEAD], count=1)
        fence, opened = _FENCE.match(head), _OPENS.match(head)
        if fence:
            self._end = fence[1]
        elif opened and self._closed.get(opened[1], -1) >= number:
            end = f"</{opened[1]}>"
            self._end = "" if end in line else end
        elif _DATA.match(head):
            self._depth = max(_brackets(line), 0)
        elif head.strip() and (is_terminal_line(head) or _LOGGED.match(head)):
            self._end = "\n"
        else:
            return is_unsaid(head)
        return True


def _brackets(line: str) -> int:
    """How many more brackets a line opens than it closes."""
    return line.count("{") + line.count("[") - line.count("}") - line.count("]")
