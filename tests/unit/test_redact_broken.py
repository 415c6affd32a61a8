"""Tokens that were broken in two: no half is left, and what stands on the next line stays."""

from __future__ import annotations

import json
import random

import pytest

from hikidashi.redact import find_secrets, redact
from tests.secrets_generator import BROKEN, SURROUNDINGS, generated, halves
from tests.secrets_samples import tokens
from tests.secrets_shapes import render

#: Shapes of several alphabets and lengths, exact and open, and a web token.
SHAPES = (
    "ghp_{A36}",
    "github_pat_{A22}_{A59}",
    "sk-ant-api03-{w93}AA",
    "sk-proj-{w148}",
    "npm_{A36}",
    "dop_v1_{h64}",
    "glpat-{w40}",
    "hvs.{w95}",
    "AGE-SECRET-KEY-1{q58}",
    "xai-{A80}",
    "rubygems_{h48}",
)


@pytest.mark.parametrize("place", BROKEN)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_half_is_left(shape: str, place: str) -> None:
    rng = random.Random(shape + place)
    for _ in range(20):
        token = render(shape, rng)
        head, tail = halves(token)
        shown = redact(BROKEN[place](head, tail))
        assert head not in shown, shown
        assert tail not in shown, shown
        assert shown.count("[redacted:") == 1
        assert redact(shown) == shown


@pytest.mark.parametrize("width", [24, 40, 64, 76])
def test_a_token_wrapped_at_a_width(width: int) -> None:
    for token in (
        render("sk-proj-{w148}", random.Random(width)),
        dict(tokens())["jwt"],
        "ghs_" + dict(tokens())["jwt"],
    ):
        pieces = [token[at : at + width] for at in range(0, len(token), width)]
        for joint in ("\n", "\r\n", "\n    ", "\n> "):
            shown = redact(f"before\n{joint.join(pieces)}\n\nafter")
            kept = [piece for piece in pieces if len(piece) >= 12 and piece in shown]
            assert kept == [], shown


HEAD = "ghp_" + "a1B2c3D4e5F6g7H8i9"
FOLLOWERS = (
    "The next line is prose.",
    "and then it failed",
    "2025-01-02T10:11:12Z INFO started",
    "2025-01-02",
    "OTHER_NAME=value",
    "name: value",
    "README.md",
    "src/app/main.py:12",
    "https://example.com/x",
    "git push origin main",
    "3 passed, 1 failed",
    "v1.2.3",
    "Co-Authored-By: me",
    "done",
    "- item",
    "}",
    "$ ls",
)


@pytest.mark.parametrize("follower", FOLLOWERS)
def test_the_next_line_stays(follower: str) -> None:
    whole = "ghp_" + "a1B2c3D4e5F6g7H8i9j0" * 2
    for head in (HEAD, whole[:40], "sk-ant-api03-" + "a1B2-c3D4_" * 3, "eyJhbGciOiJub25lIn0.eyJhIjoxfQ.a1B2c3"):
        for text in (f"{head}\n{follower}\n", json.dumps(f"{head}\n{follower}\n"), f'"{head}"\n"{follower}"\n'):
            assert follower.strip('"') in redact(text) or follower in json.dumps(redact(text)), redact(text)


def test_two_whole_tokens_in_two_lines_are_two() -> None:
    first, second = render("npm_{A36}", random.Random(1)), render("npm_{A36}", random.Random(2))
    assert redact(f"{first}\n{second}\n") == "[redacted:npm-token]\n[redacted:npm-token]\n"


def test_a_hash_below_a_whole_token_stays() -> None:
    commit = "3f786850e387550fdab836ed7e6dc881de23001b"
    for token in (render("ghp_{A36}", random.Random(3)), render("AKIA{C16}", random.Random(4))):
        assert commit in redact(f"{token}\n{commit}\n")


def test_broken_words_are_no_tokens() -> None:
    for text in (
        "npm_config\nregistry1234567890abcdef1234567890ab",
        "hf_hub\n3f786850e387550fdab836ed7e6dc881de23001b",
    ):
        assert find_secrets(text) == []


def test_generated_secrets_are_caught_in_every_surrounding() -> None:
    missed: dict[str, list[str]] = {}
    count = 0
    for planted in generated(seed=20, count=1):
        count += 1
        shown = redact(planted.text)
        if any(half in shown for half in planted.halves):
            missed.setdefault(planted.place, []).append(planted.kind or planted.text[:40])
        elif planted.kind:
            assert f"[redacted:{planted.kind}]" in shown, shown
    assert len(SURROUNDINGS) >= 12
    assert count > 10_000
    assert sum(map(len, missed.values())) <= count // 1_000, missed


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('password = "hunter2" + "swordfish"\nuser = "me"\n', 'user = "me"'),
        ("db_password = (\n    'hunter2'\n    'swordfish'\n)\n", ")"),
        ('$password = "hunter2" . "swordfish"; $user = "me";', '$user = "me"'),
        ('PASSWORD="hunter2"\nPASSWORD+="swordfish"\nUSER=me\n', "USER=me"),
    ],
)
def test_strings_that_are_added_to_a_named_one(text: str, kept: str) -> None:
    shown = redact(text)
    assert "hunter2" not in shown
    assert "swordfish" not in shown
    assert kept in shown


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "hunter2"\n "username": "swordfish"}',
        'tool --password "hunter2" \\\n  "swordfish.txt"',
        'tool --password "hunter2" "swordfish.txt"',
        'password = "hunter2"\nuser = "swordfish"\n',
        "password: 'hunter2'\n'swordfish': 1\n",
        'password="hunter2", user="swordfish"',
    ],
)
def test_the_next_string_is_not_always_more_of_it(text: str) -> None:
    shown = redact(text)
    assert "hunter2" not in shown
    assert "swordfish" in shown
