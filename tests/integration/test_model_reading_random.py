"""Sessions grow, are resumed and copied, chunks change their size and readings break off: each piece is read once."""

from __future__ import annotations

import contextlib
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hikidashi.capture.chunks import Chunk
from hikidashi.errors import BudgetSpent, ModelFailure
from tests.model_reading import Reading, hall
from tests.transcripts import Session

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class BrokenOff(Exception):
    """Stands for the process's end."""


class Story:
    """Sessions that change at random; all of them are written into one folder."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.folder = folder
        self.sessions = [Session(name=f"s{number}", cwd="/home/ann/shop", at=START) for number in range(2)]
        self.said: set[str] = set()
        self._count = 0

    def go_on(self) -> None:
        """One of the sessions goes on, or is resumed as a copy under another name."""
        session = self.chance.choice(self.sessions)
        if self.chance.random() < 0.1 and len(self.sessions) < 6:
            copy = Session(name=f"s{len(self.sessions)}", cwd=session.cwd, at=START + timedelta(hours=1))
            copy.lines = [*session.lines]
            self.sessions.append(copy)
            session = copy
        for _ in range(self.chance.randint(1, 12)):
            self._one_event(session)
        session.write(self.folder / f"{session.name}.jsonl")

    def _one_event(self, session: Session) -> None:
        self._count += 1
        words = f"event {self._count} " + "and so on " * self.chance.choice([0, 3, 40])
        kind = self.chance.choice(["user", "user", "says", "runs", "many", "long"])
        if kind == "user":
            session.user(words)
        elif kind == "says":
            session.says(words)
        elif kind == "runs":
            session.runs(f"make {words}")
        elif kind == "many":
            calls = [session.bash(f"make part-{number}") for number in range(5)]
            session.user([{"type": "tool_result", "tool_use_id": call, "content": words} for call in calls])
        else:
            session.user(words + "".join(f"sentence {number}. " for number in range(300)))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_each_piece_is_read_once(tmp_path: Path, seed: int) -> None:
    story, weather = Story(seed, tmp_path / "sessions"), random.Random(seed)
    reading = Reading()

    def fails(chunk: Chunk) -> ModelFailure | None:
        drawn = weather.random()
        if drawn < 0.06:
            raise BudgetSpent("spent")
        if drawn < 0.12:
            raise BrokenOff
        return ModelFailure("not now", kind="content") if drawn < 0.2 and len(chunk.pieces) > 1 else None

    def checkpoint(name: str) -> None:
        if weather.random() < 0.01:
            raise BrokenOff(name)

    story.go_on()
    for _ in range(60):
        if weather.random() < 0.4:
            story.go_on()
        tokens = str(weather.choice([500, 700, 1500, 6000]))
        reading.fails = fails
        with contextlib.suppress(BrokenOff), hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS=tokens) as here:
            here.read(tmp_path / "sessions", by=reading, checkpoint=checkpoint)
    reading.fails = lambda chunk: None
    expected = Reading()
    with hall(tmp_path / "shop") as here:
        here.read(tmp_path / "sessions", by=reading)
        here.read(tmp_path / "sessions", by=reading)
    with hall(tmp_path / "undisturbed", HIKIDASHI_CAPTURE_CHUNK_TOKENS="1000000") as here:
        here.read(tmp_path / "sessions", by=expected)
    assert len(expected.shown) > 100
    assert sorted(set(reading.shown)) == sorted(expected.shown)
    assert staged(tmp_path) == len(expected.shown)


def staged(tmp_path: Path) -> int:
    """How many entries there are, each with its file once an extraction has ended."""
    with hall(tmp_path / "shop") as here:
        here.desk.extract(own=True)
        assert len(here.desk.staged_files()) == len(here.desk.entries())
        return len(here.desk.entries())
