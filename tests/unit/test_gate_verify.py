"""What a check's end makes of its fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from hikidashi.config.machine import Machine
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.drawer.fact import Draft, Fact
from hikidashi.drawer.probe import ProbeResult
from hikidashi.drawer.store import FAILED_CONFIDENCE, Drawer
from hikidashi.drawer.verify import Checked, check_fact, reason_to_skip

HERE = Machine(id="m1", name="desk")
NOON = datetime(2026, 5, 3, 12, tzinfo=UTC)
AT = "2026-05-03T12:00:00.000Z"


@pytest.fixture
def drawer(tmp_path: Path) -> Iterator[Drawer]:
    connection = connect(tmp_path / "workspace.sqlite")
    migrate(connection)
    yield Drawer(connection, "workspace", lambda: NOON)
    connection.close()


def write(drawer: Drawer, body: str = "It works.", **changes: Any) -> Fact:
    values: dict[str, Any] = {
        "key": "deploy:harbour",
        "type": "capability",
        "body": body,
        "confidence": 0.9,
        "proof": "it went well",
        "probe": ("aws", "sts"),
        "trust": "user",
        "origin": "command",
        "machine_id": "m1",
        "machine_name": "desk",
    }
    return drawer.write(Draft(**(values | changes)))


def ends(outcome: Literal["passed", "failed", "not-run"]) -> Callable[..., ProbeResult]:
    def run(words: tuple[str, ...], *, seconds: float) -> ProbeResult:
        assert (words, seconds) == (("aws", "sts"), 7.0)
        return ProbeResult(outcome=outcome, said=f"it {outcome}", exit_code=0, seconds=0.1)

    return run


def check(drawer: Drawer, fact: Fact, run: Callable[..., ProbeResult]) -> Checked:
    return check_fact(drawer, fact, HERE, seconds=7.0, run=run, clock=lambda: NOON)


def test_a_pass_makes_it_certain_and_active_and_its_failure_history(drawer: Drawer) -> None:
    drawer.verified(write(drawer), False, "it broke", "2026-05-03T10:00:00.000Z")
    fact = drawer.set_status("deploy:harbour", "stale")
    assert (fact.confidence, fact.failure) == (FAILED_CONFIDENCE, "it broke")
    done = check(drawer, fact, ends("passed"))
    assert done.outcome == "passed"
    now = done.fact
    assert (now.confidence, now.proof, now.status) == (1.0, "it passed", "active")
    assert (now.last_verified, now.last_failed, now.failure, now.last_seen) == (AT, None, "", AT)


def test_a_fail_keeps_the_proof_and_takes_confidence(drawer: Drawer) -> None:
    done = check(drawer, write(drawer), ends("failed"))
    assert done.outcome == "failed"
    now = done.fact
    assert (now.confidence, now.proof, now.status) == (FAILED_CONFIDENCE, "it went well", "active")
    assert (now.last_verified, now.last_failed, now.failure) == (None, AT, "it failed")


def test_one_that_could_not_run_changes_nothing(drawer: Drawer) -> None:
    fact = write(drawer)
    done = check(drawer, fact, ends("not-run"))
    assert (done.outcome, done.fact) == ("not-run", fact)
    assert drawer.find("deploy:harbour") == fact


@pytest.mark.parametrize("change", ["written", "forgotten"])
@pytest.mark.parametrize("outcome", ["passed", "failed"])
def test_the_end_of_a_check_whose_fact_was_changed_meanwhile_is_nobody_s(
    drawer: Drawer, change: str, outcome: Literal["passed", "failed"]
) -> None:
    def run(words: tuple[str, ...], *, seconds: float) -> ProbeResult:
        if change == "written":
            write(drawer, "In new words.")
        else:
            drawer.forget("deploy:harbour")
        return ends(outcome)(words, seconds=seconds)

    assert check(drawer, write(drawer), run).outcome == "changed"
    now = drawer.find("deploy:harbour")
    if change == "forgotten":
        assert now is None
    else:
        assert now is not None
        assert (now.body, now.confidence, now.last_failed, now.last_verified) == ("In new words.", 0.9, None, None)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"probe": ()}, "it has no check: `hikidashi write` with --probe gives it one"),
        ({"machine_id": "m2", "machine_name": "lap"}, "it was proven on lap: check it there"),
        ({"machine_id": "m2", "machine_name": ""}, "it was proven on another machine: check it there"),
        ({}, ""),
        ({"machine_id": ""}, ""),
    ],
)
def test_what_is_not_checked_here(drawer: Drawer, changes: dict[str, Any], why: str) -> None:
    fact = write(drawer, **changes)
    assert reason_to_skip(fact, HERE) == why
    if why:
        done = check(drawer, fact, lambda *_, **__: pytest.fail("it was run"))
        assert (done.outcome, done.said, done.fact) == ("skipped", why, fact)


def test_a_retired_fact_is_not_checked(drawer: Drawer) -> None:
    write(drawer)
    assert reason_to_skip(drawer.retire("deploy:harbour"), HERE).startswith("it is retired")
