"""How far a model has read a transcript (design section 5.7): before the first piece that it did not answer for.

The mark counts events behind the end of a whole line, and pieces of the next event, since one line may hold more than
a chunk: a prompt of two megabytes is some thousand pieces. What it says of a failed chunk (`plan`, `failures`) lets the
next run go on where this one ended.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hikidashi.capture.follow import path_text, tail_hash
from hikidashi.db.connection import database_errors, queries
from hikidashi.hosts.transcript import Position, SessionFile

__all__ = ["ModelMark", "mark_to_resume"]

_SQL: Final = queries("model_reading")


#: No chunk has more pieces.
_MOST_PIECES: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelMark:
    """One row of `model_marks`."""

    position: Position = field(default_factory=Position)
    #: Events behind `position` that are done, and of the one after them the pieces: so many of so many.
    events: int = 0
    part: int = 0
    parts: int = 0
    session_id: str = ""
    tail_hash: str = ""
    #: Time of the last event before the next piece's, and of the last one that was looked at; '' for none.
    last_at: str = ""
    ended_at: str = ""
    #: Last words before the next piece; redacted.
    context: str = ""
    #: Size and time of the file when it was looked through to its end; -1 before that.
    size: int = -1
    mtime_ns: int = -1
    #: The session's end was read too.
    settled: bool = False
    #: Events of other folders were passed over.
    passed: bool = False
    #: Sizes in pieces of the chunks that come next, after one that failed.
    plan: tuple[int, ...] = ()
    #: How often the next piece failed alone.
    failures: int = 0

    @classmethod
    def load(cls, connection: sqlite3.Connection, host: str, path: Path) -> ModelMark | None:
        """The mark of a transcript; None when no model has read in it."""
        with database_errors("workspace.sqlite"):
            row = connection.execute(_SQL["mark"], {"host": host, "path": path_text(path)}).fetchone()
        if row is None:
            return None
        return cls(
            position=Position(offset=row["byte_offset"], line=row["line_number"]),
            events=row["events"],
            part=row["part"],
            parts=row["parts"],
            session_id=row["session_id"],
            tail_hash=row["tail_hash"],
            last_at=row["last_at"],
            ended_at=row["ended_at"],
            context=row["context"],
            size=row["size"],
            mtime_ns=row["mtime_ns"],
            settled=bool(row["settled"]),
            passed=bool(row["passed"]),
            plan=_plan(row["plan"]),
            failures=row["failures"],
        )

    def save(self, connection: sqlite3.Connection, host: str, path: Path, at: str) -> None:
        """Write it, in the CALLER's transaction."""
        connection.execute(
            _SQL["set_mark"],
            {
                "host": host,
                "path": path_text(path),
                "session_id": self.session_id,
                "byte_offset": self.position.offset,
                "line_number": self.position.line,
                "events": self.events,
                "part": self.part,
                "parts": self.parts,
                "tail_hash": self.tail_hash,
                "last_at": self.last_at,
                "ended_at": self.ended_at,
                "context": self.context,
                "size": self.size,
                "mtime_ns": self.mtime_ns,
                "settled": int(self.settled),
                "passed": int(self.passed),
                "plan": json.dumps(self.plan),
                "failures": self.failures,
                "updated_at": at,
            },
        )

    def is_current(self, file: SessionFile) -> bool:
        """Whether nothing was written to the file since it was looked through."""
        return (self.size, self.mtime_ns) == (file.size, file.mtime_ns)


def _plan(text: str) -> tuple[int, ...]:
    """The plan as it was saved; () where it is damaged: it saves requests, and nothing is lost without it."""
    try:
        plan = json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return ()
    sound = isinstance(plan, list) and all(isinstance(size, int) and 0 < size <= _MOST_PIECES for size in plan)
    return tuple(plan) if sound else ()


def mark_to_resume(mark: ModelMark | None, file: SessionFile) -> ModelMark:
    """Where to go on: at the mark, or at the start when the file is not what it was. Raises `OSError`.

    From the start again, events that were shown before are not shown again.
    """
    if mark is None or file.size < mark.position.offset:
        return ModelMark()
    if mark.position.offset and tail_hash(file.path, mark.position.offset) != mark.tail_hash:
        return ModelMark()
    return mark
