"""`classify` on the labelled real sessions beside the project; skipped where they are absent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.capture import PRECISION, RECALL, TRAPS, measure


@pytest.fixture(scope="module")
def told(corpus: Path) -> Any:
    return measure(corpus, [])


def test_what_is_shown_is_labelled_and_what_is_labelled_is_shown(told: Any) -> None:
    own = told["classify"]
    assert own.precision >= PRECISION, [f"{one.file}:{one.line} {one.verb} {one.tool}" for one in own.wrong]
    assert own.recall >= RECALL, [f"{row['f']}:{row['ln']} {row['verb']} {row['tool']}" for row in own.missed]


def test_hardly_a_trap_is_walked_into(told: Any) -> None:
    own = told["classify"]
    assert own.trap_share <= TRAPS, [f"{trap['f']}:{trap['ln']} {trap['why']}" for trap in own.traps_hit]


def test_nobody_is_asked_more_than_once_in_fifty_calls(told: Any) -> None:
    assert told["candidates per 50 calls"] <= 1
    assert len(set(told["keys"])) == len(told["keys"])


def test_plain_patterns_do_worse(told: Any) -> None:
    assert told["plain"].precision < told["classify"].precision
    assert told["plain"].trap_share > told["classify"].trap_share
