"""What a pass of a model over the sessions did: its row in `extractions`, the form of `show --json`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hikidashi.capture.chunks import Chunk
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.drawer.fact import Draft
from hikidashi.drawer.gate import Proposal
from hikidashi.errors import CorruptData, UsageError
from hikidashi.model.messages import Usage
from hikidashi.staging.entry import Entry

__all__ = [
    "ExtractionRow",
    "ModelReport",
    "PassedOver",
    "Sample",
    "find_extraction",
    "has_answered",
    "has_unfinished",
    "last_extraction",
]

_SQL: Final = queries("model_reading")

#: Dropped claims that a report shows of each reason, and passages that it names; all of them are counted.
_SAMPLES: Final = 5
_NAMED: Final = 50
#: Passes without an answer whose rows are kept: a key that is refused makes one at every session's end.
_VAIN_KEPT: Final = 100
#: Characters of a sample.
_SAMPLE_LENGTH: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A claim of the model that was dropped; the text is redacted."""

    reason: str
    #: What it claimed to be; '' for a word that is no kind.
    kind: str = ""
    text: str
    path: str = ""
    #: 0-based line of the event that it named, or of the first that the model was shown with it.
    line: int = -1

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {
            "reason": self.reason,
            "kind": self.kind,
            "text": self.text,
            "path": self.path,
            "line": self.line,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A piece of a session that no model could be brought to answer for."""

    path: str
    line: int
    #: Part of the event's text, from 1, and how many it has.
    part: int
    parts: int
    why: str

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {"path": self.path, "line": self.line, "part": self.part, "parts": self.parts, "why": self.why}


@dataclass(slots=True, kw_only=True)
class ModelReport:
    """One pass; filled while it goes.

    Outcomes: `idle` nothing was sent · `done` · `busy` another process has a model read here and takes this call's
    sessions too · `paused` somebody paused the workspace meanwhile · `budget` ·
    `failed:auth|billing|overloaded|network|content|settings` · `crashed` its process ended.
    """

    run_id: str
    model: str
    outcome: str = "idle"
    #: Why it ended before its time, and the mend; '' when it did not.
    message: str = ""
    started_at: str = ""
    #: Sessions in which something was read.
    sessions: int = 0
    #: Chunks that were answered, chunks that failed on their content, and pieces shown in the answered ones.
    chunks: int = 0
    failed_chunks: int = 0
    pieces: int = 0
    #: Requests that were answered, and their tokens; what failed is in the ledger.
    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    #: Kind of activity -> new entries, and the entries.
    entries: dict[str, int] = field(default_factory=dict)
    new: list[Entry] = field(default_factory=list)
    #: ID -> key of the candidates that began to wait.
    candidates: dict[str, str] = field(default_factory=dict)
    #: Reason -> claims that were dropped for it.
    dropped: dict[str, int] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    passed_over: int = 0
    passages: list[PassedOver] = field(default_factory=list)
    #: Sessions that were older than the model's first use here and wait for a yes; files that could not be read.
    older: int = 0
    errors: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def take(
        self,
        chunk: Chunk,
        new: Sequence[Entry],
        proposals: Sequence[tuple[Draft, Proposal]],
        dropped: Sequence[Sample],
    ) -> None:
        """What came of an answered chunk."""
        self.chunks += 1
        self.pieces += len(chunk.pieces)
        for entry in new:
            self.entries[entry.kind] = self.entries.get(entry.kind, 0) + 1
        self.new += new
        for draft, proposal in proposals:
            if proposal.outcome == "new":
                self.candidates[proposal.id] = draft.key
        for sample in dropped:
            self.drop(sample)

    def drop(self, sample: Sample) -> None:
        """Count a dropped claim and keep it as a sample if there are few of its reason."""
        self.dropped[sample.reason] = self.dropped.get(sample.reason, 0) + 1
        if self.dropped[sample.reason] <= _SAMPLES:
            text = sample.text if len(sample.text) <= _SAMPLE_LENGTH else sample.text[: _SAMPLE_LENGTH - 1] + "…"
            self.samples.append(replace(sample, text=text))

    def pass_over(self, passage: PassedOver) -> None:
        """Count a piece that was passed over and name it."""
        self.passed_over += 1
        if len(self.passages) < _NAMED:
            self.passages.append(passage)

    def answered(self, usage: Usage) -> None:
        """Count one answered request."""
        self.requests += 1
        self.usage += usage

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""
        return {
            "run_id": self.run_id,
            "model": self.model,
            "outcome": self.outcome,
            "message": self.message,
            "started_at": self.started_at,
            "sessions": self.sessions,
            "chunks": self.chunks,
            "failed_chunks": self.failed_chunks,
            "pieces": self.pieces,
            "requests": self.requests,
            "tokens": {
                "input": self.usage.input_tokens,
                "output": self.usage.output_tokens,
                "cache_read": self.usage.cache_read_tokens,
                "cache_write": self.usage.cache_write_tokens,
            },
            "entries": {kind: self.entries.get(kind, 0) for kind in ("decision", "discussion", "attempt", "request")},
            "candidates": [{"id": name, "key": key} for name, key in self.candidates.items()],
            "dropped": dict(sorted(self.dropped.items())),
            "samples": [sample.to_dict() for sample in self.samples],
            "passed_over": self.passed_over,
            "passages": [passage.to_dict() for passage in self.passages],
            "older": self.older,
            "errors": dict(sorted(self.errors.items())),
            "seconds": round(self.seconds, 3),
        }

    # -- its row

    def start(self, connection: sqlite3.Connection) -> None:
        """Make the row, and let go of old ones of passes that brought nothing; own transaction."""
        values = {
            "run_id": self.run_id,
            "model": self.model,
            "started_at": self.started_at,
            "report": json.dumps(self.to_dict(), ensure_ascii=False),
        }
        with transaction(connection):
            connection.execute(_SQL["start_extraction"], values)
            connection.execute(_SQL["drop_vain_extractions"], {"keep": _VAIN_KEPT})

    def note(self, connection: sqlite3.Connection) -> None:
        """Save how far it came, in the CALLER's transaction."""
        values = {
            "run_id": self.run_id,
            "answered": self.chunks,
            "report": json.dumps(self.to_dict(), ensure_ascii=False),
        }
        connection.execute(_SQL["note_extraction"], values)

    def end(self, connection: sqlite3.Connection, at: str) -> None:
        """Save how it ended; own transaction."""
        values = {
            "run_id": self.run_id,
            "outcome": self.outcome,
            "finished_at": at,
            "answered": self.chunks,
            "report": json.dumps(self.to_dict(), ensure_ascii=False),
        }
        with transaction(connection):
            connection.execute(_SQL["end_extraction"], values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionRow:
    """One row of `extractions`."""

    run_id: str
    model: str
    #: `running` until it ends, then an outcome of `ModelReport`.
    outcome: str
    started_at: str
    finished_at: str
    #: `ModelReport.to_dict()` as it was last saved.
    report: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the report, with the row's outcome."""
        return {**self.report, "outcome": self.outcome, "finished_at": self.finished_at or None}


def _row(row: sqlite3.Row) -> ExtractionRow:
    try:
        report = json.loads(row["report"])
        # A row of an earlier version has fewer keys.
        report = {**ModelReport(run_id=row["run_id"], model=row["model"]).to_dict(), **report}
    except (TypeError, ValueError, RecursionError) as exc:
        raise CorruptData(
            f"the row of extraction {row['run_id']} in workspace.sqlite is damaged; restore the file from a backup"
        ) from exc
    return ExtractionRow(
        run_id=row["run_id"],
        model=row["model"],
        outcome=row["outcome"],
        started_at=row["started_at"],
        finished_at=row["finished_at"] or "",
        report=report,
    )


def last_extraction(connection: sqlite3.Connection) -> ExtractionRow | None:
    """The newest pass of a model that sent something; None before the first. Raises `CorruptData`."""
    with database_errors("workspace.sqlite"):
        row = connection.execute(_SQL["last_extraction"]).fetchone()
    return None if row is None else _row(row)


def find_extraction(connection: sqlite3.Connection, name: str) -> ExtractionRow:
    """The pass whose ID is `name` or begins with it; `last` is the newest. Raises `UsageError`, `CorruptData`."""
    if name == "last":
        last = last_extraction(connection)
        if last is None:
            raise UsageError("no model has read sessions here yet; `hikidashi status` says why, `extract` reads them")
        return last
    prefix = name.upper()
    if not (prefix.isalnum() and prefix.isascii() and len(prefix) <= 26):
        raise UsageError(f"{name[:60]!r} is no extraction; give its ID, the beginning of it, or `last`")
    with database_errors("workspace.sqlite"):
        rows = connection.execute(_SQL["extractions_like"], {"prefix": prefix}).fetchall()
    if len(rows) != 1:
        problem = "several extractions begin" if rows else "no extraction begins"
        raise UsageError(f"{problem} with {name}; `hikidashi show extraction` shows the last one")
    return _row(rows[0])


def has_answered(connection: sqlite3.Connection, model: str) -> bool:
    """Whether that model ever gave an answer that could be used, in this workspace."""
    with database_errors("workspace.sqlite"):
        return connection.execute(_SQL["has_answered"], {"model": model}).fetchone() is not None


def has_unfinished(connection: sqlite3.Connection) -> bool:
    """Whether a pass is under way, or its process ended without a word."""
    with database_errors("workspace.sqlite"):
        return connection.execute(_SQL["unfinished_extraction"]).fetchone() is not None
