"""How a call ended, in every version's form: joined by ID, never by position."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hikidashi.hosts.texts import MAX_TEXT, clean
from hikidashi.hosts.transcript import Event
from tests.transcripts import Session, read

VERSIONS = ("0.2.122", "1.0.35", "1.0.128", "2.0.8", "2.0.46", "2.1.5", "2.1.42", "2.1.112", "2.1.207", "2.1.332")


def results(session: Session, tmp_path: Path) -> list[Event]:
    events, report = read(session.write(tmp_path / "s.jsonl"))
    assert report.skipped == {}
    return [event for event in events if event.kind == "tool_result"]


@pytest.mark.parametrize("version", VERSIONS)
def test_success_and_failure_in_every_version(version: str, tmp_path: Path) -> None:
    session = Session(version=version)
    session.runs("make", "built")
    session.runs("make test", "1 failed", exit_code=2)
    good, bad = results(session, tmp_path)
    assert (good.outcome, good.exit_code, good.text) == ("ok", 0, "built")
    tells = session.number() >= (2, 0, 31)
    assert (bad.outcome, bad.exit_code, bad.text) == ("failed", 2 if tells else None, "1 failed")
    assert (good.tool, good.input["command"], good.call_line, good.line) == ("Bash", "make", 0, 1)
    assert good.call_uuid == session.lines[0]["uuid"] and good.uuid == session.lines[1]["uuid"]
    assert (good.role, good.cwd, good.session_id) == ("tool", session.cwd, session.session_id)
    assert good.branch == ("main" if session.number() >= (1, 0, 40) else "")


APPROVAL = "This Bash command contains multiple operations. The following part requires approval: rm -rf build"


@pytest.mark.parametrize(
    ("content", "is_error", "structured", "expected"),
    [
        ("", False, {"stdout": ""}, {"outcome": "ok", "exit_code": 0}),
        ("no match", False, {"returnCodeInterpretation": "No matches found"}, {"outcome": "ok", "exit_code": 1}),
        ("Error", True, "Error: Error", {"outcome": "failed", "exit_code": None}),
        ("Exit code 127\nnot found", True, None, {"outcome": "failed", "exit_code": 127, "text": "not found"}),
        ("Exit code 1", True, None, {"outcome": "failed", "exit_code": 1, "text": ""}),
        (
            "Exit code 137\n[Request interrupted by user for tool use]",
            True,
            None,
            {"exit_code": 137, "interrupted": True},
        ),
        ("Command timed out after 2m 0.0s building", True, "Error: …", {"outcome": "failed", "exit_code": None}),
        ("[Request interrupted by user for tool use]", True, "…", {"outcome": "unknown", "interrupted": True}),
        ("Interrupted by user", True, "…", {"outcome": "unknown", "interrupted": True}),
        ("half", False, {"stdout": "half", "interrupted": True}, {"outcome": "unknown", "interrupted": True}),
        (APPROVAL, True, "Error: …", {"outcome": "unknown", "refused": True, "refused_by": "host"}),
        ("cd to '/etc' was blocked. For security, …", True, None, {"outcome": "unknown", "refused_by": "host"}),
        ("<tool_use_error>InputValidationError</tool_use_error>", True, None, {"refused_by": "host"}),
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            True,
            None,
            {"outcome": "unknown", "refused": False},
        ),
        ("remote: the push was blocked by a rule", True, None, {"outcome": "failed", "refused": False}),
        (
            "Command running in background with ID: b31f1b9. Output …",
            False,
            None,
            {"outcome": "unknown", "background": True},
        ),
        ("", False, {"backgroundTaskId": "b2", "stdout": ""}, {"outcome": "unknown", "background": True}),
        ("<persisted-output>\nOutput too large (34.9KB). …", False, None, {"outcome": "ok", "truncated": True}),
        ("cut", False, {"persistedOutputPath": "/tmp/x.txt"}, {"truncated": True}),
        ([{"type": "image", "source": {"data": "…"}}], False, {"isImage": True}, {"outcome": "ok", "text": ""}),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], False, None, {"text": "a\nb"}),
        (None, None, None, {"outcome": "ok", "text": ""}),
        (["a", 7, None, {"text": 5}], "true", 17, {"outcome": "ok", "text": "a"}),
        ("done\n\n<system-reminder>\nnever\n</system-reminder>", False, None, {"text": "done"}),
        ("\x1b[32mok\x1b[0m \x1b]0;title\x07end", False, None, {"text": "ok end"}),
        ("1%\r50%\r100%\nready\r\n", False, None, {"text": "100%\nready\n"}),
    ],
)
def test_every_form_of_a_shell_result(
    content: Any, is_error: Any, structured: Any, expected: dict[str, Any], tmp_path: Path
) -> None:
    session = Session()
    session.result(session.bash("x"), content, is_error=is_error, structured=structured)
    (event,) = results(session, tmp_path)
    assert {name: getattr(event, name) for name in expected} == expected


def test_calls_and_results_are_joined_by_id_in_any_order(tmp_path: Path) -> None:
    session = Session()
    first, second, third = session.bash("one"), session.bash("two"), session.bash("three")
    session.ok(third, "3")
    session.ok(first, "1")
    events, _ = read(session.write(tmp_path / "s.jsonl"))
    joined = [(e.input["command"], e.text, e.call_line) for e in events if e.kind == "tool_result"]
    assert joined == [("three", "3", 2), ("one", "1", 0)]
    assert [e.call_id for e in events if e.kind == "tool_call"] == [first, second, third]


def test_several_results_on_one_line_and_results_without_a_call(tmp_path: Path) -> None:
    session = Session()
    first, second = session.bash("one"), session.bash("two")
    session.user(
        [
            {"type": "tool_result", "tool_use_id": second, "content": "2"},
            {"type": "tool_result", "tool_use_id": first, "content": "Exit code 1\n1", "is_error": True},
            {"type": "tool_result", "tool_use_id": "toolu_unknown", "content": "?"},
            {"type": "tool_result", "content": "without id"},
        ]
    )
    found = [(e.tool, e.text, e.outcome, e.call_line) for e in results(session, tmp_path)]
    assert found == [
        ("Bash", "2", "ok", 1),
        ("Bash", "1", "failed", 0),
        ("", "?", "ok", -1),
        ("", "without id", "ok", -1),
    ]


def test_results_of_the_web_and_of_mcp_servers_are_external(tmp_path: Path) -> None:
    session = Session()
    for tool in ("WebFetch", "WebSearch", "mcp__db__query", "Read"):
        session.result(session.call(tool, {}), "x")
    assert [e.role for e in results(session, tmp_path)] == ["external", "external", "external", "tool"]


def look(session: Session, tool: str, task: str, content: str, structured: Any = None) -> None:
    key = "bash_id" if tool == "BashOutput" else "task_id"
    session.result(session.call(tool, {key: task}), content, structured=structured)


def start(session: Session, command: str, task: str) -> str:
    call_id = session.bash(command, run_in_background=True)
    session.ok(call_id, f"Command running in background with ID: {task}", backgroundTaskId=task)
    return call_id


OUTPUT_1 = (
    "<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<stdout>\nbuilt\n</stdout>\n\n<timestamp>…</timestamp>"
)
OUTPUT_2 = (
    "<retrieval_status>success</retrieval_status>\n\n<task_id>b1</task_id>\n\n<task_type>local_bash</task_type>\n\n"
    "<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<output>\nbuilt\n</output>"
)


@pytest.mark.parametrize(
    ("tool", "content", "structured"),
    [
        ("BashOutput", OUTPUT_1, None),
        (
            "BashOutput",
            OUTPUT_1,
            {"shellId": "b1", "status": "completed", "exitCode": 0, "stdout": "built", "stderr": ""},
        ),
        ("TaskOutput", OUTPUT_2, None),
        (
            "TaskOutput",
            OUTPUT_2,
            {
                "retrieval_status": "success",
                "task": {"task_id": "b1", "status": "completed", "exitCode": 0, "output": "built"},
            },
        ),
    ],
)
def test_the_end_of_a_background_call_is_told_once_for_the_call_that_started_it(
    tool: str, content: str, structured: Any, tmp_path: Path
) -> None:
    session = Session()
    call_id = start(session, "make", "b1")
    look(session, tool, "b1", "<status>running</status>", {"status": "running", "exitCode": None, "stdout": ""})
    look(session, tool, "b1", content, structured)
    look(session, tool, "b1", content, structured)
    found = results(session, tmp_path)
    ends = [e for e in found if e.call_id == call_id and not e.background]
    assert [(e.tool, e.input["command"], e.outcome, e.exit_code, e.text) for e in ends] == [
        ("Bash", "make", "ok", 0, "built")
    ]
    assert (ends[0].line, ends[0].call_line) == (5, 0)
    assert sum(e.tool == tool for e in found) == 3


@pytest.mark.parametrize(
    ("status", "summary", "outcome", "exit_code"),
    [
        ("completed", 'Background command "make" completed (exit code 0)', "ok", 0),
        ("failed", 'Background command "make" failed with exit code 2', "failed", 2),
        ("killed", 'Background command "make" was killed', "unknown", None),
    ],
)
@pytest.mark.parametrize("where", ["user", "queue", "attachment"])
def test_a_task_notification_ends_a_background_call(
    where: str, status: str, summary: str, outcome: str, exit_code: int | None, tmp_path: Path
) -> None:
    session = Session(version="2.1.112")
    call_id = start(session, "make", "b7")
    text = (
        f"<task-notification>\n<task-id>b7</task-id>\n<output-file>/tmp/b7.output</output-file>\n"
        f"<status>{status}</status>\n<summary>{summary}</summary>\n</task-notification>"
    )
    if where == "user":
        session.user(text, origin={"kind": "task-notification"})
    elif where == "queue":
        session.typed_ahead(text)
    else:
        session.attachment(type="queued_command", prompt=text, commandMode="task-notification")
    session.user(text)
    ends = [e for e in results(session, tmp_path) if e.call_id == call_id and not e.background]
    assert [(e.outcome, e.exit_code, e.interrupted) for e in ends] == [(outcome, exit_code, status == "killed")]


def test_a_killed_shell_ends_its_call_without_an_outcome(tmp_path: Path) -> None:
    session = Session(version="2.0.46")
    call_id = start(session, "npm run dev", "b3")
    session.result(session.call("KillShell", {"shell_id": "b3"}), "Successfully killed shell: b3")
    ends = [e for e in results(session, tmp_path) if e.call_id == call_id and not e.background]
    assert [(e.outcome, e.interrupted, e.text) for e in ends] == [("unknown", True, "")]


def test_partial_output_and_copies_in_progress_lines_are_no_events(tmp_path: Path) -> None:
    session = Session(version="2.1.42")
    call_id = session.bash("make")
    session.envelope("progress", data={"type": "bash_progress", "output": "1 failed", "fullOutput": "x"}, toolUseID="b")
    session.envelope(
        "progress",
        data={
            "type": "agent_progress",
            "agentId": "a1",
            "prompt": "look",
            "message": {
                "type": "assistant",
                "uuid": "u-nested",
                "timestamp": "2026-03-01T09:00:00.000Z",
                "message": {
                    "content": [{"type": "tool_use", "id": "toolu_n", "name": "Bash", "input": {"command": "x"}}]
                },
            },
        },
        toolUseID="agent",
    )
    session.ok(call_id, "built")
    events, report = read(session.write(tmp_path / "s.jsonl"))
    assert [(e.kind, e.call_id) for e in events] == [("tool_call", call_id), ("tool_result", call_id)]
    assert report.skipped == {}


def test_a_result_that_talks_of_progress_lines_is_still_a_result(tmp_path: Path) -> None:
    session = Session(version="2.1.42")
    session.user('why does "type":"progress" stand in {"type":"progress","data":{}} here?')
    session.runs("head -1 log", '{"type":"progress"}')
    events, _ = read(session.write(tmp_path / "s.jsonl"))
    assert [e.kind for e in events] == ["user", "tool_call", "tool_result"]


def test_long_outputs_keep_their_head_and_their_end(tmp_path: Path) -> None:
    session = Session()
    session.runs("cat", "first line\n" + "x" * (3 * MAX_TEXT) + "\nlast line")
    session.edits("/a.py", "o" * (2 * MAX_TEXT), "n")
    output, edit = results(session, tmp_path)
    assert len(output.text) <= MAX_TEXT and output.truncated
    assert output.text.startswith("first line") and output.text.endswith("last line")
    old = edit.input["old_string"]
    assert isinstance(old, str) and len(old) <= MAX_TEXT
    assert edit.result and len(str(edit.result)) < 4 * MAX_TEXT


def test_cleaning_hostile_output_takes_linear_time() -> None:
    for hostile in (
        "<system-reminder>" * 50_000,
        " " * 500_000 + "\r",
        "\r" * 500_000,
        "\x1b[" * 200_000,
        "<output>" * 9_000,
    ):
        clean(hostile)


def test_tokens_of_an_api_message_count_once_and_grow(tmp_path: Path) -> None:
    session = Session()
    first = {"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 30, "cache_read_input_tokens": 200}
    session.thinks("hm", message_id="msg_1", usage=first)
    session.says("I look", message_id="msg_1", usage=first)
    session.assistant(
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}},
        {"type": "text", "text": "and wait"},
        message_id="msg_1",
        usage={**first, "output_tokens": 90},
    )
    session.says("Done", message_id="msg_2", usage={"input_tokens": 5, "output_tokens": 2})
    events, _ = read(session.write(tmp_path / "s.jsonl"))
    totals: dict[str, int] = {}
    for event in events:
        for name, count in event.tokens.items():
            totals[name] = totals.get(name, 0) + count
    assert totals == {"input": 15, "output": 92, "cache_creation": 30, "cache_read": 200}
    assert events[0].model.startswith("claude-")
