"""What goes to a model and what comes back, in our own words: no module but `client.py` knows the SDK.

Messages, system blocks and tools are held in the form that the Messages API takes (plain dictionaries), since they
are sent back unchanged in the next turn and their bytes decide what the server finds in its cache.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

__all__ = [
    "CACHE_READS_PER_TOKEN",
    "Answer",
    "Asker",
    "Block",
    "Effort",
    "Phase",
    "Request",
    "StopReason",
    "ToolUse",
    "Usage",
]

#: A content block, a message or a tool, as the Messages API has it.
Block = dict[str, Any]

#: What a request is for; a row of the ledger says it.
Phase = Literal["extraction", "integration", "clean-up", "ping"]

#: Tokens read from the cache that budgets count as one.
CACHE_READS_PER_TOKEN: Final = 10

Effort = Literal["low", "medium", "high"]

#: Why the model stopped. Other servers send others; they are kept as they are.
StopReason = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one request, as the server counted them; the four add up, none is part of another."""

    #: Input that was neither read from the cache nor written to it.
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total(self) -> int:
        """All tokens."""
        return self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def counted(self) -> int:
        """What budgets count: one for each token, and one for ten that were read from the cache.

        Servers charge about a tenth for those; counted whole, a conversation of many turns over one prefix would
        use up a budget while it costs next to nothing.
        """
        return self.total - self.cache_read_tokens + -(-self.cache_read_tokens // CACHE_READS_PER_TOKEN)

    def __add__(self, other: Usage) -> Usage:
        """Tokens of several requests together."""
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One call of a tool that the model asked for."""

    id: str
    name: str
    #: None when what the model sent is no JSON object.
    input: dict[str, Any] | None
    #: What it sent, word for word.
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. Never changed after it was made: every attempt sends the same bytes."""

    model: str
    max_tokens: int
    messages: tuple[Block, ...]
    system: tuple[Block, ...] = ()
    tools: tuple[Block, ...] = ()
    #: A JSON schema that the answer's text should follow; servers that do not know it ignore it.
    schema: dict[str, Any] | None = None
    effort: Effort | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer. One that was cut off on its way is a `ModelFailure`, never an answer."""

    #: All text blocks, joined.
    text: str
    tool_uses: tuple[ToolUse, ...]
    stop_reason: StopReason
    usage: Usage
    #: The content blocks to send back in the next turn.
    content: tuple[Block, ...]
    #: The model that answered, as the server names it.
    model: str = ""
    request_id: str = ""
    #: Whole seconds and parts of them, from sending to the last byte.
    seconds: float = 0.0
    #: The blocks of kinds that this version does not know, counted by kind.
    unknown: dict[str, int] = field(default_factory=dict)


class Asker(Protocol):
    """Whoever answers requests: the client, or a fake in a test."""

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """Send `request`, again where the policy says so, and give the whole answer.

        Raises `BudgetSpent` before a request that could pass a budget, `ModelFailure` for all else.
        """
