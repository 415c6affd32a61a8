"""No text of a few lines makes reading slow: a search that tries every split of it would take years."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from hikidashi.capture.decisions import may_pick
from hikidashi.capture.finished import pushed_refs
from hikidashi.capture.verdicts import signature


@pytest.mark.parametrize(
    ("read", "text"),
    [
        pytest.param(may_pick, "ok " * 9 + "ok, . : " * 3, id="a prompt of yeses"),
        pytest.param(may_pick, "ok " * 99, id="a long prompt of yeses"),
        pytest.param(pushed_refs, "\n" * 12_000, id="a push that prints blank lines"),
        pytest.param(pushed_refs, " " * 12_000, id="a push that prints blanks"),
        pytest.param(signature, "E   " + "a" * 11_000, id="an error of one long word"),
    ],
)
def test_a_text_is_read_at_once(read: Callable[[str], object], text: str) -> None:
    began = time.process_time()
    read(text)
    assert time.process_time() - began < 0.5


def test_a_pick_behind_a_few_words_is_still_one() -> None:
    assert may_pick("ok, let's go with option B")
    assert may_pick("hmm... I think: A")


def test_the_ref_of_a_push_is_found_in_each_form() -> None:
    for line in (
        " * [new branch]      fix -> fix",
        "   1a2b3c4..5d6e7f8  fix -> fix",
        " + 1a2b3c4...5d6e7f8 fix -> fix",
    ):
        assert pushed_refs(f"To example.org:a/b.git\n{line}\n") == "fix"
