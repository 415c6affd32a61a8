"""A path that is no regular file never makes us wait for it, and a line of any shape never ends a search."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from hikidashi.hosts.registry import recognise, transcripts_under
from tests.transcripts import Session


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in the file system there")
def test_a_named_pipe_beside_sessions_is_passed_over(tmp_path: Path) -> None:
    session = Session()
    session.user("hello")
    session.write(tmp_path / "one.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    assert recognise(tmp_path / "pipe.jsonl") is None
    assert [file.path.name for _host, file in transcripts_under(tmp_path)] == ["one.jsonl"]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
def test_an_endless_device_is_no_transcript() -> None:
    assert recognise(Path("/dev/zero")) is None


@pytest.mark.parametrize("strange", [None, [], {}, [None], {"a": {}}, 5, True, 1.5])
def test_a_line_whose_type_is_no_text_costs_itself_only(tmp_path: Path, strange: Any) -> None:
    session = Session()
    session.user("hello")["type"] = strange
    session.says("hello")
    assert recognise(session.write(tmp_path / "one.jsonl")) is not None
