"""What the reader of a rollout remembers of calls, commands that run on, and tokens, within bounds."""

from __future__ import annotations

from typing import Any, Final

from hikidashi.hosts.calls import MAX_OPEN_BYTES, MAX_OPEN_CALLS, Call
from hikidashi.hosts.codex_results import Ended

__all__ = ["OpenCalls", "TokenCount"]

#: Characters remembered of what a command printed before its end.
MAX_PRINTED: Final = 16 * 1024
#: Calls that are known to be answered.
MAX_ANSWERED: Final = 4_096

_COUNTS: Final = ("input_tokens", "cached_input_tokens", "cache_write_input_tokens", "output_tokens")


class OpenCalls:
    """Calls by the ID that the model gave them; commands that run on by their session too."""

    __slots__ = ("_answered", "_bytes", "_ends", "_open", "_running")

    def __init__(self) -> None:
        self._open: dict[str, Call] = {}
        self._bytes = 0
        self._ends: dict[str, Ended] = {}
        self._answered: dict[str, None] = {}
        #: Session -> the ID of the call, the call, what was printed so far.
        self._running: dict[str, tuple[str, Call, str]] = {}

    def hold(self, name: str, call: Call) -> None:
        """Remember a call until its result comes."""
        waiting = self._open
        if name in waiting:
            self._bytes -= waiting.pop(name)[1]
        self._bytes += call[1]
        waiting[name] = call
        self._answered.pop(name, None)
        while len(waiting) > MAX_OPEN_CALLS or (self._bytes > MAX_OPEN_BYTES and len(waiting) > 1):
            self._bytes -= waiting.pop(next(iter(waiting)))[1]

    def waits(self, name: str) -> bool:
        """Whether the call has no result yet."""
        return name in self._open

    def was_answered(self, name: str) -> bool:
        """Whether the call has its result."""
        return name in self._answered

    def end(self, name: str, ended: Ended) -> None:
        """The command of a call ended, of which the result is still to come."""
        self._ends[name] = ended
        if len(self._ends) > MAX_OPEN_CALLS:
            del self._ends[next(iter(self._ends))]

    def answered(self, name: str) -> tuple[Call | None, Ended | None]:
        """The call that a result belongs to, and how its command ended; it is open no longer."""
        call = self._open.pop(name, None)
        if call is not None:
            self._bytes -= call[1]
        self._answered[name] = None
        if len(self._answered) > MAX_ANSWERED:
            del self._answered[next(iter(self._answered))]
        return call, self._ends.pop(name, None)

    # -- commands that run on

    def run_on(self, session: str, name: str, call: Call, printed: str) -> None:
        """The call was answered while its command runs."""
        self._running.pop(session, None)
        self._running[session] = (name, call, printed[-MAX_PRINTED:])
        if len(self._running) > MAX_OPEN_CALLS:
            del self._running[next(iter(self._running))]

    def printed(self, session: str, more: str) -> None:
        """The command of a session printed more."""
        known = self._running.get(session)
        if known is not None and more:
            self._running[session] = (known[0], known[1], (known[2] + more)[-MAX_PRINTED:])

    def ran_out(self, session: str) -> tuple[Call, str] | None:
        """The call whose command ran in the session, and what it printed before, once."""
        known = self._running.pop(session, None)
        return known[1:] if known is not None else None

    def ran_out_by_name(self, name: str) -> tuple[Call, str] | None:
        """The same, by the call's ID."""
        session = next((session for session, known in self._running.items() if known[0] == name), None)
        return self.ran_out(session) if session is not None else None


class TokenCount:
    """The tokens of each answer once; they go to the event that comes next."""

    __slots__ = ("_total", "waiting")

    def __init__(self) -> None:
        self._total: tuple[int, ...] = ()
        #: What was noted and no event carries yet.
        self.waiting: dict[str, int] = {}

    def note(self, info: object) -> None:
        """Take a `token_count`; the client repeats it when something else changed."""
        if not isinstance(info, dict):
            return
        total, last = _counts(info.get("total_token_usage")), _counts(info.get("last_token_usage"))
        if total == self._total or not any(last):
            return
        self._total = total
        given, cached, written, output = last
        fresh = max(0, given - cached)
        for name, count in (("input", fresh), ("output", output), ("cache_creation", written), ("cache_read", cached)):
            self.waiting[name] = self.waiting.get(name, 0) + count

    def take(self) -> dict[str, int]:
        """What was noted since the last call."""
        taken = self.waiting
        if taken:
            self.waiting = {}
        return taken


def _counts(usage: Any) -> tuple[int, ...]:
    given = [usage.get(name) if isinstance(usage, dict) else 0 for name in _COUNTS]
    return tuple(count if type(count) is int and count > 0 else 0 for count in given)
