"""The one event stream that every host's transcript is turned into (design section 5.1).

A host's module yields `Event`s from a file; nothing above this floor knows a host's line format.
`transcript-formats` facts (who speaks in which line) live in the host's module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Literal, Protocol

__all__ = [
    "Event",
    "EventKind",
    "Host",
    "Outcome",
    "Position",
    "ReadReport",
    "RefusedBy",
    "Role",
    "SessionFile",
    "event_key",
    "event_keys",
]

#: What an event is. `user` only for words a person typed; everything injected is `context`.
#:   user         a person's prompt (also typed while the agent was busy, and words said with a refusal)
#:   assistant    the model's visible words
#:   tool_call    a call was made; its result has not been seen (yet)
#:   tool_result  a call and its result, joined by the call's ID (name and input are filled in)
#:   compaction   history was cut here; `text` holds the summary, which is nobody's speech
#:   interrupt    the person stopped the agent
#:   context      injected text: system reminders, hook output, slash-command bodies, CLAUDE.md …; of the role
#:                `assistant` only where the host sends on a plan that the person approved
#:   title        a title that host or person gave the session
#:   link         a ready-made fact such as "pull request opened" (`text` holds its URL)
EventKind = Literal[
    "user", "assistant", "tool_call", "tool_result", "compaction", "interrupt", "context", "title", "link"
]

#: Who vouches for the event's text (design section 5.6), best first.
Role = Literal["user", "assistant", "tool", "external"]

#: How a call ended. `unknown`: background, cut off, or the host recorded nothing.
Outcome = Literal["ok", "failed", "unknown"]

#: Who refused a call before it ran: the person at the prompt, or the host's own rules; '' for nobody.
RefusedBy = Literal["", "person", "host"]


def event_key(host: str, uuid: str) -> bytes:
    """The 16 bytes under which an event counts as seen.

    The bytes of a plain UUID, which nobody else has; of any other text a hash, over the host's name too. Path
    and session ID stay out, because resumed, forked and sub-agent files repeat events under other ones.
    """
    return event_keys(host)(uuid)


def event_keys(host: str) -> Callable[[str], bytes]:
    """`event_key` for one host, for reading: a key is made for every line and every call."""
    started = blake2b(f"{host}\0".encode(), digest_size=16)
    unhex = bytes.fromhex

    def key(uuid: str) -> bytes:
        if len(uuid) == 36 and uuid[8:24:5] == "----":
            try:
                plain = unhex(uuid.replace("-", ""))
            except ValueError:
                plain = b""
            if len(plain) == 16:
                return plain
        hasher = started.copy()
        hasher.update(uuid.encode("utf-8", "replace"))
        return hasher.digest()

    return key


@dataclass(kw_only=True)
class Event:
    """One thing that happened in a session.

    Neither frozen nor with slots, since one is made for every line: a reader makes it with `Event.__new__` and
    sets the fields that have no default and those that differ from it; the class answers for the others.
    """

    kind: EventKind
    #: 0-based line of the file it stands on (of the result, for a `tool_result`).
    line: int
    #: The line's own uuid; '' when it has none.
    uuid: str
    #: ISO 8601 as the host wrote it; '' when it wrote none.
    at: str
    session_id: str
    role: Role
    #: Words (a person's and the agent's are whole), a tool's output (`tool_result`), a summary (`compaction`).
    text: str = ""
    #: Working folder of the event; '' when unknown.
    cwd: str = ""
    #: Git branch of the event; '' when unknown.
    branch: str = ""
    #: True inside a sub-agent: prompts there are the model's, not a person's.
    sidechain: bool = False
    #: True when an event with this uuid was already counted, in this file or another one: context only.
    repeat: bool = False
    #: Tool calls and results: the call's ID, the tool's name and its input.
    call_id: str = ""
    tool: str = ""
    #: Read-only, as `tokens` and `result` are: events share them.
    input: dict[str, object] = field(default_factory=dict)
    #: Line and uuid of the call (a result has its own in `line` and `uuid`); -1 and '' when unknown.
    call_line: int = -1
    call_uuid: str = ""
    outcome: Outcome = "unknown"
    #: None when the host recorded none (older hosts, built-in tools).
    exit_code: int | None = None
    #: Background start, interruption, refusal by the person, refusal by the host.
    background: bool = False
    interrupted: bool = False
    refused: bool = False
    refused_by: RefusedBy = ""
    #: True when the output was cut by the host (saved elsewhere) or by us.
    truncated: bool = False
    #: The tool's structured result where the host keeps one (todo lists, answers to questions, edits).
    result: dict[str, object] | None = None
    #: Tokens of the model's answer: input, output, cache_creation, cache_read. Once per API message.
    tokens: dict[str, int] = field(default_factory=dict)
    #: Model's name, on assistant events.
    model: str = ""

    def beside(self, *, repeat: bool) -> Event:
        """Another event of the same line, of kind `context` until it is told otherwise."""
        event = Event.__new__(Event)
        event.kind, event.role = "context", "tool"
        event.line, event.uuid, event.at, event.session_id = self.line, self.uuid, self.at, self.session_id
        event.cwd, event.branch, event.sidechain, event.repeat = self.cwd, self.branch, self.sidechain, repeat
        return event


# The defaults that a dataclass makes anew for each instance: events without them share these.
Event.input = {}
Event.tokens = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where reading stands: always at the end of a whole line."""

    #: Bytes taken.
    offset: int = 0
    #: Lines taken; the number of the next line.
    line: int = 0


@dataclass(slots=True, kw_only=True)
class ReadReport:
    """What a pass over a file found; filled while its events are taken.

    While an event is in the taker's hands, `position` is the end of the line before the event's own: a pass
    that is broken off there and begun again at `position` loses nothing.
    """

    #: End of the last whole line whose events were all taken. Two numbers, because they are set on each line.
    offset: int = 0
    line: int = 0
    #: Uuid of the last line that had one.
    last_uuid: str = ""
    lines: int = 0
    #: Reason -> how many lines (or pieces of lines) were skipped: nothing is dropped without being counted.
    skipped: dict[str, int] = field(default_factory=dict)
    #: Host versions met.
    versions: set[str] = field(default_factory=set)

    @property
    def position(self) -> Position:
        """Where the next pass begins."""
        return Position(offset=self.offset, line=self.line)

    @position.setter
    def position(self, position: Position) -> None:
        self.offset, self.line = position.offset, position.line

    def skip(self, reason: str) -> None:
        """Count one line, or one piece of a line, that was not taken or had to be repaired."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A transcript on disk."""

    host: str
    path: Path
    #: True for a sub-agent's file.
    sidechain: bool
    size: int
    mtime_ns: int
    #: Time of the first event, as the host wrote it; '' when no line near the start has one.
    started_at: str = ""


class Host(Protocol):
    """What every host's module offers as a module-level object."""

    #: `claude-code`, `codex`: the name in sources and watermarks.
    name: str

    def session_files(self, cwd: Path) -> list[SessionFile]:
        """The transcripts that the host keeps for sessions started in `cwd` or below, oldest first, main
        sessions before sub-agents."""

    def recognises(self, path: Path) -> SessionFile | None:
        """`path` as this host's transcript, judged by its first lines; None when it is not one."""

    def events(
        self, path: Path, *, start: Position, report: ReadReport, max_line_bytes: int, seen: set[bytes]
    ) -> Iterator[Event]:
        """The events after `start`, in order; `report` is filled as they are taken. `seen` holds 16-byte keys
        of events counted before (see `event_key`) and is added to."""
