"""Real sessions: read at once, or in small chunks with a break after every few, the same pieces, each once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hikidashi.capture.chunks import Chunk
from hikidashi.errors import BudgetSpent, ModelFailure
from tests.model_reading import Reading, hall

AFTER: datetime = datetime(2100, 1, 1, tzinfo=UTC)


@pytest.mark.slow
def test_real_sessions_are_read_once_however_often_it_breaks_off(tmp_path: Path, corpus: Path) -> None:
    whole, parted = Reading(), Reading()
    with hall(tmp_path / "whole", HIKIDASHI_CAPTURE_CHUNK_TOKENS="24000") as here:
        report = here.read(corpus, by=whole, at=AFTER)
        assert (report.outcome, report.passed_over, report.errors) == ("done", 0, {})
        assert here.read(corpus, by=whole, at=AFTER).outcome == "idle"
    assert len(whole.shown) == len(set(whole.shown)) > 5_000

    def fails(chunk: Chunk) -> ModelFailure | None:
        if len(parted.asked) % 15 == 0:
            raise BudgetSpent("spent")
        return None

    parted.fails = fails
    with hall(tmp_path / "parted", HIKIDASHI_CAPTURE_CHUNK_TOKENS="1500") as here:
        report, passes = here.read(corpus, by=parted, at=AFTER), 1
        while report.outcome == "budget":
            report, passes = here.read(by=parted, at=AFTER), passes + 1
    assert passes > 20
    assert len(parted.shown) == len(set(parted.shown))
    assert set(parted.shown) == set(whole.shown)
