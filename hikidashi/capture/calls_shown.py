"""How a tool call is shown to a model: what was called in one line, the head and tail of what it printed.

What reading tools give back is left out: it is the project's own text, and the drawer keeps nothing of that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hikidashi.capture.passages import cut, one_line
from hikidashi.capture.work import EDIT_TOOLS, SHELL_TOOLS
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact

__all__ = ["answers_of", "called", "plan_of", "tasks_of"]

#: Characters of a call, of the head and of the tail of its output.
_MAX_CALL: Final = 320
_HEAD: Final = 300
_TAIL: Final = 450
_MAX_VALUE: Final = 100
#: Tasks shown of a list.
_MAX_TASKS: Final = 30

#: Tools that only read; what they read is not shown.
_READING: Final = frozenset(
    {"Read", "Glob", "Grep", "LS", "NotebookRead", "ToolSearch", "BashOutput", "TaskOutput", "ListMcpResourcesTool"}
)
#: Fields of an input that say what a call is about, the most telling first.
_TELLING: Final = (
    "file_path",
    "notebook_path",
    "path",
    "pattern",
    "url",
    "query",
    "description",
    "subagent_type",
    "skill",
    "name",
    "title",
    "subject",
)

#: Tools of our own server: what they answer is what we told, never what was learned.
_OUR_TOOL: Final = re.compile(r"mcp__(?:\w+_)?hikidashi")
#: Calls of our own program, and reading of our own folder.
_OUR_COMMAND: Final = re.compile(
    r"(?:^|[;&|(\n]\s*|\b(?:sudo|uvx|exec|npx|uv run|pipx run|python[\d.]* -m) )"
    r"(?:[^\s;&|()'\"]*/)?hikidashi(?=[\s;&|)]|$)"
    r"|\.hikidashi(?:/|\b)"
)
#: What we put in front of an agent, wherever it was printed again.
_OUR_BLOCK: Final = re.compile(r"<(hikidashi[\w:-]*)[^<>]*>.*?(?:</\1>|\Z)", re.DOTALL)


def called(event: Event) -> str:
    """A call and what it printed, redacted; '' for one that is not shown."""
    if _OUR_TOOL.match(event.tool):
        return ""
    line = _call_line(event)
    output = "" if _is_quiet(event, line) else _output(event.text)
    notes = [
        note
        for note, holds in (
            ("refused by the person", event.refused_by == "person"),
            ("refused by the host", event.refused_by == "host"),
            ("interrupted", event.interrupted),
            ("started in the background", event.background),
        )
        if holds
    ]
    shown = f"{line} ({', '.join(notes)})" if notes else line
    return f"{shown}\n{output}" if output else shown


def _call_line(event: Event) -> str:
    given: Mapping[str, object] = event.input
    if event.tool in SHELL_TOOLS:
        command = given.get("command", given.get("cmd", ""))
        words = " ".join(map(str, command)) if isinstance(command, list) else str(command)
        return cut(one_line(redact(words)), _MAX_CALL)
    names = [name for name in _TELLING if name in given] or list(given)[:4]
    told = [f"{name}={cut(one_line(redact(str(given[name]))), _MAX_VALUE)}" for name in names[:3]]
    return cut(" ".join(told), _MAX_CALL)


def _is_quiet(event: Event, line: str) -> bool:
    """Whether what a call printed is not shown."""
    if event.refused_by:
        return True  # what a person said with a refusal is an event of its own
    if event.tool in _READING or event.tool in EDIT_TOOLS:
        return event.outcome != "failed"
    if event.tool in SHELL_TOOLS:
        raw = event.input.get("command", event.input.get("cmd", ""))
        return _OUR_COMMAND.search(str(raw)) is not None
    return False


def _output(text: str) -> str:
    """The head and the tail of an output."""
    clean = redact(_OUR_BLOCK.sub("", text) if "<hikidashi" in text else text).strip()
    if len(clean) <= _HEAD + _TAIL + 40:
        return clean
    left_out = len(clean) - _HEAD - _TAIL
    return f"{clean[:_HEAD]}\n[… {left_out} characters not shown …]\n{clean[-_TAIL:]}"


def answers_of(event: Event) -> Iterator[tuple[str, str]]:
    """The questions of the agent that a person answered, each with the answer."""
    answers: Any = (event.result or {}).get("answers")
    if isinstance(answers, dict):
        for question, answer in answers.items():
            told = ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
            if told.strip():
                yield one_line(str(question)), one_line(told)


def plan_of(event: Event) -> str:
    """The plan that a person approved; '' for one that went to another agent."""
    result: Mapping[str, object] = event.result or {}
    if result.get("awaitingLeaderApproval"):
        return ""
    for plan in (event.input.get("plan"), result.get("plan"), event.text.partition("Approved Plan:")[2]):
        if isinstance(plan, str) and plan.strip():
            return plan.strip()
    return ""


def tasks_of(event: Event) -> str:
    """The agent's task list, a task a line; '' for none."""
    if event.outcome == "failed":
        return ""
    todos: Any = event.input.get("todos")
    lines = [
        f"- {todo.get('status', 'pending')}: {cut(one_line(str(todo['content'])), _MAX_VALUE)}"
        for todo in (todos if isinstance(todos, list) else [])
        if isinstance(todo, dict) and str(todo.get("content", "")).strip()
    ]
    return "\n".join(lines[:_MAX_TASKS])
