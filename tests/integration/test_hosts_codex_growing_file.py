"""A rollout is read while it grows: whatever the reads, the events are those of one read."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.hosts import back
from hikidashi.hosts.codex import HOST
from hikidashi.hosts.transcript import Event, Position, ReadReport
from tests.integration.test_hosts_growing_file import check_types, spoil
from tests.rollouts import VERSIONS, Rollout, read
from tests.support.examples import examples
from tests.transcripts import dump

FUNCTION_FIXTURES = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def rich_rollout(version: str) -> Rollout:
    """A rollout with everything that the reader has to remember across reads."""
    parent = Rollout(version=version, name="parent")
    parent.user("start")
    parent.runs("make a", "a 😀", 1)
    rollout = parent.forked("rich", times="new")
    rollout._at += timedelta(minutes=1)
    rollout.user("start")
    first, second = rollout.bash("make b"), rollout.bash("make c", workdir="web")
    rollout.result(second, rollout.printed("c", 2))
    rollout.turn("/home/ann/shop/docs")
    rollout.says("hm <proposed_plan>\n# Plan\n- x\n</proposed_plan>")
    rollout.user("Implement the plan.")
    rollout.starts("make serve", 77, "up\n")
    rollout.tokens(10, 0, 1)
    rollout.interrupt()
    rollout.polls(77, "down\n", 0)
    rollout.ends(first, "b", 0, "make b")
    rollout.result(first, rollout.printed("b", 0))
    rollout.todo(("one", "pending"))
    rollout.compacts("all of it")
    rollout.patches("a.py", "b.py")
    rollout.user("go on")
    rollout.user("go on")
    return rollout


def damaged(data: bytes) -> bytes:
    """The rollout's lines with every kind of damage between them, the heads excepted."""
    lines = data.split(b"\n")
    lines[6] += b"\0" * 20
    lines[8] = b'{"timestamp":"2026-03-0' + lines[8]
    lines[10] += lines[11]
    lines[12] = b"\xff\xfe" + lines[12]
    return b"\n".join([*lines[:9], b"", b"[1]", b"{" * 30, *lines[9:]])


def in_steps(path: Path, data: bytes, cuts: list[int]) -> tuple[list[Event], ReadReport, dict[str, int]]:
    """The events of a file that grows to each of `cuts` and then to its end, read after each step."""
    events: list[Event] = []
    seen: set[bytes] = set()
    position, report = Position(), ReadReport()
    skipped: dict[str, int] = {}
    for end in [*sorted(cuts), len(data)]:
        path.write_bytes(data[:end])
        more, report = read(path, start=position, seen=seen)
        events += more
        position = report.position
        for reason, count in report.skipped.items():
            skipped[reason] = skipped.get(reason, 0) + count
    return events, report, skipped


@pytest.mark.parametrize("damage", [False, True])
@pytest.mark.parametrize("version", ["0.47.0", "0.130.0", "0.171.0"])
@settings(max_examples=examples(8, 300), deadline=None, suppress_health_check=FUNCTION_FIXTURES)
@given(data=st.data())
def test_any_split_of_a_growing_file_gives_the_events_of_one_read(
    version: str, damage: bool, data: st.DataObject, tmp_path: Path
) -> None:
    raw = rich_rollout(version).data()
    raw = damaged(raw) if damage else raw
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=6))
    path = tmp_path / "r.jsonl"
    path.write_bytes(raw)
    whole, report = read(path)
    split, last, skipped = in_steps(path, raw, cuts)
    assert split == whole
    assert skipped == report.skipped
    assert last.position == report.position


@pytest.mark.parametrize("version", VERSIONS)
def test_each_line_read_by_itself_gives_the_events_of_one_read(version: str, tmp_path: Path) -> None:
    raw = damaged(rich_rollout(version).data())
    path = tmp_path / "r.jsonl"
    path.write_bytes(raw)
    whole, report = read(path)
    cuts = [at + 1 for at, byte in enumerate(raw) if byte == 10]
    split, last, _ = in_steps(path, raw, cuts)
    assert split == whole
    assert last.line == raw.count(b"\n") == report.lines


@pytest.mark.parametrize("version", ["0.47.0", "0.171.0"])
def test_what_lies_far_back_is_known_all_the_same(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(back, "LOOK_BACK_BYTES", 2_000)
    rollout = Rollout(version=version, branch="feature/x")
    rollout.turn("/home/ann/shop/web")
    call_id = rollout.bash("make a-very-long-build")
    for count in range(40):
        rollout.says(f"filler {count} " + "x" * 300)
    path = rollout.write(tmp_path / "r.jsonl")
    _, report = read(path)
    rollout.ends(call_id, "built", 3)
    rollout.result(call_id, rollout.printed("built", 3))
    rollout.user("and now?")
    rollout.write(path)
    result, user = [e for e in read(path, start=report.position)[0] if e.kind != "context"]
    assert (result.input["command"], result.exit_code) == ("make a-very-long-build", 3)
    assert 0 < result.call_line < 10
    assert (user.cwd, user.branch, user.session_id) == ("/home/ann/shop/web", "feature/x", rollout.session_id)


def test_a_pass_broken_off_at_an_event_begins_again_with_that_event(tmp_path: Path) -> None:
    path = rich_rollout("0.171.0").write(tmp_path / "r.jsonl")
    whole, _ = read(path)
    for stop in range(len(whole)):
        report = ReadReport()
        taken: list[Event] = []
        for event in HOST.events(path, start=Position(), report=report, max_line_bytes=1 << 26, seen=set()):
            if len(taken) == stop:
                break
            taken.append(event)
        rest, _ = read(path, start=report.position)
        assert rest[-1].line == whole[-1].line
        assert len(taken) + len(rest) >= len(whole)


def test_a_half_written_line_is_taken_when_it_is_complete(tmp_path: Path) -> None:
    rollout = Rollout(version="0.64.0")
    rollout.user("one")
    rollout.user("two")
    raw = rollout.data()
    path = tmp_path / "r.jsonl"
    path.write_bytes(raw[:-20])
    events, report = read(path)
    assert [event.text for event in events if event.kind == "user"] == ["one"]
    path.write_bytes(raw)
    events, _ = read(path, start=report.position)
    assert [(event.text, event.line) for event in events if event.kind == "user"] == [("two", len(rollout.lines) - 1)]


def test_a_line_above_the_limit_is_passed_over_and_counted(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.user("one")
    rollout.user("x" * 300_000)
    rollout.user("two")
    events, report = read(rollout.write(tmp_path / "r.jsonl"), max_line_bytes=100_000)
    assert [event.text for event in events if event.kind == "user"] == ["one", "two"]
    assert report.skipped == {"too-long": 2}  # as the model was sent it, and as it was shown


def test_unknown_lines_are_counted(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.add("brand_new", {})
    rollout.item("brand_new_item")
    rollout.shown("brand_new_event")
    rollout.lines.append({"timestamp": "x", "payload": {}})
    rollout.lines.append({"timestamp": "x", "type": "response_item", "payload": None})
    rollout.item("function_call", name="x", arguments="{}")
    rollout.add("world_state", {})
    rollout.shown("turn_diff")
    _, report = read(rollout.write(tmp_path / "r.jsonl"))
    assert report.skipped == {"unknown-type": 3, "no-type": 1, "no-payload": 1, "call-without-id": 1}


LEAVES: Any = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
KEYS = st.sampled_from(
    [
        "type", "payload", "timestamp", "ordinal", "id", "session_id", "cwd", "cli_version", "source", "git", "branch",
        "role", "content", "text", "name", "namespace", "arguments", "input", "call_id", "output", "success", "item",
        "command", "cmd", "workdir", "message", "info", "last_token_usage", "total_token_usage", "input_tokens",
        "changes", "exit_code", "status", "aggregated_output", "thread_name", "reason", "subagent", "history_base",
        "end_ordinal_exclusive", "metadata", "questions", "answers", "plan", "step", "kind", "model", "action",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    [
        "session_meta", "turn_context", "response_item", "event_msg", "compacted", "message", "user", "assistant",
        "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call",
        "user_message", "item_completed", "UserMessage", "CommandExecution", "FileChange", "exec_command_end",
        "patch_apply_end", "token_count", "turn_aborted", "thread_name_updated", "shell", "exec_command", "apply_patch",
        "update_plan", "request_user_input", "write_stdin", "call_1", "{\"cmd\": 1}",
        "Exit code: 99999999999\nOutput:\n",
        "Process running with session ID 7\nOutput:\n", "<proposed_plan>x</proposed_plan>", "Implement the plan.",
        "2026-03-01T09:00:00.000Z", "9999-12-31T23:59:59.999Z",
    ]
)  # fmt: skip
VALUES: Any = st.recursive(
    LEAVES | WORDS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=8), max_leaves=12
)
LINES = st.fixed_dictionaries(
    {"type": WORDS | LEAVES, "payload": st.dictionaries(KEYS, VALUES, max_size=10) | LEAVES},
    optional={"timestamp": VALUES},
)


@settings(max_examples=examples(60, 2_000), deadline=None, suppress_health_check=FUNCTION_FIXTURES)
@given(lines=st.lists(LINES, min_size=1, max_size=6))
def test_no_field_of_any_type_raises(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    events, report = read(path)
    assert report.line == len(lines)
    check_types(events)
    HOST.recognises(path)


@pytest.mark.parametrize("version", ["0.47.0", "0.130.0", "0.171.0"])
def test_a_rollout_with_fields_swapped_at_random_never_raises(version: str, tmp_path: Path) -> None:
    chance = random.Random(7)
    junk: list[Any] = [None, 0, -1, 1.5, True, "", "x", [], [None], [[]], {}, {"type": []}, {"content": {}}]
    path = tmp_path / "r.jsonl"
    for _ in range(60):
        lines = [json.loads(dump(line)) for line in rich_rollout(version).lines]
        for line in chance.sample(lines, 8):
            spoil(line, chance, junk)
        path.write_bytes(b"".join(map(dump, lines)))
        events, report = read(path)
        assert report.line == len(lines)
        check_types(events)
        HOST.recognises(path)
