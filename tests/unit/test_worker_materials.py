"""What an engine is given to work from, what it may not touch, and that it is told what was left out."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hikidashi.model.tokens import estimate_tokens
from hikidashi.records.linter import lint_tree
from hikidashi.worker.materials import build_cleanup_materials, build_materials, index_line
from hikidashi.worker.protection import protected_texts
from hikidashi.worker.scratch import Scratch
from tests.support.consolidation import DAY_ONE, Desk, entry, settings


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("", 0, 0),
        ("a", 1, 1),
        ("The quick brown fox jumps over the lazy dog. " * 10, 100, 140),
        ("データベースはポストグレスにする", 14, 16),
        ("데이터베이스", 6, 6),
        ("数据库用什么", 6, 6),
        ("Использовать", 6, 6),
        ("🙂🙂", 2, 2),
    ],
)
def test_tokens_are_estimated_for_all_scripts(text: str, low: int, high: int) -> None:
    assert low <= estimate_tokens(text) <= high


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.integrate(
        *(entry(n, "decision", f"Rule {n} of the house", f"word{n} " * 200) for n in range(20)),
        entry(30, "decision", "Warm the kiln", "Before the glaze is mixed.", session="kiln"),
        entry(40, "request", "Go on", "- a", session="open"),
    )
    desk.put("knowledge/kiln.md", "---\nkind: fact\n---\n")
    desk.put("workflow/glaze", "kiln glaze")
    desk.put("cleanup-log", "kiln glaze")
    return desk


def test_the_summary_and_what_is_near_come_first_and_the_rest_is_told(desk: Desk) -> None:
    small = settings(HIKIDASHI_WORKER_MEMORY_TOKENS="3000")
    near = entry(50, "decision", "Cool the kiln", "After the glaze is dry.", session="s9")
    materials = build_materials([near], desk.tree, small)
    assert materials.full[:2] == ("memory/summary.md", "memory/decisions/warm-the-kiln.md")
    assert materials.index and not set(materials.index) & set(materials.full)
    known = sum(estimate_tokens(desk.text(path)) for path in materials.full)
    assert known <= 3_000
    assert "read in full" in materials.notices[-1] and "worker.memory_tokens" in materials.notices[-1]


def test_everything_fits_into_the_default_and_nothing_is_said(desk: Desk) -> None:
    del desk.tree["knowledge/kiln.md"]
    materials = build_materials([], desk.tree, settings())
    assert len(materials.full) == 23 and materials.index == () and materials.notices == ()
    assert materials.full[:2] == ("memory/summary.md", "memory/requests/go-on.md"), "then open ones, the latest first"


def test_knowledge_workflow_and_the_log_are_never_among_them(desk: Desk) -> None:
    materials = build_materials([entry(50, "decision", "kiln glaze")], desk.tree, settings())
    given = {*materials.full, *materials.index}
    assert not [path for path in given if path.startswith(("knowledge/", "memory/workflow/", "memory/cleanup-log"))]


@pytest.mark.parametrize(
    ("addition", "code"), [("<<<<<<< ours\n", "H119"), ("ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2, "H120")]
)
def test_what_a_run_may_not_touch_is_named(desk: Desk, addition: str, code: str) -> None:
    del desk.tree["knowledge/kiln.md"]
    path = "memory/decisions/warm-the-kiln.md"
    desk.put(path, desk.text(path) + "\n" + addition)
    materials = build_materials([], desk.tree, settings())
    assert materials.read_only == {path}
    assert path not in materials.full
    assert materials.notices[0].startswith(f"{path} is read-only to the worker") and code in materials.notices[0]
    assert "ghp_a1" not in materials.notices[0]


def test_the_index_line_says_what_a_record_is(desk: Desk) -> None:
    assert index_line(desk.record("requests/go-on")) == "memory/requests/go-on.md (open): Go on"


def test_clean_up_is_told_warnings_chains_and_what_is_past_its_days(desk: Desk) -> None:
    desk.integrate(entry(60, "decision", "Use npm"), entry(61, "decision", "Use pnpm instead of npm"))
    del desk.tree["knowledge/kiln.md"]
    at = DAY_ONE + timedelta(days=100)
    materials = build_cleanup_materials(desk.tree, lint_tree(desk.tree, now=at), (), 3, settings(), at)
    assert materials.replaced == {"memory/decisions/use-npm.md": ("use-pnpm-instead-of-npm",)}
    assert "H203" in materials.warnings["memory/decisions/use-npm.md"]
    assert list(materials.aged) == ["memory/decisions/use-npm.md", "memory/requests/go-on.md"]
    assert materials.losses_left == 3


def test_a_clock_set_back_makes_nothing_old(desk: Desk) -> None:
    at = DAY_ONE - timedelta(days=4_000)
    assert build_cleanup_materials(desk.tree, [], (), 1, settings(), at).aged == {}


def test_protection_is_measured_against_the_persons_text() -> None:
    desk = Desk()
    desk.integrate(*(entry(n, "decision", f"Rule {n}") for n in range(4)))
    paths = [f"memory/decisions/rule-{n}.md" for n in range(4)]
    desk.put(paths[2], desk.text(paths[2]).replace("status:", "pinned: true\nstatus:"))
    blobs = {paths[0]: "known", paths[1]: "lost", "memory/decisions/gone.md": "known"}
    texts = protected_texts(blobs, desk.tree, lambda blob: b"theirs" if blob == "known" else None)
    assert texts == {paths[0]: b"theirs", paths[1]: desk.tree[paths[1]], paths[2]: desk.tree[paths[2]]}


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd.md",
        "memory/../x.md",
        "memory/a.txt",
        "config.toml",
        "memory//a.md",
        "x/a.md",
        "memory\\a.md",
        "a.md",
    ],
)
def test_no_path_leaves_the_scratch(path: str) -> None:
    scratch = Scratch({}, lambda before, after, named: [])
    with pytest.raises(ValueError, match="not a Markdown file"):
        scratch.write(path, "x")


def test_a_returned_turn_is_the_old_tree_byte_for_byte() -> None:
    from hikidashi.records.finding import Finding

    finding = Finding(path="memory/a.md", line=1, code="H101", severity="error", message="no")
    scratch = Scratch({"memory/a.md": b"\xff1"}, lambda before, after, named: [finding] if named else [])
    scratch.begin_turn()
    scratch.write("memory/a.md", "2", ["e"])
    scratch.write("memory/b.md", "2", ["e"])
    assert scratch.end_turn() == [finding]
    assert dict(scratch.tree) == {"memory/a.md": b"\xff1"} and dict(scratch.named) == {} and scratch.changes() == {}
    scratch.begin_turn()
    scratch.delete("memory/a.md")
    scratch.abandon_turn()
    assert dict(scratch.tree) == {"memory/a.md": b"\xff1"}


def test_the_runs_check_stops_an_engine_between_turns() -> None:
    def spent() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        Scratch({}, lambda before, after, named: [], spent).begin_turn()
