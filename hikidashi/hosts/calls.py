"""What the reader of a transcript remembers of calls and tokens, within bounds."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Final

from hikidashi.hosts.texts import MAX_TEXT, cut
from hikidashi.hosts.transcript import Event

__all__ = ["Call", "Calls", "TokenCount", "trimmed"]

#: Calls that wait for a result, and background calls that wait for their end; the oldest are forgotten first.
MAX_OPEN_CALLS: Final = 256
#: Inputs of waiting calls together, in bytes of their lines.
MAX_OPEN_BYTES: Final = 16 << 20
#: API messages whose token counts may still grow; when there are more, the older half is forgotten.
MAX_MESSAGES: Final = 128
#: A list in a trimmed input or result keeps this many elements.
MAX_ELEMENTS: Final = 1000

_TOKENS: Final = ("input", "output", "cache_creation", "cache_read")
_NONE: Final = (0, 0, 0, 0)
_FIELDS: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_counts: Final = itemgetter(*_FIELDS)


#: A call that waits for its result, or for its end in the background: its event, the length of its line in bytes,
#: and the key under which its result counts as seen. A tuple, since one is made for every call.
Call = tuple[Event, int, bytes]


class Calls:
    """Calls by ID, and those that run in the background by the ID of their shell, task or agent."""

    __slots__ = ("_bytes", "_open", "_running")

    def __init__(self) -> None:
        self._open: dict[str, Call] = {}
        self._bytes = 0
        self._running: dict[str, Call] = {}

    def hold(self, event: Event, size: int, key: bytes) -> None:
        """Remember a call until its result comes."""
        waiting, call_id = self._open, event.call_id
        if call_id in waiting:
            self._bytes -= waiting.pop(call_id)[1]
        self._bytes += size
        waiting[call_id] = (event, size, key)
        while len(waiting) > MAX_OPEN_CALLS or (self._bytes > MAX_OPEN_BYTES and len(waiting) > 1):
            self._bytes -= waiting.pop(next(iter(waiting)))[1]

    def answered(self, call_id: str) -> Call | None:
        """The call that a result belongs to; it is open no longer."""
        call = self._open.pop(call_id, None)
        if call is not None:
            self._bytes -= call[1]
        return call

    def run_on(self, task_id: str, call: Call) -> None:
        """The call was answered, but runs on in the background."""
        self._running[task_id] = call
        if len(self._running) > MAX_OPEN_CALLS:
            del self._running[next(iter(self._running))]

    def ended(self, task_id: str) -> Call | None:
        """The call that ran in the background under `task_id`, once."""
        return self._running.pop(task_id, None)


class TokenCount:
    """Counts the tokens of each API message once.

    One message is spread over several lines that repeat its usage, while the output count may still grow; what
    a line adds to the count before is handed out with the next event.
    """

    __slots__ = ("_counted", "waiting")

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, ...]] = {}
        #: What was noted and no event carries yet; a line of thinking alone makes none.
        self.waiting: dict[str, int] = {}

    def add(self, message: dict[str, Any]) -> None:
        """Note the usage on one line of an API message."""
        usage = message.get("usage")
        if type(usage) is not dict:
            return
        try:
            now: tuple[int, ...] = _counts(usage)
        except KeyError:
            now = tuple(map(_number, map(usage.get, _FIELDS)))
        message_id = message.get("id")
        known = self._counted.get(message_id) if type(message_id) is str else None
        if known == now:
            return
        if not (type(now[0]) is type(now[1]) is type(now[2]) is type(now[3]) is int and min(now) >= 0):
            now = tuple(map(_number, now))
        if known is not None:
            now = tuple(map(max, now, known))
        if type(message_id) is str:
            self._counted[message_id] = now
            if len(self._counted) > MAX_MESSAGES:
                self._forget()
        waiting = self.waiting
        if known is None and not waiting:
            # By far the most frequent case: one line, or the first line, of a message.
            self.waiting = {"input": now[0], "output": now[1], "cache_creation": now[2], "cache_read": now[3]}
            return
        for name, count, then in zip(_TOKENS, now, known or _NONE, strict=True):
            if count > then:
                waiting[name] = waiting.get(name, 0) + count - then

    def _forget(self) -> None:
        """Keep the newer half."""
        for message_id in list(self._counted)[: MAX_MESSAGES // 2]:
            del self._counted[message_id]

    def take(self) -> dict[str, int]:
        """What was noted since the last call."""
        taken = self.waiting
        if taken:
            self.waiting = {}
        return taken


def _number(count: object) -> int:
    return count if type(count) is int and count > 0 else 0


def trimmed(value: Any, depth: int = 0) -> Any:
    """A structured input or result with its long texts cut, for lines that carry whole files."""
    if type(value) is str:
        return cut(value)[0] if len(value) > MAX_TEXT else value
    if isinstance(value, dict | list) and depth >= 8:
        return None
    if isinstance(value, dict):
        return {key: trimmed(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [trimmed(item, depth + 1) for item in value[:MAX_ELEMENTS]]
    return value
