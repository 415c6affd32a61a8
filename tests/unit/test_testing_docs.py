"""The examples of docs/testing.md run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hikidashi import testing

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_runs(code: str) -> None:
    exec(compile(code, "docs/testing.md", "exec"), {})


def test_every_turn_and_fault_is_on_the_page() -> None:
    assert len(EXAMPLES) >= 4
    shown = set(re.findall(r"\b\w+\b", PAGE))
    types = {"HttpError", "Model", "Recorded", "Rule", "Turn", "TurnLike"}
    assert set(testing.__all__) - types <= shown


def test_what_is_exported_exists() -> None:
    for name in testing.__all__:
        assert hasattr(testing, name)
    assert len(testing.__all__) == len(set(testing.__all__))
