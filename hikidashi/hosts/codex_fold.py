"""The fold that turns the line objects of one Codex rollout into events.

The client writes most things twice: what the model was sent and answered (`response_item`), and what its own
screen shows (`event_msg`). Words of the model and its calls are taken from the first, a person's words from the
second, and how a command ended from both. What is remembered is bounded, and depends on nothing but the lines before.
"""

from __future__ import annotations

from typing import Any, Final

from hikidashi.hosts.back import Before
from hikidashi.hosts.calls import Call, trimmed
from hikidashi.hosts.codex_calls import OpenCalls, TokenCount
from hikidashi.hosts.codex_envelope import Envelopes, line_key, stable_id
from hikidashi.hosts.codex_lines import SILENT_EVENTS, SILENT_ITEMS, SILENT_TYPES
from hikidashi.hosts.codex_results import Ended, command_ended, end_of, is_open_ended, judge, output_of, read_output
from hikidashi.hosts.codex_speech import PLAN_PREFIX, hear, proposed_plan
from hikidashi.hosts.codex_tools import SHELLS, Made, answers, made, role_of
from hikidashi.hosts.texts import MAX_TEXT, content_text, cut, say, unsaid
from hikidashi.hosts.transcript import Event, ReadReport

__all__ = ["Fold"]

_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})

#: Only IDs of so many characters are searched in what lies far back.
_LONG: Final = 20


class Fold(Envelopes):
    """State of one pass over one file; `feed` gives the events of one line object."""

    def __init__(self, report: ReadReport, seen: set[bytes]) -> None:
        super().__init__(report, seen)
        self._calls = OpenCalls()
        self._tokens = TokenCount()
        #: The last plan that the model proposed.
        self._plan = ""
        #: The prompt that was told last, with the kind of its line, until the model goes on.
        self._prompt = ("", "")
        #: The part of the file that was not fed, if any; calls are searched there.
        self.before: Before | None = None

    def feed(self, line: dict[str, Any], number: int, size: int) -> list[Event]:
        """The events of one line object; `size` is the length of its line in bytes, with its newline."""
        kind, payload = line.get("type"), line.get("payload")
        if type(kind) is not str:
            self._report.skip("no-type")
            return []
        if kind in SILENT_TYPES:
            return []
        if type(payload) is not dict:
            self._report.skip("no-payload")
            return []
        if kind == "response_item":
            return self._item(line, payload, number, size)
        if kind == "event_msg":
            return self._shown(line, payload, number, size)
        if kind == "session_meta":
            self.head(payload, _text(line.get("timestamp")))
        elif kind == "turn_context":
            self.place(payload)
        elif kind == "compacted":
            text = content_text(payload.get("message"))
            return [say(self.base(line, number, said=f"compacted:{text}"), "compaction", text)]
        else:
            self._report.skip("unknown-type")
        return []

    # -- what the model was sent and answered

    def _item(self, line: dict[str, Any], payload: dict[str, Any], number: int, size: int) -> list[Event]:
        kind = payload.get("type")
        if type(kind) is not str:
            self._report.skip("no-type")
        elif kind in ("message", "agent_message"):
            return self._message(line, payload, number)
        elif kind in _CALLS:
            return self._call(line, payload, number, size)
        elif kind in _OUTPUTS:
            return self._output(line, payload, number, size)
        elif kind not in SILENT_ITEMS:
            self._report.skip("unknown-type")
        return []

    def _message(self, line: dict[str, Any], payload: dict[str, Any], number: int) -> list[Event]:
        text, role = content_text(payload.get("content")), payload.get("role")
        if not text.strip():
            return []
        uuid = stable_id(payload.get("id"), _text(line.get("timestamp")))
        base = self.base(line, number, uuid, f"message:{role}:{text}")
        if role != "assistant" or payload.get("type") != "message" or _is_summary(line):
            return [say(base, "context", text)]
        base.repeat = base.repeat or self.in_copy(base)
        self._plan = cut(proposed_plan(text))[0] or self._plan
        return [self._answer(say(base, "assistant", text))]

    def _answer(self, event: Event) -> Event:
        """An event of the model's own, with the model's name and the tokens that were counted since."""
        self._prompt = ("", "")
        if self._tokens.waiting:
            event.tokens = self._tokens.take()
        event.model = self.model
        return event

    def _call(self, line: dict[str, Any], payload: dict[str, Any], number: int, size: int) -> list[Event]:
        name = payload.get("call_id") or payload.get("id")
        if type(name) is not str or not name:
            self._report.skip("call-without-id")
            return []
        tool, given = payload.get("name"), payload.get("arguments", payload.get("input"))
        if payload.get("type") == "local_shell_call":
            tool, given = "local_shell", payload.get("action")
        event = self._made(line, number, name, made(tool, payload.get("namespace"), given))
        if size > MAX_TEXT:
            event.input = trimmed(event.input)
        key = line_key("result:" + event.call_id)
        event.repeat = event.repeat or key in self._seen
        self._calls.hold(name, (event, size, key))
        return [self._answer(event)]

    def _made(self, line: dict[str, Any], number: int, name: str, call: Made) -> Event:
        """The event of a call."""
        event = self.base(line, number, said=f"call:{name}")
        event.kind, event.role = "tool_call", "assistant"
        event.call_id, event.tool, event.input = stable_id(name, event.at), call.tool, call.input
        event.call_line, event.cwd = number, self.folder(call.folder)
        return event

    # -- results

    def _output(self, line: dict[str, Any], payload: dict[str, Any], number: int, size: int) -> list[Event]:
        name = payload.get("call_id")
        if type(name) is not str or not name:
            self._report.skip("call-without-id")
            return []
        call, ended = self._calls.answered(name)
        if call is None:
            call = self._recall(name)
        event = self.base(line, number, said=f"output:{name}")
        if call is None:
            event.call_id = stable_id(name, event.at)
        else:
            self._join(event, call)
        key = call[2] if call else line_key("result:" + event.call_id)
        event.repeat = self.met(key, "result:" + event.call_id) or event.repeat
        event.kind, event.role = "tool_result", role_of(event.tool)
        session = judge(event, payload.get("output"), ended)
        if call and (session or is_open_ended(event)):
            self._calls.run_on(session or f"call {name}", name, call, event.text if session else "")
        if event.tool == "AskUserQuestion":
            event.result = answers(event.input, event.text) or None
        elif event.tool == "write_stdin":
            return [event, *self._polled(event, payload.get("output"))]
        return [event]

    def _join(self, event: Event, call: Call) -> None:
        """Make `event` one of the call."""
        made_ = call[0]
        event.call_id, event.tool, event.input, event.cwd = made_.call_id, made_.tool, made_.input, made_.cwd
        event.call_line, event.call_uuid = made_.line, made_.uuid

    def _recall(self, name: str) -> Call | None:
        """The call of that ID, from before what this fold read."""
        if self.before is None or len(name) < _LONG:
            return None
        earlier = Fold(ReadReport(), set())
        earlier._session_id, earlier._sidechain, earlier._cwd = self._session_id, self._sidechain, self._cwd
        earlier._branch = self._branch
        self.before.feed_first(name, "response_item", earlier.feed)
        return earlier._calls.answered(name)[0]

    def _polled(self, event: Event, output: object) -> list[Event]:
        """What a look at a running command says of its end."""
        session = str(event.input.get("session_id", ""))
        told = read_output(output_of(output)[0])
        if told.exit_code is None:
            self._calls.printed(session, told.text if told.session == session else "")
            return []
        known = self._calls.ran_out(session)
        if known is None:
            return []
        call, before = known
        return [self._end(event, call, Ended(exit_code=told.exit_code, text=before + told.text))]

    def _end(self, base: Event, call: Call, ended: Ended) -> Event:
        """The one result of the end of a command that ran on, told for the call that started it."""
        event = base.beside(repeat=False)
        self._join(event, call)
        event.kind, event.role = "tool_result", role_of(event.tool)
        end_of(event, ended)
        name = "end:" + event.call_id
        event.repeat = self.met(line_key(name), name) or base.repeat
        return event

    # -- what the client's screen shows

    def _shown(self, line: dict[str, Any], payload: dict[str, Any], number: int, size: int) -> list[Event]:
        kind = payload.get("type")
        if type(kind) is not str:
            self._report.skip("no-type")
            return []
        if kind in SILENT_EVENTS:
            return []
        if kind == "token_count":
            self._tokens.note(payload.get("info"))
            return []
        item = payload.get("item") if kind == "item_completed" else payload
        if type(item) is not dict:
            self._report.skip("no-payload")
            return []
        what = item.get("type")
        if what in ("user_message", "UserMessage"):
            return self._typed(line, item, what, number)
        if what in ("exec_command_end", "CommandExecution"):
            return self._command(line, item, number)
        if what in ("patch_apply_end", "FileChange"):
            return self._changed(line, item, number)
        if what in ("mcp_tool_call_end", "McpToolCall"):
            return []
        if what == "turn_aborted":
            return self._aborted(line, item, number)
        if what == "thread_name_updated":
            name = _text(item.get("thread_name"))
            return [say(self.base(line, number, said=f"title:{name}"), "title", name)] if name.strip() else []
        if kind != "item_completed":
            self._report.skip("unknown-type")
        return []

    def _typed(self, line: dict[str, Any], item: dict[str, Any], what: str, number: int) -> list[Event]:
        """A prompt. Some clients tell it in both forms, of which the second counts for nothing."""
        text = _text(item.get("message")) or content_text(item.get("content"))
        told = hear(text)
        if self._prompt[0] == text and self._prompt[1] != what:
            return []
        self._prompt = (text, what)
        if not text.strip():
            return []
        uuid = stable_id(item.get("id"), _text(line.get("timestamp")))
        base = self.base(line, number, uuid, f"prompt:{text}")
        if base.sidechain or item.get("kind") not in (None, "plain"):
            return [say(base, "context", text)]
        plan = told.plan or (self._plan if told.accepts else "")
        if plan:
            return [unsaid(base, PLAN_PREFIX + plan, plan=True)]
        if not told.words:
            return [say(base, "context", text)]
        base.repeat = self.met_prompt(base, told.words) or base.repeat
        return [say(base, "user", told.words)]

    def _aborted(self, line: dict[str, Any], item: dict[str, Any], number: int) -> list[Event]:
        """The turn ended early; only one reason is a person's."""
        if item.get("reason") not in (None, "interrupted"):
            return []
        event = self.base(line, number, said=f"aborted:{_text(item.get('turn_id'))}")
        event.interrupted = True
        return [say(event, "interrupt", "")]

    def _command(self, line: dict[str, Any], item: dict[str, Any], number: int) -> list[Event]:
        """A command ended: one whose result is to come, one that ran on, or one that a script of the model ran."""
        name = _text(item.get("call_id")) or _text(item.get("id"))
        if not name or item.get("source") == "user_shell":
            return []
        ended = command_ended(item)
        if self._calls.waits(name):
            self._calls.end(name, ended)
            return []
        known = self._calls.ran_out_by_name(name)
        if known is None and self._calls.was_answered(name):
            return []
        call = known[0] if known else self._recall(name)
        if call is None:
            given = {"command": item.get("command"), "workdir": ended.folder}
            return self._ran_by_script(line, number, name, made("shell", "", given), ended)
        if known is None and call[2] not in self._seen:
            self._calls.end(name, ended)
            return []
        base = self.base(line, number, said=f"ended:{name}")
        return [self._end(base, call, ended)]

    def _changed(self, line: dict[str, Any], item: dict[str, Any], number: int) -> list[Event]:
        """Files were changed: told here only where no call of the model says so."""
        name = _text(item.get("call_id")) or _text(item.get("id"))
        changes = item.get("changes")
        if not name or not isinstance(changes, dict) or self._calls.waits(name) or self._calls.was_answered(name):
            return []
        if self._recall(name) is not None:
            return []
        files = [path for path in changes if type(path) is str]
        failed = item.get("success") is False or item.get("status") not in (None, "completed", "success")
        ended = Ended(exit_code=1 if failed else 0, text=_text(item.get("stdout")) or _text(item.get("stderr")))
        call = Made(tool="Edit", input={"file_path": files[0], "files": files} if files else {})
        return self._ran_by_script(line, number, name, call, ended)

    def _ran_by_script(self, line: dict[str, Any], number: int, name: str, call: Made, ended: Ended) -> list[Event]:
        """Call and result of what a script of the model did; no other line tells it."""
        event = self._made(line, number, name, call)
        key = "result:" + event.call_id
        event.repeat = self.met(line_key(key), key) or event.repeat
        result = event.beside(repeat=event.repeat)
        self._join(result, (event, 0, b""))
        result.kind, result.role = "tool_result", role_of(call.tool)
        end_of(result, ended)
        if call.tool not in SHELLS:
            result.exit_code = None
        return [self._answer(event), result]


def _is_summary(line: dict[str, Any]) -> bool:
    """Whether an answer is the summary of a compaction, which a `compacted` line repeats."""
    metadata = line.get("metadata")
    return isinstance(metadata, dict) and metadata.get("compaction_output") is True


def _text(value: object) -> str:
    return value if type(value) is str else ""
