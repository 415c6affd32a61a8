"""A rollout belongs to the folder that its first line names, wherever the file lies."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hikidashi.hosts import codex_files
from hikidashi.hosts.codex import Codex
from hikidashi.hosts.registry import recognise, transcripts_under
from tests.rollouts import Rollout
from tests.transcripts import Session, dump

LATER = datetime(2026, 4, 1, tzinfo=UTC)


def put(home: Path, name: str, *, archived: bool = False, **how: Any) -> Path:
    """A short rollout where the host keeps it."""
    rollout = Rollout(name=name, **how)
    rollout.user("hello")
    return rollout.write_home(home / ".codex", archived=archived)


def test_sessions_are_found_by_the_folder_they_were_started_in(home: Path) -> None:
    ours = put(home, "ours", cwd="/a/b")
    below = put(home, "below", cwd="/a/b/c", at=LATER)
    agent = put(home, "agent", cwd="/a/b", thread_source="subagent")
    archived = put(home, "archived", cwd="/a/b", archived=True, at=datetime(2026, 2, 1, tzinfo=UTC))
    put(home, "beside", cwd="/a/b-c")
    put(home, "above", cwd="/a")
    found = Codex({}).session_files(Path("/a/b"))
    assert [file.path for file in found] == [archived, ours, below, agent]
    assert [file.sidechain for file in found] == [False, False, False, True]
    assert found[1].started_at == "2026-03-01T09:00:01.000Z"
    assert (found[1].host, found[1].size) == ("codex", ours.stat().st_size)


def test_the_folder_of_the_host_may_be_elsewhere(home: Path, tmp_path: Path) -> None:
    path = Rollout(cwd="/w").write_home(tmp_path / "moved")
    assert Codex({}).session_files(Path("/w")) == []
    assert [file.path for file in Codex({"CODEX_HOME": str(tmp_path / "moved")}).session_files(Path("/w"))] == [path]


def test_nothing_is_found_where_nothing_is(home: Path) -> None:
    assert Codex({}).session_files(Path("/w")) == []


@pytest.mark.parametrize(
    "meta", [{"originator": "hikidashi_worker"}, {"cwd": "/w/.hikidashi/scratch"}], ids=["originator", "folder"]
)
def test_sessions_of_our_own_worker_are_nobodys(meta: dict[str, Any], home: Path) -> None:
    path = put(home, "own", **{"cwd": "/w", **meta})
    assert Codex({}).session_files(Path("/w")) == []
    assert recognise(path) is None


def test_a_damaged_first_line_does_not_lose_the_session(home: Path) -> None:
    rollout = Rollout(cwd="/w")
    rollout.user("hello")
    path = rollout.write_home(home / ".codex")
    path.write_bytes(b'{"timestamp":"2026-03-01T09:0' + b"\0" * 300 + b"\n" + b"".join(map(dump, rollout.lines[1:])))
    (found,) = Codex({}).session_files(Path("/w"))
    assert found.path == path


def test_each_head_is_read_once_while_the_file_is_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [put(home, f"s{number}", cwd=f"/w{number}") for number in range(5)]
    looked: list[Path] = []

    def look_at(path: Path) -> codex_files.Head | None:
        looked.append(path)
        return original(path)

    original = codex_files.look_at
    monkeypatch.setattr(codex_files, "look_at", look_at)
    host = Codex({})
    assert [file.path for file in host.session_files(Path("/w1"))] == [paths[1]]
    assert [file.path for file in host.session_files(Path("/w2"))] == [paths[2]]
    assert sorted(looked) == sorted(paths)
    with paths[2].open("ab") as stream:
        stream.write(b"{}\n")
    (found,) = host.session_files(Path("/w2"))
    assert found.size == paths[2].stat().st_size
    assert looked[5:] == [paths[2]]
    paths[2].unlink()
    assert host.session_files(Path("/w2")) == []


def test_other_files_are_no_rollouts(tmp_path: Path) -> None:
    session = Session()
    session.user("hello")
    texts = {
        "history.jsonl": b'{"session_id":"x","ts":1,"text":"deploy"}\n',
        "session_index.jsonl": b'{"id":"x","thread_name":"y","updated_at":"z"}\n',
        "empty.jsonl": b"",
        "cut.jsonl": b'{"timestamp":"2026-03-01T09:00:00Z","type":"session_me',
        "odd.jsonl": b'{"timestamp":1,"type":"session_meta","payload":{}}\n[]\n7\n',
    }
    for name, data in texts.items():
        (tmp_path / name).write_bytes(data)
        assert recognise(tmp_path / name) is None, name
    session.write(tmp_path / "claude.jsonl")
    Rollout().write(tmp_path / "rollout.jsonl")
    os.mkfifo(tmp_path / "rollout-pipe.jsonl")
    found = {file.path.name: host.name for host, file in transcripts_under(tmp_path)}
    assert found == {"claude.jsonl": "claude-code", "rollout.jsonl": "codex"}
