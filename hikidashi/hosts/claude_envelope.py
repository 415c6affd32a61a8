"""What the lines of a Claude Code transcript have in common: who, when, where, and whether it was counted before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hikidashi.hosts.claude_lines import HOST_NAME
from hikidashi.hosts.transcript import Event, ReadReport, event_keys

__all__ = ["Envelopes", "line_key"]

#: The key under which a line, a call's result or a call's end counts as seen.
line_key: Final = event_keys(HOST_NAME)
_new: Final = object.__new__


class Envelopes:
    """Makes the first event of each line from the line's envelope."""

    __slots__ = ("_branch", "_cwd", "_report", "_seen", "_session_id", "_shared")

    def __init__(self, report: ReadReport, seen: set[bytes]) -> None:
        self._report = report
        self._seen = seen
        self._shared: tuple[object, ...] = ()
        self._session_id = ""
        self._cwd = ""
        self._branch = ""

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Feed lines whose events were taken before: they are remembered, but neither reported nor marked seen."""
        kept = self._report, self._seen
        self._report, self._seen = ReadReport(), set()
        try:
            yield
        finally:
            self._report, self._seen = kept
            self._shared = ()

    def _base(self, line: dict[str, Any], number: int) -> Event:
        """An event with the line's envelope. It becomes the line's first event, and further ones copy it."""
        get = line.get
        shared = (get("sessionId"), get("version"), get("cwd"), get("gitBranch"))
        if shared != self._shared:
            self._enter(shared)
        at, uuid = get("timestamp"), get("uuid")
        sidechain = get("isSidechain") is True
        if type(uuid) is str and uuid:
            self._report.last_uuid = uuid
            key = line_key(uuid)
            if sidechain or key in self._seen:
                repeat = self._met(key, uuid, sidechain)
            else:
                repeat = False
                self._seen.add(key)
        else:
            uuid, repeat = "", False
        event = _new(Event)
        event.kind = "context"
        event.role = "tool"
        event.line = number
        event.uuid = uuid
        event.at = at if type(at) is str else ""
        event.session_id = self._session_id
        event.cwd = self._cwd
        event.branch = self._branch
        event.sidechain = sidechain
        event.repeat = repeat
        return event

    def _enter(self, shared: tuple[object, ...]) -> None:
        """Take what the lines of one place have in common: session, version, working folder and branch."""
        self._shared = shared
        session_id, version, cwd, branch = shared
        self._session_id = session_id if type(session_id) is str else ""
        if type(version) is str:
            self._report.versions.add(version)
        if type(cwd) is str:
            self._cwd = cwd
        if type(branch) is str:
            # What git calls a detached head is no branch.
            self._branch = "" if branch == "HEAD" else branch

    def _met(self, key: bytes, name: str, sidechain: bool) -> bool:
        """Whether the event of this key was counted before; it is from now on.

        A sub-agent's file may repeat main events with the same uuid (compaction, side questions). Such a copy
        must not make the main event look seen, so sidechain lines mark a key of their own.
        """
        seen = self._seen
        if key in seen:
            return True
        if sidechain:
            key = line_key("sidechain:" + name)
            if key in seen:
                return True
        seen.add(key)
        return False
