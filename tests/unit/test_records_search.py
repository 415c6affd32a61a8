"""Search: what a person or an agent types finds the record they mean."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hikidashi.records.record import Record, RecordKind, record_path, render_record
from hikidashi.records.search import MAX_SNIPPET, search_records
from hikidashi.records.terms import kept_share

DAY = "2026-05-20T00:00:00.000Z"


def record(kind: RecordKind, slug: str, body: str, description: str = "") -> Record:
    return Record(
        kind=kind,
        path=record_path(kind, slug),
        slug=slug,
        body=body,
        created_at=DAY,
        updated_at=DAY,
        trust="user",
        status="" if kind in ("knowledge", "summary") else "open",
        knowledge_kind="fact" if kind == "knowledge" else "",
        description=description,
    )


RECORDS = [
    record("decision", "use-postgres", "# Use Postgres\n\nSQLite locks under load; see deploy_staging.sh.\n"),
    record("decision", "deploy-on-monday", "# Deploy on Mondays\n\nNever on Fridays.\n\nThe café closes.\n"),
    record("request", "auth", "# 認証の見直し\n\n本番環境の鍵を入れ替える。トークンの期限も見る。\n"),
    record("request", "korean", "# 배포 절차\n\n운영 서버에 배포한다\n"),
    record("knowledge", "pool", "# Pool\n\nconnections are pooled\n", description="How many Postgres connections"),
    record("knowledge", "hindi", "# नमस्ते दुनिया\n\nСборка проекта\n"),
    record("summary", "summary", "# Summary\n\nPostgres is in use. " + "filler " * 300 + "needle at the end\n"),
]
TREE = {r.path: render_record(r) for r in RECORDS} | {
    "memory/workflow/w.md": b"postgres",
    "memory/decisions/bad.md": b"postgres",
}


def slugs(query: str, limit: int = 10) -> list[str]:
    return [hit.slug for hit in search_records(TREE, query, limit=limit)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("postgres", "use-postgres"),
        ("POSTGRES locks", "use-postgres"),
        ("ｐｏｓｔｇｒｅｓ", "use-postgres"),
        ("postgr", "use-postgres"),
        ("staging", "use-postgres"),
        ("deploy monday", "deploy-on-monday"),
        ("cafe\u0301", "deploy-on-monday"),
        ("CAFÉ", "deploy-on-monday"),
        ("認証", "auth"),
        ("鍵", "auth"),
        ("本番環境", "auth"),
        ("ﾄｰｸﾝ", "auth"),
        ("る", "auth"),
        ("配포", None),
        ("배포", "korean"),
        ("서버", "korean"),
        ("दुनिया", "hindi"),
        ("сборка", "hindi"),
        ("connections", "pool"),
        ("needle", "summary"),
        ("nowhere", None),
        ("認可", None),
        ("ostgres", None),
        ("", None),
        ("  !?* ", None),
    ],
)
def test_a_query_finds_its_record(query: str, first: str | None) -> None:
    found = slugs(query)
    assert (found[0] if found else None) == first


def test_records_with_more_of_the_words_come_first() -> None:
    assert slugs("postgres connections")[0] == "pool"
    assert slugs("postgres locks load") == ["use-postgres", "pool", "summary"]


def test_broken_files_and_workflow_are_not_searched() -> None:
    assert {hit.path for hit in search_records(TREE, "postgres")} == {
        "memory/decisions/use-postgres.md",
        "knowledge/pool.md",
        "memory/summary.md",
    }


KNOWLEDGE: tuple[RecordKind, ...] = ("knowledge",)


def test_kinds_and_limit_are_kept() -> None:
    assert [h.slug for h in search_records(TREE, "postgres", kinds=KNOWLEDGE)] == ["pool"]
    assert search_records(TREE, "postgres", kinds=()) == []
    assert len(search_records(TREE, "postgres", limit=2)) == 2
    assert search_records(TREE, "postgres", limit=0) == []


def test_a_hit_shows_the_line_it_is_on() -> None:
    (hit,) = search_records(TREE, "fridays")
    assert TREE[hit.path].decode().split("\n")[hit.line - 1] == hit.snippet == "Never on Fridays."
    assert hit.title == "Deploy on Mondays"
    (hit,) = search_records(TREE, "needle")
    assert "needle at the end" in hit.snippet
    assert len(hit.snippet) <= MAX_SNIPPET


@settings(deadline=None)
@given(
    st.text(max_size=60)
    | st.sampled_from(["*", '"', "a AND b", "NEAR(", "(", "\\", "[a-", "%", "' OR 1=1", "a" * 9_999])
)
def test_no_query_breaks_the_search(query: str) -> None:
    for hit in search_records(TREE, query, limit=3):
        assert len(hit.snippet) <= MAX_SNIPPET
        assert "\n" not in hit.snippet


def test_a_thousand_records_are_searched_while_a_person_waits() -> None:
    many = {}
    for n in range(1_000):
        r = record("decision", f"d-{n}", f"# D{n}\n\n" + " ".join(f"w{(n * k) % 997}" for k in range(150)))
        many[r.path] = render_record(r)
    search_records(many, "w1")
    start = time.process_time()
    assert search_records(many, "w17 w9")
    assert time.process_time() - start < 0.5  # 0.02 s alone


@given(st.text("本番環境の鍵テスト", min_size=1, max_size=20), st.data())
def test_any_stretch_of_a_text_without_spaces_is_found(body: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(body) - 1))
    stretch = body[start : data.draw(st.integers(start + 1, len(body)))]
    r = record("decision", "x", body)
    assert [hit.slug for hit in search_records({r.path: render_record(r)}, stretch)] == ["x"]


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("one two", "two one", 1.0),
        ("one two", "one", 0.5),
        ("one two", "six ten", 0.0),
        ("", "x", 1.0),
        ("aa aa", "aa", 0.5),
        ("本番環境", "本番", 0.5),
        ("ABC", "abc more", 1.0),
    ],
)
def test_how_much_of_a_text_is_kept(before: str, after: str, kept: float) -> None:
    assert kept_share(before, after) == pytest.approx(kept)
