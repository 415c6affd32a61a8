"""The command line of a test sends nothing to a real server, whatever the settings of the test say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hikidashi.testing import FakeMessages, nobody_url
from tests.support.commands import Commands
from tests.support.project import python_environ

KEY = "sk-ant-example-only"


def write_settings(home: Path, *lines: str) -> None:
    folder = home / ".config" / "hikidashi"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("\n".join(["[memory]", f'api_key = "{KEY}"', *lines, ""]), encoding="utf-8")


@pytest.mark.parametrize("line", ["", 'base_url = "https://[2001:db8::1]"', 'base_url = "http://192.0.2.1:8080"'])
def test_a_request_to_a_real_server_is_refused(home: Path, tmp_path: Path, run: Commands, line: str) -> None:
    write_settings(home, line)
    ended = run("ping", cwd=tmp_path, code=6)
    assert "memory.local_only is on" in ended.err
    assert "nothing was sent" in ended.err
    assert KEY not in ended.out + ended.err


def test_so_it_is_in_a_process_of_its_own(home: Path, tmp_path: Path) -> None:
    write_settings(home)
    done = subprocess.run(
        [sys.executable, "-m", "hikidashi", "ping"],
        cwd=tmp_path,
        env=python_environ(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (6, "")
    assert "memory.local_only is on" in done.stderr


def test_a_fake_is_asked(home: Path, tmp_path: Path, run: Commands) -> None:
    with FakeMessages([], then="Yes.", key=KEY) as fake:
        write_settings(home, f'base_url = "{fake.url}"', 'extraction_model = "small"')
        ended = run("ping", cwd=tmp_path)
        assert "small" in ended.out
        assert [row.outcome for row in fake.requests] == ["ok"]


def test_where_nobody_listens_it_is_a_failure_of_the_network(home: Path, tmp_path: Path, run: Commands) -> None:
    """Outside a workspace too, where `ping` asks while it handles that there is none."""
    write_settings(home, f'base_url = "{nobody_url()}"', 'extraction_model = "small"')
    assert "cannot be reached" in run("ping", cwd=tmp_path, code=11).out
