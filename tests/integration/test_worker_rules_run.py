"""The rules engine in real runs: files, history and database agree, and doing it again changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.consolidate import make_entries, make_records
from hikidashi.db.connection import transaction
from hikidashi.records.linter import lint_tree
from hikidashi.worker.rules import RulesEngine
from tests.support.consolidation import Desk, entry, settings
from tests.support.workshop import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project")
    yield workshop
    workshop.close()


def _engine(workshop: Workshop) -> RulesEngine:
    return RulesEngine(workshop.settings, clock=workshop.clock)


def test_runs_until_nothing_is_staged_then_nothing_changes_any_more(workshop: Workshop) -> None:
    batch = [
        entry(1, "decision", "Use npm", quote="let's use npm for now"),
        entry(2, "decision", "Use pnpm instead of npm", session="s2"),
        entry(3, "request", "Finish the login", "Left open:\n- a\n- b", topic="branch:login"),
        entry(4, "request", "Login", "- PR 3", status="done", topic="branch:login", session="s2"),
        entry(5, "attempt", "`make` failed: x", trust="tool", session="s3"),
        entry(6, "discussion", "Lunch", session="s4"),
    ]
    with transaction(workshop.connection):
        workshop.store.add_pending(batch)
    workshop.store.flush_pending()
    report = workshop.run(engine=lambda: _engine(workshop))
    assert (report.outcome, report.consumed, report.remaining) == ("done", 6, 0), report.message
    assert [d.kind for d in report.dispositions].count("discarded") == 1
    tree = workshop.tree()
    assert [f for f in lint_tree(tree) if f.severity == "error"] == []
    assert workshop.history.tree() == tree
    assert workshop.run(engine=lambda: _engine(workshop)).outcome == "idle"
    for _ in range(3):
        workshop.run(engine=lambda: _engine(workshop), clean_up_only=True)
    assert workshop.tree() == tree


def test_a_persons_record_outlives_clean_up(workshop: Workshop) -> None:
    desk = Desk()
    desk.integrate(entry(1, "request", "Old work", "- a"), entry(2, "request", "W", status="done", session="s1"))
    for path, data in desk.tree.items():
        workshop.write(path, data.decode())
    workshop.now = workshop.now.replace(year=2027)
    report = workshop.run(engine=lambda: _engine(workshop), clean_up_only=True)
    assert report.operations == [], "it differs from history, so a person wrote it"
    assert "memory/requests/old-work.md" in workshop.tree()


@pytest.mark.slow
def test_two_hundred_entries_against_a_thousand_records_take_seconds() -> None:
    desk = Desk(make_records(1_000), settings())
    began = time.process_time()
    desk.integrate(*make_entries(200))
    assert time.process_time() - began < 12
