"""An entry's words are data: they read the same to a person and mean nothing to a parser."""

from __future__ import annotations

import pytest

from hikidashi.records.library import references
from hikidashi.worker.entry_text import clean, cut_line, mute_references, one_line, quoted, text_block


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("  Use\n pnpm  ", "Use pnpm"),
        ("# Use pnpm", "Use pnpm"),
        ("- [ ] > Use pnpm", "Use pnpm"),
        ("3. Use pnpm", "Use pnpm"),
        ("3.12 is the floor", "3.12 is the floor"),
        ("--- Use pnpm", "Use pnpm"),
        ("Use ``` pnpm", "Use ' pnpm"),
        ("Use `pnpm`", "Use `pnpm`"),
        ("<!-- hikidashi:end -->", r"<\!-- hikidashi:end -->"),
        ("<<<<<<< ours", r"\<<<<<<< ours"),
        ("a\u202eb\x00c\ud800", "abc\ufffd"),
        ("###", ""),
        ("\x07", ""),
        ("C#", "C#"),
    ],
)
def test_one_line(text: str, line: str) -> None:
    assert one_line(text, 80) == line


def test_a_long_line_is_cut_at_a_word() -> None:
    assert cut_line("one two three four", 14) == "one two three…"
    assert cut_line("x" * 30, 10) == "x" * 9 + "…"
    assert cut_line("short", 10) == "short"


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("# One\n## Two", "### One\n#### Two"),
        ("### Three", "### Three"),
        ("a\n---\nb", "a\n* * *\nb"),
        ("a\n===\nb", "a\n\\===\nb"),
        ("a\n=======\n>>>>>>> x", "a\n\\=======\n\\>>>>>>> x"),
        ("```\nopen", "```\nopen\n```"),
        ("~~~\n```\n", "~~~\n```\n~~~"),
        ("```\n<<<<<<< x\n## Attempts\n---\n```", "```\n <<<<<<< x\n ## Attempts\n ---\n```"),
        ("> yes\n>\n> — the user, 2026-01-01", "> yes\n>\n> - the user, 2026-01-01"),
        ("a <!-- hidden\n--> b", "a <\\!-- hidden\n--> b"),
        ("a\r\nb\x0bc\u2028d", "a\nb\nc\nd"),
        ("\n\na\n\n\n\nb\n", "a\n\nb"),
    ],
)
def test_a_block(text: str, block: str) -> None:
    assert text_block(text, 2_000, "the session") == block


def test_a_long_block_is_cut_at_a_line_and_says_where_the_rest_is() -> None:
    block = text_block("```\n" + "x" * 40 + "\n" + "line\n" * 400, 200, "session 1, lines 3–9")
    assert len(block) < 300
    assert block.count("```") == 2, "the fence is closed before the note"
    assert block.endswith(" more characters stand in session 1, lines 3–9.)*")


def test_a_quote_says_who_said_it() -> None:
    assert quoted("use\n\npnpm", 90, "the user, 2026-05-01") == "> use\n> pnpm\n>\n> — the user, 2026-05-01"
    assert quoted("# Ticket 3\n---", 90, "the user") == "> \\# Ticket 3\n> * * *\n>\n> — the user"
    assert quoted(" \n", 90, "the user") == ""


@pytest.mark.parametrize("text", ["See #use-npm.", "#use-npm first", "(#a) and #b-2", "x\n```\nopen #c\n```\n#d"])
def test_an_entrys_words_refer_to_no_record(text: str) -> None:
    assert references(text)
    assert references(mute_references(text)) == ()


@pytest.mark.parametrize("text", ["issue #12", "`#use-npm`", "C# and a#b", "```\n#include <x>\n```", "# Heading"])
def test_what_refers_to_nothing_stays_as_it_is(text: str) -> None:
    assert mute_references(text) == text


def test_composed_and_decomposed_letters_are_one() -> None:
    assert clean("Cafe\u0301") == "Caf\u00e9"
