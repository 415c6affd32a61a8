"""File names of new records."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.records.slug import MAX_SLUG, free_slug, is_slug, make_slug

AT = "2026-05-03T23:59:59.000Z"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Use Postgres, not SQLite!", "use-postgres-not-sqlite"),
        ("Déjà vu über Straße", "deja-vu-uber-strasse"),
        ("Łódź Ærø œuvre", "lodz-aero-oeuvre"),
        ("Don't deploy on Fridays", "dont-deploy-on-fridays"),
        ("  v1.2.3 -> v2  ", "v1-2-3-v2"),
        ("ＦＵＬＬ width", "full-width"),
        ("CON", "decision-con"),
        ("nul", "decision-nul"),
        ("com1", "decision-com1"),
        ("Deploy デプロイ staging", "deploy-staging"),
        ("word " * 30, "word-word-word-word-word-word-word-word-word-word-word-word-word"[:64].rstrip("-")),
        ("x" * 200, "x" * 64),
    ],
)
def test_a_latin_title_becomes_a_readable_slug(title: str, slug: str) -> None:
    assert make_slug(title, "decision", AT, "e1") == slug


@pytest.mark.parametrize(
    "title",
    ["デプロイ手順を決める", "部署", "Решение", "", "!!!", "API の認証方式を全面的に見直して統一する", "123 456"],
)
def test_a_title_without_latin_letters_gets_a_dated_slug(title: str) -> None:
    slug = make_slug(title, "request", AT, "e1")
    assert re.fullmatch(r"request-20260503-[0-9a-f]{6}", slug)
    assert slug == make_slug(title, "request", datetime(2026, 5, 3, tzinfo=UTC), "e1")
    assert slug != make_slug(title, "request", AT, "e2")


@given(st.text(), st.sampled_from(["decision", "request", "knowledge"]))
def test_every_title_gives_a_slug(title: str, kind: str) -> None:
    assert is_slug(make_slug(title, kind, AT, title))


@pytest.mark.parametrize(
    ("text", "good"),
    [("a", True), ("a-b", True), ("a" * 64, True), ("a" * 65, False), ("", False), ("-a", False), ("a-", False),
     ("A", False), ("a_b", False), ("a.b", False), ("con", False), ("lpt9", False), ("cont", True), ("a\n", False)],
)  # fmt: skip
def test_the_slug_pattern(text: str, good: bool) -> None:
    assert is_slug(text) is good


def test_a_taken_slug_is_numbered_and_stays_short() -> None:
    assert free_slug("a", set()) == "a"
    assert free_slug("a", {"a", "a-2"}) == "a-3"
    long = "-".join(["word"] * 13)[:MAX_SLUG]
    other = free_slug(long, {long})
    assert other.endswith("-2")
    assert is_slug(other)
