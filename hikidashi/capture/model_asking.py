"""A chunk of a session before a model, and what of its answer holds. Imported only where a request is made."""

from __future__ import annotations

import sqlite3
from typing import Final

from hikidashi.capture.answers import schema_text
from hikidashi.capture.back_fill import room_of
from hikidashi.capture.chunks import Chunk
from hikidashi.capture.claims import ExtractionAnswer, Standing, answer_schema, examine
from hikidashi.capture.model_reader import Taken
from hikidashi.capture.model_report import ModelReport, Sample
from hikidashi.capture.pieces import Piece
from hikidashi.config.settings import Settings
from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import database_errors, queries
from hikidashi.errors import CorruptData
from hikidashi.model.messages import Answer, Asker, Phase, Request
from hikidashi.model.prices import load_prices
from hikidashi.model.prompt_files import prompt_sources
from hikidashi.model.structured import ask_validated
from hikidashi.model.tokens import most_tokens
from hikidashi.prompts.template import prompt_text
from hikidashi.staging.entry import Entry

__all__ = ["ChunkAsking", "CountingAsker", "make_asking"]

_SQL: Final = queries("model_reading")

#: A new request of a chunk that just changes the answer's form is cheap; thinking about a session is what we pay for.
_EFFORT: Final = "low"


class CountingAsker:
    """Asks through another one, and counts in a report what was answered."""

    def __init__(self, asker: Asker, report: ModelReport) -> None:
        self._asker = asker
        self._report = report

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """See `Asker.ask`."""
        answer = self._asker.ask(request, phase=phase)
        self._report.answered(answer.usage)
        return answer


class ChunkAsking:
    """A `ChunkReader`: the prompt and the schema are the same for all chunks, so that the server keeps them."""

    def __init__(self, asker: Asker, connection: sqlite3.Connection, *, model: str, prompt: str, answer: int) -> None:
        self._asker = asker
        self._connection = connection
        self._model = model
        self._answer = answer
        self._schema = answer_schema()
        self._system = ({"type": "text", "text": prompt, "cache_control": {"type": "ephemeral"}},)

    def __call__(self, chunk: Chunk) -> Taken:
        """Ask for the activities and facts of `chunk`. Raises as `Asker.ask` does."""
        answer = self._ask(chunk, "extraction")
        examined = examine(answer, chunk, standing=self._standing(chunk))
        return Taken(
            entries=examined.entries,
            drafts=examined.drafts,
            dropped=[
                Sample(reason=one.reason, kind=one.kind, text=one.sample, path=chunk.path, line=one.line)
                for one in examined.dropped
            ],
        )

    def control(self) -> None:
        """Ask for those of a chunk that any model can answer for. Raises as `Asker.ask` does.

        It counts as a ping, which is let through while nothing else is asked of a server that broke down.
        """
        self._ask(_control(), "ping")

    def _ask(self, chunk: Chunk, phase: Phase) -> ExtractionAnswer:
        request = Request(
            model=self._model,
            max_tokens=self._answer,
            messages=({"role": "user", "content": [{"type": "text", "text": chunk.render()}]},),
            system=self._system,
            schema=self._schema,
            effort=_EFFORT,
        )
        return ask_validated(self._asker, request, ExtractionAnswer, phase=phase)

    def _standing(self, chunk: Chunk) -> Standing:
        """What is known already: facts and candidates, and the activities of the chunk's sessions."""
        sessions = {piece.session_id for piece in chunk.pieces}
        with database_errors("workspace.sqlite"):
            bodies = [str(row["body"]) for row in self._connection.execute(_SQL["standing_bodies"])]
            rows = [
                row["content"]
                for session in sorted(sessions)
                for row in self._connection.execute(_SQL["standing_entries"], {"session_id": session})
            ]
        titles = []
        for content in rows:
            try:
                entry = Entry.from_json(content)
            except CorruptData:  # nothing can repeat what cannot be read
                continue
            titles.append((str(entry.kind), entry.title))
        return Standing.of(bodies=bodies, titles=titles)


def _control() -> Chunk:
    piece = Piece(
        kind="words",
        role="user",
        text="Please fix the typo in the heading of the README.",
        session_id="",
        line=0,
        uuid="",
        at="2026-01-01T00:00:00.000Z",
        anchor="",
    )
    return Chunk(host="control", path="", pieces=(piece,), estimate=most_tokens)


def make_asking(
    workspace: Workspace, settings: Settings, connection: sqlite3.Connection, asker: Asker, report: ModelReport
) -> ChunkAsking:
    """The reader of one pass, whose requests are counted in `report`. Raises `BadSettings` for a wrong prompt."""
    return ChunkAsking(
        CountingAsker(asker, report),
        connection,
        model=settings.memory.extraction_model,
        prompt=prompt_text("extraction", prompt_sources(workspace), schema=schema_text()),
        answer=room_of(workspace, settings, load_prices()).answer,
    )
