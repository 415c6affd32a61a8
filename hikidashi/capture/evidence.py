"""What a session proves: calls of known tools that succeeded, failed, or were denied (design section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

__all__ = ["VERBS", "Evidence", "Nothing", "Verb"]

#: What a tool can be shown to do.
Verb = Literal[
    "deploy", "publish", "push", "auth", "build", "package", "test", "connect-db", "connect-ssh", "container", "infra"
]

#: The same words as a tuple.
VERBS: Final[tuple[Verb, ...]] = get_args(Verb)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One call of a tool that shows something. All texts are redacted."""

    verb: Verb
    #: Name of the row in the tool table.
    tool: str
    #: On what it worked: bucket, host, database, repository, package, project. Never empty.
    target: str
    #: `denied`: it failed for want of authentication or permission.
    outcome: Literal["ok", "failed", "denied"]
    #: 0-based line of the call, uuid of that line, and the event's identity, the same in copies of the session.
    line: int
    uuid: str
    anchor: str
    #: ISO 8601.
    at: str
    session_id: str
    #: The command in one line as it can be typed again, with what made ready for it, without what selects its output.
    command: str
    #: The line of the output that says how it ended; '' when none does.
    said: str
    #: The words of the cheapest harmless check of the tool; () for none.
    probe: tuple[str, ...] = ()
    #: Words of the tool (besides the verb's own) that people prompt with.
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """A shell call that gave no evidence, and why in a few words (`classify --explain`)."""

    line: int
    command: str
    why: str
