"""What ties sessions together: tickets that a person or a branch names, and branches."""

from __future__ import annotations

import re
from typing import Final

from hikidashi.capture.vocabulary import word_list
from hikidashi.redact import redact

__all__ = ["branch_topic", "tickets_in"]

_TICKET: Final = re.compile(r"(?<![\w-])([A-Za-z][A-Za-z0-9]{1,9})-(\d{1,6})(?!\d|[.-]\d|\w)")

_DASH_NUMBER: Final = re.compile(r"-\d")

#: Standards, codecs, models and products that look like tickets.
_NOT_TICKETS: Final = word_list(
    "UTF ISO SHA AES RFC HTTP TLS SSL GPT CVE CWE ES RSA MD BASE UTC GMT IEEE ANSI ASCII OPUS SONNET HAIKU CLAUDE",
    "GEMINI QWEN LLAMA X86 ARM WIN MAC PEP PR V RTX GTX COVID PHASE STEP PART TASK SPRINT DAY WEEK VERSION TEST",
    "FIX PY NODE GO H MP P TOP LEVEL OPTION LAYER STAGE TICKET CHART CHARTS ADR M CH SEC FIG PAGE ITEM LINE CASE",
    "RULE TYPE ZONE EAST WEST NORTH SOUTH US EU AP FEAT FEATURE BUG ISSUE PULL MERGE RELEASE",
)

_DEFAULT: Final = word_list(
    "dev develop development gh-pages head main master production staging trunk",
)


def tickets_in(text: str, *, any_case: bool = False) -> list[str]:
    """Ticket keys such as `ENT-221` in `text`, in order; written small only where `any_case` (branch names)."""
    found: list[str] = []
    if _DASH_NUMBER.search(text) is None:
        return found
    for match in _TICKET.finditer(text[:4_000]):
        project = match.group(1)
        if (any_case or project.isupper()) and project.upper() not in _NOT_TICKETS:
            found.append(f"{project.upper()}-{match.group(2)}")
    return found


def _holds_secret(branch: str) -> bool:
    """Whether a part of the name, or what begins with one, is a secret: in a path most tokens look like base64, which
    has the slash as a letter, and some tokens hold one themselves."""
    parts = branch.split("/")
    tails = ["/".join(parts[first:]) for first in range(len(parts))]
    return any(redact(text) != text for text in dict.fromkeys((*tails, *parts)))


def branch_topic(branch: str) -> str:
    """What a branch ties together: its ticket, else its name; '' for branches that everybody is on.

    A branch with a secret in its name ties nothing: redacted, two of them would be one.
    """
    if not branch or branch.lower() in _DEFAULT or _holds_secret(branch):
        return ""
    tickets = tickets_in(branch, any_case=True)
    return f"ticket:{tickets[0]}" if tickets else f"branch:{branch[:120]}"
