"""The fold that turns the line objects of one Claude Code transcript into events.

What it has to remember while it reads (calls without a result, background calls without an end, text typed
while the agent was busy, tokens already counted) is bounded, and depends on nothing but the lines before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.hosts.claude_speech import hear, refusal_words
from hikidashi.hosts.claude_tools import (
    MAX_TEXT,
    Ending,
    content_text,
    cut,
    ending,
    judge,
    notified_ending,
    role_of,
)
from hikidashi.hosts.transcript import Event, EventKind, ReadReport, event_key

__all__ = ["HOST_NAME", "Fold"]

#: Name of the host in sources and watermarks.
HOST_NAME: Final = "claude-code"

#: Calls that wait for a result, and background calls that wait for their end; the oldest are forgotten first.
MAX_OPEN_CALLS: Final = 256
#: Inputs of waiting calls together, in bytes of their lines.
MAX_OPEN_BYTES: Final = 16 << 20
#: Texts typed while the agent was busy that wait for delivery.
MAX_QUEUED: Final = 64
#: API messages whose token counts may still grow.
MAX_MESSAGES: Final = 64

#: Line types that carry nothing for a memory. Any other unknown type is counted as skipped.
_SILENT_TYPES: Final = frozenset(
    {
        "agent-name",
        "api-request",
        "atis-latch",
        "bridge-session",
        "cost-state",
        "file-history-snapshot",
        "frame-link",
        "last-prompt",
        "mode",
        "permission-mode",
        "progress",
        "relocated",
        "result",
        "started",
        "stub",
        "tag",
        "tools-used",
        "worktree-state",
    }
)

_LOOKS: Final = frozenset({"BashOutput", "TaskOutput", "AgentOutputTool", "AgentOutput"})
_STOPS: Final = frozenset({"KillShell", "KillBash", "TaskStop"})
_USAGE: Final = (
    ("input", "input_tokens"),
    ("output", "output_tokens"),
    ("cache_creation", "cache_creation_input_tokens"),
    ("cache_read", "cache_read_input_tokens"),
)


@dataclass(slots=True)
class _Call:
    """A call that waits for its result or its end."""

    tool: str
    input: dict[str, object]
    line: int
    uuid: str
    size: int


@dataclass(slots=True)
class _Queued:
    """Text that a person typed while the agent was busy."""

    text: str
    line: int
    at: str
    session_id: str
    #: It left the queue; it is told when the agent goes on without a line that repeats it.
    taken: bool = False


class Fold:
    """State of one pass over one file. `feed` gives the events of one line object."""

    def __init__(self, report: ReadReport, seen: set[bytes]) -> None:
        self._report = report
        self._seen = seen
        self._open: OrderedDict[str, _Call] = OrderedDict()
        self._open_bytes = 0
        self._running: OrderedDict[str, tuple[str, _Call]] = OrderedDict()
        self._queued: list[_Queued] = []
        self._usage: OrderedDict[str, dict[str, int]] = OrderedDict()
        self._uncounted: dict[str, int] = {}
        self._cwd = ""
        self._branch = ""

    def feed(self, line: dict[str, Any], number: int, size: int) -> list[Event]:
        """The events of one line object; `size` is the length of its line in bytes."""
        kind = line.get("type")
        uuid = line.get("uuid")
        if type(uuid) is str and uuid:
            self._report.last_uuid = uuid
        if kind == "assistant":
            return self._assistant(line, number, size)
        if kind == "user":
            return self._user(line, number, size)
        if type(kind) is not str:
            self._report.skip("no-type")
            return []
        if kind in _SILENT_TYPES:
            return []
        return self._other(kind, line, number)

    @contextmanager
    def unheard(self, report: ReadReport) -> Iterator[None]:
        """Feed lines whose events were taken before: they are remembered, but neither reported nor marked seen."""
        kept = self._report, self._seen
        self._report, self._seen = report, set()
        try:
            yield
        finally:
            self._report, self._seen = kept

    # -- what every event of a line shares

    def _base(self, line: dict[str, Any], number: int) -> Event:
        """An event with the line's envelope; its kind, role and text are set by the caller."""
        version = line.get("version")
        if type(version) is str:
            self._report.versions.add(version)
        uuid = line.get("uuid")
        cwd = line.get("cwd")
        branch = line.get("gitBranch")
        if type(cwd) is str:
            self._cwd = cwd
        if type(branch) is str:
            self._branch = "" if branch == "HEAD" else branch
        at = line.get("timestamp")
        session_id = line.get("sessionId")
        sidechain = line.get("isSidechain") is True
        uuid = uuid if type(uuid) is str else ""
        return Event(
            kind="context",
            line=number,
            uuid=uuid,
            at=at if type(at) is str else "",
            session_id=session_id if type(session_id) is str else "",
            role="tool",
            cwd=self._cwd,
            branch=self._branch,
            sidechain=sidechain,
            repeat=self._met(uuid, sidechain) if uuid else False,
        )

    def _met(self, name: str, sidechain: bool) -> bool:
        """Whether the event of this name was counted before; it is from now on.

        A sub-agent's file may repeat main events with the same uuid (compaction, side questions). Such a copy
        must not make the main event look seen, so sidechain lines mark a name of their own.
        """
        key = event_key(HOST_NAME, name)
        if key in self._seen:
            return True
        if sidechain:
            key = event_key(HOST_NAME, "sidechain:" + name)
            if key in self._seen:
                return True
        self._seen.add(key)
        return False

    # -- assistant lines

    def _assistant(self, line: dict[str, Any], number: int, size: int) -> list[Event]:
        message = line.get("message")
        if not isinstance(message, dict):
            self._report.skip("no-message")
            return []
        base = self._base(line, number)
        base.role = "assistant"
        model = message.get("model")
        base.model = model if type(model) is str else ""
        content = message.get("content")
        if base.model == "<synthetic>" or line.get("isApiErrorMessage") is True:
            return [_with(base, kind="context", text=content_text(content), model="")]
        events = self._delivered(base) if self._queued else []
        spoken = len(events)
        if isinstance(content, str):
            events.append(_with(base, kind="assistant", text=content))
        elif isinstance(content, list):
            for block in content:
                if isinstance(block, dict):
                    self._assistant_block(block, base, line, size, events)
        if not base.repeat:
            self._count(message)
        if self._uncounted and len(events) > spoken:
            # A line of thinking alone makes no event; its tokens go with the next one.
            events[spoken].tokens, self._uncounted = self._uncounted, {}
        return events

    def _assistant_block(
        self, block: dict[str, Any], base: Event, line: dict[str, Any], size: int, events: list[Event]
    ) -> None:
        kind = block.get("type")
        if kind == "text":
            text = block.get("text")
            if type(text) is str and text.strip():
                events.append(_with(base, kind="assistant", text=text))
        elif kind in ("tool_use", "server_tool_use"):
            call_id, tool, given = block.get("id"), block.get("name"), block.get("input")
            if type(call_id) is not str or not call_id:
                self._report.skip("call-without-id")
                return
            if not isinstance(given, dict):
                given = {}
            elif size > MAX_TEXT:
                given = _trimmed(given)
            call = _Call(tool if type(tool) is str else "", given, base.line, base.uuid, size)
            self._hold(call_id, call)
            event = _with(base, kind="tool_call")
            event.role = "assistant"
            event.call_id, event.tool, event.input = call_id, call.tool, given
            event.call_line, event.call_uuid = call.line, call.uuid
            event.repeat = self._met("call:" + call_id, base.sidechain) or base.repeat
            events.append(event)
        elif type(kind) is str and kind.endswith("tool_result"):
            events.append(self._result(block, base, line, size, alone=False))

    def _hold(self, call_id: str, call: _Call) -> None:
        known = self._open.pop(call_id, None)
        self._open_bytes += call.size - (known.size if known else 0)
        self._open[call_id] = call
        while len(self._open) > MAX_OPEN_CALLS or (self._open_bytes > MAX_OPEN_BYTES and len(self._open) > 1):
            self._open_bytes -= self._open.popitem(last=False)[1].size

    def _count(self, message: dict[str, Any]) -> None:
        """Note the tokens that this line adds to what its API message was counted with before.

        One message is spread over several lines that repeat its usage, while the output count may still grow.
        """
        usage = message.get("usage")
        if not isinstance(usage, dict):
            return
        message_id = message.get("id")
        counted: dict[str, int] = {}
        if type(message_id) is str:
            counted = self._usage.pop(message_id, counted)
            self._usage[message_id] = counted
            if len(self._usage) > MAX_MESSAGES:
                self._usage.popitem(last=False)
        for name, key in _USAGE:
            count = usage.get(key)
            before = counted.get(name, 0)
            if type(count) is int and count > before:
                counted[name] = count
                self._uncounted[name] = self._uncounted.get(name, 0) + count - before

    # -- user lines

    def _user(self, line: dict[str, Any], number: int, size: int) -> list[Event]:
        message = line.get("message")
        if not isinstance(message, dict):
            self._report.skip("no-message")
            return []
        content = message.get("content")
        base = self._base(line, number)
        if line.get("isCompactSummary") is True:
            return [_with(base, kind="compaction", text=content_text(content))]
        if type(content) is str:
            return self._prompt(content, base, line)
        if not isinstance(content, list):
            self._report.skip("no-content")
            return []
        blocks = [block for block in content if isinstance(block, dict)]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        events: list[Event] = []
        for block in results:
            event = self._result(block, base, line, size, alone=len(results) == 1)
            events.append(event)
            events += self._consequences(event, line)
        text = content_text(content)
        if text.strip():
            events += self._prompt(text, base, line)
        elif not results:
            events.append(_with(base, kind="context", text=""))
        return events

    def _prompt(self, text: str, base: Event, line: dict[str, Any]) -> list[Event]:
        """What a user line's text is: a person's words, an interruption, or something injected."""
        done = notified_ending(text)
        if done:
            return [*self._ended(done, base), _with(base, kind="context", text=text)]
        if base.sidechain or _is_injected(line):
            return [_with(base, kind="context", text=text)]
        speech = hear(text)
        events = []
        if speech.interrupted:
            events.append(_with(base, kind="interrupt", text=text))
        if speech.words:
            event = _with(base, kind="user", text=speech.words)
            event.role = "user"
            self._forget_queued(text.strip(), speech.words)
            events.append(event)
        return events or [_with(base, kind="context", text=text)]

    # -- results

    def _result(self, block: dict[str, Any], base: Event, line: dict[str, Any], size: int, *, alone: bool) -> Event:
        call_id = block.get("tool_use_id")
        call_id = call_id if type(call_id) is str else ""
        call = self._open.pop(call_id, None)
        if call:
            self._open_bytes -= call.size
        tool = call.tool if call else ""
        structured = line.get("toolUseResult") if alone else None
        verdict = judge(tool, block.get("content"), block.get("is_error"), structured)
        event = _with(base, kind="tool_result", text=verdict.text)
        event.role = role_of(tool)
        event.call_id, event.tool = call_id, tool
        if call:
            event.input, event.call_line, event.call_uuid = call.input, call.line, call.uuid
        event.outcome, event.exit_code = verdict.outcome, verdict.exit_code
        event.background, event.interrupted = verdict.background, verdict.interrupted
        event.refused, event.refused_by = bool(verdict.refused_by), verdict.refused_by
        event.truncated = verdict.truncated
        if isinstance(structured, dict):
            event.result = structured if size <= MAX_TEXT else _trimmed(structured)
        if call_id:
            event.repeat = self._met("result:" + call_id, base.sidechain) or base.repeat
        if verdict.task_id and call:
            self._running[verdict.task_id] = (call_id, call)
            if len(self._running) > MAX_OPEN_CALLS:
                self._running.popitem(last=False)
        return event

    def _consequences(self, event: Event, line: dict[str, Any]) -> list[Event]:
        """What a result says beyond its own call: words of a refusal, the end of a background call."""
        if event.refused_by == "person":
            words = "" if event.sidechain else refusal_words(event.text)
            if words:
                said = _with(event, kind="user", text=words)
                said.role = "user"
                return [said]
        elif event.tool in _LOOKS:
            done = ending(event.tool, event.input, event.text, line.get("toolUseResult"))
            return self._ended(done, event) if done else []
        elif event.tool in _STOPS and event.outcome == "ok":
            for key in ("shell_id", "task_id"):
                task_id = event.input.get(key)
                if type(task_id) is str and task_id in self._running:
                    done = Ending(task_id=task_id, outcome="unknown", exit_code=None, text="", interrupted=True)
                    return self._ended(done, event)
        return []

    def _ended(self, done: Ending, base: Event) -> list[Event]:
        """The one result of a background call's end, told for the call that started it."""
        started = self._running.pop(done.task_id, None)
        if started is None:
            return []
        call_id, call = started
        event = _with(base, kind="tool_result", text=done.text)
        event.role = role_of(call.tool)
        event.call_id, event.tool, event.input = call_id, call.tool, call.input
        event.call_line, event.call_uuid = call.line, call.uuid
        event.outcome, event.exit_code, event.interrupted = done.outcome, done.exit_code, done.interrupted
        event.repeat = self._met("end:" + call_id, base.sidechain) or base.repeat
        return [event]

    # -- text typed while the agent was busy

    def _queue(self, line: dict[str, Any], number: int) -> list[Event]:
        operation = line.get("operation")
        if operation == "enqueue":
            text = content_text(line.get("content"))
            done = notified_ending(text)
            if done:
                return self._ended(done, self._base(line, number))
            words = hear(text).words
            if words:
                at, session_id = line.get("timestamp"), line.get("sessionId")
                self._queued.append(
                    _Queued(
                        words,
                        number,
                        at if type(at) is str else "",
                        session_id if type(session_id) is str else "",
                    )
                )
                del self._queued[:-MAX_QUEUED]
        elif operation == "dequeue":
            waiting = next((queued for queued in self._queued if not queued.taken), None)
            if waiting:
                waiting.taken = True
        elif operation in ("remove", "popAll"):
            self._take_back(line)
        return []

    def _take_back(self, line: dict[str, Any]) -> None:
        text = hear(content_text(line.get("content"))).words
        if line.get("operation") == "popAll":
            self._queued = [queued for queued in self._queued if queued.taken]
            return
        for queued in self._queued:
            if not queued.taken and text in ("", queued.text):
                self._queued.remove(queued)
                return

    def _forget_queued(self, *texts: str) -> None:
        for queued in self._queued:
            if queued.text in texts:
                self._queued.remove(queued)
                return

    def _delivered(self, base: Event) -> list[Event]:
        """Text that left the queue and that no line repeated before the agent went on."""
        if base.sidechain:
            return []
        told = [queued for queued in self._queued if queued.taken]
        self._queued = [queued for queued in self._queued if not queued.taken]
        events = []
        for queued in told:
            event = Event(
                kind="user",
                line=queued.line,
                uuid="",
                at=queued.at,
                session_id=queued.session_id or base.session_id,
                role="user",
                text=cut(queued.text)[0],
                cwd=base.cwd,
                branch=base.branch,
            )
            event.repeat = self._met(f"queue:{queued.at}:{queued.text}", sidechain=False)
            events.append(event)
        return events

    # -- all other lines

    def _other(self, kind: str, line: dict[str, Any], number: int) -> list[Event]:
        if kind == "queue-operation":
            return self._queue(line, number)
        if kind == "attachment":
            return self._attachment(line, number)
        if kind == "system":
            return self._system(line, number)
        if kind in ("summary", "ai-title", "custom-title"):
            return self._named("title", line, number, "summary", "aiTitle", "customTitle", "title")
        if kind == "pr-link":
            return self._named("link", line, number, "prUrl")
        self._report.skip("unknown-type")
        return []

    def _named(self, kind: EventKind, line: dict[str, Any], number: int, *keys: str) -> list[Event]:
        text = next((value for key in keys if type(value := line.get(key)) is str and value.strip()), "")
        if not text:
            return []
        event = _with(self._base(line, number), kind=kind, text=text)
        event.result = {key: value for key, value in line.items() if isinstance(value, str | int)}
        return [event]

    def _system(self, line: dict[str, Any], number: int) -> list[Event]:
        subtype = line.get("subtype")
        if subtype == "compact_boundary":
            return [_with(self._base(line, number), kind="compaction", text="")]
        if subtype == "local_command" and type(text := line.get("content")) is str:
            return self._prompt(text, self._base(line, number), line)
        return []

    def _attachment(self, line: dict[str, Any], number: int) -> list[Event]:
        attachment = line.get("attachment")
        if not isinstance(attachment, dict):
            return []
        base = self._base(line, number)
        if attachment.get("type") == "queued_command":
            text = content_text(attachment.get("prompt"))
            mode = attachment.get("commandMode")
            if mode in (None, "prompt"):
                return self._prompt(text, base, attachment | line)
            done = notified_ending(text)
            return [*(self._ended(done, base) if done else []), _with(base, kind="context", text=text)]
        text = content_text(attachment.get("content"))
        return [_with(base, kind="context", text=text)] if text else []


def _with(base: Event, *, kind: EventKind, text: str = "", model: str | None = None) -> Event:
    """A new event with the envelope of `base`."""
    text, truncated = cut(text) if len(text) > MAX_TEXT else (text, False)
    return Event(
        kind=kind,
        line=base.line,
        uuid=base.uuid,
        at=base.at,
        session_id=base.session_id,
        role=base.role if kind == "assistant" else "tool",
        text=text,
        cwd=base.cwd,
        branch=base.branch,
        sidechain=base.sidechain,
        repeat=base.repeat,
        truncated=truncated,
        model=base.model if model is None else model,
    )


def _is_injected(line: dict[str, Any]) -> bool:
    """Whether a user line's flags say that no person typed it."""
    if line.get("isMeta") is True or line.get("isVisibleInTranscriptOnly") is True:
        return True
    if line.get("sourceToolUseID") or line.get("planContent"):
        return True
    origin = line.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    return type(kind) is str and kind not in ("human", "user", "")


def _trimmed(value: Any, depth: int = 0) -> Any:
    """A structured input or result with its long texts cut, for lines that carry whole files."""
    if type(value) is str:
        return cut(value)[0]
    if depth < 8 and isinstance(value, dict):
        return {key: _trimmed(item, depth + 1) for key, item in value.items()}
    if depth < 8 and isinstance(value, list):
        return [_trimmed(item, depth + 1) for item in value[:1000]]
    return None if isinstance(value, dict | list) else value
