"""What counts requests and what they cost, and says no before one that may not be made.

The client asks a `Meter` before each request, every attempt of the retry policy included, and tells it how the request
ended. `MemoryMeter` keeps all in memory, for tests and for whoever has no workspace; the ledger keeps it on disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, Protocol

from hikidashi.errors import BudgetSpent, HikidashiError, ModelFailure
from hikidashi.model.messages import Phase, Usage

__all__ = ["FAILURES", "ClosedRequest", "MemoryMeter", "Meter", "RequestOutcome", "Ticket"]

#: How a request ended: `ok` for a whole answer, whatever its stop reason; else the kind of the `ModelFailure`.
RequestOutcome = Literal["ok", "auth", "billing", "overloaded", "network", "content"]

#: The outcomes that are a failure.
FAILURES: Final = ("auth", "billing", "overloaded", "network", "content")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """The right to make one request; what it may use at most is reserved until it is closed."""

    #: A ULID; the request's row in the ledger.
    id: str
    phase: Phase
    model: str
    #: Estimated input and `max_tokens` together.
    reserved_tokens: int


class Meter(Protocol):
    """Counts requests. One meter serves one run in one process."""

    def open(self, phase: Phase, model: str, input_estimate: int, max_tokens: int) -> Ticket:
        """Reserve one request of about `input_estimate` tokens (erring high) and an answer of at most `max_tokens`.

        Raises `BudgetSpent` when it could pass a budget, `ModelFailure` while the model is not to be asked: a key
        or an account that was refused and the settings are the same, or a back-off that has not ended. A `ping` is
        let through then, since it is how a person finds out that the trouble is over.
        """

    def close(self, ticket: Ticket, usage: Usage | None, outcome: RequestOutcome, seconds: float) -> None:
        """Note how the request ended and give back what it did not use.

        `usage`: what the server counted; `Usage()` for a request that it refused or that never reached it; None
        when nobody knows (an answer cut off on its way): the whole reservation counts then, as it does for an answer
        that is `ok` and of no tokens (a server that counts nothing). `ok` ends a block or back-off that stood. Closing
        a ticket again changes nothing.
        """

    def gave_up(self, failure: ModelFailure, *, until: datetime | None = None) -> None:
        """The policy made its last attempt: remember `failure`, so that nobody asks again at once.

        `until`: the moment before which the server wants no further request, where it said so. A failure of kind
        `content` is one request's own and stops no other.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedRequest:
    """One request that a `MemoryMeter` has seen the end of."""

    ticket: Ticket
    usage: Usage | None
    outcome: RequestOutcome
    seconds: float

    @property
    def tokens(self) -> int:
        """What budgets count of it."""
        return self.ticket.reserved_tokens if self.usage is None else self.usage.counted


@dataclass(slots=True, kw_only=True)
class MemoryMeter:
    """A meter without a database: one budget, no prices, nothing outlives it."""

    #: Tokens that all requests together may use; None: no limit.
    limit: int | None = None
    #: Raised by `open` in place of an answer, `ping` excepted: a block that stands.
    block: HikidashiError | None = None
    #: Requests that are on their way, by the ticket's ID.
    running: dict[str, Ticket] = field(default_factory=dict)
    closed: list[ClosedRequest] = field(default_factory=list)
    given_up: list[tuple[ModelFailure, datetime | None]] = field(default_factory=list)
    _opened: int = 0

    @property
    def tokens(self) -> int:
        """All that was used or is reserved."""
        reserved = sum(ticket.reserved_tokens for ticket in self.running.values())
        return reserved + sum(request.tokens for request in self.closed)

    def open(self, phase: Phase, model: str, input_estimate: int, max_tokens: int) -> Ticket:
        """Reserve one request. Raises `BudgetSpent` past `limit`, and `block` where one is set."""
        if self.block is not None and phase != "ping":
            raise self.block
        wanted = input_estimate + max_tokens
        if self.limit is not None and self.tokens + wanted > self.limit:
            left = max(0, self.limit - self.tokens)
            raise BudgetSpent(f"the request may take {wanted:,} tokens and {left:,} are left: raise the budget")
        self._opened += 1
        ticket = Ticket(id=f"{self._opened:026d}", phase=phase, model=model, reserved_tokens=wanted)
        self.running[ticket.id] = ticket
        return ticket

    def close(self, ticket: Ticket, usage: Usage | None, outcome: RequestOutcome, seconds: float) -> None:
        """Note how the request ended; `ok` lifts `block`."""
        if self.running.pop(ticket.id, None) is None:
            return
        if outcome == "ok" and usage is not None and not usage.total:
            usage = None
        self.closed.append(ClosedRequest(ticket=ticket, usage=usage, outcome=outcome, seconds=seconds))
        if outcome == "ok":
            self.block = None

    def gave_up(self, failure: ModelFailure, *, until: datetime | None = None) -> None:
        """Remember `failure`; unlike the ledger's meter, this one blocks nothing for it."""
        self.given_up.append((failure, until))
