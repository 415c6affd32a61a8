"""What is known of a Codex session while its lines are read: whose it is, where it stands, what was copied.

A rollout that was forked off another session begins with a copy of that session's lines, and so may a sub-agent's.
Newer clients number the lines and say where the copy ends. Older ones write the copy in one go when the session
begins, some with new times: there a prompt counts as copied when the session it was forked off holds it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

from hikidashi.hosts.codex_lines import HOST_NAME
from hikidashi.hosts.transcript import Event, ReadReport, event_keys

__all__ = ["Envelopes", "is_sidechain", "line_key", "stable_id"]

#: The key under which a line, a call's result or a call's end counts as seen.
line_key: Final = event_keys(HOST_NAME)
_new: Final = object.__new__

#: An ID of so many characters is nobody else's; servers of small models number their calls.
_LONG: Final = 20
#: A copy is written within this time after the session begins.
_COPIED_WITHIN: Final = timedelta(seconds=2)


def stable_id(name: object, at: str) -> str:
    """An ID as one that no other session has; '' for none."""
    if type(name) is not str or not name:
        return ""
    return name if len(name) >= _LONG else f"{name}@{at}"


def is_sidechain(meta: dict[str, Any]) -> bool:
    """Whether a `session_meta` is that of a sub-agent, or of a session that the client runs for itself."""
    source = meta.get("source")
    if isinstance(source, dict) and not source.keys().isdisjoint(("subagent", "sub_agent", "internal")):
        return True
    return meta.get("thread_source") == "subagent" or _text(meta.get("parent_thread_id")) != ""


class Envelopes:
    """Makes the first event of each line."""

    def __init__(self, report: ReadReport, seen: set[bytes]) -> None:
        self._report = report
        self._seen = seen
        self._session_id = ""
        self._sidechain = False
        self._cwd = ""
        self._branch = ""
        self.model = ""
        #: A line said where the session stands since this was set to False.
        self.placed = False
        #: Only heads of sessions were read so far.
        self._heading = True
        #: The session whose prompts a copy repeats: itself, or what it was forked off.
        self._root = ""
        self._forked = False
        #: Lines with a smaller number, and lines up to this time, may be copies.
        self._own_from = 0
        self._copied_until = ""

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Feed lines whose events were taken before: they are remembered, but neither reported nor marked seen."""
        kept = self._report, self._seen
        self._report, self._seen = ReadReport(), set()
        try:
            yield
        finally:
            self._report, self._seen = kept

    # -- heads

    def head(self, meta: dict[str, Any], at: str) -> None:
        """A `session_meta`: the first is the session's own, those behind it belong to what was copied."""
        version = meta.get("cli_version")
        if type(version) is str:
            self._report.versions.add(version)
        if not self._session_id:
            self._begin(meta, at)
        elif self._heading and _text(meta.get("id")) not in ("", self._root):
            self._root, self._forked = _text(meta.get("id")), True

    def _begin(self, meta: dict[str, Any], at: str) -> None:
        own = _text(meta.get("id"))
        self._sidechain = is_sidechain(meta)
        forked_from = _text(meta.get("forked_from_id"))
        self._root, self._forked = forked_from or own, bool(forked_from)
        parent = _parent(meta) if self._sidechain else ""
        self._session_id = parent or own or _text(meta.get("session_id"))
        self._cwd = _text(meta.get("cwd"))
        git = meta.get("git")
        branch = _text(git.get("branch")) if isinstance(git, dict) else ""
        self._branch = "" if branch == "HEAD" else branch
        base = meta.get("history_base")
        ends = (
            meta.get("subagent_history_start_ordinal"),
            base.get("end_ordinal_exclusive") if isinstance(base, dict) else None,
        )
        self._own_from = max((end for end in ends if type(end) is int), default=0)
        try:
            until = datetime.fromisoformat(at) + _COPIED_WITHIN
            self._copied_until = until.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        except (ValueError, OverflowError):
            self._copied_until = at

    def place(self, context: dict[str, Any]) -> None:
        """A `turn_context`: where the session stands from now on, and the model that answers."""
        cwd, model = _text(context.get("cwd")), _text(context.get("model"))
        if cwd:
            self._cwd, self.placed = cwd, True
        if model:
            self.model = model

    # -- events

    def base(self, line: dict[str, Any], number: int, uuid: str = "", said: str = "") -> Event:
        """An event with what the line and the session have in common, of kind `context` until it is told otherwise.

        `uuid`: the item's own ID; where there is none, a copy is known by time and `said`.
        """
        self._heading = False
        at = _text(line.get("timestamp"))
        event = _new(Event)
        event.kind, event.role = "context", "tool"
        event.line, event.uuid, event.at = number, uuid, at
        event.session_id, event.cwd, event.branch = self._session_id, self._cwd, self._branch
        event.sidechain = self._sidechain
        if uuid:
            self._report.last_uuid = uuid
        name = uuid or f"{at}\x1f{said}"
        event.repeat = self.met(line_key(name), name)
        if self._own_from and type(ordinal := line.get("ordinal")) is int and ordinal < self._own_from:
            event.repeat = True
        return event

    def in_copy(self, event: Event) -> bool:
        """Whether the line stands where an older client copies another session."""
        return self._forked and not self._own_from and event.at <= self._copied_until

    def met_prompt(self, event: Event, text: str) -> bool:
        """Whether a prompt was copied from another session; it can be known by its words from now on."""
        key = line_key(f"said\x1f{self._root}\x1f{text}")
        known = key in self._seen
        self._seen.add(key)
        return known and self.in_copy(event)

    def met(self, key: bytes, name: str) -> bool:
        """Whether the event of this key was counted before; it is from now on.

        What a sub-agent's file repeats of the main session must not make the main event look seen.
        """
        if key in self._seen:
            return True
        if self._sidechain:
            key = line_key("sidechain:" + name)
            if key in self._seen:
                return True
        self._seen.add(key)
        return False

    def folder(self, named: str) -> str:
        """The folder in which a call runs that names one: its own, or below the session's."""
        if not named:
            return self._cwd
        if named.startswith(("/", "\\")) or named[1:2] == ":" or not self._cwd:
            return named
        return posixpath.normpath(posixpath.join(self._cwd, named))


def _parent(meta: dict[str, Any]) -> str:
    """The session that started a sub-agent."""
    source = meta.get("source")
    spawned = source.get("subagent", source.get("sub_agent")) if isinstance(source, dict) else None
    spawned = spawned.get("thread_spawn") if isinstance(spawned, dict) else None
    named = spawned.get("parent_thread_id") if isinstance(spawned, dict) else None
    return _text(meta.get("parent_thread_id")) or _text(named)


def _text(value: object) -> str:
    return value if type(value) is str else ""
