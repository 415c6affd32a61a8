"""The model of one pass, as all transcripts of it share it, and when it is the model that fails and not a session."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from hikidashi.capture.chunks import Chunk, Estimate
from hikidashi.capture.follow import Belonging, is_at_rest
from hikidashi.capture.model_marks import ModelMark
from hikidashi.capture.model_report import ModelReport, Sample
from hikidashi.capture.seen import SeenKeys
from hikidashi.config.machine import Machine
from hikidashi.drawer.fact import Draft, Sighting
from hikidashi.errors import ModelFailure
from hikidashi.hosts.transcript import SessionFile
from hikidashi.staging.entry import Entry
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock

__all__ = ["ChunkReader", "LeftAside", "ModelReader", "Paused", "Taken", "VainAnswers"]

#: So many failures on content in a row, without an answer between, are the model's and not the sessions'.
VAIN_FAILURES: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of one chunk."""

    entries: Sequence[Entry] = ()
    drafts: Sequence[tuple[Draft, list[Sighting]]] = ()
    dropped: Sequence[Sample] = ()


class ChunkReader(Protocol):
    """Has a model read a chunk, and looks up what it claims."""

    def __call__(self, chunk: Chunk) -> Taken:
        """Raises `ModelFailure`, of kind `content` when it is this chunk that has no answer; `BudgetSpent`."""


class Paused(Exception):
    """The workspace was paused while a model read: nothing more is sent."""


class VainAnswers(ModelFailure):
    """The model fails on one chunk after the other."""


class LeftAside(ModelFailure):
    """A piece cannot be read by a model that never answered here: it may be the model's fault, so the piece stays."""


@dataclass(slots=True, kw_only=True)
class ModelReader:
    """What all transcripts of one pass share."""

    connection: sqlite3.Connection
    store: StagingStore
    clock: Clock
    checkpoint: Callable[[str], None]
    shown: SeenKeys
    belonging: Belonging
    machine: Machine
    settle_after: timedelta
    max_line_bytes: int
    report: ModelReport
    read: ChunkReader
    #: Tokens of a chunk at most, and how they are counted.
    chunk_tokens: int
    estimate: Estimate
    #: Told before each request: bytes of the session that are done, and the session.
    tell: Callable[[int, SessionFile], None]
    #: Entries are staged and their files not written yet.
    flush: Callable[[], None]
    #: The model gave an answer that could be used, here and at some time.
    works: bool
    #: Asks the model something that any model has an answer to; raises as `read` does. None: it cannot be asked.
    control: Callable[[], None] | None = None
    #: Failures on content since its last answer, and up to how many it is known to answer something else.
    vain: int = 0
    proved: int = 0

    def answered(self) -> None:
        """A chunk has its answer."""
        self.works, self.vain, self.proved = True, 0, 0

    def require_sense(self, exc: ModelFailure, *, before_passing_over: bool = False) -> None:
        """Make sure that it is the sessions that the model fails on, and not the model that fails.

        Asked before a piece is passed over, and every `VAIN_FAILURES`. Raises `VainAnswers` with the words of `exc`
        where the model has no answer to anything; what else keeps it from answering is raised as it is.
        """
        if self.vain < self.proved or not (before_passing_over or self.vain >= VAIN_FAILURES):
            return
        if self.control is None:
            if self.vain >= VAIN_FAILURES:
                raise VainAnswers(str(exc), kind="content") from exc
            return
        try:
            self.control()
        except ModelFailure as failure:
            if failure.kind == "content":
                raise VainAnswers(str(exc), kind="content") from exc
            raise
        self.works, self.proved = True, self.vain + VAIN_FAILURES

    def rests(self, last_at: str) -> bool:
        """Whether a session whose last event has that time counts as ended."""
        return is_at_rest(last_at, self.clock(), self.settle_after)

    def has_new(self, mark: ModelMark | None, file: SessionFile, *, named: bool) -> bool:
        """Whether a transcript holds what a model was not shown and may be shown now."""
        if mark is None or not mark.is_current(file) or (named and mark.passed):
            return True
        return not mark.settled and (named or self.rests(mark.ended_at))
