"""A transcript is read while it grows: whatever the reads, the events are those of one read."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.hosts import back
from hikidashi.hosts.claude_code import HOST
from hikidashi.hosts.transcript import Event, Position, ReadReport
from tests.support.examples import examples
from tests.transcripts import Session, dump, read

FUNCTION_FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def rich_session() -> Session:
    """A session with everything that the reader has to remember across reads."""
    session = Session(version="2.1.42")
    session.user("start")
    first, second = session.bash("make a"), session.bash("make b", run_in_background=True)
    session.ok(second, "Command running in background with ID: b1", backgroundTaskId="b1")
    session.typed_ahead("also the docs")
    usage = {"input_tokens": 3, "output_tokens": 1}
    session.thinks("hm", message_id="msg_x", usage=usage)
    session.typed_ahead("", "remove")
    session.says("I do", message_id="msg_x", usage={**usage, "output_tokens": 9})
    session.fails(first, "broken 😀", 2)
    session.progress(hookName="x")
    session.typed_ahead("no, wait")
    session.typed_ahead("", "dequeue")
    session.user("no, wait")
    session.user("<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>")
    session.refuses(session.call("Edit", {"file_path": "/a"}), "not that file")
    session.compacts("all of it")
    session.edits("/b.py", "x", "y")
    return session


def damaged(data: bytes) -> bytes:
    """The session's lines with every kind of damage between them."""
    lines = data.split(b"\n")
    lines[2] += b"\0" * 20
    lines[4] = b'{"parentUuid":"234065dd-bd' + lines[4]
    lines[6] += lines[7]
    lines[8] = b"\xff\xfe" + lines[8]
    return b"\n".join([*lines[:5], b"", b"[1]", b"{" * 30, *lines[5:]])


def in_steps(path: Path, data: bytes, cuts: list[int]) -> tuple[list[Event], ReadReport, dict[str, int]]:
    """The events of a file that grows to each of `cuts` and then to its end, read after each step."""
    events: list[Event] = []
    seen: set[bytes] = set()
    position = Position()
    skipped: dict[str, int] = {}
    report = ReadReport()
    for end in [*sorted(cuts), len(data)]:
        path.write_bytes(data[:end])
        more, report = read(path, start=position, seen=seen)
        events += more
        position = report.position
        for reason, count in report.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    return events, report, skipped


@pytest.mark.parametrize("damage", [False, True])
@settings(max_examples=examples(12, 500), deadline=None, suppress_health_check=FUNCTION_FIXTURES)
@given(data=st.data())
def test_any_split_of_a_growing_file_gives_the_events_of_one_read(
    damage: bool, data: st.DataObject, tmp_path: Path
) -> None:
    raw = rich_session().data()
    raw = damaged(raw) if damage else raw
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw)
    whole, report = read(path)
    split, last, skipped = in_steps(path, raw, cuts)
    assert split == whole
    assert skipped == report.skipped
    assert last.position == report.position


def test_each_line_read_by_itself_gives_the_events_of_one_read(tmp_path: Path) -> None:
    raw = damaged(rich_session().data())
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw)
    whole, report = read(path)
    cuts = [at + 1 for at, byte in enumerate(raw) if byte == 10]
    split, last, _ = in_steps(path, raw, cuts)
    assert split == whole
    assert last.line == raw.count(b"\n")
    assert report.lines == raw.count(b"\n")


def test_a_half_written_line_is_taken_when_it_is_complete(tmp_path: Path) -> None:
    session = Session()
    session.user("one")
    session.user("two")
    raw = session.data()
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw[:-20])
    events, report = read(path)
    assert [event.text for event in events] == ["one"]
    assert report.position == Position(offset=raw.index(b"\n") + 1, line=1)
    path.write_bytes(raw)
    events, report = read(path, start=report.position)
    assert [(event.text, event.line) for event in events] == [("two", 1)]
    assert report.position == Position(offset=len(raw), line=2)
    assert report.last_uuid == session.lines[1]["uuid"]


def test_a_pass_broken_off_at_an_event_begins_again_with_that_event(tmp_path: Path) -> None:
    path = rich_session().write(tmp_path / "s.jsonl")
    whole, _ = read(path)
    for stop in range(len(whole)):
        report = ReadReport()
        taken: list[Event] = []
        events = HOST.events(path, start=Position(), report=report, max_line_bytes=1 << 26, seen=set())
        for event in events:
            if len(taken) == stop:
                break
            taken.append(event)
        rest, _ = read(path, start=report.position)
        assert [e.line for e in rest][-1] == whole[-1].line
        assert len(taken) + len(rest) >= len(whole)


def test_a_result_finds_its_call_however_far_back_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(back, "LOOK_BACK_BYTES", 2000)
    session = Session()
    session.user("start")
    call_id = session.bash("make a-very-long-build")
    served = session.bash("make serve")
    session.ok(served, "Command running in background with ID: b9", backgroundTaskId="b9")
    for count in range(40):
        session.user(f"filler {count} " + "x" * 300)
    raw = session.data()
    path = session.write(tmp_path / "s.jsonl")
    _, report = read(path)
    session.ok(call_id, "built")
    session.user("<task-notification>\n<task-id>b9</task-id>\n<status>killed</status>\n</task-notification>")
    session.write(path)
    (event, end, _), _ = read(path, start=report.position)
    assert (event.tool, event.input["command"], event.call_line) == ("Bash", "make a-very-long-build", 1)
    assert event.call_uuid == session.lines[1]["uuid"]
    assert (end.call_id, end.input["command"], end.call_line) == (served, "make serve", 2)
    assert len(raw) > 4000


LEAVES: Any = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
KEYS = st.sampled_from(
    [
        "type", "uuid", "message", "content", "role", "tool_use_id", "id", "name", "input", "is_error", "toolUseResult",
        "usage", "text", "operation", "attachment", "prompt", "sessionId", "cwd", "isSidechain", "subtype", "model",
        "backgroundTaskId", "task", "status", "timestamp", "version", "gitBranch", "output_tokens", "origin", "kind",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "user", "assistant", "system", "attachment", "queue-operation", "tool_use", "tool_result", "text", "enqueue",
        "dequeue", "popAll", "remove", "summary", "pr-link", "compact_boundary", "local_command", "queued_command",
        "progress", "Bash", "BashOutput", "TaskOutput", "KillShell", "toolu_1", "completed", "<task-notification>",
        "Exit code 99999999999", "Exit code -1", "The user doesn't want to x the user said:\n", "<command-args>",
    ]
)  # fmt: skip
VALUES: Any = st.recursive(
    LEAVES | WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=8), max_leaves=12
)
LINES = st.dictionaries(KEYS, VALUES, max_size=12)


@settings(max_examples=examples(12, 500), deadline=None, suppress_health_check=FUNCTION_FIXTURES)
@given(lines=st.lists(LINES, min_size=1, max_size=5))
def test_no_field_of_any_type_raises(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    events, report = read(path)
    assert report.line == len(lines)
    check_types(events)


@settings(max_examples=examples(40, 1_000), deadline=None, suppress_health_check=FUNCTION_FIXTURES)
@given(
    raw=st.binary(max_size=400)
    | st.lists(st.sampled_from([b"{", b"}", b'"', b"\n", b"\0", b"\\u", b"\xff"])).map(b"".join)
)
def test_random_bytes_never_raise_and_the_position_advances(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw + b"\n")
    _, report = read(path)
    assert report.position == Position(offset=len(raw) + 1, line=raw.count(b"\n") + 1)
    assert sum(report.skipped.values()) >= 1 or b"{" in raw


def test_a_real_session_with_fields_swapped_at_random_never_raises(tmp_path: Path) -> None:
    chance = random.Random(7)
    junk: list[Any] = [None, 0, -1, 1.5, True, "", "x", [], [None], [[]], {}, {"type": []}, {"content": {}}]
    path = tmp_path / "s.jsonl"
    for _ in range(60):
        lines = [json.loads(dump(line)) for line in rich_session().lines]
        for line in chance.sample(lines, 6):
            spoil(line, chance, junk)
        path.write_bytes(b"".join(map(dump, lines)))
        events, report = read(path)
        assert report.line == len(lines)
        check_types(events)


def spoil(value: Any, chance: random.Random, junk: list[Any]) -> None:
    """Put junk somewhere into a nested value."""
    places = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not places:
        return
    place = chance.choice(places)
    if isinstance(value[place], dict | list) and value[place] and chance.random() < 0.7:
        spoil(value[place], chance, junk)
    else:
        value[place] = chance.choice(junk)


def check_types(events: list[Event]) -> None:
    """Every event keeps the types of its fields, whatever the line held."""
    texts = ("uuid", "at", "session_id", "text", "cwd", "branch", "call_id", "tool", "call_uuid", "model", "outcome")
    for event in events:
        fields = dataclasses.asdict(event)
        assert all(type(fields[name]) is str for name in texts), event
        assert type(event.input) is dict and (event.result is None or type(event.result) is dict)
        assert all(type(count) is int for count in event.tokens.values())
        assert event.exit_code is None or type(event.exit_code) is int
