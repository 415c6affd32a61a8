"""What starting costs: a command loads what it uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

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
