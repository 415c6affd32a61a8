"""A workspace whose sessions a model reads, and models that answer as a test says, without any server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hikidashi.capture.chunks import Chunk
from hikidashi.capture.model_reader import ChunkReader, Taken
from hikidashi.capture.model_reading import ModelProgress, read_by_model
from hikidashi.capture.model_report import ModelReport
from hikidashi.capture.pieces import Piece
from hikidashi.capture.sessions import explicit_transcripts
from hikidashi.config.settings import Settings, load_settings
from hikidashi.errors import ModelFailure
from hikidashi.model.messages import Answer, Phase, Request
from hikidashi.source import Source
from hikidashi.staging.entry import Entry, entry_id
from tests.capture_workspace import LATE, Desk, desk
from tests.transcripts import Session

__all__ = ["Hall", "Nobody", "Reading", "hall", "identity", "talk"]


_START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def identity(piece: Piece) -> tuple[str, int, int, int]:
    """What tells a piece from all others, in whatever file it stands."""
    return piece.anchor, piece.index, piece.part, piece.parts


def talk(name: str, turns: int, *, cwd: str, at: datetime = _START, words: str = "") -> Session:
    """A session of so many prompts and answers, each its own."""
    session = Session(name=name, cwd=cwd, at=at)
    for turn in range(turns):
        session.user(f"{name}: prompt {turn} {words}")
        session.says(f"{name}: answer {turn}")
    return session


@dataclass
class Reading:
    """A model that answers for each chunk with one discussion a piece; `fails` says for which it does not."""

    fails: Callable[[Chunk], ModelFailure | None] = lambda chunk: None
    #: The pieces of each chunk that was asked for, and of those that were answered.
    asked: list[list[Piece]] = field(default_factory=list)
    answered: list[list[Piece]] = field(default_factory=list)

    def __call__(self, chunk: Chunk) -> Taken:
        """See `ChunkReader`."""
        self.asked.append(list(chunk.pieces))
        failure = self.fails(chunk)
        if failure is not None:
            raise failure
        self.answered.append(list(chunk.pieces))
        return Taken(entries=[_entry(chunk, piece) for piece in chunk.pieces])

    @property
    def shown(self) -> list[tuple[str, int, int, int]]:
        """The pieces that were answered for, in order."""
        return [identity(piece) for chunk in self.answered for piece in chunk]

    @property
    def texts(self) -> list[str]:
        """The texts of the pieces that were answered for, in order."""
        return [piece.text for chunk in self.answered for piece in chunk]


def _entry(chunk: Chunk, piece: Piece) -> Entry:
    place = Source(
        host=chunk.host,
        session_id=piece.session_id,
        lines=(piece.line, piece.line),
        uuids=(piece.uuid, piece.uuid),
        at=piece.at,
    )
    return Entry(
        id=entry_id(chunk.host, piece.at, f"{piece.anchor}#{piece.index}", "discussion", 0),
        kind="discussion",
        title=f"line {piece.line}, piece {piece.index}",
        body=piece.text[:40] or "nothing",
        why="",
        quote="",
        source=place,
        trust="assistant",
    )


class Nobody:
    """An asker that no request may reach."""

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """Fail the test."""
        raise AssertionError(f"a request was made: {request.model}, {phase}")


@dataclass
class Hall:
    """A desk with a model."""

    desk: Desk
    settings: Settings

    def read(
        self,
        *paths: Path,
        by: ChunkReader,
        at: datetime = LATE,
        back_fill: bool = False,
        since: datetime | None = None,
        checkpoint: Callable[[str], None] = lambda name: None,
        progress: Callable[[ModelProgress], None] | None = None,
        control: Callable[[], None] | None = None,
    ) -> ModelReport:
        """Have a model read the paths, without any the workspace's own sessions."""
        return read_by_model(
            self.desk.workspace,
            self.settings,
            self.desk.connection,
            asker=Nobody(),
            named=explicit_transcripts(list(paths)) if paths else None,
            back_fill=back_fill,
            since=since,
            clock=lambda: at,
            checkpoint=checkpoint,
            progress=progress,
            read=by,
            control=control,
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database holds."""
        return [tuple(row) for row in self.desk.connection.execute(query).fetchall()]


@contextlib.contextmanager
def hall(root: Path, **environ: str) -> Iterator[Hall]:
    """A workspace at `root` with settings of the environment, chunks of 500 tokens if it does not say otherwise."""
    variables = {"HIKIDASHI_CAPTURE_CHUNK_TOKENS": "500", **environ}
    with desk(root) as here:
        yield Hall(here, load_settings(here.workspace, environ=variables))
