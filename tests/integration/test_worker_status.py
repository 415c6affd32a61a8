"""`status` says what waits, what ran, and why nothing happened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import LintErrors
from hikidashi.staging.claim import take_claim
from hikidashi.staging.entry import Disposition
from hikidashi.staging.pause import set_paused
from hikidashi.worker.engine import Materials
from hikidashi.worker.scratch import Scratch
from hikidashi.worker.status import workspace_status
from tests.support.workshop import PlainEngine, Workshop, old_path


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project", environ={"HIKIDASHI_STAGING_MAX_FILES": "2"})
    yield workshop
    workshop.close()


def _status(workshop: Workshop) -> dict[str, Any]:
    status = workspace_status(workshop.workspace, workshop.settings, workshop.connection, clock=workshop.clock)
    again: dict[str, Any] = json.loads(json.dumps(status))
    return again


class Refused(PlainEngine):
    def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
        raise LintErrors("three turns were returned")


def test_a_new_workspace_says_that_nothing_is_staged(workshop: Workshop) -> None:
    status = _status(workshop)
    assert (status["claim"], status["last_run"], status["idle_reason"]) == (None, None, "nothing is staged")
    assert status["engine"] == "rules"
    assert status["engine_reason"]
    assert status["workspace"] == str(workshop.workspace.root)
    keys = {"entries", "bytes", "invalid", "quarantined", "over_threshold"}
    assert keys <= status["staging"].keys()


def test_the_last_run_has_the_form_of_the_runs_own_report(workshop: Workshop) -> None:
    workshop.keep_old(1)
    workshop.stage(1)
    report = workshop.run()
    last = _status(workshop)["last_run"]
    keys = {"run_id", "outcome", "started_at", "seconds", "consumed", "remaining", "dispositions", "operations"}
    assert keys | {"turns", "tokens"} <= last.keys()
    assert (last["run_id"], last["outcome"], last["dispositions"]) == (report.run_id, "done", {"applied": 1})
    assert [operation["paths"] for operation in last["operations"]] == [[old_path(1)]]


def test_each_reason_for_idleness_is_said(workshop: Workshop) -> None:
    workshop.stage(1)
    assert "below the thresholds" in _status(workshop)["idle_reason"]
    workshop.stage(2)
    assert "2 entries wait" in _status(workshop)["staging"]["over_threshold"]
    assert _status(workshop)["idle_reason"].startswith("due (2 entries wait")
    workshop.run(engine=Refused)
    assert _status(workshop)["idle_reason"] == "the last run ended as aborted-lint: three turns were returned"
    assert _status(workshop)["staging"]["batch_limit"] == 1
    set_paused(workshop.connection, True)
    assert "hikidashi resume" in _status(workshop)["idle_reason"]


def test_a_run_that_goes_on_is_shown_and_is_no_idleness(workshop: Workshop) -> None:
    ids = workshop.stage(1)
    held = take_claim(workshop.workspace, "01KQS55DE0WR4VJPYNTPRWQWRJ", max_seconds=900, clock=workshop.clock)
    held.set_consumed(ids)
    status = _status(workshop)
    assert status["idle_reason"] is None
    assert (status["claim"]["run_id"], status["claim"]["entries"]) == ("01KQS55DE0WR4VJPYNTPRWQWRJ", 1)
    held.release()


def test_broken_records_are_named(workshop: Workshop) -> None:
    workshop.write("memory/decisions/torn.md", "---\nstatus: open\n<<<<<<< HEAD\n")
    (workshop.workspace.memory / "decisions/link.md").symlink_to("torn.md")
    assert set(_status(workshop)["read_only"]) == {"memory/decisions/torn.md", "memory/decisions/link.md"}


def test_looking_changes_nothing(workshop: Workshop) -> None:
    workshop.stage(1)
    (workshop.workspace.staging / "rubbish.txt").write_text("x")
    workshop.workspace.journal.write_text("{")
    before = sorted(str(path) for path in workshop.workspace.home.rglob("*"))
    status = _status(workshop)
    assert (status["staging"]["invalid"], status["unfinished_publication"]) == (1, True)
    assert sorted(str(path) for path in workshop.workspace.home.rglob("*")) == before
