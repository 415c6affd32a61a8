"""Resumed, forked and sub-agent files repeat events; each counts once."""

from __future__ import annotations

import copy
from pathlib import Path
from uuid import UUID

import pytest

from hikidashi.hosts.transcript import event_key, event_keys
from tests.transcripts import Session, read


def session() -> Session:
    made = Session()
    made.user("deploy")
    made.runs("make deploy", "deployed")
    made.says("done")
    return made


def test_keys_are_16_bytes_and_differ_by_host_and_uuid() -> None:
    keys = {event_key(host, uuid) for host in ("a", "b") for uuid in ("", "u", "v", "\ud800")}
    assert len(keys) == 8
    assert {len(key) for key in keys} == {16}
    assert event_keys("a")("u") == event_key("a", "u")


@pytest.mark.parametrize(
    "uuid",
    [
        pytest.param("234065dd-1234-4abc-8def-0123456789ag", id="no digit"),
        pytest.param("234065dd 1234 4abc 8def 0123456789ab", id="blanks"),
        pytest.param("234065dd-1234-4abc-8def-0123456789a\u0661", id="a digit of another script"),
        pytest.param("-" * 36, id="dashes"),
        pytest.param("2" * 36, id="too many digits"),
        pytest.param("234065dd12344abc8def0123456789ab", id="no dashes"),
    ],
)
def test_only_a_plain_uuid_is_its_own_key(uuid: str) -> None:
    plain = "234065dd-1234-4abc-8def-0123456789ab"
    assert event_key("a", plain) == event_key("a", plain.upper()) == UUID(plain).bytes
    assert len(event_key("a", uuid)) == 16
    assert event_key("a", uuid) != event_key("b", uuid)
    assert event_key("a", uuid) != event_key("a", plain)


def test_a_resumed_copy_with_a_new_session_id_counts_once(tmp_path: Path) -> None:
    old = session()
    new = copy.deepcopy(old)
    for line in new.lines:
        line["sessionId"] = "rewritten"
    new.user("and now the docs")
    seen: set[bytes] = set()
    first, _ = read(old.write(tmp_path / "old.jsonl"), seen=seen)
    again, _ = read(new.write(tmp_path / "new.jsonl"), seen=seen)
    assert not any(event.repeat for event in first)
    assert [event.repeat for event in again] == [True] * 4 + [False]
    assert all(not event.tokens for event in again)
    assert again[2].call_id and again[2].tool == "Bash"


def test_a_copy_with_new_uuids_repeats_its_tool_calls(tmp_path: Path) -> None:
    old = session()
    new = copy.deepcopy(old)
    for line in new.lines:
        line["uuid"] = "new-" + line["uuid"]
    seen: set[bytes] = set()
    read(old.write(tmp_path / "old.jsonl"), seen=seen)
    again, _ = read(new.write(tmp_path / "new.jsonl"), seen=seen)
    assert [(event.kind, event.repeat) for event in again] == [
        ("user", False),
        ("tool_call", True),
        ("tool_result", True),
        ("assistant", False),
    ]


def test_a_line_written_twice_in_one_file_counts_once(tmp_path: Path) -> None:
    made = session()
    made.lines += copy.deepcopy(made.lines)
    events, _ = read(made.write(tmp_path / "s.jsonl"))
    assert [event.repeat for event in events] == [False] * 4 + [True] * 4


def test_a_sub_agents_copy_of_main_lines_does_not_make_them_look_seen(tmp_path: Path) -> None:
    main = session()
    compacting = copy.deepcopy(main)
    for line in compacting.lines:
        line["isSidechain"] = True
    agent = compacting.write(tmp_path / "agent-acompact-1.jsonl")
    path = main.write(tmp_path / "s.jsonl")

    seen: set[bytes] = set()
    copied, _ = read(agent, seen=seen)
    counted, _ = read(path, seen=seen)
    again, _ = read(agent, seen=seen)
    assert not any(event.repeat for event in copied)
    assert not any(event.repeat for event in counted)
    assert all(event.repeat for event in again)

    seen = set()
    read(path, seen=seen)
    copied, _ = read(agent, seen=seen)
    assert all(event.repeat for event in copied)


def test_a_sub_agents_own_lines_count_once_over_two_files(tmp_path: Path) -> None:
    agent = Session(sidechain=True)
    agent.runs("pytest", "1 passed")
    seen: set[bytes] = set()
    first, _ = read(agent.write(tmp_path / "agent-1.jsonl"), seen=seen)
    again, _ = read(agent.write(tmp_path / "agent-2.jsonl"), seen=seen)
    assert [event.repeat for event in first + again] == [False, False, True, True]
