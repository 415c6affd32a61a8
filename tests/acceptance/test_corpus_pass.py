"""The whole way over real sessions: all in, memory out, records clean; a second pass changes no byte."""

from __future__ import annotations

import collections
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hikidashi.records.history import History
from tests.support.commands import Commands
from tests.support.project import Project, python_environ


def _pass(project: Project, corpus: Path) -> dict[str, Any]:
    """Extract everything and drain it; the extraction's report and the runs'."""
    extracted = project.run("extract", "--no-consolidate", "--json", str(corpus), cwd=project.root).json()
    drained = project.run("consolidate", "--drain", "--json", cwd=project.root).json()
    return {"extracted": extracted, "drained": drained}


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_all_sessions_go_in_and_a_second_pass_changes_no_byte(
    corpus: Path, tmp_path: Path, run: Commands, every: int
) -> None:
    project = Project.made(tmp_path / "shop", run)
    files = sorted(corpus.rglob("*.jsonl"))
    first = _pass(project, corpus)

    assert first["extracted"]["files"] == len(files)
    assert first["extracted"]["skipped"] == {}
    assert {one["outcome"] for one in first["drained"]["runs"]} == {"done"}
    assert first["drained"]["remaining"] == 0
    assert set(project.states().values()) == {"consumed"}
    assert project.staged_files() == set()
    assert list(project.workspace.quarantine.iterdir()) == []
    lint = run("lint", "--json", cwd=project.root).json()
    assert [found for found in lint["findings"] if found["severity"] == "error"] == []

    # A session's activities (design section 5): few, and often none.
    counted = collections.Counter(str(session) for (session,) in project.rows("SELECT session_id FROM entries"))
    assert 0 < sum(counted.values()) <= 1.5 * len(files)
    assert len(files) - len(counted) >= len(files) / 4

    _assert_reads_well(project)
    before = project.everything()
    second = _pass(project, corpus)
    assert second["extracted"]["unchanged"] == len(files)
    assert second["extracted"]["entries"] == []
    assert (second["drained"]["outcome"], second["drained"]["consumed"]) == ("idle", 0)
    assert project.everything() == before

    # From the start of files again, as after a lost watermark or a copied folder: known IDs stay known.
    copies = tmp_path / "copies"
    for path in files[::every]:
        copy = copies / path.relative_to(corpus)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    third = _pass(project, copies)
    assert third["extracted"]["entries"] == []
    assert third["drained"]["outcome"] == "idle"
    assert project.everything() == before


def _assert_reads_well(project: Project) -> None:
    """Nothing of a record stands there twice, and no line of it is a machine's."""
    texts = {path: data.decode() for path, data in project.tree().items() if path != "memory/cleanup-log.md"}
    assert len(texts) > 20
    bodies = collections.Counter(text.split("\n---\n", 1)[1] for text in texts.values())
    assert [body for body, number in bodies.items() if number > 1] == []
    for path, text in texts.items():
        body = text.split("\n---\n", 1)[1]
        for odd in ("<system-reminder>", "<command-name>", "tool_use_id", "[Request interrupted", "\x1b[", "\r"):
            assert odd not in body, (path, odd)
    lines = [line for line in texts["memory/summary.md"].split("\n") if line.startswith("- 2")]
    assert len(lines) == len(set(lines))
    for commit in History(project.workspace.history).log():
        assert len(commit.subject) <= 72


@pytest.mark.parametrize("real", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_background_run_of_extract_and_a_drain_beside_it_end_well(
    tmp_path: Path, run: Commands, real: bool, request: pytest.FixtureRequest
) -> None:
    """Past the thresholds `extract` starts a worker of its own; `--drain` waits for it and takes the rest."""
    project = Project.made(tmp_path / "shop", run)
    environ = python_environ() | {"HIKIDASHI_STAGING_MAX_FILES": "20" if real else "3"}
    project.keep(project.choices("one", range(4)))
    folder = [str(request.getfixturevalue("corpus"))] if real else []
    command = [sys.executable, "-m", "hikidashi"]
    told = {"cwd": project.root, "env": environ, "capture_output": True, "text": True, "check": True}
    extracted: Any = subprocess.run([*command, "extract", *folder], **told)  # type: ignore[call-overload]
    assert "in the background: " in extracted.stdout
    drained: Any = subprocess.run([*command, "consolidate", "--drain", "--json"], **told)  # type: ignore[call-overload]
    assert drained.stderr == ""
    assert project.staged_files() == set()
    assert set(project.states().values()) == {"consumed"}
    run("lint", cwd=project.root)
    assert {row[0] for row in project.rows("SELECT outcome FROM runs")} == {"done"}
    assert History(project.workspace.history).tree() == project.tree()
    log = project.workspace.log_file.read_text()
    assert not [line for line in log.splitlines() if line.startswith("error")]
    assert "Traceback" not in log
