"""The fold that turns the line objects of one Claude Code transcript into events.

What it has to remember while it reads (calls without a result, background calls without an end, text typed
while the agent was busy, tokens already counted) is bounded, and depends on nothing but the lines before.
"""

from __future__ import annotations

from typing import Any

from hikidashi.hosts.back import Before
from hikidashi.hosts.calls import Calls, TokenCount, trimmed
from hikidashi.hosts.claude_envelope import Envelopes, line_key
from hikidashi.hosts.claude_lines import (
    BACKGROUND_TOOLS,
    CALL_BLOCKS,
    LOOKS,
    SILENT_TYPES,
    STOPS,
    TOLD_BLOCKS,
)
from hikidashi.hosts.claude_queue import TypedAhead
from hikidashi.hosts.claude_speech import PLAN_PROMPT, hear, is_injected, refusal_words
from hikidashi.hosts.claude_tools import (
    Ending,
    ending,
    judge,
    notified_ending,
    role_of,
)
from hikidashi.hosts.texts import MAX_TEXT, content_text, say, unsaid
from hikidashi.hosts.transcript import Event, EventKind, ReadReport

__all__ = ["Fold"]


class Fold(Envelopes):
    """State of one pass over one file.

    `feed` gives the events of one line object. Most lines of a transcript are an answer of the model or the result
    of a call, so their paths take few steps; the others are as slow as they are rare.
    """

    __slots__ = ("_calls", "_tokens", "_typed", "before")

    def __init__(self, report: ReadReport, seen: set[bytes]) -> None:
        super().__init__(report, seen)
        self._calls = Calls()
        self._tokens = TokenCount()
        self._typed = TypedAhead()
        #: The part of the file that was not fed, if any; calls are searched there.
        self.before: Before | None = None

    def feed(self, line: dict[str, Any], number: int, size: int) -> list[Event]:
        """The events of one line object; `size` is the length of its line in bytes, with its newline."""
        kind = line.get("type")
        if kind == "assistant":
            return self.assistant(line, number, size)
        if kind == "user":
            return self.user(line, number, size)
        return self.other(line, number)

    # -- assistant lines

    def assistant(self, line: dict[str, Any], number: int, size: int) -> list[Event]:
        """The events of a line of type `assistant`."""
        message = line.get("message")
        if type(message) is not dict:
            self._report.skip("no-message")
            return []
        base = self._base(line, number)
        content, model = message.get("content"), message.get("model")
        if model == "<synthetic>" or line.get("isApiErrorMessage") is True:
            return [say(base, "context", content_text(content))]
        repeat = base.repeat
        told = self._delivered(base) if self._typed.waiting else None
        if type(content) is str:
            content = [{"type": "text", "text": content}]
        events = self._blocks(content, base, repeat, size) if type(content) is list else []
        if not repeat:
            self._tokens.add(message)
        if events:
            if self._tokens.waiting:
                events[0].tokens = self._tokens.take()
            if type(model) is str:
                for event in events:
                    event.model = model
        return told + events if told else events

    def _blocks(self, content: list[Any], base: Event, repeat: bool, size: int) -> list[Event]:
        events: list[Event] = []
        for block in content:
            kind = block.get("type") if type(block) is dict else None
            if type(kind) is not str or kind not in TOLD_BLOCKS:
                continue
            event = base.beside(repeat=repeat) if events else base
            if kind in CALL_BLOCKS:
                if not self._call(block, event, size):
                    continue
            elif kind == "text":
                text = block.get("text")
                if type(text) is not str or not text or text.isspace():
                    continue
                event.kind = event.role = "assistant"
                event.text = text
            else:
                self._result(block, event, None, size)
            events.append(event)
        return events

    def _call(self, block: dict[str, Any], event: Event, size: int) -> bool:
        """Make `event` the call of a `tool_use` block and hold it; False when no result could ever be joined."""
        call_id, tool, given = block.get("id"), block.get("name"), block.get("input")
        if type(call_id) is not str or not call_id:
            self._report.skip("call-without-id")
            return False
        key = line_key("result:" + call_id)
        event.kind, event.role = "tool_call", "assistant"
        event.call_id, event.tool = call_id, tool if type(tool) is str else ""
        if type(given) is dict:
            event.input = trimmed(given) if size > MAX_TEXT else given
        event.call_line, event.call_uuid = event.line, event.uuid
        if key in self._seen:
            event.repeat = True
        self._calls.hold(event, size, key)
        return True

    # -- user lines

    def user(self, line: dict[str, Any], number: int, size: int) -> list[Event]:
        """The events of a line of type `user`."""
        message = line.get("message")
        if type(message) is not dict:
            self._report.skip("no-message")
            return []
        base = self._base(line, number)
        content = message.get("content")
        if line.get("isCompactSummary") is True:
            return [say(base, "compaction", content_text(content))]
        if type(content) is str:
            return self._prompt(content, base, line)
        if type(content) is not list:
            self._report.skip("no-content")
            return []
        repeat = base.repeat
        results = content
        if not (len(content) == 1 and type(content[0]) is dict and content[0].get("type") == "tool_result"):
            results = [block for block in content if type(block) is dict and block.get("type") == "tool_result"]
        structured = line.get("toolUseResult")
        events: list[Event] = []
        for block in results:
            event = base.beside(repeat=repeat) if events else base
            self._result(block, event, structured if len(results) == 1 else None, size)
            events.append(event)
            if event.refused_by or event.tool in BACKGROUND_TOOLS:
                events += self._consequences(event, structured, repeat)
        if len(results) < len(content):
            text = content_text(content)
            if text.strip():
                events += self._prompt(text, base.beside(repeat=repeat), line)
        return events

    def _prompt(self, text: str, base: Event, line: dict[str, Any]) -> list[Event]:
        """What a user line's text is: a person's words, an interruption, or something injected."""
        done = notified_ending(text)
        if done:
            return [*self._ended(done, base, base.repeat), say(base, "context", text)]
        if base.sidechain or is_injected(line):
            if self._typed.waiting and not base.sidechain:
                self._typed.was_injected(text.strip(), hear(text).words)
            return [unsaid(base, text, plan=bool(line.get("planContent")))]
        speech = hear(text)
        events: list[Event] = []
        if speech.interrupted:
            events.append(say(base, "interrupt", text))
        if speech.words:
            event = base.beside(repeat=base.repeat) if events else base
            event.repeat = self._typed.is_repeated_by(text.strip(), speech.words) or event.repeat
            events.append(say(event, "user", speech.words))
        return events or [unsaid(base, text, plan=text.startswith(PLAN_PROMPT))]

    # -- results

    def _result(self, block: dict[str, Any], event: Event, structured: object, size: int) -> None:
        """Make `event` the result in a `tool_result` block, joined to its call."""
        call_id = block.get("tool_use_id")
        call = None
        if type(call_id) is str and call_id:
            event.call_id = call_id
            call = self._calls.answered(call_id)
            if call is None and self.before:
                call = self._recall(call_id, "assistant")._calls.answered(call_id)
            key = call[2] if call else line_key("result:" + call_id)
            if event.sidechain or key in self._seen:
                event.repeat = self._met(key, "result:" + call_id, event.sidechain) or event.repeat
            else:
                self._seen.add(key)
        if call:
            made = call[0]
            event.tool, event.input, event.call_line, event.call_uuid = made.tool, made.input, made.line, made.uuid
        event.kind, event.role = "tool_result", role_of(event.tool)
        task_id = judge(event, block.get("content"), block.get("is_error"), structured)
        if type(structured) is dict:
            event.result = trimmed(structured) if size > MAX_TEXT else structured
        if task_id and call:
            self._calls.run_on(task_id, call)

    def _recall(self, word: str, kind: str) -> Fold:
        """What a fold would know after the first line of type `kind` with `word`, from before what this one read."""
        earlier = Fold(ReadReport(), set())
        if self.before:
            earlier.before = self.before
            self.before.feed_first(word, kind, earlier.feed)
        return earlier

    def _consequences(self, event: Event, structured: object, repeat: bool) -> list[Event]:
        """What a result says beyond its own call: words of a refusal, the end of a background call."""
        if event.refused_by == "person":
            words = "" if event.sidechain else refusal_words(event.text)
            return [say(event.beside(repeat=repeat), "user", words)] if words else []
        if event.tool in LOOKS:
            done = ending(event.input, event.text, structured)
            return self._ended(done, event, repeat) if done else []
        if event.tool in STOPS and event.outcome == "ok":
            for key in ("shell_id", "task_id"):
                task_id = event.input.get(key)
                if type(task_id) is str and task_id:
                    done = Ending(task_id=task_id, outcome="unknown", exit_code=None, text="", interrupted=True)
                    return self._ended(done, event, repeat)
        return []

    def _ended(self, done: Ending, base: Event, repeat: bool) -> list[Event]:
        """The one result of a background call's end, told for the call that started it."""
        call = self._calls.ended(done.task_id)
        if call is None and self.before:
            call = self._recall(done.task_id, "user")._calls.ended(done.task_id)
        if call is None:
            return []
        made, event = call[0], base.beside(repeat=repeat)
        event.kind, event.role, event.text = "tool_result", role_of(made.tool), done.text
        event.call_id, event.tool, event.input = made.call_id, made.tool, made.input
        event.call_line, event.call_uuid = made.line, made.uuid
        event.outcome, event.exit_code, event.interrupted = done.outcome, done.exit_code, done.interrupted
        name = "end:" + made.call_id
        event.repeat = self._met(line_key(name), name, base.sidechain) or repeat
        return [event]

    # -- text typed while the agent was busy

    def _queue(self, line: dict[str, Any], number: int) -> list[Event]:
        operation = line.get("operation")
        text = content_text(line.get("content"))
        if operation == "enqueue":
            self._typed.enqueue(line, number, hear(text).words)
            done = notified_ending(text)
            return self._ended(done, self._base(line, number), False) if done else []
        if operation in ("dequeue", "remove"):
            self._typed.leave()
        elif operation == "popAll":
            self._typed.take_back(hear(text).words)
        return []

    def _delivered(self, base: Event) -> list[Event]:
        """User events for text that left the queue and that no line repeated before the agent went on."""
        if base.sidechain:
            return []
        events = []
        for typed in self._typed.told_now():
            event = base.beside(repeat=False)
            event.line, event.uuid, event.at = typed.line, "", typed.at
            event.session_id = typed.session_id or base.session_id
            name = f"queue:{typed.at}:{typed.text}"
            event.repeat = self._met(line_key(name), name, False)
            events.append(say(event, "user", typed.text))
        return events

    # -- all other lines

    def other(self, line: dict[str, Any], number: int) -> list[Event]:
        """The events of a line of neither type."""
        kind, uuid = line.get("type"), line.get("uuid")
        if type(uuid) is str and uuid:
            self._report.last_uuid = uuid
        if type(kind) is not str:
            self._report.skip("no-type")
            return []
        if kind in SILENT_TYPES:
            return []
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
        event = say(self._base(line, number), kind, text)
        event.result = {key: value for key, value in line.items() if isinstance(value, str | int)}
        return [event]

    def _system(self, line: dict[str, Any], number: int) -> list[Event]:
        subtype = line.get("subtype")
        if subtype == "compact_boundary":
            return [say(self._base(line, number), "compaction", "")]
        if subtype == "local_command" and type(text := line.get("content")) is str:
            return self._prompt(text, self._base(line, number), {})
        return []

    def _attachment(self, line: dict[str, Any], number: int) -> list[Event]:
        attachment = line.get("attachment")
        if type(attachment) is not dict:
            return []
        if attachment.get("type") == "queued_command":
            text = content_text(attachment.get("prompt"))
            # `commandMode` names what was queued: prompt, bash, task-notification.
            injected = attachment.get("commandMode") not in (None, "prompt")
            flags = {**line, **attachment, "isMeta": injected or line.get("isMeta") or attachment.get("isMeta")}
            return self._prompt(text, self._base(line, number), flags)
        text = content_text(attachment.get("content"))
        return [say(self._base(line, number), "context", text)] if text else []
