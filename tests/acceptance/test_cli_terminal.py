"""At a terminal and in a shell: questions, Ctrl+C, closed streams, `| head`, full disks, widths, encodings."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.acceptance.terminal import Terminal
from tests.support.command import hikidashi, put_demo_sessions
from tests.support.crossed import crossed


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "プロジェクト with blanks"
    folder.mkdir()
    put_demo_sessions(home, folder)
    return folder


@pytest.fixture
def worked(project: Path) -> Path:
    """A workspace with records, and a run behind it."""
    assert hikidashi("init", "--yes", cwd=project).code == 0
    assert hikidashi("consolidate", cwd=project).code == 0
    return project


def _staged(project: Path) -> int:
    return len(list((project / ".hikidashi" / "staging").glob("*.json")))


def _shell(line: str, project: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """`hk` in `line` is the command; pipefail, so that its own exit code counts."""
    script = f'set -o pipefail; hk() {{ "{sys.executable}" -m hikidashi "$@"; }}; {line}'
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment}
    return subprocess.run(["bash", "-c", script], cwd=project, env=env, capture_output=True, timeout=60, check=False)


def test_init_says_how_many_sessions_there_are_and_takes_them_on_yes(project: Path) -> None:
    terminal = Terminal(["init"], project, real=True)
    terminal.wait_for("Extract them now? [Y/n]")
    assert "Found 4 sessions of the last 30 days" in terminal.text
    assert _staged(project) == 0
    terminal.type("perhaps\n")
    terminal.wait_for("Please answer y or n.")
    terminal.type("\n")
    assert terminal.close() == 0
    assert "Next: `hikidashi consolidate`" in terminal.text
    assert _staged(project) > 0


@pytest.mark.parametrize("keys", ["n\n", "NO\n", "\x04"])
def test_init_extracts_nothing_on_no_and_says_how_to_do_it_later(project: Path, keys: str) -> None:
    terminal = Terminal(["init"], project)
    terminal.wait_for("[Y/n]")
    terminal.type(keys)
    assert terminal.close() == 0
    assert "Nothing was extracted. When you want it: `hikidashi extract`" in terminal.text
    assert _staged(project) == 0


@pytest.mark.parametrize(("keys", "code"), [("\n", 2), ("n\n", 2), ("y\n", 0)])
def test_a_stranger_s_workspace_is_shown_and_trusted_only_on_a_yes(
    worked: Path, tmp_path: Path, keys: str, code: int
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(worked, copy)
    terminal = Terminal(["trust"], copy)
    terminal.wait_for("Trust it? [y/N]")
    assert "keep       memory/summary.md" in terminal.text
    assert "set aside  workspace.sqlite" in terminal.text
    terminal.type(keys)
    assert terminal.close() == code
    assert hikidashi("status", cwd=copy).code == (5 if code else 0)


def test_control_c_at_the_question_leaves_a_whole_workspace(project: Path) -> None:
    terminal = Terminal(["init"], project, real=True)
    terminal.wait_for("[Y/n]")
    terminal.type("\x03")
    assert terminal.close(pressing="\x03") == 130
    assert "Traceback" not in terminal.text
    assert "stopped" in terminal.text
    hikidashi("status", cwd=project)
    hikidashi("extract", "--no-consolidate", cwd=project)
    assert _staged(project) > 0


@pytest.mark.parametrize("arguments", [["init"], ["init", "--json"]])
def test_without_a_terminal_nothing_is_asked_and_nothing_extracted(project: Path, arguments: list[str]) -> None:
    ran = hikidashi(*arguments, cwd=project)
    assert "[Y/n]" not in ran.out + ran.err
    assert _staged(project) == 0


def test_json_on_a_terminal_asks_nothing_and_is_json(project: Path) -> None:
    terminal = Terminal(["init", "--json"], project)
    assert terminal.close() == 0
    assert json.loads(terminal.text)["extracted"] is None


def test_yes_answers(project: Path) -> None:
    hikidashi("init", "--yes", cwd=project)
    assert _staged(project) > 0


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_what_is_shown_fits_the_terminal(worked: Path, columns: int) -> None:
    for arguments in (["status"], ["log"]):
        terminal = Terminal(arguments, worked, columns)
        assert terminal.close() == 0
        lines = [line.rpartition("\r")[2] for line in terminal.text.splitlines()]
        assert max(map(cell_len, lines)) <= columns, terminal.text


def test_colours_at_a_terminal_and_none_with_no_color(worked: Path) -> None:
    coloured = Terminal(["log", "-p"], worked)
    assert coloured.close() == 0
    assert b"\x1b[32m" in coloured.raw
    bare = Terminal(["log", "-p"], worked, environment={"NO_COLOR": "1"})
    assert bare.close() == 0
    assert b"\x1b[3" not in bare.raw
    assert bare.text == coloured.text


def test_closed_streams(project: Path) -> None:
    for line in ("hk init <&-", "hk status <&- >&-", "hk log <&- >&- 2>&-"):
        ran = _shell(line, project)
        assert ran.returncode == 0, (line, ran)
        assert b"Traceback" not in ran.stderr


def test_a_reader_that_leaves(worked: Path) -> None:
    for line in ("hk log -p | true", "hk show last --json | head -c 1 >/dev/null", "hk --help | true"):
        ran = _shell(line, worked)
        assert ran.returncode in (0, 141), (line, ran)
        assert ran.stderr == b"", (line, ran)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_behind_standard_output(project: Path) -> None:
    hikidashi("init", cwd=project)
    for line in ("hk log > /dev/full", "hk status --json > /dev/full"):
        ran = _shell(line, project)
        assert ran.returncode == 12, (line, ran)
        assert ran.stderr == b"error: cannot write the output (No space left on device): send it to another place\n"


@pytest.mark.parametrize(("encoding", "line"), crossed(["ascii", "euc_jp"], ["hk show last", "hk status --json"]))
def test_an_encoding_without_our_characters(worked: Path, encoding: str, line: str) -> None:
    ran = _shell(line, worked, PYTHONIOENCODING=encoding)
    assert (ran.returncode, ran.stderr) == (0, b""), ran
    shown = ran.stdout.decode(encoding)
    if line.endswith("--json"):
        assert json.loads(shown)["workspace"] == os.path.realpath(worked)


def test_control_c_during_an_extraction_loses_nothing(project: Path, tmp_path: Path) -> None:
    from tests.transcripts import Session

    hikidashi("init", cwd=project)
    folder = tmp_path / "many"
    for number in range(150):
        session = Session(name=f"s{number}", cwd=str(project))
        session.user(f"Use library{number} instead of framework{number}.")
        session.says("Understood. " * 200)
        session.write(folder / f"{session.session_id}.jsonl")
    terminal = Terminal(["extract", "--no-consolidate", str(folder)], project)
    terminal.wait_for("Reading sessions")
    terminal.type("\x03")
    assert terminal.close() in (0, 130)
    assert "Traceback" not in terminal.text
    hikidashi("extract", "--no-consolidate", str(folder), cwd=project)
    assert _staged(project) == 150
    hikidashi("extract", "--no-consolidate", str(folder), cwd=project)
    assert _staged(project) == 150


def test_a_hang_up_is_the_default(project: Path) -> None:
    hikidashi("init", cwd=project)
    terminal = Terminal(["init"], project, real=True)
    terminal.wait_for("[Y/n]")
    os.kill(terminal._pid, signal.SIGTERM)
    assert terminal.close() in (-signal.SIGTERM, 128 + signal.SIGTERM)  # by the signal itself, mostly
    hikidashi("status", cwd=project)
