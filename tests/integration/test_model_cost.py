"""`cost` and `status` say what was spent, what is unknown, what the budgets have left, and who is not asked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.folders import data_folder
from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import open_workspace
from hikidashi.db.connection import connect
from hikidashi.errors import ModelFailure
from hikidashi.model.ledger import LedgerMeter, make_meter
from hikidashi.model.messages import Phase, Usage
from hikidashi.times import now
from tests.support.command import hikidashi

KEY = "mk-desk-9876543210-never-shown"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


@pytest.fixture
def connection(project: Path) -> Iterator[sqlite3.Connection]:
    found = connect(open_workspace(project).database)
    yield found
    found.close()


def meter(
    connection: sqlite3.Connection | None, run_id: str, *, days_ago: float = 0, environ: Mapping[str, str] | None = None
) -> LedgerMeter:
    settings = load_settings(None, environ=environ or {})
    return make_meter(connection, settings, run_id, clock=lambda: now() - timedelta(days=days_ago))


def spend(found: LedgerMeter, usage: Usage | None, *, model: str, phase: Phase = "extraction", **how: Any) -> None:
    found.close(found.open(phase, model, 1_000, 100), usage, how.get("outcome", "ok"), 1.5)


def test_what_was_spent_by_run_phase_and_model(project: Path, connection: sqlite3.Connection) -> None:
    rich = {"HIKIDASHI_MEMORY_DAY_USD": "10", "HIKIDASHI_WORKER_RUN_TOKENS": "9000000"}
    one = meter(connection, "01RUNONE0000000000000000AA", environ=rich)
    two = meter(connection, "01RUNTWO0000000000000000AA", environ=rich)
    old = meter(connection, "01RUNOLD0000000000000000AA", environ=rich, days_ago=9)
    gone = meter(connection, "01GONE000000000000000000AA", environ=rich, days_ago=31)
    spend(one, Usage(input_tokens=1_000_000), model="claude-sonnet-5-5")
    spend(one, Usage(input_tokens=500, cache_read_tokens=2_000, cache_write_tokens=100), model="claude-haiku-4-5")
    spend(one, Usage(), model="claude-haiku-4-5", outcome="overloaded")
    spend(two, Usage(output_tokens=7), model="local", phase="integration")
    spend(old, None, model="claude-haiku-4-5", outcome="network")
    spend(gone, Usage(input_tokens=9), model="local")
    report = hikidashi("cost", "--json", cwd=project).json
    day, month = report["workspace"]["day"], report["workspace"]["days_30"]
    assert (day["requests"], day["failed"], day["unknown_cost"], day["cost_micro_usd"]) == (4, 1, 1, 2_000_825)
    assert (month["requests"], month["failed"], month["unknown_cost"]) == (5, 2, 2)
    assert day["counted_tokens"] == 1_000_807
    assert month["counted_tokens"] == 1_000_807 + 1_100
    assert report["user"] == report["workspace"]
    assert {one["phase"]: one["requests"] for one in report["by_phase"]} == {"extraction": 4, "integration": 1}
    by_model = {one["model"]: (one["cost_micro_usd"], one["unknown_cost"]) for one in report["by_model"]}
    assert by_model == {"claude-sonnet-5-5": (2_000_000, 0), "claude-haiku-4-5": (825, 1), "local": (None, 1)}
    assert [one["run_id"][:8] for one in report["by_run"]] == ["01RUNTWO", "01RUNONE", "01RUNOLD"]
    assert [one["workspace"] for one in report["by_workspace"]] == [str(project)]
    budgets = {one["setting"]: (one["used"], one["left"]) for one in report["budgets"]}
    assert budgets == {
        "worker.day_tokens": (1_000_807, 999_193),
        "memory.day_tokens": (1_000_807, 3_999_193),
        "memory.day_usd": (2_000_825, 0),
    }


def test_people_read_the_same(project: Path, connection: sqlite3.Connection) -> None:
    one = meter(connection, "01RUNONE0000000000000000AA")
    spend(one, Usage(input_tokens=100_000, cache_read_tokens=7), model="claude-sonnet-5-5")
    spend(one, None, model="local", outcome="network")
    ran = hikidashi("cost", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert "24 hours, this workspace  2 (1 failed)  $0.2001 and 1 unknown  100,000 in, 0 out, 7 from" in ran.out
    assert "1,100 reserved" in ran.out
    assert "01RUNONE0000" in ran.out
    assert "worker.day_tokens   1,898,899 of 2,000,000 tokens left" in ran.out
    assert "memory.day_usd      $0.7999 of $1.00 left" in ran.out
    assert "prices.toml" in ran.out
    status = hikidashi("status", cwd=project)
    assert "2 requests in 24 hours, 101,101 tokens, $0.2001 and 1 unknown; `hikidashi cost` says more" in status.out


def test_a_place_where_no_model_was_asked_says_so_and_makes_nothing(project: Path, tmp_path: Path) -> None:
    for folder in (project, tmp_path):
        ran = hikidashi("cost", cwd=folder)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("No model was asked in the last 30 days.")
        assert "5,000,000 of 5,000,000 tokens left" in ran.out
    assert "models" not in hikidashi("status", cwd=project).out
    assert not (data_folder() / "global.sqlite").exists()
    assert hikidashi("cost", "--json", cwd=tmp_path).json["workspace"] is None


def test_outside_a_workspace_all_of_yours_are_shown(
    project: Path, connection: sqlite3.Connection, tmp_path: Path
) -> None:
    spend(meter(connection, "R1"), Usage(input_tokens=10), model="claude-sonnet-5-5")
    spend(meter(None, "R2"), Usage(input_tokens=5), model="claude-sonnet-5-5", phase="ping")
    report = hikidashi("cost", "--json", cwd=tmp_path).json
    assert report["user"]["day"]["cost_micro_usd"] == 30
    assert {one["workspace"] for one in report["by_workspace"]} == {str(project), ""}
    assert {one["run_id"] for one in report["by_run"]} == {"R1", "R2"}
    assert "outside any workspace" in hikidashi("cost", cwd=tmp_path).out
    assert hikidashi("cost", "--json", cwd=project).json["workspace"]["day"]["cost_micro_usd"] == 20


def test_who_is_not_asked_is_said_with_the_mend_and_without_the_key(
    project: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIKIDASHI_MEMORY_API_KEY", KEY)
    found = meter(connection, "R1", environ={"HIKIDASHI_MEMORY_API_KEY": KEY})
    spend(found, Usage(), model="claude-haiku-5-5", outcome="auth")
    found.gave_up(ModelFailure(f"the server refused the key {KEY}", kind="auth"))
    for command in ("status", "cost"):
        ran = hikidashi(command, cwd=project)
        assert "claude-haiku-5-5 is not asked; no request since" in ran.out
        assert "mend it and run `hikidashi ping`: the server refused the key …" in ran.out
        as_json = hikidashi(command, "--json", cwd=project)
        blocked = as_json.json["blocked"] if command == "cost" else as_json.json["models"]["blocked"]
        assert [(one["kind"], one["until"]) for one in blocked] == [("auth", None)]
        assert KEY not in ran.out + ran.err + as_json.out + as_json.err
    monkeypatch.setenv("HIKIDASHI_MEMORY_API_KEY", "another")
    assert "is not asked" not in hikidashi("status", cwd=project).out


def test_a_spent_budget_stands_in_status(
    project: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(meter(connection, "R1"), Usage(input_tokens=3_000), model="local")
    monkeypatch.setenv("HIKIDASHI_WORKER_DAY_TOKENS", "2000")
    assert "worker.day_tokens is spent: 0 of 2,000 tokens left" in hikidashi("status", cwd=project).out


def test_many_runs_are_cut_and_counted(project: Path, connection: sqlite3.Connection) -> None:
    for number in range(23):
        spend(meter(connection, f"RUN{number:02d}"), Usage(input_tokens=1), model="local")
    report = hikidashi("cost", "--json", cwd=project).json
    assert (len(report["by_run"]), report["more_runs"]) == (20, 3)
    assert "… and 3 earlier runs" in hikidashi("cost", cwd=project).out


def test_a_wrong_price_table_is_one_line(project: Path) -> None:
    path = Path.home() / ".config" / "hikidashi" / "prices.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[models.x]\ninput = 1\n")
    ran = hikidashi("cost", cwd=project)
    assert (ran.code, ran.out) == (6, "")
    assert ran.err == (
        f"error: {path}: x: output must be a price in US dollars a million tokens: add it\n"
    )  # fmt: skip
    assert hikidashi("status", cwd=project).code == 0


def test_a_damaged_database_of_the_user_does_not_silence_status(project: Path) -> None:
    data_folder().mkdir(parents=True, exist_ok=True)
    (data_folder() / "global.sqlite").write_bytes(b"no database " * 500)
    ran = hikidashi("status", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert "models     " in ran.out
    assert "is not a database; move it aside" in ran.out
    assert "is not a database" in hikidashi("status", "--json", cwd=project).json["models"]["problem"]
    ran = hikidashi("cost", cwd=project)
    assert (ran.code, ran.out) == (8, "")
    assert "is not a database; move it aside" in ran.err
