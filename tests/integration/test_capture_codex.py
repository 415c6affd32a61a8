"""Sessions of Codex leave the candidates and entries that those of Claude Code would."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from hikidashi.drawer.candidates import Candidate, waiting
from tests.capture_workspace import LATE, Desk, captured, desk
from tests.rollouts import VERSIONS, Rollout
from tests.transcripts import Session

UPLOAD = "aws s3 sync dist s3://shop-assets"
UPLOADED = "upload: dist/app.js to s3://shop-assets/app.js"
KEY = "deploy:shop-assets"

versions = pytest.mark.parametrize("version", VERSIONS)


def deploying(root: Path, version: str, name: str = "deploy") -> Rollout:
    rollout = Rollout(version=version, cwd=str(root), name=name)
    rollout.user("From now on, never touch the PROD bucket.")
    rollout.user("Put the shop online.")
    rollout.runs(UPLOAD, UPLOADED)
    rollout.says("It is online.")
    return rollout


NO_MODULE = "Error: Cannot find module '/home/ann/shop/node_modules/jest/bin/jest.js'"
ASK = "Make the totals of the invoice agree, also for refunds."
DIAGNOSIS = "The package is not installed at all; I add it to the project and try again."
TODO = (("make the totals agree", "completed"), ("write the migration for refunds", "pending"))
LEFT = "The totals agree. The migration is still to be written."


def stubborn(root: Path, version: str) -> Rollout:
    """Two failures with one sign, edits, and a pass; then work that is left to do."""
    rollout = Rollout(version=version, cwd=str(root), name="stubborn")
    rollout.user(ASK)
    for _ in range(2):
        rollout.runs("npm test", f"{NO_MODULE}\n1 failed", 1)
        rollout.says(DIAGNOSIS)
        rollout.patches("package.json", "jest.config.js")
    rollout.runs("npm test", "Tests: 12 passed, 12 total")
    rollout.todo(*TODO)
    rollout.says(LEFT)
    return rollout


def stubborn_in_claude_code(root: Path) -> Session:
    """The same session in Claude Code."""
    session = Session(cwd=str(root), name="stubborn")
    session.user(ASK)
    for _ in range(2):
        session.runs("npm test", f"{NO_MODULE}\n1 failed", 1)
        session.says(DIAGNOSIS)
        session.edits("package.json", "a", "b")
        session.edits("jest.config.js", "a", "b")
    session.runs("npm test", "Tests: 12 passed, 12 total")
    session.todo(*TODO)
    session.says(LEFT)
    return session


def candidates(here: Desk) -> dict[str, Candidate]:
    return {candidate.key: candidate for candidate in waiting(here.connection)}


@versions
def test_a_deploy_and_an_order_leave_one_candidate_each(version: str, home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    with desk(root) as here:
        path = deploying(root, version).write_home(home / ".codex")
        report = here.extract(own=True)
        assert (report.files, report.skipped) == (1, {})
        found = candidates(here)
        deploy = found.pop(KEY)
        assert UPLOAD in deploy.body
        assert UPLOADED in deploy.proof
        (rule,) = found.values()
        assert (rule.type, rule.trust) == ("rule", "user")
        assert rule.body == "From now on, never touch the PROD bucket"
        assert here.extract(path).candidates == {}


@versions
def test_the_entries_are_those_of_the_same_session_in_claude_code(version: str, home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    expected = captured(stubborn_in_claude_code(root), tmp_path)
    with desk(root) as here:
        stubborn(root, version).write_home(home / ".codex")
        here.extract(own=True)
        found = here.entries()
    told = [(entry.kind, entry.title, entry.body, entry.why, entry.quote, entry.trust) for entry in found]
    assert told == [(entry.kind, entry.title, entry.body, entry.why, entry.quote, entry.trust) for entry in expected]
    assert [entry.kind for entry in found] == ["attempt", "request"]
    assert {entry.source.host for entry in found} == {"codex"}


def test_a_chosen_option_and_an_accepted_plan_are_decisions(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    rollout = Rollout(version="0.171.0", cwd=str(root))
    rollout.user("Plan the order store.")
    rollout.asks("Which database should keep the orders?", ["SQLite in one file", "Postgres"], "SQLite in one file")
    rollout.says(
        "<proposed_plan>\n# Order store\n\n## Steps\n\n1. Keep orders in SQLite, one file a shop.\n"
        "2. Import the old CSV files once.\n3. Refuse orders without a customer.\n</proposed_plan>"
    )
    rollout.user("Implement the plan.")
    with desk(root) as here:
        rollout.write_home(home / ".codex")
        here.extract(own=True)
        decisions = [entry for entry in here.entries() if entry.kind == "decision"]
        assert [entry.trust for entry in decisions] == ["user", "assistant"]
        assert "SQLite in one file" in decisions[0].title
        assert "Order store" in decisions[1].title


def test_in_pieces_in_copies_and_again_nothing_is_taken_twice(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    rollout = stubborn(root, "0.130.0")
    lines = rollout.lines
    with desk(root) as here:
        for end in range(1, len(lines) + 1, 3):
            rollout.lines = lines[:end]
            here_path = rollout.write(home / ".codex" / "sessions" / "2026" / "03" / "01" / "rollout-a.jsonl")
            here.extract(own=True, at=rollout._at)
        rollout.lines = lines
        rollout.write(here_path)
        here.extract(own=True, at=LATE)
        pieces = {entry.id: entry for entry in here.entries()}
    with desk(tmp_path / "shop2" / "shop") as other:
        other.extract(here_path)
        assert {entry.id for entry in other.entries()} == set(pieces)
        fork = rollout.forked("fork", times="new")
        fork._at += timedelta(hours=1)
        other.extract(fork.write(tmp_path / "rollout-fork.jsonl"))
        other.extract(rollout.write(tmp_path / "archived" / "rollout-a.jsonl"))
        assert {entry.id for entry in other.entries()} == set(pieces)


def test_work_in_another_folder_belongs_there(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    rollout = Rollout(cwd=str(root))
    rollout.user("Put it online.")
    rollout.runs(UPLOAD, UPLOADED, workdir=str(tmp_path / "elsewhere"))
    with desk(root) as here:
        rollout.write_home(home / ".codex")
        here.extract(own=True)
        assert candidates(here) == {}


def test_what_the_client_puts_in_makes_no_rule(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    rollout = Rollout(version="0.171.0", cwd=str(root), name="injected")
    rollout.message(
        "developer", "<permissions instructions>\nAlways ask before you deploy.\n</permissions instructions>"
    )
    rollout.user("<skill>\nAlways publish with pnpm, never with npm.\n</skill>")
    rollout.item("agent_message", author="/root/a", content=[{"type": "input_text", "text": "Always deploy first."}])
    agent = Rollout(version="0.171.0", cwd=str(root), name="agent", thread_source="subagent")
    agent.user("From now on, always run the tests with make test.")
    with desk(root) as here:
        rollout.write_home(home / ".codex")
        agent.write_home(home / ".codex")
        assert here.extract(own=True).files == 2
        assert candidates(here) == {}
