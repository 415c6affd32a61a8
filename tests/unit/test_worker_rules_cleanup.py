"""Clean-up by rules: only what the materials cite, each operation with its reason, nothing that is still needed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hikidashi.records.record import Record, record_path, render_record
from hikidashi.source import Source
from hikidashi.times import format_time
from hikidashi.worker.rules_cleanup import trimmed_sources
from tests.support.consolidation import DAY_ONE, Desk, entry, only, source


def keep(desk: Desk, kind: str, slug: str, body: str = "", *, age: float = 0, **fields: object) -> Record:
    """A record that was touched last `age` days before `DAY_ONE`."""
    at = format_time(DAY_ONE - timedelta(days=age))
    values: dict[str, object] = {
        "kind": kind,
        "path": record_path(kind, slug),  # type: ignore[arg-type]
        "slug": slug,
        "body": body or f"# {slug}\n\nText of {slug}.\n",
        "created_at": at,
        "updated_at": at,
        "status": "open",
        "trust": "user",
        "sources": (source(1, f"session-{slug}"),),
    }
    record = Record(**{**values, **fields})  # type: ignore[arg-type]
    desk.tree[record.path] = render_record(record)
    return record


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_twins_become_the_older_one_with_the_sources_of_both(desk: Desk) -> None:
    body = "# Warm the cache\n\nWhen the service starts.\n"
    old = keep(desk, "decision", "warm-the-cache", body, age=9)
    young = keep(desk, "decision", "warm-the-cache-2", body.replace(" starts", "\nstarts"), age=2)
    keep(desk, "decision", "warm", body, age=1, status="resolved")
    operation = only(desk.clean_up())
    assert (operation.op, operation.paths, operation.into) == ("merge", (young.path,), (old.path,))
    assert operation.categories == ("noisy",) and "H205" in operation.reason
    assert desk.names("decisions") == ["warm", "warm-the-cache"]
    merged = desk.record("decisions/warm-the-cache")
    assert merged.sources == old.sources + young.sources
    assert (merged.created_at, merged.updated_at) == (old.created_at, young.updated_at)


def test_a_person_s_twin_stays_and_two_of_them_both_stay(desk: Desk) -> None:
    old, young = keep(desk, "decision", "a", "# T\n\nx\n", age=9), keep(desk, "decision", "b", "# T\n\nx\n", age=2)
    protected = {young.path: desk.tree[young.path], old.path: desk.tree[old.path]}
    assert desk.clean_up(protected=protected) == []
    del protected[old.path]
    operation = only(desk.clean_up(protected=protected))
    assert (operation.paths, operation.into) == ((old.path,), (young.path,))


def test_a_twin_of_higher_trust_is_not_merged_away(desk: Desk) -> None:
    keep(desk, "decision", "a", "# T\n\nx\n", age=9, trust="assistant")
    keep(desk, "decision", "b", "# T\n\nx\n", age=2)
    assert desk.clean_up() == []


def test_a_twin_of_lower_trust_goes_without_its_sources(desk: Desk) -> None:
    old = keep(desk, "decision", "a", "# T\n\nx\n", age=9)
    keep(desk, "decision", "b", "# T\n\nx\n", age=2, trust="assistant")
    only(desk.clean_up())
    assert desk.record("decisions/a").sources == old.sources


def test_what_was_replaced_by_a_twin_points_to_the_one_that_stays(desk: Desk) -> None:
    keep(desk, "decision", "a", "# T\n\nx\n", age=9)
    keep(desk, "decision", "b", "# T\n\nx\n", age=2)
    keep(desk, "decision", "z", age=20, status="replaced", replaced_by="b")
    only(desk.clean_up())
    assert desk.record("decisions/z").replaced_by == "a"
    assert desk.errors() == []


def test_many_sources_become_the_first_and_the_nine_newest(desk: Desk) -> None:
    sources = tuple(source(n, f"s{n}") for n in range(14))
    keep(desk, "decision", "a", sources=sources)
    operation = only(desk.clean_up())
    assert operation.op == "trim" and "H201: 14 sources" in operation.reason
    assert desk.record("decisions/a").sources == (sources[0], *sources[-9:])


@pytest.mark.parametrize("limit", [2, 3, 10])
def test_trimming_takes_the_newest_by_time_and_keeps_the_order(limit: int) -> None:
    rows: list[Source] = [source(n, at=DAY_ONE + timedelta(hours=(n * 7) % 13)) for n in range(13)]
    kept = trimmed_sources(rows, limit)
    assert len(kept) == limit and kept[0] == rows[0]
    assert list(kept) == [row for row in rows if row in kept]
    assert {r.at for r in kept[1:]} == set(sorted(r.at for r in rows[1:])[-(limit - 1) :])
    assert trimmed_sources(kept, limit) == kept


def test_a_replaced_chain_points_to_the_one_in_force(desk: Desk) -> None:
    keep(desk, "decision", "a", age=40, status="replaced", replaced_by="b")
    keep(desk, "decision", "b", age=20, status="replaced", replaced_by="c")
    keep(desk, "decision", "c")
    operation = only(desk.clean_up())
    assert (operation.op, operation.paths, operation.categories) == (
        "rewrite",
        ("memory/decisions/a.md",),
        ("superseded",),
    )
    assert "b was replaced too; c is in force" in operation.reason
    assert desk.record("decisions/a").replaced_by == "c"


def test_an_old_chain_goes_from_its_far_end_and_never_dangles(desk: Desk) -> None:
    for slug, by, age in (("a", "b", 300), ("b", "c", 200), ("c", "d", 100)):
        keep(desk, "decision", slug, age=age, status="replaced", replaced_by=by)
    keep(desk, "decision", "d")
    operations = desk.clean_up(losses=2)
    assert [o.paths for o in operations] == [("memory/decisions/a.md",), ("memory/decisions/b.md",)]
    assert all(o.op == "drop" and o.categories == ("superseded",) for o in operations)
    assert "replaced by b since" in operations[0].reason and "more than 90" in operations[0].reason
    assert desk.names("decisions") == ["c", "d"] and desk.errors() == []


def test_the_middle_of_a_chain_goes_only_once_the_protected_end_points_on(desk: Desk) -> None:
    first = keep(desk, "decision", "a", age=300, status="replaced", replaced_by="b")
    keep(desk, "decision", "b", age=200, status="replaced", replaced_by="c")
    keep(desk, "decision", "c")
    operations = desk.clean_up(protected={first.path: desk.tree[first.path]})
    assert [(o.op, o.paths[0][-4]) for o in operations] == [("rewrite", "a"), ("drop", "b")]
    assert desk.record("decisions/a").replaced_by == "c" and desk.errors() == []


@pytest.mark.parametrize(
    "place", ["memory/decisions/other.md", "memory/workflow/notes.md", "memory/summary.md", "knowledge/k.md"]
)
def test_a_record_that_is_named_somewhere_stays(desk: Desk, place: str) -> None:
    keep(desk, "request", "old-work", age=99, status="done")
    if place.startswith("memory/decisions"):
        keep(desk, "decision", "other", "# Other\n\nSee #old-work.\n")
    elif place.startswith("knowledge"):
        keep(desk, "knowledge", "k", "# K\n\nSee #old-work.\n", status="", knowledge_kind="fact")
    else:
        front = "---\nupdated_at: 2026-04-01T00:00:00.000Z\n---\n" if place.endswith("summary.md") else ""
        desk.put(place, f"{front}\nSee #old-work.\n")
    assert desk.clean_up() == []
    assert desk.names("requests") == ["old-work"]


@pytest.mark.parametrize(
    ("status", "age", "operation", "category"),
    [
        ("done", 29, None, ""),
        ("done", 31, "drop", "outdated"),
        ("open", 59, None, ""),
        ("open", 61, "rewrite", "outdated"),
        ("withdrawn", 900, None, ""),
        ("done", -400, None, ""),
    ],
)
def test_requests_past_their_days(desk: Desk, status: str, age: float, operation: str | None, category: str) -> None:
    keep(desk, "request", "work", age=age, status=status)
    operations = desk.clean_up()
    assert [(o.op, o.categories) for o in operations] == ([(operation, (category,))] if operation else [])
    if operation == "rewrite":
        record = desk.record("requests/work")
        assert (record.status, record.updated_at) == ("withdrawn", format_time(DAY_ONE - timedelta(days=age)))
        assert "untouched since 2026-03-01, 61 days, more than 60" in operations[0].reason


@pytest.mark.parametrize("status", ["done", "open"])
def test_pinned_and_protected_requests_stay_as_they_are(desk: Desk, status: str) -> None:
    keep(desk, "request", "work", age=99, status=status, pinned=True)
    path = "memory/requests/work.md"
    assert desk.clean_up(protected={path: desk.tree[path]}) == []


def test_no_more_is_lost_than_may_be(desk: Desk) -> None:
    for number in range(5):
        keep(desk, "request", f"work-{number}", age=99, status="done")
    assert [o.op for o in desk.clean_up(losses=2)] == ["drop", "drop"]
    assert desk.clean_up(losses=0) == []
    assert len(desk.names("requests")) == 3


def test_a_broken_record_is_left_alone(desk: Desk) -> None:
    keep(desk, "decision", "a", sources=tuple(source(n, f"s{n}") for n in range(14)))
    desk.put("decisions/a", desk.text("decisions/a") + "\n>>>>>>> theirs\n")
    assert desk.clean_up() == []


def test_the_summary_follows_without_an_operation_of_its_own(desk: Desk) -> None:
    desk.integrate(entry(1, "request", "Go on", "- a"), entry(2, "decision", "Use tabs"))
    operations = desk.clean_up(days=90)
    assert [o.paths for o in operations] == [("memory/requests/go-on.md",)]
    assert "## Open" not in desk.text("summary") and "#use-tabs" in desk.text("summary")


def test_sixty_clean_ups_change_nothing_after_the_second(desk: Desk) -> None:
    body = "# Warm the cache\n\nWhen the service starts.\n"
    many = tuple(source(n, f"s{n}") for n in range(14))
    for number in range(4):
        keep(desk, "decision", f"warm-{number}", body, age=number, sources=many[number : number + 11])
    for slug, by, age in (("a", "b", 300), ("b", "c", 20), ("c", "d", 10)):
        keep(desk, "decision", slug, age=age, status="replaced", replaced_by=by, sources=many)
    keep(desk, "decision", "d")
    for number in range(6):
        keep(desk, "request", f"work-{number}", age=20 * number, status=("open", "done")[number % 2], sources=many)
    desk.integrate(entry(1, "decision", "Use tabs"))
    desk.clean_up()
    desk.clean_up()
    tree = dict(desk.tree)
    for _ in range(58):
        assert desk.clean_up() == []
    assert desk.tree == tree and desk.errors() == []


def test_the_settings_say_how_many_sources_and_days(desk: Desk) -> None:
    from tests.support.consolidation import settings

    desk.settings = settings(HIKIDASHI_CLEANUP_MAX_SOURCES="3", HIKIDASHI_CLEANUP_DONE_DAYS="2")
    keep(desk, "decision", "a", sources=tuple(source(n, f"s{n}") for n in range(5)))
    work = keep(desk, "request", "work", age=3, status="done")
    assert [o.op for o in desk.clean_up()] == ["trim", "drop"]
    assert len(desk.record("decisions/a").sources) == 3 and work.path not in desk.tree
