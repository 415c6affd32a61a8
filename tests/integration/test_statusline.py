"""The status line as a host runs it: one line, nothing outside a workspace, trouble said."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hikidashi.hosts.program import Program
from tests.support.command import hikidashi
from tests.support.hooks import Project


def _line(given: bytes, cwd: Path) -> str:
    done = subprocess.run(
        Program().statusline, input=given, cwd=cwd, env=dict(os.environ), capture_output=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("utf-8")
    assert text.count("\n") <= 1
    return text.strip()


def _of(folder: Path) -> bytes:
    return json.dumps({"workspace": {"current_dir": str(folder)}, "cwd": "/", "session_id": "x"}).encode()


def test_it_counts_facts_and_says_trouble(tmp_path: Path) -> None:
    project = Project(tmp_path / "a shop")
    assert _line(_of(project.root), tmp_path) == "hikidashi: 2 facts"
    assert hikidashi("statusline", cwd=project.root, stdin=_of(project.root)).out == "hikidashi: 2 facts\n"
    form = hikidashi("statusline", "--json", cwd=project.root).json
    assert form == {"facts": 2, "waiting": 0, "last_run": None, "paused": False, "trouble": ""}
    with sqlite3.connect(project.workspace.database) as connection:
        connection.execute(
            "INSERT INTO runs (run_id, engine, outcome, started_at) VALUES ('r', 'rules', 'crashed', '2026-01-01')"
        )
    connection.close()
    hikidashi("pause", cwd=project.root)
    line = _line(_of(project.root), tmp_path)
    assert "run crashed" in line
    assert "paused, ! see `hikidashi status`" in line
    with sqlite3.connect(project.workspace.database) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert "newer hikidashi: upgrade" in _line(_of(project.root), tmp_path)


@pytest.mark.parametrize(
    "given", [b"", b"{", b"[]", b'{"cwd": 1}', b"\xff", b'{"workspace": {"current_dir": "/no/such"}}']
)
def test_outside_a_workspace_and_for_rubbish_there_is_no_line(tmp_path: Path, given: bytes) -> None:
    assert _line(given, tmp_path) == ""


def test_it_loads_the_standard_library_only(tmp_path: Path) -> None:
    project = Project(tmp_path / "shop")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from hikidashi.serve.statusline import main; main(); "
        "print([m for m in sys.modules if m.split('.')[0] not in sys.stdlib_module_names | {'hikidashi', '__main__'}])"
    )
    root = str(Program().package.parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, root],
        input=_of(project.root), env=dict(os.environ), capture_output=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stdout.decode().splitlines()[-1] == "[]"
