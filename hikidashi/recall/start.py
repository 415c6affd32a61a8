"""What a session is given at its start of the drawer (design section 9). Standard library only.

Its pieces are made here; the hosts' hook puts them beside the summary and the notices.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hikidashi.recall.inject import FACTS_TITLE, RULES_TITLE, quoted, told

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

    from hikidashi.drawer.fact import Fact
    from hikidashi.recall.lookup import Note

__all__ = ["RULES_AT_START", "SHOWN_AT_START", "Section", "facts_section", "quoted_section", "rules_section"]

#: Characters of a section at a session's start (design section 9).
RULES_AT_START: Final = 1_500
SHOWN_AT_START: Final = 1_200


class Section:
    """A part of what a session is given at its start, without the wrapper."""

    def __init__(self, text: str, facts: Sequence[Fact | Note], left_out: int) -> None:
        self.text: Final = text
        #: What it holds, and how many others there are.
        self.facts: Final = facts
        self.left_out: Final = left_out


def rules_section(
    rules: Sequence[Fact | Note], *, now: datetime, machine_id: str, limit: int = RULES_AT_START
) -> Section:
    """The rules at a session's start, as many as fit into `limit` characters, in the order given."""
    return _section(RULES_TITLE, rules, "hikidashi facts --type rule", now, machine_id, limit)


def facts_section(
    facts: Sequence[Fact | Note], *, now: datetime, machine_id: str, limit: int = SHOWN_AT_START
) -> Section:
    """Other facts at a session's start, likewise."""
    return _section(FACTS_TITLE, facts, "hikidashi facts", now, machine_id, limit)


def _section(
    title: str, facts: Sequence[Fact | Note], command: str, now: datetime, machine_id: str, limit: int
) -> Section:
    lines = [told(fact, now=now, machine_id=machine_id) for fact in facts]
    for count in range(len(lines), 0, -1):
        left = len(lines) - count
        more = [f"{left} more: `{command}` lists them"] if left else []
        text = "\n".join((title, *lines[:count], *more))
        if len(text) <= limit:
            return Section(text, facts[:count], left)
    return Section(f"{title}\n{len(lines)}: `{command}` lists them" if lines else "", (), len(lines))


def quoted_section(title: str, text: str, place: str, *, limit: int) -> str:
    """Text of a record at a session's start, as many lines as fit into `limit` characters; '' for no text.

    `place`: where all of it is, below `.hikidashi/`.
    """
    lines = quoted(text)
    shown, length = [title], len(title)
    for number, line in enumerate(lines):
        length += 1 + len(line)
        more = f"{len(lines) - number} more lines: .hikidashi/{place}"
        last = number == len(lines) - 1
        if length + (0 if last else 1 + len(more)) > limit:
            return "\n".join((*shown, more))
        shown.append(line)
    return "\n".join(shown) if lines else ""
