"""A model's reading that is killed or fails at any step: its mark is behind what was done, nothing twice or lost."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hikidashi.capture.chunks import Chunk
from hikidashi.capture.model_reading import MODEL_CHECKPOINTS
from hikidashi.capture.model_report import ModelReport
from hikidashi.errors import BudgetSpent, ModelFailure
from tests.model_reading import Hall, Reading, hall, talk
from tests.support.commands import Commands
from tests.transcripts import Session

DRIVER = "import sys; from tests.crash.model_driver import main; main(*sys.argv[1:])"

SHOP = "/home/ann/shop"


class Killed(Exception):
    """Stands for the process's end."""


def sessions(folder: Path) -> Path:
    """Three sessions, one of them with a prompt of several chunks, and a copy that goes on."""
    talk("first", 12, cwd=SHOP).write(folder / "first.jsonl")
    long = talk("long", 2, cwd=SHOP, at=datetime(2026, 3, 1, 10, tzinfo=UTC))
    long.user(" ".join(f"sentence number {number}." for number in range(400)))
    long.says("a last answer")
    long.write(folder / "long.jsonl")
    long.user("and this is new in the copy")
    long.write(folder / "resumed.jsonl")
    return folder


def kept(here: Hall) -> set[str]:
    """The entries, each with its file."""
    files = {name.removesuffix(".json") for name in here.desk.staged_files()}
    assert files == {entry.id for entry in here.desk.entries()}
    return files


def undisturbed(tmp_path: Path, folder: Path) -> set[str]:
    """The entries of a reading that nothing disturbs."""
    with hall(tmp_path / "undisturbed") as here:
        reading = Reading()
        here.read(folder, by=reading)
        assert len(reading.shown) == len(set(reading.shown)) > 30
        assert len(kept(here)) == len(reading.shown)
        return kept(here)


def read_again(here: Hall, folder: Path, expected: set[str]) -> None:
    """An ordinary reading afterwards: all that is missing, no more; then nothing is asked any more."""
    known = kept(here)
    reading = Reading()
    here.read(folder, by=reading)
    assert kept(here) == expected
    assert len(reading.shown) == len(expected) - len(known)
    assert here.rows("SELECT * FROM model_queue") == []
    assert here.rows("SELECT run_id FROM extractions WHERE outcome = 'running'") == []
    again = Reading()
    here.read(folder, by=again)
    assert again.asked == []
    assert not list(here.desk.workspace.home.rglob(".tmp-*"))


@pytest.mark.parametrize("step", MODEL_CHECKPOINTS)
def test_an_exception_at_each_step_costs_nothing(tmp_path: Path, step: str) -> None:
    folder = sessions(tmp_path / "sessions")
    expected = undisturbed(tmp_path, folder)
    steps: list[str] = []
    with hall(tmp_path / "counted") as here:
        here.read(folder, by=Reading(), checkpoint=steps.append)
    assert step in steps
    with hall(tmp_path / "shop") as here:
        for count in range(1, min(steps.count(step), 12) + 1):
            left = count

            def checkpoint(name: str) -> None:
                nonlocal left
                left -= name == step
                if left == 0:
                    raise Killed(name)

            with contextlib.suppress(Killed):
                here.read(folder, by=Reading(), checkpoint=checkpoint)
            here.desk.extract(at=datetime(2026, 3, 2, tzinfo=UTC), own=True)  # the next extraction writes files
        read_again(here, folder, expected)


#: A step and how often it is reached before the process dies.
KILLS = [(step, count) for step in MODEL_CHECKPOINTS for count in (1, 4) if count == 1 or "commit" in step]


def test_kill_9_at_each_step_in_a_row(tmp_path: Path, run: Commands) -> None:
    folder = sessions(tmp_path / "sessions")
    expected = undisturbed(tmp_path, folder)
    root, killed = tmp_path / "shop", 0
    for step, count in KILLS:
        (ended,) = run.python(DRIVER, [(root, folder, step, count)])
        assert ended.killed or (ended.code, ended.err) == (0, ""), ended
        killed += ended.killed
        with hall(root) as here:
            here.desk.extract(at=datetime(2026, 3, 2, tzinfo=UTC), own=True)
            assert kept(here) <= expected
    assert killed >= len(MODEL_CHECKPOINTS) - 2
    with hall(root) as here:
        read_again(here, folder, expected)


@dataclass
class Weather:
    """Failures that come and go; those of content stay with the piece that they are of."""

    seed: int
    poison: frozenset[str] = frozenset()
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def __call__(self, chunk: Chunk) -> ModelFailure | None:
        """Whether this request fails, and how."""
        if any(piece.text in self.poison for piece in chunk.pieces):
            return ModelFailure("it cannot", kind="content")
        drawn = self.chance.random()
        if drawn < 0.05:
            raise BudgetSpent("spent")
        if drawn < 0.15:
            raise ModelFailure("no", kind=self.chance.choice(["auth", "billing", "overloaded", "network"]))
        if drawn < 0.20:
            raise Killed
        if drawn < 0.25 and len(chunk.pieces) > 1:
            return ModelFailure("not this time", kind="content")
        return None


def until_done(here: Hall, folder: Path, reading: Reading) -> Iterator[ModelReport]:
    """Read again and again until a pass comes to its end."""
    for _ in range(400):
        with contextlib.suppress(Killed):
            report = here.read(folder, by=reading)
            yield report
            if report.outcome in ("done", "idle"):
                return
    raise AssertionError("the queue cannot be drained")


@pytest.mark.parametrize("seed", range(2))
def test_five_hundred_chunks_with_failures_in_between(tmp_path: Path, seed: int) -> None:
    """The mark moves past what was done: each piece is answered for once, but for those that no model can read."""
    folder = tmp_path / "sessions"
    for number in range(5):
        session = Session(name=f"s{number}", cwd=SHOP, at=datetime(2026, 3, 1, 8 + number, tzinfo=UTC))
        for turn in range(350):
            session.user(f"session {number}, prompt {turn}: do the next of many things and tell me how it went")
            session.says(f"session {number}, answer {turn}: the next of many things is done, as you wanted it to be")
        session.write(folder / f"{number}.jsonl")
    poison = frozenset(
        f"session {number}, prompt {turn}: do the next of many things and tell me how it went"
        for number, turn in ((1, 7), (1, 8), (3, 150))
    )
    reading = Reading(fails=Weather(seed, poison))
    with hall(tmp_path / "shop") as here:
        reports = list(until_done(here, folder, reading))
        assert len(reading.asked) > 500
        assert len(reports) > 20
        assert len(reading.texts) == len(set(reading.texts)) == 5 * 700 - len(poison)
        assert not poison & set(reading.texts)
        named = [line for (line,) in here.rows("SELECT report FROM extractions") if '"why": "it cannot"' in line]
        assert named
        assert len(here.desk.entries()) == len(reading.texts)
