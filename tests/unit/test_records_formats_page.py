"""The examples in docs/formats.md are what they claim to be."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hikidashi.records.linter import lint_tree
from hikidashi.records.record import parse_record, render_record
from hikidashi.staging.entry import Entry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
TEXT = PAGE.read_text(encoding="utf-8")
RECORDS = dict(re.findall(r"(?ms)^`((?:memory|knowledge)/\S+\.md)`[^\n]*\n\n```markdown\n(.*?)^```$", TEXT))


def test_the_page_shows_a_record_of_each_kind() -> None:
    assert {parse_record(path, text.encode()).kind for path, text in RECORDS.items()} == {
        "decision",
        "request",
        "summary",
        "knowledge",
    }


def test_the_examples_lint_clean_together() -> None:
    tree = {path: text.encode() for path, text in RECORDS.items()}
    assert lint_tree(tree, now=datetime(2026, 6, 1, tzinfo=UTC)) == []


@pytest.mark.parametrize("path", RECORDS)
def test_the_examples_are_in_the_form_that_runs_write(path: str) -> None:
    text = RECORDS[path]
    written = render_record(parse_record(path, text.encode())).decode()
    assert written == (text.replace("trust: user\n", "trust: user\nsources: []\n") if "requests" in path else text)


def test_the_entry_is_an_entry() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    entry = Entry.from_json(text)
    assert set(re.findall(r'^ "(\w+)":', text, re.MULTILINE)) == set(
        re.findall(r'^ "(\w+)":', entry.to_json(), re.MULTILINE)
    )
