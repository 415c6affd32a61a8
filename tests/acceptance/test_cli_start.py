"""What starting costs: a command loads what it uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hikidashi.config.settings import user_file
from tests.support.command import hikidashi

_PROBE = """
import json, sys
from hikidashi.cli.main import main
sys.argv = ["hikidashi", *sys.argv[1:]]
try:
    main()
finally:
    sys.stderr.write(json.dumps(sorted({name.partition(".")[0] for name in sys.modules} | set(sys.modules))))
"""


def _loaded(arguments: list[str], cwd: Path) -> set[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ran = subprocess.run(
        [sys.executable, "-c", _PROBE, *arguments],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran
    return set(json.loads(ran.stderr))


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"]])
def test_help_loads_nothing_but_click(tmp_path: Path, arguments: list[str]) -> None:
    heavy = {"anthropic", "dulwich", "httpx", "orjson", "pydantic", "psutil", "rapidfuzz", "rich", "sqlite3", "yaml"}
    assert _loaded(arguments, tmp_path) & heavy == set()


@pytest.mark.parametrize("arguments", [["status"], ["extract"], ["consolidate"]], ids=lambda line: line[0])
def test_no_command_loads_the_models_sdk_while_the_rules_engine_works(tmp_path: Path, arguments: list[str]) -> None:
    hikidashi("init", cwd=tmp_path)
    loaded = _loaded(arguments, tmp_path)
    assert loaded & {"anthropic", "httpx"} == set()
    assert "rich.progress" not in loaded or arguments == ["extract"]


@pytest.mark.parametrize("arguments", [["status"], ["extract"], ["cost"], ["init"]], ids=lambda line: line[0])
def test_no_command_loads_the_models_sdk_while_there_is_nothing_to_ask(tmp_path: Path, arguments: list[str]) -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('[memory]\nbase_url = "http://127.0.0.1:9"\n')
    hikidashi("init", cwd=tmp_path)
    assert _loaded(arguments, tmp_path) & {"anthropic", "httpx", "httpx2"} == set()


_FAULT = """
import sys
from hikidashi.cli import status
from hikidashi.cli.main import main
def fail(*arguments):
    secret = "not-for-the-report"
    raise ZeroDivisionError(secret)
status.workspace_status = fail
sys.argv = ["hikidashi", *sys.argv[1:]]
main()
"""


def test_a_fault_of_the_program_is_one_line_and_a_file_without_values(tmp_path: Path) -> None:
    assert hikidashi("init", cwd=tmp_path).code == 0
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", _FAULT, "status", "--json"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert "internal error (ZeroDivisionError); please report it with the file" in ran.stderr
    told = json.loads(ran.stdout)["error"]
    assert (told["kind"], told["exit_code"]) == ("InternalError", 1)
    report = Path(told["message"].rpartition(" ")[2]).read_text(encoding="utf-8")
    assert "workspace_status" in report
    assert "ZeroDivisionError" in report
    assert "not-for-the-report" not in report
