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

from hikidashi.hosts.transcript import Outcome, RefusedBy, Role

__all__ = [
    "MAX_TEXT",
    "Ending",
    "Verdict",
    "clean",
    "content_text",
    "cut",
    "ending",
    "judge",
    "notified_ending",
    "role_of",
]

#: An event's text keeps this many characters; of a longer one the first three quarters and the end.
MAX_TEXT: Final = 64 * 1024

_REMINDER: Final = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
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
_SHELLS: Final = frozenset({"Bash", "PowerShell"})


@dataclass(slots=True, kw_only=True)
class Verdict:
    """How a call ended, and its output."""

    text: str
    outcome: Outcome = "unknown"
    exit_code: int | None = None
    background: bool = False
    interrupted: bool = False
    refused_by: RefusedBy = ""
    truncated: bool = False
    #: Where the rest of a background call will be reported: the shell's, task's or agent's ID.
    task_id: str = ""


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


def content_text(content: object) -> str:
    """The text of a result's `content`, which is text or a list of blocks (images are left out)."""
    if type(content) is str:
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") if isinstance(block, dict) else block for block in content]
    return "\n".join(text for text in texts if isinstance(text, str))


def cut(text: str) -> tuple[str, bool]:
    """`text` within `MAX_TEXT` characters, and whether something was left out."""
    if len(text) <= MAX_TEXT:
        return text, False
    tail = MAX_TEXT // 4
    head = MAX_TEXT - tail - 64
    return f"{text[:head]}\n[... {len(text) - head - tail} characters left out ...]\n{text[-tail:]}", True


def clean(text: str) -> tuple[str, bool]:
    """A result's text without reminders, colours and overwritten progress lines, cut to size."""
    if "<system-reminder>" in text:
        text = _REMINDER.sub("", text).rstrip()
    text, truncated = cut(text)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        # What a carriage return wrote over was never meant to stay.
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return text, truncated


def judge(tool: str, content: object, is_error: object, result: object) -> Verdict:
    """How a call of `tool` ended, from its `tool_result` block and the line's `toolUseResult`."""
    text, truncated = clean(content_text(content))
    verdict = Verdict(text=text, truncated=truncated)
    detail = result if isinstance(result, dict) else {}
    if is_error is True:
        _judge_error(tool, verdict)
    else:
        _judge_answer(tool, verdict, detail)
    return verdict


def _judge_error(tool: str, verdict: Verdict) -> None:
    text = verdict.text
    exit_code = _EXIT.match(text)
    if exit_code:
        verdict.outcome, verdict.exit_code = "failed", int(exit_code[1])
        verdict.text = text[exit_code.end() :]
        verdict.interrupted = INTERRUPT_IN_OUTPUT in verdict.text[:200]
    elif text.startswith(_REFUSED_BY_PERSON):
        verdict.refused_by = "person"
    elif text.startswith(_INTERRUPTED):
        verdict.interrupted = True
    elif text.startswith(_TOOL_ERROR):
        if not any(mark in text for mark in _SIBLING):
            verdict.outcome = "failed"
            verdict.refused_by = "host" if tool in _SHELLS else ""
    elif text.startswith(_SIBLING):
        pass
    elif text.startswith(_REFUSED_BY_HOST) or _BLOCKED_BY_HOST in text[:400]:
        verdict.refused_by = "host"
    else:
        verdict.outcome = "failed"


#: Newer clients put the interruption behind the exit code of the killed command.
INTERRUPT_IN_OUTPUT: Final = "[Request interrupted by user"


def _judge_answer(tool: str, verdict: Verdict, detail: Mapping[str, object]) -> None:
    task_id = detail.get("backgroundTaskId")
    started = _BACKGROUND.match(verdict.text) if tool in _SHELLS or not tool else None
    if started or isinstance(task_id, str):
        verdict.background = True
        verdict.task_id = task_id if isinstance(task_id, str) else started[1] if started else ""
        return
    if detail.get("isAsync") is True or detail.get("status") == "async_launched":
        agent = detail.get("agentId")
        verdict.background, verdict.task_id = True, agent if isinstance(agent, str) else ""
        return
    if detail.get("interrupted") is True:
        verdict.interrupted = True
        return
    verdict.outcome = "ok"
    if tool in _SHELLS:
        verdict.exit_code = 1 if detail.get("returnCodeInterpretation") else 0
        verdict.truncated = verdict.truncated or verdict.text.startswith("<persisted-output>")
    if detail.get("persistedOutputPath"):
        verdict.truncated = True


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
