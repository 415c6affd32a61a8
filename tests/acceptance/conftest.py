"""Real processes: the installed `hikidashi` command, and Claude Code and Codex where they are installed.

`HIKIDASHI_TEST_CLAUDE` names the `claude` program, `HIKIDASHI_TEST_CODEX` the `codex` program. CI sets
`HIKIDASHI_TEST_REQUIRE=1`: there a test that would be skipped fails instead.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

#: Runs `hikidashi ARGS…` in a folder and gives the finished process.
Command = Callable[..., "subprocess.CompletedProcess[str]"]


def _missing(what: str) -> None:
    if os.environ.get("HIKIDASHI_TEST_REQUIRE") == "1":
        pytest.fail(f"{what}, and HIKIDASHI_TEST_REQUIRE=1 says that it must be there")
    pytest.skip(what)


@pytest.fixture
def claude(home: Path) -> str:
    """Path of the `claude` program."""
    found = os.environ.get("HIKIDASHI_TEST_CLAUDE") or shutil.which("claude")
    if not found or not Path(found).exists():
        _missing("Claude Code is not installed (set HIKIDASHI_TEST_CLAUDE to its program)")
    assert found is not None
    return found


@pytest.fixture
def codex(home: Path) -> str:
    """Path of the `codex` program."""
    found = os.environ.get("HIKIDASHI_TEST_CODEX") or shutil.which("codex")
    if not found or not Path(found).exists():
        _missing("Codex is not installed (set HIKIDASHI_TEST_CODEX to its program)")
    assert found is not None
    return found


@pytest.fixture
def hikidashi(home: Path) -> Command:
    """Runs the command as a process of its own in a given folder."""

    def call(*arguments: str, cwd: Path, code: int = 0, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "hikidashi", *arguments],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},  # this checkout, wherever we run
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done

    return call


@pytest.fixture
def hikidashi_json(hikidashi: Command) -> Callable[..., Any]:
    """The same, with `--json` added and its output read."""

    def call(*arguments: str, cwd: Path, code: int = 0, timeout: float = 60) -> Any:
        return json.loads(hikidashi(*arguments, "--json", cwd=cwd, code=code, timeout=timeout).stdout)

    return call
