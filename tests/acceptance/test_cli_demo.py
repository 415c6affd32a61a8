"""`hikidashi demo`: the first thing that a newcomer sees."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.acceptance.conftest import Command
from tests.acceptance.terminal import Terminal
from tests.support.command import hikidashi as in_this_process
from tests.support.commands import Commands


def test_it_shows_the_whole_way_in_time_and_touches_nothing(tmp_path: Path, home: Path, hikidashi: Command) -> None:
    started = time.monotonic()
    shown = hikidashi("demo", cwd=tmp_path).stdout
    assert time.monotonic() - started < 20
    for part in (
        "$ hikidashi extract",
        "The person said so.",  # why it was staged
        "$ hikidashi approve deploy:blyck-releases",
        "$ hikidashi recall 'デプロイして'",
        "aws s3 cp dist s3://blyck-releases --recursive",
        "$ hikidashi consolidate",
        "└── summary.md",  # the files
        "## Decisions in force",
        "+status: replaced",  # a decision that changed
        "$ hikidashi consolidate --clean-up",
        "[superseded]: ",  # the reason of a clean-up
        "--- a/memory/decisions/use-pnpm-instead-of-npm.md\n+++ /dev/null",  # and its diff
        "it is in no file and no version",
        "hikidashi init ",  # what to do next
        "hikidashi restore PATH",
    ):
        assert part in shown, part
    assert "correct-horse" not in shown
    assert list(tmp_path.iterdir()) == []
    assert list(home.iterdir()) == []


def test_its_json_tells_the_same(tmp_path: Path) -> None:
    environment = dict(os.environ)
    told = in_this_process("demo", "--json", cwd=tmp_path).json
    assert dict(os.environ) == environment
    assert set(told) == {"rounds", "files", "password_found_in", "seconds"}
    assert told["password_found_in"] == []
    assert ".hikidashi/memory/summary.md" in told["files"]
    first, second, third = told["rounds"]
    assert {entry["kind"] for entry in first["staged"]} == {"decision", "attempt", "request"}
    assert all(entry["because"] for entry in first["staged"])
    assert first["gate"]["approved"] == ["deploy:blyck-releases"]
    assert all("deploy:blyck-releases" in text for text in first["gate"]["given"].values())
    assert len(first["gate"]["given"]) == 2
    assert second["gate"] is None
    assert second["run"]["outcome"] == "done"
    assert {operation["op"] for operation in third["run"]["operations"]} == {"drop", "rewrite"}
    assert all(operation["reason"] for operation in third["run"]["operations"])


def test_a_kept_workspace_is_where_it_was_asked_for(tmp_path: Path, run: Commands) -> None:
    kept = tmp_path / "new folder" / "demo"
    shown = run("demo", "--keep", str(kept), cwd=tmp_path).out
    assert (kept / ".hikidashi" / "memory" / "summary.md").is_file()
    assert str(kept) in shown
    assert "name a new folder" in run("demo", "--keep", str(kept), cwd=tmp_path, code=2).err
    # It is another user's to the person's own registry; after `trust` its records are theirs to look at.
    run("status", cwd=kept, code=5)
    run("trust", "--yes", cwd=kept)
    run("lint", cwd=kept)


@pytest.mark.parametrize("columns", [80, 120])
def test_it_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    terminal = Terminal(["demo"], tmp_path, columns)
    assert terminal.close() == 0
    lines = terminal.text.splitlines()
    assert max(cell_len(line) for line in lines if not line.startswith(("+", "-", " "))) <= columns
    assert len(lines) < 210
