"""The end of a transcript, as a hook needs it: the last prompts, and what failed or was refused in this turn.

Standard library only. `hosts/` reads sessions whole and judges every line; a hook has milliseconds, and asks rarely:
for the prompt before a short one, and when an agent says that it cannot. The host writes the file a little late, so
the newest lines may be missing.
"""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Any, Final

    _Part = tuple[str, str, str, str]

__all__ = ["Tail", "read_tail"]

#: Bytes that are read from the end.
MAX_BYTES: Final = 2 * 1024 * 1024
#: A longer line is a result that says nothing here.
_MAX_LINE: Final = 256 * 1024

#: Characters that are kept of what a failed command printed.
_PRINTED: Final = 2_000

#: Text that a host puts where a prompt stands begins so.
_NO_PROMPT: Final = ("<", "Caveat: The messages below", "[Request interrupted", "This session is being continued")
_REFUSED: Final = (
    "The user doesn't want to",
    "User rejected tool use",
    "The user rejected",
    "Permission to use",
    "Claude requested permissions",
    "This command requires approval",
    "exec command rejected by user",
)
_SHELLS: Final = ("Bash", "PowerShell", "exec_command", "shell", "shell_command", "local_shell_call")
_FAILED: Final = ("Exit code: ", "Process exited with code ", '"exit_code":')


class Tail:
    """The end of a session: prompts, newest first, and the last turn's calls."""

    def __init__(self) -> None:
        self.prompts: Final[list[str]] = []
        #: Commands of this turn that failed, each with the beginning of what it printed.
        self.failures: Final[list[str]] = []
        #: The person (or a rule of theirs) refused a call in this turn.
        self.refused = False
        #: The file was there, and held lines of a session.
        self.is_read = False

    def prompt_before(self, prompt: str) -> str:
        """The prompt before `prompt`, which may be in the file already; '' for none."""
        others = [said for said in self.prompts if said.strip() != prompt.strip()]
        return others[0] if others else ""


def read_tail(path: str, *, prompts: int = 2, max_bytes: int = MAX_BYTES) -> Tail:
    """Read backwards until so many prompts are found. A file that cannot be read has nothing to say."""
    tail = Tail()
    failed: dict[str, str] = {}
    for line in _lines_backwards(path, max_bytes):
        tail.is_read = True
        for kind, value, extra, text in _parts(line):
            if kind == "prompt":
                tail.prompts.append(value)
                if len(tail.prompts) == prompts:
                    return tail
            elif tail.prompts:  # of an earlier turn
                continue
            elif kind == "result":
                if extra == "failed":
                    failed[value] = text[:_PRINTED]
                tail.refused = tail.refused or extra == "refused"
            elif kind == "call" and value in failed:
                tail.failures.append(f"{extra}\n{failed[value]}")
    return tail


def _lines_backwards(path: str, max_bytes: int) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - max_bytes))
            data = file.read(max_bytes)
    except (OSError, ValueError):
        return []
    lines = data.split(b"\n")
    if size > max_bytes:
        del lines[0]  # it began before
    found = []
    for line in reversed(lines):
        if not line.startswith(b"{") or (len(line) > _MAX_LINE and b'"tool_result"' in line[:4096]):
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict):
            found.append(values)
    return found


def _parts(line: dict[str, Any]) -> list[_Part]:
    """What a line says: ("prompt", text), ("call", id, command), ("result", id, "ok" | "failed" | "refused", output).

    Within a line the newest comes first, as the lines do.
    """
    payload = line.get("payload")
    if isinstance(payload, dict):
        return _of_codex(line.get("type"), payload)
    message = line.get("message")
    if line.get("type") not in ("user", "assistant") or not isinstance(message, dict) or line.get("isSidechain"):
        return []
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else []
    if line["type"] == "assistant":
        return [_call(block.get("id"), block.get("name"), block.get("input")) for block in reversed(blocks)]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    if results:
        return [_result(block.get("tool_use_id"), block.get("content"), block.get("is_error")) for block in results]
    if line.get("isMeta") or line.get("isCompactSummary") or line.get("isVisibleInTranscriptOnly"):
        return []
    return _prompt(_text(blocks))


def _prompt(text: str) -> list[_Part]:
    said = text.strip()
    return [("prompt", said, "", "")] if said and not said.startswith(_NO_PROMPT) else []


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [block.get("text") for block in content if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _call(number: object, name: object, given: object) -> _Part:
    command = ""
    if name in _SHELLS and isinstance(given, dict):
        said = given.get("command", given.get("cmd"))
        command = " ".join(map(str, said)) if isinstance(said, list) else said if isinstance(said, str) else ""
    return "call", str(number), command, ""


def _result(number: object, content: object, is_error: object) -> _Part:
    text = _text(content)
    ended = "refused" if text.lstrip().startswith(_REFUSED) else "failed" if is_error is True else "ok"
    return "result", str(number), ended, text


def _of_codex(kind: object, payload: dict[str, Any]) -> list[_Part]:
    if kind != "response_item":
        return []
    what = payload.get("type")
    if what == "message" and payload.get("role") == "user":
        return _prompt(_text(payload.get("content")))
    if what in ("function_call", "custom_tool_call"):
        try:
            given = json.loads(str(payload.get("arguments", payload.get("input", ""))))
        except (ValueError, RecursionError):
            given = None
        return [_call(payload.get("call_id"), payload.get("name"), given)]
    if what in ("function_call_output", "custom_tool_call_output"):
        output = payload.get("output")
        text = output if isinstance(output, str) else json.dumps(output) if output is not None else ""
        return [_result(payload.get("call_id"), text, _exit_code(text) not in ("", "0"))]
    return []


def _exit_code(text: str) -> str:
    for sign in _FAILED:
        _, found, rest = text.partition(sign)
        if found:
            number = rest.lstrip()[:12]
            return "".join(char for char in number.split()[0] if char.isdigit()) if number.strip() else ""
    return ""
