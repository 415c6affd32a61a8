"""Lines of transcripts as Claude Code writes them, for the tests of every part.

`Session` writes one session of one version, in that version's form:

    session = Session(version="2.1.40", cwd="/home/ann/shop")
    session.user("deploy the shop")
    call = session.bash("make deploy")
    session.result(call, "deployed")
    session.write(path)

Each method returns the line (a dict; change it as the test needs) or, for calls, the call's ID.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hikidashi.hosts.claude_code import HOST
from hikidashi.hosts.transcript import Event, Position, ReadReport

__all__ = ["Session", "dump", "read"]

_START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def dump(line: dict[str, Any]) -> bytes:
    """A line as the client writes it: no spaces, no ASCII escapes, newline at the end."""
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Session:
    """One session of one client version. Times go up by a second a line; all IDs are stable."""

    def __init__(
        self,
        *,
        version: str = "2.1.40",
        cwd: str = "/home/ann/shop",
        branch: str = "main",
        name: str = "one",
        at: datetime = _START,
        sidechain: bool = False,
    ) -> None:
        self.version, self.cwd, self.branch, self.sidechain = version, cwd, branch, sidechain
        self.name = name
        self.session_id = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
        self.lines: list[dict[str, Any]] = []
        self._at = at
        self._count = 0
        self._parent: str | None = None

    # -- lines

    def number(self) -> tuple[int, ...]:
        """The version as numbers, for comparing."""
        return tuple(int(part) for part in self.version.split("."))

    def next_id(self, prefix: str = "") -> str:
        """A new ID that is the same on every run."""
        self._count += 1
        made = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.name}:{prefix}:{self._count}")
        return f"{prefix}{made.hex[:20]}" if prefix else str(made)

    def time(self) -> str:
        """The next second, as the client writes times."""
        self._at += timedelta(seconds=1)
        return self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def add(self, line: dict[str, Any]) -> dict[str, Any]:
        """Append a line as it is."""
        self.lines.append(line)
        return line

    def envelope(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Append a line with the fields that conversation lines share, in the client's order."""
        line: dict[str, Any] = {
            "parentUuid": self._parent,
            "isSidechain": self.sidechain,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": self.version,
        }
        if self.number() >= (1, 0, 40):
            line["gitBranch"] = self.branch
        line.update({"type": kind, **fields, "uuid": self.next_id(), "timestamp": self.time()})
        self._parent = line["uuid"]
        return self.add(line)

    # -- people

    def user(self, content: str | list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
        """A user line: a prompt, or whatever `content` and `fields` make of it."""
        if self.number() >= (2, 1, 68) and "promptId" not in fields:
            fields = {"promptId": self.next_id(), **fields}
        return self.envelope("user", message={"role": "user", "content": content}, **fields)

    def typed_ahead(self, text: str, operation: str = "enqueue") -> dict[str, Any]:
        """A `queue-operation` line; `text` is written with `enqueue` and `popAll` only."""
        line = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": self.time(),
            "sessionId": self.session_id,
        }
        if operation in ("enqueue", "popAll"):
            line["content"] = text
        return self.add(line)

    def interrupt(self, *, for_tool: bool = False) -> dict[str, Any]:
        """The person pressed Escape."""
        text = "[Request interrupted by user for tool use]" if for_tool else "[Request interrupted by user]"
        return self.user([{"type": "text", "text": text}])

    def slash(self, command: str, arguments: str = "") -> dict[str, Any]:
        """A slash command."""
        return self.user(
            f"<command-name>/{command}</command-name>\n            <command-message>{command}</command-message>\n"
            f"            <command-args>{arguments}</command-args>"
        )

    def bang(self, command: str, output: str = "") -> None:
        """A command that the person ran with `!`."""
        self.user(f"<bash-input>{command}</bash-input>")
        self.user(f"<bash-stdout>{output}</bash-stdout><bash-stderr></bash-stderr>")

    # -- the model

    def assistant(
        self, *blocks: dict[str, Any], message_id: str = "", usage: dict[str, int] | None = None, **fields: Any
    ) -> dict[str, Any]:
        """An assistant line with these content blocks."""
        message = {
            "id": message_id or self.next_id("msg_"),
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": list(blocks),
            "stop_reason": None,
            "usage": usage or {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 100},
        }
        return self.envelope("assistant", message=message, requestId=self.next_id("req_"), **fields)

    def says(self, text: str, **fields: Any) -> dict[str, Any]:
        """The model's visible words."""
        return self.assistant({"type": "text", "text": text}, **fields)

    def thinks(self, text: str, **fields: Any) -> dict[str, Any]:
        """The model's hidden words."""
        return self.assistant({"type": "thinking", "thinking": text, "signature": ""}, **fields)

    def call(self, tool: str, given: dict[str, Any], **fields: Any) -> str:
        """A tool call; gives its ID."""
        call_id = self.next_id("toolu_")
        self.assistant({"type": "tool_use", "id": call_id, "name": tool, "input": given}, **fields)
        return call_id

    def bash(self, command: str, **given: Any) -> str:
        """A call of the shell; gives its ID."""
        return self.call("Bash", {"command": command, "description": "run a command", **given})

    # -- results

    def result(
        self, call_id: str, content: Any, *, is_error: bool = False, structured: Any = None, **fields: Any
    ) -> dict[str, Any]:
        """A result line of any tool; `structured` is its `toolUseResult`."""
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if is_error or self.number() >= (2, 0, 0):
            block["is_error"] = is_error
        if structured is not None:
            fields["toolUseResult"] = structured
        return self.user([block], **fields)

    def ok(self, call_id: str, output: str, **more: Any) -> dict[str, Any]:
        """A shell command that ended with exit code 0."""
        return self.result(call_id, output, structured=self.shell(output, **more))

    def shell(self, output: str, **more: Any) -> dict[str, Any]:
        """A shell command's `toolUseResult`."""
        return {"stdout": output, "stderr": "", "interrupted": False, "isImage": False, **more}

    def fails(self, call_id: str, output: str, exit_code: int = 1) -> dict[str, Any]:
        """A shell command that ended with another exit code, which clients before 2.0.31 do not tell."""
        if self.number() >= (2, 0, 31):
            output = f"Exit code {exit_code}\n{output}"
        return self.result(call_id, output, is_error=True, structured=f"Error: {output}")

    def refuses(self, call_id: str, words: str = "") -> dict[str, Any]:
        """The person refused a call, with or without words."""
        text = (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
            "edit, the new_string was NOT written to the file). "
        )
        if words:
            text += f"To tell you how to proceed, the user said:\n{words}"
        else:
            text += "STOP what you are doing and wait for the user to tell you how to proceed."
        structured = "User rejected tool use" if self.number() >= (2, 1, 31) else f"Error: {text}"
        return self.result(call_id, text, is_error=True, structured=structured)

    # -- whole steps

    def runs(self, command: str, output: str = "", exit_code: int = 0) -> str:
        """A shell call and its result; gives the call's ID."""
        call_id = self.bash(command)
        if exit_code:
            self.fails(call_id, output, exit_code)
        else:
            self.ok(call_id, output)
        return call_id

    def edits(self, path: str, old: str, new: str) -> str:
        """A successful edit of a file."""
        call_id = self.call("Edit", {"file_path": path, "old_string": old, "new_string": new})
        self.result(
            call_id,
            f"The file {path} has been updated.",
            structured={"filePath": path, "oldString": old, "newString": new, "originalFile": old},
        )
        return call_id

    def todo(self, *items: tuple[str, str]) -> str:
        """A todo list of (text, status) with statuses `pending`, `in_progress`, `completed`."""
        todos = [{"content": text, "status": status, "activeForm": text} for text, status in items]
        call_id = self.call("TodoWrite", {"todos": todos})
        self.result(call_id, "Todos have been modified successfully.", structured={"oldTodos": [], "newTodos": todos})
        return call_id

    def plan(self, text: str, *, approved: bool = True) -> str:
        """A plan that the person approved or refused."""
        call_id = self.call("ExitPlanMode", {"plan": text})
        if approved:
            self.result(
                call_id,
                f"User has approved your plan. You can now start coding.\n\n## Approved Plan:\n{text}",
                structured={"plan": text, "isAgent": False},
            )
        else:
            self.refuses(call_id)
        return call_id

    def asks(self, question: str, options: list[str], answer: str) -> str:
        """A question of the model with the person's answer."""
        questions = [
            {
                "question": question,
                "header": "Choice",
                "options": [{"label": option, "description": ""} for option in options],
                "multiSelect": False,
            }
        ]
        call_id = self.call("AskUserQuestion", {"questions": questions})
        self.result(
            call_id,
            f'User has answered your questions: "{question}"="{answer}". You can now continue.',
            structured={"questions": questions, "answers": {question: answer}},
        )
        return call_id

    def compacts(self, summary: str) -> None:
        """History is cut here, in the form of the version."""
        text = (
            "This session is being continued from a previous conversation that ran out of context. "
            f"The conversation is summarized below:\n{summary}"
        )
        parent, self._parent = self._parent, None
        if self.number() >= (1, 0, 120):
            self.envelope(
                "system",
                subtype="compact_boundary",
                content="Conversation compacted",
                logicalParentUuid=parent,
                isMeta=False,
                compactMetadata={"trigger": "auto", "preTokens": 155_000},
            )
            self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)
        else:
            self.user(text, isCompactSummary=True)

    def progress(self, **data: Any) -> dict[str, Any]:
        """A progress line, which is never a result."""
        return self.envelope("progress", data={"type": "hook_progress", **data}, toolUseID=self.next_id("toolu_"))

    def attachment(self, **attachment: Any) -> dict[str, Any]:
        """An attachment line."""
        return self.envelope("attachment", attachment=attachment)

    # -- files

    def data(self) -> bytes:
        """All lines as bytes."""
        return b"".join(map(dump, self.lines))

    def write(self, path: Path) -> Path:
        """Write the lines to `path` and give it back."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path


def read(
    path: Path,
    *,
    start: Position | None = None,
    seen: set[bytes] | None = None,
    max_line_bytes: int = 1 << 26,
) -> tuple[list[Event], ReadReport]:
    """The events of a Claude Code transcript, and the report on it."""
    report = ReadReport()
    events = HOST.events(
        path,
        start=start or Position(),
        report=report,
        max_line_bytes=max_line_bytes,
        seen=set() if seen is None else seen,
    )
    return list(events), report
