"""What the drawer holds: facts, drafts of them, and what was seen of a key. Standard library only.

A `Draft` is what somebody wants to be known; at the gate it becomes a candidate, with a person's yes a `Fact`
(design section 8).
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hikidashi.errors import UsageError

__all__ = [
    "CONFIDENCE",
    "MAX_BODY",
    "MAX_KEY",
    "Draft",
    "Fact",
    "FactStatus",
    "FactType",
    "Origin",
    "Scope",
    "Sighting",
    "Trust",
    "clean_key",
    "fact_subject",
    "is_elsewhere",
]

FactType = Literal["capability", "decision", "rule", "procedure", "fact"]
Scope = Literal["workspace", "global"]
FactStatus = Literal["active", "stale", "retired"]
Trust = Literal["user", "assistant", "tool", "external"]

#: Where a draft comes from: a successful call, a person's lasting imperative, a model's reflection, an agent's
#: `memory_write`, a person's command, an import.
Origin = Literal["promotion", "rule", "reflection", "memory_write", "command", "import"]

#: Confidence of a fact by how it is known (design section 8). What a person writes or says counts as certain.
CONFIDENCE: Final = {
    "probe": 1.0,
    "command": 1.0,
    "rule": 1.0,
    "promotion": 0.9,
    "memory_write": 0.7,
    "import": 0.7,
    "reflection": 0.5,
}

#: Characters of a key and of a body at most.
MAX_KEY: Final = 200
MAX_BODY: Final = 4_000


def clean_key(text: str) -> str:
    """A key as it is stored: NFC, without blanks around it.

    Raises `UsageError` for an empty one, a control character, or more than `MAX_KEY` characters.
    """
    key = unicodedata.normalize("NFC", text).strip()
    if not key:
        raise UsageError("the key is empty: give one such as `deploy:shop`")
    if len(key) > MAX_KEY:
        raise UsageError(f"the key has {len(key)} characters: give one of at most {MAX_KEY}")
    if not key.isprintable():
        raise UsageError("the key holds a character that does not print: write it in one line of plain text")
    return key


def fact_subject(scope: Scope, key: str) -> str:
    """How a fact is named among the uses."""
    return f"fact:{scope}:{key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What is to be known, before anybody said yes. All texts are redacted."""

    key: str
    type: FactType
    body: str
    scope: Scope = "workspace"
    #: 0 to 1.
    confidence: float
    #: What bears it out, in one line; '' for nothing.
    proof: str = ""
    #: The words of a harmless command that checks it; () for none.
    probe: tuple[str, ...] = ()
    #: Words and phrases that people prompt with, in any language.
    aliases: tuple[str, ...] = ()
    trust: Trust
    origin: Origin
    #: Equal for two drafts of one key that propose the same; '' compares the body.
    digest: str = ""
    #: Where it was proven; '' where that does not matter (rules, decisions).
    machine_id: str = ""
    machine_name: str = ""
    #: JSON form of the `hikidashi.source.Source` it came from; {} for a command.
    source: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One row of the drawer. Times are ISO 8601 in UTC as `hikidashi.times.format_time` writes them."""

    id: int
    scope: Scope
    key: str
    type: FactType
    body: str
    confidence: float
    proof: str
    status: FactStatus
    probe: tuple[str, ...]
    aliases: tuple[str, ...]
    trust: Trust
    origin: Origin
    digest: str
    machine_id: str
    machine_name: str
    source: dict[str, Any]
    rules_version: int
    version: int
    created_at: str
    updated_at: str
    last_seen: str
    last_verified: str | None
    last_failed: str | None
    #: What the failed call said, in one line; '' when none did.
    failure: str
    uses: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A call (or a person's sentence) that bears a key out or contradicts it. All texts are redacted."""

    scope: Scope = "workspace"
    key: str
    #: The event's identity, the same in copies of the session.
    anchor: str
    host: str
    session_id: str
    #: Transcript and the 0-based line of the call in it.
    path: str
    line: int
    at: str
    #: '' for a rule.
    verb: str = ""
    tool: str = ""
    target: str = ""
    #: `denied`: the call failed for want of authentication.
    outcome: Literal["ok", "failed", "denied"] = "ok"
    #: The command or the words, in one line.
    told: str = ""


def is_elsewhere(fact: Fact, machine_id: str) -> bool:
    """Whether a capability was proven on another machine than `machine_id`: there it reads "worked on <host>"."""
    return fact.type == "capability" and fact.machine_id not in ("", machine_id)
