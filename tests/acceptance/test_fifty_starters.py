"""Fifty processes start `consolidate` at one moment while others extract: one run at a time, nothing lost."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

from hikidashi.records.history import History
from tests.support.commands import Commands
from tests.support.project import Project, python_environ

STARTERS, EXTRACTORS, NUMBERS = 50, 6, 60


def test_fifty_starters_make_one_run_at_a_time_and_lose_nothing(tmp_path: Path, run: Commands) -> None:
    project = Project.made(tmp_path / "shop", run)
    for start in range(0, NUMBERS, 10):
        project.keep(project.choices(f"early {start}", range(start, start + 10)))
    run("extract", "--no-consolidate", cwd=project.root)
    late = range(NUMBERS, NUMBERS + 10 * EXTRACTORS)
    for start in late[::10]:
        project.keep(project.choices(f"late {start}", range(start, start + 10)))
    # Two that have the whole way from the shell to go, and 54 that start at one moment.
    slow = [_from_the_shell(project.root, "consolidate", "--json") for _ in range(2)]
    ended = run.race(
        [(["consolidate", "--json"], project.root)] * STARTERS
        + [(["extract", "--no-consolidate", "--json"], project.root)] * EXTRACTORS
    )
    reports = [(one.expect(None).code, one.json()) for one in ended[:STARTERS]]
    assert [one.expect(None).code for one in ended[STARTERS:]] == [0] * EXTRACTORS
    reports += [_report(process) for process in slow]
    _assert_said(reports)
    _assert_one_run_at_a_time(project, {str(r["run_id"]) for _, r in reports if r["outcome"] == "done"})
    # What arrived too late for those is consumed by a next run.
    last = run("consolidate", "--drain", "--json", cwd=project.root).json()
    assert last["remaining"] == 0
    project.assert_whole([*range(NUMBERS), *late])
    assert set(project.states().values()) == {"consumed"}
    assert len(project.states()) == NUMBERS + len(late)


def _from_the_shell(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "hikidashi", *arguments]
    environ = python_environ()
    return subprocess.Popen(command, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _report(process: subprocess.Popen[str]) -> tuple[int, dict[str, object]]:
    out, err = process.communicate(timeout=100)
    assert "Traceback" not in err, err
    return process.returncode, json.loads(out)


def _assert_said(reports: list[tuple[int, dict[str, object]]]) -> None:
    outcomes = [str(report["outcome"]) for _, report in reports]
    assert set(outcomes) <= {"done", "busy", "idle"}, outcomes
    assert outcomes.count("done") >= 1
    assert outcomes.count("busy") >= STARTERS // 2, outcomes
    for code, report in reports:
        assert code == (3 if report["outcome"] == "busy" else 0)
        if report["outcome"] == "busy":
            assert "try again" in str(report["message"])


def _assert_one_run_at_a_time(project: Project, said: set[str]) -> None:
    """By the runs' own rows, by the entries they took, and by the history, which grew by one run after another."""
    rows = project.rows("SELECT run_id, started_at, finished_at, batch, outcome FROM runs ORDER BY started_at")
    assert {row[0] for row in rows} == said
    assert {row[4] for row in rows} == {"done"}
    for earlier, later in itertools.pairwise(rows):
        assert str(earlier[2]) <= str(later[1]), "one run had begun before the other ended"
    taken = [entry for row in rows for entry in json.loads(str(row[3]))]
    assert len(taken) == len(set(taken)), "an entry was taken by two runs"
    commits = [commit.trailers["Run"][0] for commit in History(project.workspace.history).log() if commit.trailers]
    changes = [run for number, run in enumerate(commits) if number == 0 or commits[number - 1] != run]
    assert len(changes) == len(set(changes)) == len(rows), "the commits of two runs are mixed"
