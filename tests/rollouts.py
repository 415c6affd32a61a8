"""Rollouts as Codex writes them, for the tests of every part.

`Rollout` writes one session of one version, in that version's form:

    rollout = Rollout(version="0.64.0", cwd="/home/ann/shop")
    rollout.user("deploy the shop")
    rollout.runs("make deploy", "deployed")
    rollout.write(path)

Up to 0.54 commands run by `shell`, up to 0.103 by `shell_command`, then by `exec_command`; from 0.116 on the client's
own events tell how they ended; from 0.150 on lines are numbered, items have IDs, and prompts are items too.
"""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hikidashi.hosts.codex import HOST
from hikidashi.hosts.transcript import Event, Position, ReadReport
from tests.transcripts import dump

__all__ = ["VERSIONS", "Rollout", "read"]

#: One version of each form.
VERSIONS = ("0.36.0", "0.47.0", "0.64.0", "0.98.0", "0.104.0", "0.130.0", "0.171.0")

_START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Rollout:
    """One session of one client version. Times go up by a second a line; all IDs are stable."""

    def __init__(
        self,
        *,
        version: str = "0.130.0",
        cwd: str = "/home/ann/shop",
        branch: str = "main",
        name: str = "one",
        at: datetime = _START,
        **meta: Any,
    ) -> None:
        self.version, self.cwd, self.name = version, cwd, name
        self.numbers = tuple(int(part) for part in version.split("."))
        self.session_id = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
        self.lines: list[dict[str, Any]] = []
        self._at, self._count, self._input, self._output = at, 0, 0, 0
        head: dict[str, Any] = {
            "id": self.session_id,
            "timestamp": self.now(),
            "cwd": cwd,
            "originator": "codex_cli_rs",
            "cli_version": version,
            "source": "cli",
            "git": {"commit_hash": "0" * 40, "branch": branch},
            **meta,
        }
        if self.numbers >= (0, 104):
            head["base_instructions"] = {"text": "You are a coding agent. Always be brief."}
        else:
            head["instructions"] = None
        self.add("session_meta", head)
        self.message("user", f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>")
        tag = "<user_instructions>" if self.numbers < (0, 50) else f"# AGENTS.md instructions for {cwd}"
        self.message("user", f"{tag}\n\nAlways use tabs.\n")
        self.turn(cwd)

    # -- lines

    def now(self) -> str:
        """The next second, as the client writes times."""
        self._at += timedelta(seconds=1)
        return self._at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def next_id(self, prefix: str) -> str:
        """A new ID that is the same on every run."""
        self._count += 1
        return prefix + uuid.uuid5(uuid.NAMESPACE_OID, f"{self.name}:{self._count}").hex[:24]

    @property
    def named(self) -> bool:
        """Whether lines are numbered and items have IDs."""
        return self.numbers >= (0, 150)

    def add(self, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Append a line; gives its payload."""
        line: dict[str, Any] = {"timestamp": self.now()}
        if self.named:
            line["ordinal"] = len(self.lines)
        line.update(type=kind, payload=payload)
        self.lines.append(line)
        return payload

    def item(self, kind: str, prefix: str = "item_", **fields: Any) -> dict[str, Any]:
        """Append a `response_item`."""
        own = {"id": self.next_id(prefix)} if self.named else {}
        return self.add("response_item", {"type": kind, **own, **fields})

    def shown(self, event: str, /, **fields: Any) -> dict[str, Any]:
        """Append an `event_msg`."""
        return self.add("event_msg", {"type": event, **fields})

    def completed(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Append an `event_msg` of a completed item."""
        return self.shown("item_completed", thread_id=self.session_id, item={"type": kind, **fields})

    def message(self, role: str, text: str) -> dict[str, Any]:
        """A message as the model was sent it, or as it answered."""
        kind = "output_text" if role == "assistant" else "input_text"
        return self.item("message", "msg_", role=role, content=[{"type": kind, "text": text}])

    def turn(self, cwd: str) -> None:
        """A `turn_context`: the session stands in `cwd` from here on."""
        self.cwd = cwd
        self.add("turn_context", {"cwd": cwd, "approval_policy": "never", "model": "gpt-5.1-codex"})

    # -- people

    def user(self, text: str, **fields: Any) -> None:
        """A prompt."""
        self.message("user", text)
        if self.named:
            content = [{"type": "text", "text": text, "text_elements": []}]
            self.completed("UserMessage", id=str(uuid.uuid5(uuid.NAMESPACE_OID, self.next_id(""))), content=content)
        else:
            plain: dict[str, Any] = {"kind": "plain"} if self.numbers < (0, 50) else {"images": []}
            self.shown("user_message", message=text, **{**plain, **fields})

    def interrupt(self) -> None:
        """The person pressed Escape."""
        self.shown("turn_aborted", reason="interrupted")
        self.message("user", "<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>")

    # -- the model

    def says(self, text: str) -> None:
        """The model's visible words."""
        if self.named:
            self.completed("AgentMessage", id="x", content=[{"type": "Text", "text": text}])
        else:
            self.shown("agent_message", message=text)
        self.message("assistant", text)
        self.tokens(1_000, 400, 20)

    def tokens(self, given: int, cached: int, output: int, *, again: bool = False) -> None:
        """The client's count of an answer's tokens; `again`: it is told a second time."""
        if not again:
            self._input, self._output = self._input + given, self._output + output
        last = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": output}
        total = {"input_tokens": self._input, "cached_input_tokens": 0, "output_tokens": self._output}
        self.shown("token_count", info={"total_token_usage": total, "last_token_usage": last})

    def thinks(self) -> None:
        """Hidden words."""
        self.item("reasoning", summary=[], encrypted_content="x")

    def call(self, tool: str, given: dict[str, Any] | str, **fields: Any) -> str:
        """A tool call; gives its ID."""
        call_id = self.next_id("call_")
        if isinstance(given, str):
            self.item("custom_tool_call", name=tool, input=given, call_id=call_id, status="completed", **fields)
        else:
            self.item("function_call", name=tool, arguments=json.dumps(given), call_id=call_id, **fields)
        return call_id

    def result(self, call_id: str, output: Any, *, custom: bool = False) -> None:
        """A tool's result."""
        kind = "custom_tool_call_output" if custom else "function_call_output"
        self.item(kind, call_id=call_id, output=output)

    def bash(self, command: str, workdir: str = "") -> str:
        """A call of the shell; gives its ID."""
        there = {"workdir": workdir} if workdir else {}
        if self.numbers < (0, 55):
            return self.call("shell", {"command": ["bash", "-lc", command], **there})
        if self.numbers < (0, 104):
            return self.call("shell_command", {"command": command, **there})
        return self.call("exec_command", {"cmd": command, **there})

    def ends(self, call_id: str, output: str, exit_code: int = 0, command: str = "") -> None:
        """The client's own event of a command's end."""
        fields: dict[str, Any] = {
            "command": ["/bin/bash", "-lc", command],
            "status": "completed" if exit_code == 0 else "failed",
            "aggregated_output": output,
            "exit_code": exit_code,
        }
        if self.named:
            self.completed("CommandExecution", id=call_id, cwd=f"file://{self.cwd}", **fields)
        elif self.numbers >= (0, 116):
            self.shown("exec_command_end", call_id=call_id, cwd=self.cwd, **fields)

    def printed(self, output: str, exit_code: int) -> str:
        """A command's output as the model is told it."""
        if self.numbers < (0, 55):
            return json.dumps({"output": output, "metadata": {"exit_code": exit_code, "duration_seconds": 0.1}})
        if self.numbers < (0, 104):
            return f"Exit code: {exit_code}\nWall time: 0.1 seconds\nOutput:\n{output}"
        return (
            f"Chunk ID: 9ce9d0\nWall time: 0.1000 seconds\nProcess exited with code {exit_code}\n"
            f"Original token count: 2\nOutput:\n{output}"
        )

    def runs(self, command: str, output: str = "", exit_code: int = 0, workdir: str = "") -> str:
        """A shell call and its result; gives the call's ID."""
        call_id = self.bash(command, workdir)
        self.ends(call_id, output, exit_code, command)
        self.result(call_id, self.printed(output, exit_code))
        return call_id

    def starts(self, command: str, session: int, output: str = "") -> str:
        """A command that runs on when its call is answered; gives the call's ID."""
        call_id = self.bash(command)
        head = f"Chunk ID: 0d6e08\nWall time: 0.3007 seconds\nProcess running with session ID {session}\n"
        self.result(call_id, f"{head}Original token count: 0\nOutput:\n{output}")
        return call_id

    def polls(self, session: int, output: str, exit_code: int | None = None) -> str:
        """A look at a running command; gives the call's ID."""
        call_id = self.call("write_stdin", {"session_id": session, "chars": "", "yield_time_ms": 1000})
        how = f"Process running with session ID {session}"
        if exit_code is not None:
            how = f"Process exited with code {exit_code}"
        self.result(call_id, f"Wall time: 1.0000 seconds\n{how}\nOriginal token count: 1\nOutput:\n{output}")
        return call_id

    def patches(self, *paths: str, failed: bool = False) -> str:
        """A patch of some files; gives the call's ID."""
        body = "".join(f"*** Update File: {path}\n@@\n-a\n+b\n" for path in paths)
        patch = f"*** Begin Patch\n{body}*** End Patch\n"
        said = "Success. Updated the following files:\n" + "".join(f"M {path}\n" for path in paths)
        if failed:
            said = "apply_patch verification failed: Failed to find expected lines in file"
        call_id = self.call("apply_patch", patch)
        if not failed:
            said = json.dumps({"output": said, "metadata": {"exit_code": 0, "duration_seconds": 0.0}})
        self.result(call_id, said, custom=True)
        return call_id

    def todo(self, *items: tuple[str, str]) -> str:
        """A plan of (text, status); gives the call's ID."""
        plan = [{"step": text, "status": status} for text, status in items]
        call_id = self.call("update_plan", {"plan": plan})
        self.result(call_id, "Plan updated")
        return call_id

    def asks(self, question: str, options: list[str], answer: str) -> str:
        """A question of the model with the person's answer; gives the call's ID."""
        asked = [{"id": "q1", "header": "Choice", "question": question, "options": [{"label": o} for o in options]}]
        call_id = self.call("request_user_input", {"questions": asked})
        self.result(call_id, json.dumps({"answers": {"q1": {"answers": [answer]}}}))
        return call_id

    def compacts(self, summary: str) -> None:
        """History is cut here; the kept part is repeated in the line."""
        history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "old prompt"}]}]
        said = summary if self.numbers < (0, 50) or self.named else ""
        self.add("compacted", {"message": said, "replacement_history": history})
        if self.named:
            self.completed("ContextCompaction", id="x")
        else:
            self.shown("context_compacted")

    # -- copies and files

    def forked(self, name: str, *, times: str = "kept", **meta: Any) -> Rollout:
        """A session that begins with a copy of this one. `times`: `kept`, or `new` as some clients write them."""
        other = Rollout(
            version=self.version, cwd=self.cwd, name=name, at=self._at, forked_from_id=self.session_id, **meta
        )
        own = other.lines[0]
        copied = [json.loads(json.dumps(line)) for line in self.lines]
        for line in copied if times == "new" else []:
            line["timestamp"] = own["timestamp"]
        other.lines = [own, *copied]
        for number, line in enumerate(other.lines if self.named else []):
            line["ordinal"] = number
        return other

    def data(self) -> bytes:
        """All lines as bytes."""
        return b"".join(map(dump, self.lines))

    def write(self, path: Path) -> Path:
        """Write the rollout; gives the path back."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.data())
        return path

    def write_home(self, home: Path, *, archived: bool = False) -> Path:
        """Write it where the client keeps rollouts, below the client's folder `home`."""
        day = self._at.strftime("%Y/%m/%d")
        file = f"rollout-{self._at:%Y-%m-%dT%H-%M-%S}-{self.session_id}.jsonl"
        return self.write(home / "archived_sessions" / file if archived else home / "sessions" / day / file)


def read(
    path: Path, *, start: Position | None = None, seen: set[bytes] | None = None, max_line_bytes: int = 1 << 26
) -> tuple[list[Event], ReadReport]:
    """All events of a rollout after `start`, and the report."""
    report = ReadReport()
    events = HOST.events(
        path,
        start=start or Position(),
        report=report,
        max_line_bytes=max_line_bytes,
        seen=set() if seen is None else seen,
    )
    return list(events), report
