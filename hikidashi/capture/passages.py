"""Pieces of a session's text with the place where they stand, redacted before they are kept.

The fold holds raw text in memory for as long as it may still be dropped; whatever is saved or emitted goes
through `redact` first, once, and is cut after it (cutting first could leave half a secret that no rule knows).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, Final

from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact
from hikidashi.times import parse_time

__all__ = ["EPOCH", "Passage", "Place", "clean", "cut", "folded", "is_time", "one_line", "redacted"]

#: For events of a session in which nothing has a time.
EPOCH: Final = "1970-01-01T00:00:00.000Z"

#: How much raw text is kept for a limit: enough that a secret on the border is seen whole.
_SLACK: Final = 2_000


@lru_cache(maxsize=1_024)
def _short(text: str) -> str:
    return redact(text)


def clean(text: str) -> str:
    """`redact`, which remembers short texts: titles, tasks and last words come several times."""
    return _short(text) if len(text) <= 400 else redact(text)


def one_line(text: str) -> str:
    """`text` with all whitespace folded."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """NFC, with whitespace folded: the form in which a quote and its source are compared."""
    return one_line(unicodedata.normalize("NFC", text))


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, at a word's end where there is one, with `…` when something is missing."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ")
    return (head[:space] if space > limit * 2 // 3 else head).rstrip() + "…"


def is_time(text: str) -> bool:
    """Whether `text` is a time as hosts write them."""
    try:
        if text.startswith("20"):  # in this century no time zone leads out of the calendar
            datetime.fromisoformat(text)
        else:
            parse_time(text)
    except ValueError:
        return False
    return True


def redacted(value: Any) -> Any:
    """A structured value with its texts redacted, keys too; what lies deeper than eight levels is dropped."""
    return _redacted(value, 8)


def _redacted(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(key)): _redacted(item, depth - 1) for key, item in value.items()} if depth else {}
    if isinstance(value, list):
        return [_redacted(item, depth - 1) for item in value] if depth else []
    return value


class Place:
    """Where an event stands, and the anchor by which it is the same event in a copy of the session."""

    __slots__ = ("anchor", "at", "line", "uuid")

    def __init__(self, line: int, uuid: str, at: str, anchor: str) -> None:
        self.line = line
        self.uuid = uuid
        self.at = at
        self.anchor = anchor

    @classmethod
    def of(cls, event: Event, last_at: str) -> Place:
        """The place of `event`; `last_at` stands in for a time that is missing or no time."""
        at = event.at
        if not is_time(at):
            at = last_at if is_time(last_at) else EPOCH
        anchor = event.uuid or event.call_id
        if not anchor:
            joined = "\x1f".join((event.role, event.at, event.text))
            anchor = hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()
        return cls(event.line, event.uuid, at, anchor)

    def to_state(self) -> list[Any]:
        """The JSON form."""
        return [self.line, self.uuid, self.at, self.anchor]

    @classmethod
    def from_state(cls, data: Any) -> Place:
        """Read `to_state`'s form."""
        return cls(*data)


class Passage:
    """Text of at most `limit` characters, from its start or (`tail`) its end, and its place."""

    __slots__ = ("_clean", "_make", "_raw", "_tail", "limit", "place")

    def __init__(self, text: str, place: Place, limit: int, *, tail: bool = False, clean: bool = False) -> None:
        self.place = place
        self.limit = limit
        self._tail = tail
        self._raw = "" if clean else text[-(limit + 4 * _SLACK) :] if tail else text[: limit + _SLACK]
        self._clean = text if clean else None
        self._make: Callable[[], str] | None = None

    @classmethod
    def later(cls, make: Callable[[], str], place: Place, limit: int) -> Passage:
        """Text that is made when it is first asked for; what most sessions note is never asked for."""
        passage = cls("", place, limit)
        passage._make = make
        return passage

    @property
    def text(self) -> str:
        """The redacted text."""
        if self._clean is None:
            if self._make is not None:
                self._raw, self._make = self._make()[: self.limit + _SLACK], None
            told = clean(self._raw)
            self._clean = told[-self.limit :] if self._tail else cut(told, self.limit)
            self._raw = ""
        return self._clean

    @property
    def line(self) -> str:
        """The redacted text in one line."""
        return one_line(self.text)

    def to_state(self) -> list[Any]:
        """The JSON form; redacted."""
        return [self.text, self.limit, self.place.to_state()]

    @classmethod
    def from_state(cls, data: Any) -> Passage:
        """Read `to_state`'s form."""
        return cls(data[0], Place.from_state(data[2]), data[1], clean=True)
