"""Is a person at the keyboard, or does an agent run this command?

Some commands are a person's alone (design section 8, "Three ways in, one gate"). Agents run commands too, so two
signs are looked for: a variable that a host sets for the commands it runs, and a host among this process's
ancestors. An agent that wants to can hide both: this is a speed bump, not a wall, and `docs/gate.md` says so.

A variable counts only if no host sets it in a person's own terminal and no person sets it as a setting; the ones
that look like markers and are none stand in `NO_MARKERS`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

import psutil

from hikidashi.config.defaults import MARKER_VARIABLE
from hikidashi.config.settings import Settings
from hikidashi.errors import GateClosed

__all__ = [
    "MARKERS",
    "NO_MARKERS",
    "PROGRAMS",
    "Agent",
    "Ancestor",
    "Left",
    "Marker",
    "find_agent",
    "require_person",
    "system_ancestors",
]


@dataclass(frozen=True, slots=True)
class Marker:
    """A variable that a host sets for the commands it runs."""

    variable: str
    #: The host's name as people know it.
    host: str
    #: How it is known: seen in a version that was tried, a page, or a file of the host's source.
    source: str
    #: The value that counts; '' for any that is not empty.
    value: str = ""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """One process above this one."""

    name: str
    #: Program and arguments; () where the system does not show them.
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """The host that runs this command."""

    host: str
    #: How it was recognised, for the message: `CLAUDECODE is set`.
    sign: str


@dataclass(frozen=True, slots=True)
class Left:
    """What an agent's attempt left for the person."""

    #: "7K2QF waits for a yes"; '' for nothing.
    said: str
    #: The command that decides it; () for the one that was refused.
    words: tuple[str, ...] = ()


#: Every variable that counts.
MARKERS: Final = (
    Marker("CLAUDECODE", "Claude Code", "seen in 2.1.197; code.claude.com/docs/en/env-vars"),
    Marker("CLAUDE_CODE_CHILD_SESSION", "Claude Code", "seen in 2.1.197"),
    Marker("CLAUDE_CODE_SESSION_ID", "Claude Code", "seen in 2.1.197"),
    Marker("CLAUDE_CODE_ENTRYPOINT", "Claude Code", "seen in 2.1.197"),
    Marker("CODEX_THREAD_ID", "Codex", "seen in 0.171.0; openai/codex, protocol/src/shell_environment.rs"),
    Marker("CODEX_CI", "Codex", "seen in 0.171.0; openai/codex, pull request 9366"),
    Marker("CODEX_SESSION_ID", "Codex", "seen in 0.171.0"),
    Marker("CODEX_TOOL_CALL_ID", "Codex", "seen in 0.171.0"),
    Marker("CODEX_SANDBOX", "Codex", "openai/codex, its sandbox on macOS"),
    Marker("CODEX_SANDBOX_NETWORK_DISABLED", "Codex", "openai/codex, its sandbox without network"),
    Marker("CODEX_PERMISSION_PROFILE", "Codex", "openai/codex, core/src/exec_env.rs"),
    Marker("GEMINI_CLI", "Gemini CLI", "google-gemini/gemini-cli, services/shellExecutionService.ts"),
    Marker("QWEN_CODE", "Qwen Code", "QwenLM/qwen-code, services/shellExecutionService.ts"),
    Marker("CURSOR_AGENT", "Cursor", "cursor.com/docs/agent/terminal"),
    Marker("CURSOR_EXTENSION_HOST_ROLE", "Cursor", "the agent-detecting packages of others", "agent-exec"),
    Marker("OPENCODE", "OpenCode", "anomalyco/opencode, packages/opencode/src/index.ts"),
    Marker("COPILOT_CLI", "GitHub Copilot CLI", "seen in 1.0.63 by dynatrace-oss/dtctl, issue 288"),
    Marker("COPILOT_AGENT_SESSION_ID", "GitHub Copilot", "seen in 1.0.63 by dynatrace-oss/dtctl, issue 288"),
    Marker("COPILOT_AGENT", "GitHub Copilot in VS Code", "microsoft/vscode, pull request 316267"),
    Marker("CLINE_ACTIVE", "Cline", "cline/cline, TerminalRegistry.ts"),
    Marker("AUGMENT_AGENT", "Auggie", "the agent-detecting packages of others"),
    Marker("ANTIGRAVITY_AGENT", "Antigravity", "the agent-detecting packages of others"),
    Marker("AMP_CURRENT_THREAD_ID", "Amp", "the agent-detecting packages of others"),
    Marker("GOOSE_TERMINAL", "goose", "block/goose, developer/shell.rs"),
    Marker("CRUSH", "Crush", "charmbracelet/crush, internal/shell/shell.go"),
    Marker("PI_CODING_AGENT", "pi", "pi's coding-agent, src/cli.ts"),
    Marker("AI_AGENT", "an agent", "a convention of several hosts, proposed by vercel/vercel, detect-agent"),
    Marker(MARKER_VARIABLE, "a worker of Hikidashi", "settings.md"),
)

#: Variables that are taken for markers elsewhere, and why they are none.
NO_MARKERS: Final = {
    "CURSOR_TRACE_ID": "Cursor sets it in the terminal that a person types in, too",
    "TERM_PROGRAM": "names the terminal, whoever types in it",
    "CLAUDE_CODE_SSE_PORT": "the editor's extension sets it in a person's terminal",
    "CLAUDE_CODE_USE_BEDROCK": "a person's setting",
    "CODEX_HOME": "a person's setting",
    "CODEX_MANAGED_BY_NPM": "says how Codex was installed",
    "GEMINI_API_KEY": "a person's key",
    "GEMINI_CLI_HOME": "a person's setting",
    "OPENCODE_BIN_PATH": "a person's setting",
    "COPILOT_MODEL": "a person's setting",
    "COPILOT_ALLOW_ALL": "a person's setting",
    "GOOSE_PROVIDER": "a person's setting",
    "AIDER_MODEL": "a person's setting; Aider sets nothing for its commands and is recognised by its process",
    "AGENT": "too common a word",
    "REPL_ID": "stands in a person's terminal at Replit",
}

#: Programs of hosts, by the name of their process or of the script that an interpreter runs. Cursor's editor is not
#: among them: a person's terminal runs inside it.
PROGRAMS: Final = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "qwen": "Qwen Code",
    "opencode": "OpenCode",
    "cursor-agent": "Cursor",
    "copilot": "GitHub Copilot CLI",
    "cline": "Cline",
    "auggie": "Auggie",
    "agy": "Antigravity",
    "amp": "Amp",
    "goose": "goose",
    "crush": "Crush",
    "aider": "Aider",
    "droid": "Droid",
}

#: Parts of the path of a program or script by which a host is known whatever the file's own name is.
_PLACES: Final = {
    "/claude/versions/": "Claude Code",
    "/@anthropic-ai/claude-code": "Claude Code",
    "/@openai/codex/": "Codex",
    "/@google/gemini-cli/": "Gemini CLI",
    "/@qwen-code/qwen-code/": "Qwen Code",
    "/opencode-ai/": "OpenCode",
    "/cursor-agent/versions/": "Cursor",
    "/@github/copilot/": "GitHub Copilot CLI",
    "/@augmentcode/auggie/": "Auggie",
    "/@sourcegraph/amp/": "Amp",
    "/@charmland/crush/": "Crush",
}

_INTERPRETER: Final = re.compile(r"(?:node(?:js)?|bun|deno|python[0-9.]*|ruby|(?:ba|da|z|k)?sh)\Z")
#: What follows is a program's text and no file: `-c`, `-lc`, `-e`, `-pe`, `--eval`.
_TEXT_OPTION: Final = re.compile(r"-[A-Za-z]*[ce]\Z|-p\Z|--(?:eval|print)\Z")
_SUFFIX: Final = re.compile(r"\.(?:exe|cmd|js|mjs|cjs)\Z")

#: Processes looked at on the way up; nobody nests shells deeper than that by hand.
_MAX_DEPTH: Final = 32


def system_ancestors() -> Iterator[Ancestor]:
    """The processes above this one, nearest first; ends where the system shows no more."""
    try:
        process = psutil.Process().parent()
        for _ in range(_MAX_DEPTH):
            if process is None:
                return
            try:
                command = tuple(process.cmdline())
            except psutil.AccessDenied:
                command = ()
            yield Ancestor(process.name(), command)
            process = process.parent()
    except psutil.Error:  # it ended meanwhile, or belongs to somebody else
        return


def find_agent(
    environ: Mapping[str, str] | None = None, ancestors: Callable[[], Iterable[Ancestor]] | None = None
) -> Agent | None:
    """The host that runs this command, None when no sign of one is there. Defaults: this process's own."""
    environ = os.environ if environ is None else environ
    for marker in MARKERS:
        value = environ.get(marker.variable, "")
        if value and marker.value in ("", value):
            return Agent(marker.host, f"{marker.variable} is set")
    for ancestor in (ancestors or system_ancestors)():
        host = _host(ancestor)
        if host:
            return Agent(host, "it runs this process")
    return None


def _host(ancestor: Ancestor) -> str:
    """The host that a process is; '' for another one."""
    programs = [ancestor.name, *ancestor.command[:1]]
    if any(_INTERPRETER.match(_stem(program)) for program in programs):
        programs.append(_script(ancestor.command))
    for program in programs:
        path = program.replace("\\", "/")
        host = PROGRAMS.get(_stem(path)) or next((host for part, host in _PLACES.items() if part in path), "")
        if host:
            return host
    return ""


def _script(command: tuple[str, ...]) -> str:
    """The file (or `-m` module) that an interpreter runs; '' when it runs text."""
    words = iter(command[1:])
    for word in words:
        if word == "-m":
            return next(words, "")
        if _TEXT_OPTION.match(word):
            return ""
        if not word.startswith("-"):
            return word
    return ""


def _stem(path: str) -> str:
    return _SUFFIX.sub("", PurePath(path.replace("\\", "/")).name)


def require_person(
    settings: Settings,
    command: Callable[[Sequence[str]], str],
    words: Sequence[str],
    *,
    leave: Callable[[], Left] | None = None,
    environ: Mapping[str, str] | None = None,
    ancestors: Callable[[], Iterable[Ancestor]] | None = None,
) -> None:
    """Let a person through, and an agent when `gate.allow_agent` says so.

    `command` makes the line for the person's own terminal of `words`. `leave` is called for an agent before the
    refusal: it puts a candidate where one makes sense, and says so. Raises `GateClosed` for an agent.
    """
    if settings.gate.allow_agent:
        return
    agent = find_agent(environ, ancestors)
    if agent is None:
        return
    left = leave() if leave is not None else Left("")
    said = f"this is for a person to do, and {agent.host} runs it ({agent.sign})"
    line = command(left.words or words)
    raise GateClosed(f"{said}{'; ' if left.said else ''}{left.said}: run `{line}` in a terminal of your own")
