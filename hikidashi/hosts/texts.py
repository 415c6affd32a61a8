"""The texts of events: what is kept of an output, and whose words a text is."""

from __future__ import annotations

import re
from typing import Final

from hikidashi.hosts.transcript import Event, EventKind

__all__ = ["MAX_TEXT", "clean", "content_text", "cut", "say", "unsaid"]

#: An event's text keeps this many characters; of a longer one the first three quarters and the end.
MAX_TEXT: Final = 64 * 1024

_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


def content_text(content: object) -> str:
    """The text of a result's `content`, which is text or a list of blocks (images are left out)."""
    if type(content) is str:
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") if isinstance(block, dict) else block for block in content]
    return "\n".join(text for text in texts if isinstance(text, str))


def cut(text: str) -> tuple[str, bool]:
    """`text` within `MAX_TEXT` characters, and whether something was left out."""
    if len(text) <= MAX_TEXT:
        return text, False
    tail = MAX_TEXT // 4
    head = MAX_TEXT - tail - 64
    return f"{text[:head]}\n[... {len(text) - head - tail} characters left out ...]\n{text[-tail:]}", True


def clean(text: str) -> tuple[str, bool]:
    """A result's text without reminders, colours and overwritten progress lines, cut to size."""
    if "<system-reminder>" in text:
        text = _REMINDER.sub("", text).rstrip()
    text, truncated = cut(text)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        # What a carriage return wrote over was never meant to stay.
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text, truncated


def say(event: Event, kind: EventKind, text: str) -> Event:
    """Make `event` one of words: a person's whole, all others within the size of an event's text."""
    event.kind = kind
    event.role = "user" if kind == "user" else "assistant" if kind == "assistant" else "tool"
    if len(text) > MAX_TEXT and kind != "user":
        text, event.truncated = cut(text)
    event.text = text
    return event


def unsaid(event: Event, text: str, *, plan: bool) -> Event:
    """Make `event` words that nobody typed; `plan`: the model's own, an approved plan that the client sends on."""
    event = say(event, "context", text)
    if plan:
        event.role = "assistant"
    return event
