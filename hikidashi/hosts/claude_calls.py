"""What the reader of a Claude Code transcript remembers of calls and tokens, within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hikidashi.hosts.claude_tools import MAX_TEXT, cut

__all__ = ["Call", "Calls", "TokenCount", "trimmed"]

#: Calls that wait for a result, and background calls that wait for their end; the oldest are forgotten first.
MAX_OPEN_CALLS: Final = 256
#: Inputs of waiting calls together, in bytes of their lines.
MAX_OPEN_BYTES: Final = 16 << 20
#: API messages whose token counts may still grow.
MAX_MESSAGES: Final = 64
#: A list in a trimmed input or result keeps this many elements.
MAX_ELEMENTS: Final = 1000

_TOKENS: Final = ("input", "output", "cache_creation", "cache_read")
_NONE: Final = (0, 0, 0, 0)


@dataclass(slots=True)
class Call:
    """A call that waits for its result, or for its end in the background."""

    call_id: str
    tool: str
    input: dict[str, object]
    line: int
    uuid: str
    #: Length of its line in bytes.
    size: int
    #: Under which its result counts as seen.
    key: bytes


class Calls:
    """Calls by ID, and those that run in the background by the ID of their shell, task or agent."""

    def __init__(self) -> None:
        self._open: dict[str, Call] = {}
        self._bytes = 0
        self._running: dict[str, Call] = {}

    def hold(self, call: Call) -> None:
        """Remember a call until its result comes."""
        known = self._open.pop(call.call_id, None)
        self._bytes += call.size - (known.size if known else 0)
        self._open[call.call_id] = call
        while len(self._open) > MAX_OPEN_CALLS or (self._bytes > MAX_OPEN_BYTES and len(self._open) > 1):
            self._bytes -= self._open.pop(next(iter(self._open))).size

    def answered(self, call_id: str) -> Call | None:
        """The call that a result belongs to; it is open no longer."""
        call = self._open.pop(call_id, None)
        if call:
            self._bytes -= call.size
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

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, int, int, int]] = {}
        self._waiting: dict[str, int] = {}

    def add(self, message: dict[str, Any]) -> None:
        """Note the usage on one line of an API message."""
        usage = message.get("usage")
        if type(usage) is not dict:
            return
        get = usage.get
        now = (
            _number(get("input_tokens")),
            _number(get("output_tokens")),
            _number(get("cache_creation_input_tokens")),
            _number(get("cache_read_input_tokens")),
        )
        message_id = message.get("id")
        before = _NONE
        if type(message_id) is str:
            known = self._counted.get(message_id)
            if known == now:
                return
            if known is not None:
                before = known
                now = (max(now[0], known[0]), max(now[1], known[1]), max(now[2], known[2]), max(now[3], known[3]))
            self._counted[message_id] = now
            if len(self._counted) > MAX_MESSAGES:
                del self._counted[next(iter(self._counted))]
        waiting = self._waiting
        if before is _NONE and not waiting:
            # By far the most frequent case: one line, or the first line, of a message.
            self._waiting = {"input": now[0], "output": now[1], "cache_creation": now[2], "cache_read": now[3]}
            return
        for name, count, then in zip(_TOKENS, now, before, strict=True):
            if count > then:
                waiting[name] = waiting.get(name, 0) + count - then

    def take(self) -> dict[str, int]:
        """What was noted since the last call; a line of thinking alone makes no event to carry it."""
        taken = self._waiting
        if taken:
            self._waiting = {}
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
