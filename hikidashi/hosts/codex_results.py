"""What a result line of Codex says about its call: outcome, exit code, output.

    tool, version               output                                              exit code
    shell, to 0.64              {"output": …, "metadata": {"exit_code": N, …}}      N
    shell, denied by sandbox    failed in sandbox … exit code: N, stdout: …         N; refused by the host
    shell_command               Exit code: N / Wall time: … / Output:               N
    exec_command, write_stdin   Chunk ID … / Process exited with code N / Output:   N
                                Process running with session ID n                   background; the end comes later
    any                         aborted by user …, … rejected by user               none

Where the client also writes how a command ended (`exec_command_end`, `CommandExecution`), that fills in what the
output does not say.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import orjson

from hikidashi.hosts.codex_tools import SHELLS
from hikidashi.hosts.texts import MAX_TEXT, clean, content_text
from hikidashi.hosts.transcript import Event, Outcome

__all__ = [
    "Ended",
    "Told",
    "command_ended",
    "end_of",
    "is_open_ended",
    "judge",
    "output_of",
    "read_output",
    "was_aborted",
]

_HEADER: Final = re.compile(
    r"(?:(?:Chunk ID: ?\S+|Wall time: [^\n]*|Exit code: -?\d{1,10}|Process exited with code -?\d{1,10}"
    r"|Process running with session ID \d+|Original token count: \d+|Total output lines: \d+"
    r"|Warning: [^\n]*|Script (?:completed|failed|running)[^\n]*)\n)+(?:\n?Output:(?:\n|\Z))?"
)
_EXIT: Final = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,10})$", re.MULTILINE)
_RUNNING: Final = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)
_SANDBOXED: Final = re.compile(r"\s*failed in sandbox \S.*?exit code: (-?\d{1,10})", re.DOTALL)
_TIMED_OUT: Final = re.compile(r"command timed out after|exec_command timed out")

_ABORTED: Final = re.compile(
    r"(?:Wall time: [\d.]+ ?s\w*\n)?(?:command )?aborted(?: by user(?: after [\d.]+ ?s)?| before dispatch)?\s*\Z"
)
_REFUSED_BY_PERSON: Final = re.compile(
    r"(?:exec command|patch|.{0,80}?tool call|apply_patch|.{0,80})\brejected by (?:the )?user\b(?! approval settings)"
    r"|user (?:rejected|cancelled|canceled|declined|denied) ",
    re.IGNORECASE,
)
_REFUSED_BY_HOST: Final = re.compile(
    r"approval policy is |.{0,200}\brejected by user approval settings|This action was rejected due to|.{0,200}"
    r"\brejected: blocked by policy|.{0,400}Sandbox\(Denied|sandbox denied|command was blocked"
    r"|exec command rejected: |PreToolUse hook|Command blocked by ",
    re.DOTALL | re.IGNORECASE,
)
_FAILED: Final = re.compile(
    r"unsupported (?:custom tool )?call|failed to parse |execution error|exec_command failed|write_stdin failed"
    r"|apply_patch (?:verification )?failed|failed in sandbox|Error: |error: |tool call error|collab tool failed"
    r"|invalid |unknown tool|tool \S+ is not "
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A command's output taken apart: what was printed, how it ended, the session under which it runs on."""

    text: str
    exit_code: int | None = None
    session: str = ""
    #: The head of a command's result was there.
    headed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended, as the client's own event has it."""

    exit_code: int | None
    text: str
    #: Where it ran; '' when that is not told.
    folder: str = ""
    #: It was killed.
    killed: bool = False
    #: A person refused it.
    declined: bool = False


def output_of(output: object) -> tuple[str, bool | None]:
    """The text of a result's `output`, and whether it says that the call succeeded; None when it says neither."""
    success: object = None
    if isinstance(output, dict):
        success, output = output.get("success"), output.get("content", output.get("output"))
    text = output if type(output) is str else content_text(output)
    return text, success if type(success) is bool else None


def read_output(text: str) -> Told:
    """A command's output taken apart."""
    if text.startswith("{") and '"metadata"' in text:
        told = _structured(text)
        if told:
            return told
    head = _HEADER.match(text)
    if head is None:
        return Told(text=text)
    exit_code, session = _EXIT.search(head[0]), _RUNNING.search(head[0])
    rest = text[head.end() :]
    inner = _HEADER.match(rest)  # a patch in a command is told by a head in the head
    if inner and exit_code is None and _EXIT.search(inner[0]):
        return read_output(rest)
    return Told(
        text=rest,
        exit_code=int(exit_code[1]) if exit_code else None,
        session=session[1] if session else "",
        headed=True,
    )


def _structured(text: str) -> Told | None:
    try:
        value = orjson.loads(text)
    except ValueError:
        return None
    metadata = value.get("metadata") if isinstance(value, dict) else None
    output = value.get("output") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or type(output) is not str:
        return None
    exit_code = metadata.get("exit_code")
    return Told(text=output, exit_code=exit_code if type(exit_code) is int else None, headed=True)


def was_aborted(text: str) -> bool:
    """Whether a result says that the person stopped the call."""
    return len(text) < 300 and _ABORTED.match(text) is not None


def judge(event: Event, output: object, ended: Ended | None) -> str:
    """Set output and outcome of the tool result `event`; `ended`: how the client says that the command ended.

    Gives the session under which the command runs on; '' for any other call.
    """
    raw, success = output_of(output)
    told = read_output(raw)
    event.text, event.truncated = printed(told.text)
    if event.tool in SHELLS and told.exit_code is None and ended is not None and not told.session:
        told = Told(text=told.text, exit_code=ended.exit_code, headed=ended.exit_code is not None)
    if was_aborted(raw):
        event.interrupted = True
    elif told.session and event.tool in SHELLS:
        event.background = True
        return told.session
    elif told.exit_code is not None and event.tool != "write_stdin":
        event.outcome = "ok" if told.exit_code == 0 else "failed"
        if event.tool in SHELLS:
            event.exit_code = told.exit_code
    elif event.tool == "write_stdin" and told.headed:
        event.outcome = "ok"  # a look; how the command ended is told beside it
    elif event.tool in SHELLS and told.headed:
        pass  # neither an end nor a session: cut off
    elif not _judge_words(event, told.text):
        event.outcome = _outcome(event, success)
    return ""


def is_open_ended(event: Event) -> bool:
    """Whether a command's result does not tell how it ended; a later line may."""
    told = event.outcome != "unknown" or event.interrupted or event.refused
    return event.tool in SHELLS and not told


def printed(text: str) -> tuple[str, bool]:
    """What a command printed, without colours and overwritten lines, within the size of an event's text."""
    if len(text) > MAX_TEXT or "\r" in text or "\x1b" in text:
        return clean(text)
    return text, False


def _judge_words(event: Event, text: str) -> bool:
    """Judge a result by the client's own words; False when there are none."""
    head = text[:1_000]
    denied = _SANDBOXED.match(head)
    if _REFUSED_BY_PERSON.match(head):
        event.refused, event.refused_by = True, "person"
    elif denied or _REFUSED_BY_HOST.match(head):
        event.refused, event.refused_by = True, "host"
        if denied and event.tool in SHELLS:
            event.exit_code = int(denied[1])
    elif _FAILED.match(head) or _TIMED_OUT.search(head[:200]):
        event.outcome = "failed"
    else:
        return False
    return True


def _outcome(event: Event, success: bool | None) -> Outcome:
    """The outcome of a call whose result says nothing of it."""
    if success is not None:
        return "ok" if success else "failed"
    if event.tool in SHELLS:
        return "unknown"  # cut off, or of a version that is not known
    return "ok"


def command_ended(item: dict[str, Any]) -> Ended:
    """What `exec_command_end` and a `CommandExecution` item say, which name the same fields."""
    exit_code, status = item.get("exit_code"), item.get("status")
    output = item.get("aggregated_output")
    if type(output) is not str:
        parts = (item.get("stdout"), item.get("stderr"))
        output = "\n".join(part for part in parts if type(part) is str and part)
    folder = item.get("cwd")
    declined = status == "declined"
    killed = type(exit_code) is int and exit_code < 0 and not declined
    return Ended(
        exit_code=exit_code if type(exit_code) is int and exit_code >= 0 and not declined else None,
        text=output,
        folder=folder.removeprefix("file://") if type(folder) is str else "",
        killed=killed,
        declined=declined,
    )


def end_of(event: Event, ended: Ended) -> None:
    """Set output and outcome of the result of a command that ended."""
    event.text, event.truncated = printed(ended.text)
    event.exit_code, event.interrupted = ended.exit_code, ended.killed
    if ended.declined:
        event.refused, event.refused_by = True, "person"
    elif ended.exit_code is not None:
        event.outcome = "ok" if ended.exit_code == 0 else "failed"
