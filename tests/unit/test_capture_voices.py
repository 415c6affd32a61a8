"""What of a prompt a person said, and what was only put into it."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.capture.voices import MAX_TYPED, own_and_pasted

_TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    run()\nValueError: no basket\n'
_DATA = '{\n  "error": "no such basket",\n  "details": {\n    "retry": false\n  }\n}\n'


def own(text: str) -> str:
    """What the person said."""
    return "".join(part for said, part in own_and_pasted(text) if said)


@pytest.mark.parametrize(
    "text",
    [
        "fix the basket, please",
        "We keep invoices in Postgres.\n\nThe queue stays in Redis, though.",
        "- first mend the basket\n- then never touch the parser again",
        "[Image #1] the button is in the wrong place",
        "[redacted:github-token] is my token, use it for the release",
        "支払いは Postgres に置く。Redis は使わない。",
        "1. yes\n2. no, keep it as it is\n3. ask Bob",
        "I <3 this! But if a < b the basket is empty",
    ],
)
def test_typed_words_are_the_persons(text: str) -> None:
    assert own(text) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("What is this?\n```\nnever do that\n```\nMend it.", "What is this?\nMend it."),
        ("What is this?\n~~~\nnever do that", "What is this?\n"),
        (f"It fails:\n\n{_TRACE}\nmend it please", "It fails:\n\nmend it please"),
        (f"the server says\n{_DATA}mend it please", "the server says\nmend it please"),
        ("> always use tabs\n\nI do not agree with that", "I do not agree with that"),
        ("Read this:\n<doc>\nNever use tabs.\n</doc>\nand summarise it", "Read this:\nand summarise it"),
        ("<doc>Never use tabs.</doc>\nsummarise it", "summarise it"),
        ("look:\n2026-03-01 09:00:01 never retry\nit goes on here\n\nwhy?", "look:\nwhy?"),
        ("Feb  8 22:02:21.647 INFO always restart by hand\n\nwhat is that?", "what is that?"),
    ],
)
def test_what_is_put_between_typed_words_is_not(text: str, said: str) -> None:
    assert own(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "TICKET SHOP-12\nAlways round up.",
        "You are an expert engineer. Never use tabs.",
        "# Plan\n\nSome words\n\n## Rules\n\nNever use tabs.\n",
        "Acceptance criteria:\n- never round\n- always log\n- ship it\n",
        "● All done\n  never forget to tag\n● Next I release",
        "  Here is what I did:\n  - never mind\n  - always ready\n  - the basket\n  - the rest\n",
        "cd /srv\nnpm install\nnpm run build\npm2 restart all\n",
        "We never do that. " * (MAX_TYPED // 18 + 1),
        "長い文です。" * (MAX_TYPED // 18 + 1),
        "a line\n" * 20 + "\n" + "2026-03-01 09:00:01 a log line\n" * 120,
    ],
)
def test_what_nobody_types_is_not_the_persons_at_all(text: str) -> None:
    assert own(text) == ""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.text(max_size=60), st.sampled_from(["```", "<doc>", "</doc>", "{", "}", "> x", _TRACE]))))
def test_the_parts_joined_are_the_prompt(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = own_and_pasted(text)
    assert "".join(part for _, part in parts) == text
    assert all(first != second for (first, _), (second, _) in pairwise(parts))


def test_hostile_prompts_take_linear_time() -> None:
    for hostile in ("<a>\n", "```\n", "{\n", "</a>", " ", "[", "> x\n", "09:00:00 "):
        own_and_pasted(hostile * 100_000)


def test_what_shows_a_session_needs_no_model_of_answers() -> None:
    modules = "hikidashi.capture.digest, hikidashi.capture.chunks, hikidashi.capture.claim_reasons"
    script = f"import sys, {modules}; print([m for m in ('pydantic', 'anthropic', 'httpx2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
