"""What is claimed of a person stands, word for word, in what they typed at the named lines."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from hikidashi.redact import redact
from tests.capture_sessions import folder_of_sessions
from tests.capture_workspace import desk
from tests.transcripts import read


def folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


@pytest.mark.parametrize("every", [0, 6, pytest.param(1, marks=pytest.mark.slow)])
def test_quotes_of_a_person_are_found_in_their_own_words(
    tmp_path: Path, every: int, request: pytest.FixtureRequest
) -> None:
    """In sessions of our own, and in one of `every` real ones."""
    real = sorted(request.getfixturevalue("corpus").rglob("*.jsonl"))[::every] if every else []
    with desk(tmp_path / "shop") as here:
        report = here.extract(*(real or [folder_of_sessions(tmp_path / "sessions")]))
    paths = [result.path for result in report.results for _ in range(result.entries)]
    checked = 0
    for entry, path in zip(report.new, paths, strict=True):
        if entry.trust != "user":
            continue
        first, last = entry.source.lines
        said = [
            folded(redact(event.text))
            for event in read(path)[0]
            if first <= event.line <= last and (event.kind == "user" or event.tool == "AskUserQuestion")
        ]
        assert any(folded(entry.quote) in text for text in said), (entry.title, path.name)
        checked += 1
    assert checked >= (2 if every > 1 else 4)
