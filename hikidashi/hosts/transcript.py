"""The one event stream that every host's transcript is turned into (design section 5.1).

A host's module yields `Event`s from a file; nothing above this floor knows a host's line format.
`transcript-formats` facts (who speaks in which line) live in the host's module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

__all__ = ["Event", "EventKind", "Host", "Outcome", "Position", "ReadReport", "Role", "SessionFile"]

#: What an event is. `user` only for words a person typed; everything injected is `context`.
#:   user         a person's prompt (also typed while the agent was busy, and words said with a refusal)
#:   assistant    the model's visible words
#:   tool_call    a call was made; its result has not been seen (yet)
#:   tool_result  a call and its result, joined by the call's ID (name and input are filled in)
#:   compaction   history was cut here; `text` holds the summary, which is nobody's speech
#:   interrupt    the person stopped the agent
#:   context      injected text: system reminders, hook output, slash-command bodies, CLAUDE.md …
#:   title        a title that host or person gave the session
#:   link         a ready-made fact such as "pull request opened" (`text` holds its URL)
EventKind = Literal[
    "user", "assistant", "tool_call", "tool_result", "compaction", "interrupt", "context", "title", "link"
]

#: Who vouches for the event's text (design section 5.6), best first.
Role = Literal["user", "assistant", "tool", "external"]

#: How a call ended. `unknown`: background, cut off, or the host recorded nothing.
Outcome = Literal["ok", "failed", "unknown"]


@dataclass(slots=True, kw_only=True)
class Event:
    """One thing that happened in a session. Not frozen: it is made once per line, on the hot path."""

    kind: EventKind
    #: 0-based line of the file it stands on (of the result, for a `tool_result`).
    line: int
    #: The line's own uuid; '' when it has none.
    uuid: str
    #: ISO 8601 as the host wrote it; '' when it wrote none.
    at: str
    session_id: str
    role: Role
    #: Words, a tool's output (`tool_result`), a summary (`compaction`).
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
    #: True when the output was cut by the host (saved elsewhere) or by us.
    truncated: bool = False
    #: The tool's structured result where the host keeps one (todo lists, answers to questions, edits).
    result: dict[str, object] | None = None
    #: Tokens of the model's answer: input, output, cache_creation, cache_read. Once per API message.
    tokens: dict[str, int] = field(default_factory=dict)
    #: Model's name, on assistant events.
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where reading stands: always at the end of a whole line."""

    offset: int = 0
    line: int = 0


@dataclass(slots=True, kw_only=True)
class ReadReport:
    """What a pass over a file found; filled while its events are taken."""

    #: End of the last whole line that was taken.
    position: Position = field(default_factory=Position)
    #: Uuid of the last line that had one.
    last_uuid: str = ""
    lines: int = 0
    #: Reason -> how many lines (or pieces of lines) were skipped: nothing is dropped without being counted.
    skipped: dict[str, int] = field(default_factory=dict)
    #: Host versions met.
    versions: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFile:
    """A transcript on disk."""

    host: str
    path: Path
    #: True for a sub-agent's file.
    sidechain: bool
    size: int
    mtime_ns: int


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
