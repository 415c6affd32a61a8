"""Codex's tools under the names and inputs that capture knows.

Codex                                           event
shell, shell_command, exec_command, local_shell the same name, `command` as one line
a PowerShell started by one of them             PowerShell
apply_patch, alone or in a shell command        Edit, with `file_path` and `files`
update_plan                                     TodoWrite, with `todos`
request_user_input                              AskUserQuestion, with `questions`
a server's tool                                 mcp__<server>__<tool>
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from hikidashi.hosts.transcript import Role

__all__ = ["SHELLS", "Made", "answers", "made", "patched", "role_of"]

#: Tools whose result is that of a command.
SHELLS: Final = frozenset({"shell", "shell_command", "exec_command", "PowerShell"})

#: The client's own tools beside these; every other name is a server's.
_OWN: Final = SHELLS | {
    "Edit", "TodoWrite", "AskUserQuestion", "write_stdin", "view_image", "exec", "wait", "list_dir", "read_file",
    "grep_files", "spawn_agent", "send_input", "send_message", "wait_agent", "close_agent", "resume_agent",
    "list_agents", "followup_task", "interrupt_agent", "get_goal", "create_goal", "update_goal", "tool_search",
    "request_permissions", "test_sync_tool", "js_repl", "js_repl_reset", "get_context_remaining", "new_context",
}  # fmt: skip
_SHELL_NAMES: Final = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_POWERSHELLS: Final = frozenset({"powershell", "powershell.exe", "pwsh", "pwsh.exe"})
_RUNS: Final = frozenset({"-c", "-lc", "-ic"})

_PATCH_FILE: Final = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_MOVED: Final = re.compile(r"^\*\*\* Move to: (.+?)\s*$", re.MULTILINE)
#: A command that is nothing but a patch: the client applies it itself.
_PATCH_COMMAND: Final = re.compile(
    r"\s*(?:cd\s+(?P<folder>\"[^\"\n]+\"|'[^'\n]+'|[^\s;&|]+)\s*&&\s*)?(?:apply_patch|applypatch)\s"
    r".*?\*\*\* Begin Patch\n(?P<patch>.*)\n\*\*\* End Patch(?P<rest>.*)\Z",
    re.DOTALL,
)
#: What may stand behind the patch: the end of the heredoc or of the quotes.
_PATCH_REST: Final = re.compile(r"\s*['\")]*\s*\w*\s*\)?\s*")
#: Files told of one patch.
_MAX_FILES: Final = 100


@dataclass(slots=True, kw_only=True)
class Made:
    """A call: the tool, its input, and the folder it names; '' for none."""

    tool: str
    input: dict[str, Any] = field(default_factory=dict)
    folder: str = ""


def role_of(tool: str) -> Role:
    """`external` for what comes from a server or the web, `tool` for commands and workspace files."""
    return "external" if tool.startswith("mcp__") or tool == "web_search" else "tool"


def made(name: object, namespace: object, given: object) -> Made:
    """A call as the model made it; `given` is text, or a mapping where the client keeps one."""
    tool = name if type(name) is str else ""
    if tool in ("apply_patch", "applypatch"):
        text = given if type(given) is str else ""
        parsed = _mapping(given)
        patch = parsed.get("input") or parsed.get("patch")
        return Made(tool="Edit", input=patched(patch if type(patch) is str else text))
    parsed = _mapping(given)
    if tool in ("shell", "shell_command", "exec_command", "container.exec", "local_shell"):
        return _command("shell" if tool in ("container.exec", "local_shell") else tool, parsed)
    if tool == "update_plan":
        return Made(tool="TodoWrite", input={"todos": _todos(parsed.get("plan"))})
    if tool == "request_user_input":
        return Made(tool="AskUserQuestion", input=parsed)
    if type(given) is str and not parsed and given.strip() not in ("", "{}"):
        parsed = {"input": given}
    return Made(tool=_served(tool, namespace), input=parsed)


def _mapping(given: object) -> dict[str, Any]:
    if type(given) is str:
        try:
            given = orjson.loads(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def _served(tool: str, namespace: object) -> str:
    """The name of a tool; one of a server begins with `mcp__` and the server's name."""
    if type(namespace) is str and namespace.startswith("mcp__"):
        return f"{namespace.rstrip('_')}__{tool.removeprefix(namespace).lstrip('_')}"
    if tool in _OWN or not tool or tool.startswith("mcp__"):
        return tool
    if type(namespace) is str and namespace and not namespace.startswith("mcp"):
        return tool  # a set of the client's own tools
    return f"mcp__{tool}" if "__" in tool else tool


def _command(tool: str, given: dict[str, Any]) -> Made:
    command = given.get("command", given.get("cmd"))
    folder = given.get("workdir", given.get("working_directory"))
    line, powershell = _line(command)
    rest = {key: value for key, value in given.items() if key not in ("command", "cmd")}
    call = Made(tool="PowerShell" if powershell else tool, folder=folder if type(folder) is str else "")
    patch = _PATCH_COMMAND.match(line) if "*** Begin Patch" in line else None
    if patch and _PATCH_REST.fullmatch(patch["rest"]):
        call.tool, call.input = "Edit", patched(patch["patch"])
        return call
    call.input = {"command": line, **rest}
    return call


def _line(command: object) -> tuple[str, bool]:
    """A command in one line, and whether it is PowerShell's; some clients give a list of words."""
    if type(command) is str:
        return command, False
    if not isinstance(command, list) or not all(type(word) is str for word in command):
        return "", False
    words: list[str] = command
    program = words[0].replace("\\", "/").rpartition("/")[2].lower() if words else ""
    if program.removesuffix(".exe") in _SHELL_NAMES and len(words) == 3 and words[1] in _RUNS:
        return words[2], False
    if program in _POWERSHELLS and len(words) > 2 and words[-2].lower() in ("-command", "-c"):
        return words[-1], True
    if program in ("apply_patch", "applypatch") and len(words) == 2:
        return f"apply_patch {words[1]}", False
    return shlex.join(words), False


def patched(patch: str) -> dict[str, Any]:
    """The input of an edit: the files that a patch names, under the name that they have afterwards."""
    files = list(dict.fromkeys([*_PATCH_FILE.findall(patch), *_MOVED.findall(patch)]))[:_MAX_FILES]
    return {"file_path": files[0], "files": files} if files else {}


def _todos(plan: object) -> list[dict[str, str]]:
    """The steps of a plan as a task list."""
    steps = plan if isinstance(plan, list) else []
    return [
        {"content": step["step"], "status": status if type(status := step.get("status")) is str else "pending"}
        for step in steps
        if isinstance(step, dict) and type(step.get("step")) is str
    ]


def answers(given: dict[str, Any], output: str) -> dict[str, Any]:
    """The result of a question: the answers by the words of their questions."""
    try:
        told = json.loads(output).get("answers")
    except (ValueError, AttributeError):
        return {}
    if not isinstance(told, dict):
        return {}
    asked = given.get("questions")
    words: dict[str, str] = {}
    for question in asked if isinstance(asked, list) else []:
        if isinstance(question, dict):
            name, text = question.get("id"), question.get("question")
            if isinstance(name, str) and isinstance(text, str):
                words[name] = text
    said: dict[str, Any] = {}
    for key, answer in told.items():
        chosen = answer.get("answers") if isinstance(answer, dict) else answer
        texts = [chosen] if type(chosen) is str else chosen if isinstance(chosen, list) else []
        texts = [text for text in texts if type(text) is str]
        if texts:
            said[words.get(str(key)) or str(key)] = texts[0] if len(texts) == 1 else texts
    return {"answers": said, **({"questions": asked} if isinstance(asked, list) else {})}
