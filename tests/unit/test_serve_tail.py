"""The end of a transcript: the prompts before, and what failed or was refused in this turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hikidashi.serve.tail import read_tail


def said(text: Any, **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}, **more}


def called(number: str, command: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": number, "name": "Bash", "input": {"command": command}}
    return {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "x"}, block]}}


def result(number: str, text: Any, is_error: bool) -> dict[str, Any]:
    return said([{"type": "tool_result", "tool_use_id": number, "content": text, "is_error": is_error}])


def item(**payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-05-03T09:30:00Z", "type": "response_item", "payload": payload}


CLAUDE = [
    said("deploy the shop"),
    called("1", "npm run deploy"),
    result("1", "Exit code 1\nno token", True),
    said("and now?", isMeta=True),
    said([{"type": "text", "text": "try again"}]),
    called("2", "npm run dist"),
    result("2", "ok", False),
    called("3", "aws s3 cp a b"),
    result("3", [{"type": "text", "text": "Exit code 255"}], True),
    said("prompt of a sub-agent", isSidechain=True),
    said("<system-reminder>x</system-reminder>"),
    {"type": "attachment", "content": "x"},
    {"type": "system"},
]

CODEX = [
    item(type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>x"}]),
    item(type="message", role="user", content=[{"type": "input_text", "text": "deploy the shop"}]),
    item(type="function_call", call_id="1", name="exec_command", arguments='{"cmd": "npm run deploy"}'),
    item(type="function_call_output", call_id="1", output="Process exited with code 0\nfine"),
    item(type="message", role="user", content=[{"type": "input_text", "text": "try again"}]),
    item(type="function_call", call_id="2", name="shell", arguments='{"command": ["aws", "s3", "cp", "a", "b"]}'),
    item(type="function_call_output", call_id="2", output='{"output": "no", "metadata": {"exit_code": 255}}'),
    item(type="function_call", call_id="3", name="exec_command", arguments="{"),
    item(type="function_call_output", call_id="3", output=None),
]


def written(folder: Path, lines: list[dict[str, Any]]) -> str:
    file = folder / "t.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(file)


@pytest.mark.parametrize("lines", [CLAUDE, CODEX], ids=["claude-code", "codex"])
def test_prompts_and_failures_of_the_turn(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    tail = read_tail(written(tmp_path, lines))
    assert tail.prompts == ["try again", "deploy the shop"]
    assert [failure.partition("\n")[0] for failure in tail.failures] == ["aws s3 cp a b"]
    assert "255" in tail.failures[0]
    assert tail.is_read
    assert not tail.refused
    assert tail.prompt_before("try again") == "deploy the shop"
    assert tail.prompt_before("another one, not written yet") == "try again"


@pytest.mark.parametrize(
    "text", ["The user doesn't want to proceed with this tool use.", "Permission to use Bash has been denied"]
)
def test_a_call_that_was_refused(tmp_path: Path, text: str) -> None:
    assert read_tail(written(tmp_path, [*CLAUDE, called("9", "ls"), result("9", text, True)])).refused
    assert not read_tail(written(tmp_path, [result("9", text, True), *CLAUDE])).refused


def test_broken_long_and_missing_files_have_nothing_to_say(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    for data in (b"", b"\n\n", b"{", b"[1]\n7\nnull\n{}\n", b'{"type":"user","message":{"content":[3,{"text":4}]}}\n'):
        file.write_bytes(data)
        assert read_tail(str(file)).prompts == []
    file.write_bytes(b"[" * 400_000 + b"\n" + json.dumps(said("hello there")).encode() + b"\n")
    assert read_tail(str(file)).prompts == ["hello there"]
    assert not read_tail(str(tmp_path / "none")).is_read
    assert read_tail("a\0b").prompts == []


def test_only_the_end_is_read_and_a_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, [said("the first one"), *([result("1", "x" * 1_000, False)] * 50), said("the last one")])
    assert read_tail(path, max_bytes=20_000).prompts == ["the last one"]
    assert read_tail(path).prompts == ["the last one", "the first one"]
