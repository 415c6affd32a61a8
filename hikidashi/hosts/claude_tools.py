"""What a tool result line of Claude Code says about its call: outcome, exit code, output.

    is_error  content                                      outcome
    false     output                                       ok; a shell command's exit code is 0 (*)
    true      Exit code N, output (2.0.31 and later)       failed, N
    true      output or `Error` (before 2.0.31)            failed, no exit code
    true      Command timed out after ...                  failed, no exit code
    true      The user doesn't want to ...                 unknown, refused by the person
    true      <tool_use_error>, requires approval, blocked failed or unknown, refused by the host
    true      [Request interrupted by user ...             unknown, interrupted
    false     Command running in background with ID: ...   unknown, background; the end comes later

(*) `returnCodeInterpretation` marks the commands whose exit code 1 is an answer (grep, diff, test).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hikidashi.hosts.texts import MAX_TEXT, clean, content_text
from hikidashi.hosts.transcript import Event, Outcome, Role

__all__ = [
    "Ending",
    "ending",
    "judge",
    "notified_ending",
    "role_of",
]

_EXIT: Final = re.compile(r"Exit code (-?\d{1,10})(?:\r?\n|\Z)")
_BACKGROUND: Final = re.compile(
    r"Command (?:running in background|was manually backgrounded by user) with ID: ([\w-]+)"
)
_TAGS: Final = ("task-id", "task_id", "status", "exit_code", "summary", "stdout", "stderr", "output")
_SUMMARY_EXIT: Final = re.compile(r"exit code:? (-?\d{1,10})")

_REFUSED_BY_PERSON: Final = ("The user doesn't want to ", "User rejected tool use", "The user rejected ")
_INTERRUPTED: Final = ("[Request interrupted by user", "Interrupted by user")
_TOOL_ERROR: Final = "<tool_use_error>"
_SIBLING: Final = ("Sibling tool call errored", "Cancelled: parallel tool call")
_REFUSED_BY_HOST: Final = (
    "This Bash command ",
    "This command requires approval",
    "Claude requested permissions ",
    "Permission to use ",
    "Permission for this ",
    "PreToolUse:",
    "cd to '",
    "cd in '",
)
_BLOCKED_BY_HOST: Final = "was blocked. For security"
_RUNNING: Final = frozenset({"running", "pending", "timeout", "not_ready", ""})
_NOTHING: Final[Mapping[str, object]] = {}
_SHELLS: Final = frozenset({"Bash", "PowerShell"})


@dataclass(slots=True, kw_only=True)
class Ending:
    """The end of a call that ran in the background, reported by another line."""

    task_id: str
    outcome: Outcome
    exit_code: int | None
    text: str
    interrupted: bool = False


def role_of(tool: str) -> Role:
    """`external` for what comes from the web or an MCP server, `tool` for commands and workspace files."""
    return "external" if tool.startswith("mcp__") or tool in ("WebFetch", "WebSearch", "web_search") else "tool"


def judge(event: Event, content: object, is_error: object, structured: object) -> str:
    """Set output and outcome of the tool result `event` from its block and the line's `toolUseResult`.

    Gives the ID under which the end of a background call will be reported; '' for any other call.
    """
    text = content if type(content) is str else content_text(content)
    if len(text) > MAX_TEXT or "\r" in text or "\x1b" in text or "<system-reminder>" in text:
        text, event.truncated = clean(text)
    event.text = text
    if is_error is True:
        _judge_error(event, text)
        return ""
    if type(structured) is dict:
        return _judge_answer(event, text, structured)
    return _judge_answer(event, text, _NOTHING)


def _judge_error(event: Event, text: str) -> None:
    exit_code = _EXIT.match(text)
    if exit_code:
        event.outcome, event.exit_code = "failed", int(exit_code[1])
        event.text = text[exit_code.end() :]
        # Newer clients put the interruption behind the exit code of the killed command.
        event.interrupted = _INTERRUPTED[0] in event.text[:200]
    elif text.startswith(_REFUSED_BY_PERSON):
        event.refused, event.refused_by = True, "person"
    elif text.startswith(_INTERRUPTED):
        event.interrupted = True
    elif text.startswith(_TOOL_ERROR):
        if not any(mark in text for mark in _SIBLING):
            event.outcome = "failed"
            if event.tool in _SHELLS:
                event.refused, event.refused_by = True, "host"
    elif text.startswith(_SIBLING):
        pass
    elif text.startswith(_REFUSED_BY_HOST) or _BLOCKED_BY_HOST in text[:400]:
        event.refused, event.refused_by = True, "host"
    else:
        event.outcome = "failed"


def _judge_answer(event: Event, text: str, detail: Mapping[str, object]) -> str:
    shell = event.tool in _SHELLS
    get = detail.get
    task_id = get("backgroundTaskId")
    if type(task_id) is str and task_id:
        event.background = True
        return task_id
    if shell and text.startswith("Command ") and (started := _BACKGROUND.match(text)):
        event.background = True
        return started[1]
    if get("isAsync") is True or get("status") == "async_launched":
        event.background = True
        agent = detail.get("agentId")
        return agent if type(agent) is str else ""
    if get("interrupted") is True:
        event.interrupted = True
        return ""
    event.outcome = "ok"
    if shell:
        event.exit_code = 1 if detail.get("returnCodeInterpretation") else 0
    if detail.get("persistedOutputPath") or text.startswith("<persisted-output>"):
        event.truncated = True
    return ""


def ending(given: Mapping[str, object], text: str, result: object) -> Ending | None:
    """What a look at a background call (`BashOutput`, `TaskOutput`) says of its end; None while it runs."""
    detail = result if isinstance(result, dict) else {}
    task = detail.get("task")
    if isinstance(task, dict):
        detail = task
    tags = _tags(text)
    task_id = _first_text(
        detail.get("shellId"), detail.get("task_id"), given.get("bash_id"), given.get("task_id"), tags.get("task_id")
    )
    status = _first_text(detail.get("status"), tags.get("status"))
    exit_code = detail.get("exitCode")
    if type(exit_code) is not int:
        exit_code = _whole_number(tags.get("exit_code", ""))
    if not task_id or status in _RUNNING:
        return None
    output = _first_text(detail.get("output"), tags.get("output"))
    if not output:
        parts = (
            (detail.get("stdout"), detail.get("stderr"))
            if "stdout" in detail
            else (tags.get("stdout"), tags.get("stderr"))
        )
        output = "\n".join(part for part in parts if isinstance(part, str) and part)
    return _ended(task_id, status, exit_code, clean(output)[0].strip("\n"))


def notified_ending(text: str) -> Ending | None:
    """The end of a background call as a `<task-notification>` tells it; None for another text."""
    if not text.lstrip().startswith("<task-notification>"):
        return None
    tags = _tags(text)
    task_id, status = tags.get("task-id", "").strip(), tags.get("status", "").strip()
    if not task_id or status in _RUNNING:
        return None
    summary = tags.get("summary", "")
    exit_code = _SUMMARY_EXIT.search(summary)
    return _ended(task_id, status, int(exit_code[1]) if exit_code else None, clean(summary)[0].strip())


def _ended(task_id: str, status: str, exit_code: int | None, text: str) -> Ending:
    killed = status in ("killed", "stopped", "cancelled")
    outcome: Outcome = "unknown"
    if exit_code is not None and not killed:
        outcome = "ok" if exit_code == 0 else "failed"
    elif status in ("failed", "error"):
        outcome = "failed"
    elif status == "completed":
        outcome = "ok"
    return Ending(task_id=task_id, outcome=outcome, exit_code=exit_code, text=text, interrupted=killed)


def _tags(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for tag in _TAGS:
        _, opened, rest = text.partition(f"<{tag}>")
        # The output may hold anything, so its end is the last one.
        value, closed, _ = rest.rpartition(f"</{tag}>") if tag in ("output", "stdout") else rest.partition(f"</{tag}>")
        if opened and closed:
            found[tag] = value
    return found


def _first_text(*values: object) -> str:
    for value in values:
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _whole_number(text: str) -> int | None:
    text = text.strip()
    return int(text) if re.fullmatch(r"-?\d{1,10}", text) else None
