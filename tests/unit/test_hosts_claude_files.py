"""A session belongs to the folder its own lines name, not to the folder whose slug it shares."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from hikidashi.hosts.claude_code import ClaudeCode
from hikidashi.hosts.claude_files import slug_prefixes
from hikidashi.hosts.registry import recognise, transcripts_under
from tests.transcripts import Session

LATER = datetime(2026, 4, 1, tzinfo=UTC)


def put(home: Path, folder: str, file: str, **how: object) -> Path:
    """A short session under a project folder of the host."""
    session = Session(name=file, **how)  # type: ignore[arg-type]
    session.user("hello")
    session.says("hello")
    return session.write(home / ".claude" / "projects" / folder / file)


def names(home: Path, cwd: str, **environ: str) -> list[str]:
    projects = home / ".claude" / "projects"
    found = ClaudeCode(environ).session_files(Path(cwd))
    return [file.path.relative_to(projects).as_posix() if not environ else file.path.name for file in found]


def test_sessions_of_a_folder_that_shares_the_slug_are_not_ours(home: Path) -> None:
    put(home, "-a-b-c", "ours.jsonl", cwd="/a/b/c")
    put(home, "-a-b-c", "theirs.jsonl", cwd="/a/b-c")
    put(home, "-a-b-c", "theirs2.jsonl", cwd="/a/b.c")
    put(home, "-a-b-c-d", "below.jsonl", cwd="/a/b/c/d", at=LATER)
    put(home, "-a-b-c-d", "beside.jsonl", cwd="/a/b/c-d")
    put(home, "-a-b", "above.jsonl", cwd="/a/b")
    assert names(home, "/a/b/c") == ["-a-b-c/ours.jsonl", "-a-b-c-d/below.jsonl"]
    assert names(home, "/a/b-c") == ["-a-b-c/theirs.jsonl"]


def test_main_sessions_come_before_sub_agents_and_old_before_new(home: Path) -> None:
    put(home, "-w", "new.jsonl", cwd="/w", at=LATER)
    put(home, "-w", "old.jsonl", cwd="/w")
    put(home, "-w", "agent-0a1b2c3d.jsonl", cwd="/w", sidechain=True)
    put(home, "-w/old/subagents", "agent-x.jsonl", cwd="/w", sidechain=True, at=LATER)
    put(home, "-w/old/tool-results", "saved.jsonl", cwd="/w")
    found = ClaudeCode({}).session_files(Path("/w"))
    assert [(file.path.name, file.sidechain) for file in found] == [
        ("old.jsonl", False),
        ("new.jsonl", False),
        ("agent-0a1b2c3d.jsonl", True),
        ("agent-x.jsonl", True),
    ]
    assert found[0].started_at == "2026-03-01T09:00:01.000Z"
    assert found[0].size == found[0].path.stat().st_size


def test_a_session_that_moved_on_belongs_where_it_started(home: Path) -> None:
    session = Session(cwd="/w")
    session.user("x")
    session.cwd = "/other"
    session.user("y")
    session.write(home / ".claude/projects/-w/s.jsonl")
    assert names(home, "/w") == ["-w/s.jsonl"]
    assert names(home, "/other") == []


def test_long_paths_are_found_under_their_cut_slug(home: Path) -> None:
    cwd = "/w/" + "x" * 250
    put(home, "-w-" + "x" * 197 + "-1k2j3h", "s.jsonl", cwd=cwd)
    put(home, "-w-" + "x" * 197 + "-zzzzzz", "t.jsonl", cwd=cwd + "y")
    assert names(home, cwd) == ["-w-" + "x" * 197 + "-1k2j3h/s.jsonl"]


def test_slugs_of_names_in_other_scripts() -> None:
    assert "-w-----" in slug_prefixes(Path("/w/引き出し"))
    assert "-w---x" in slug_prefixes(Path("/w/😀x"))
    assert {"-w-caf-", "-w-cafe-"} <= slug_prefixes(Path("/w/café"))


def test_a_linked_folder_is_found_under_both_names(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    link = tmp_path / "link"
    link.symlink_to(real)
    slug = next(iter(slug_prefixes(real)))
    put(home, slug, "s.jsonl", cwd=str(real))
    assert [file.path.name for file in ClaudeCode({}).session_files(link)] == ["s.jsonl"]


def test_the_configured_folder_is_used(home: Path, tmp_path: Path) -> None:
    session = Session(cwd="/w")
    session.user("x")
    session.write(tmp_path / "conf/projects/-w/s.jsonl")
    assert names(home, "/w", CLAUDE_CONFIG_DIR=str(tmp_path / "conf")) == ["s.jsonl"]
    assert names(home, "/w") == []


def test_sessions_of_our_own_worker_are_passed_over(home: Path) -> None:
    path = put(home, "-w--hikidashi-scratch", "s.jsonl", cwd="/w/.hikidashi/scratch")
    session = Session(cwd="/w")
    session.user("merge these records", entrypoint="hikidashi-worker")
    session.write(home / ".claude/projects/-w/t.jsonl")
    assert names(home, "/w") == []
    assert recognise(path) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"not json\n",
        b'{"debug":"x","sessionId":"s","timestamp":"t","cwd":"/w"}\n',
        b'{"timestamp":"t","type":"session_meta","content":{"id":"1","cwd":"/w"}}\n',
        b'{"display":"hello","timestamp":1,"project":"/w"}\n',
        b'{"type":"user","message":{"role":"user","content":"API request, no transcript"}}\n',
        b"\0" * 5000,
        b"[1]\n" * 10,
    ],
)
def test_other_files_are_no_transcripts(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    assert recognise(path) is None
    assert recognise(tmp_path / "absent.jsonl") is None
    assert recognise(tmp_path) is None


def test_a_transcript_is_recognised_behind_snapshots_summaries_and_damage(tmp_path: Path) -> None:
    session = Session(cwd="/w")
    session.add({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}})
    session.add({"type": "summary", "summary": "x", "leafUuid": "u"})
    session.user("hello")
    path = session.write(tmp_path / "s.jsonl")
    path.write_bytes(b'{"torn\n\0\0\0\n' + path.read_bytes())
    known = recognise(path)
    assert known and known[0].name == "claude-code" and not known[1].sidechain


def test_a_file_of_summaries_alone_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"summary","summary":"x","leafUuid":"u"}\n')
    assert recognise(path)


def test_a_sub_agent_in_a_renamed_file_is_told_by_its_lines(tmp_path: Path) -> None:
    session = Session(sidechain=True)
    session.user("look")
    known = recognise(session.write(tmp_path / "renamed.jsonl"))
    assert known and known[1].sidechain


def test_transcripts_under_a_folder_come_in_one_order(tmp_path: Path) -> None:
    early = datetime(2026, 2, 1, tzinfo=UTC)
    for name, side, at in (("b", False, LATER), ("a", False, LATER), ("z", False, early), ("0", True, early)):
        session = Session(name=name, sidechain=side, at=at)
        session.user("x")
        session.write(tmp_path / name / f"{name}.jsonl")
    (tmp_path / "notes.jsonl").write_text("{}\n")
    (tmp_path / "a" / "notes.txt").write_text("x")
    assert [file.path.stem for _, file in transcripts_under(tmp_path)] == ["z", "a", "b", "0"]
    assert transcripts_under(tmp_path / "absent") == []
