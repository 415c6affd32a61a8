"""Where reading a transcript goes on, and which of its events belong to this workspace (design section 5.2)."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from hikidashi.capture.extract import STATE_VERSION
from hikidashi.capture.promoting import is_known_state
from hikidashi.config.workspace import find_root
from hikidashi.db.connection import database_errors, queries
from hikidashi.hosts.transcript import Position, SessionFile
from hikidashi.times import parse_time

__all__ = ["Belonging", "Watermark", "is_at_rest", "path_text", "resume_at", "tail_hash"]

_SQL: Final = queries("capture")

#: Bytes before the watermark that must be the same when reading goes on.
TAIL_BYTES: Final = 4_096


def path_text(path: Path) -> str:
    """A path as the database holds it: text, also for names that are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def tail_hash(path: Path, offset: int) -> str:
    """SHA-256 of the up to 4,096 bytes before `offset`; '' when the file is shorter. Raises `OSError`."""
    start = max(0, offset - TAIL_BYTES)
    with path.open("rb") as stream:
        stream.seek(start)
        tail = stream.read(offset - start)
    return hashlib.sha256(tail).hexdigest() if len(tail) == offset - start else ""


def is_at_rest(last_at: str, now: datetime, settle_after: timedelta) -> bool:
    """Whether a session whose last event has that time counts as ended."""
    try:
        last = parse_time(last_at)
    except ValueError:
        return True  # nothing in it has a time: there is nothing to wait for
    return now - last >= settle_after


@dataclass(slots=True, kw_only=True)
class Watermark:
    """How far a transcript was read, and the fold's state there."""

    position: Position = field(default_factory=Position)
    session_id: str = ""
    last_uuid: str = ""
    tail_hash: str = ""
    #: Size and time of the file when it was read to its end; -1 in the middle of a large one.
    size: int = -1
    mtime_ns: int = -1
    #: What the session left at its end was extracted.
    settled: bool = False
    skipped: dict[str, int] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, connection: sqlite3.Connection, host: str, path: Path) -> Watermark | None:
        """The watermark of a file; None when it was never read."""
        with database_errors("workspace.sqlite"):
            row = connection.execute(_SQL["watermark"], {"host": host, "path": path_text(path)}).fetchone()
        if row is None:
            return None
        return cls(
            position=Position(offset=row["byte_offset"], line=row["line_number"]),
            session_id=row["session_id"],
            last_uuid=row["last_uuid"],
            tail_hash=row["tail_hash"],
            size=row["size"],
            mtime_ns=row["mtime_ns"],
            settled=bool(row["settled"]),
            skipped=json.loads(row["skipped"]),
            state=json.loads(row["state"]),
        )

    def save(self, connection: sqlite3.Connection, host: str, path: Path, at: str) -> None:
        """Write it, in the CALLER's transaction."""
        connection.execute(
            _SQL["set_watermark"],
            {
                "host": host,
                "path": path_text(path),
                "session_id": self.session_id,
                "byte_offset": self.position.offset,
                "line_number": self.position.line,
                "last_uuid": self.last_uuid,
                "tail_hash": self.tail_hash,
                "size": self.size,
                "mtime_ns": self.mtime_ns,
                "settled": int(self.settled),
                "skipped": json.dumps(self.skipped, sort_keys=True),
                "state": json.dumps(self.state, ensure_ascii=False),
                "updated_at": at,
            },
        )

    @property
    def is_known(self) -> bool:
        """Whether its state is one that this version can go on from; else the file is read from the start."""
        return self.state.get("version") == STATE_VERSION and is_known_state(self.state.get("promoting"))

    def is_current(self, file: SessionFile) -> bool:
        """Whether nothing was written to the file since it was read to its end, by a version that knew as much."""
        return self.is_known and (self.size, self.mtime_ns) == (file.size, file.mtime_ns)


def resume_at(watermark: Watermark | None, file: SessionFile) -> Watermark:
    """Where to go on: at the watermark, or at the start when file or state are not what they were. Raises `OSError`.

    From the start again, entry IDs, seen events and the anchors of sightings make what was taken before harmless.
    """
    if watermark is None or file.size < watermark.position.offset:
        return Watermark()
    if not watermark.is_known:
        return Watermark()
    if watermark.position.offset and tail_hash(file.path, watermark.position.offset) != watermark.tail_hash:
        return Watermark()
    return watermark


class Belonging:
    """Which events are this workspace's: those whose own working folder lies in it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, bool] = {}

    def holds(self, cwd: str) -> bool:
        """Whether an event with that working folder belongs to the workspace; one without a folder does not."""
        known = self._known.get(cwd)
        if known is None:
            known = self._known[cwd] = bool(cwd) and find_root(Path(cwd)) == self._root
        return known

    def project(self, cwd: str) -> str:
        """The workspace's folder for what ran in it or in a linked worktree of it; '' for any other folder."""
        return str(self._root) if self.holds(cwd) else ""
