"""What a host tells a hook, and what a hook may answer (facts: the hosts' own documentation). Standard library only.

Nothing in an event is trusted to be there or to have its type: what is missing is ''. The answer has exactly the keys
that Claude Code and Codex both know; Codex refuses an answer with any other.
"""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Final

__all__ = ["EVENTS", "HostEvent", "Reply"]

#: The events that are answered.
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "SubagentStart")

#: Where text for the model is taken.
_TAKE_CONTEXT: Final = ("SessionStart", "UserPromptSubmit", "SubagentStart")

#: A host cuts a longer text to a preview, or puts it into a file (Claude Code: 10,000; Codex: 2,500 tokens).
MAX_CHARACTERS: Final = 9_000


class HostEvent:
    """One call of a hook."""

    def __init__(self, data: object, *, named: str = "", cwd: str = "") -> None:
        """`named`: the event that the hook is registered for; `cwd`: where the process runs."""
        values = data if isinstance(data, dict) else {}
        name = _text(values, "hook_event_name")
        self.name: Final = name if name in EVENTS else named
        self.session_id: Final = _text(values, "session_id")[:200]
        #: The session's file; '' where the host keeps none.
        self.transcript: Final = _text(values, "transcript_path")
        self.cwd: Final = _text(values, "cwd") or cwd
        #: SessionStart: startup, resume, clear, compact, fork. UserPromptSubmit: who wrote it, where the host says so.
        self.source: Final = _text(values, "source")
        self.prompt: Final = _text(values, "prompt")
        #: The agent's last message, at Stop.
        self.message: Final = _text(values, "last_assistant_message")
        #: The agent was sent back already in this turn.
        self.sent_back: Final = values.get("stop_hook_active") is True
        self.plan_mode: Final = _text(values, "permission_mode") == "plan"
        #: Inside a sub-agent. A sub-agent without a type is the host's own (it writes summaries).
        self.agent_id: Final = _text(values, "agent_id")
        self.agent_type: Final = _text(values, "agent_type")


def _text(values: dict[Any, Any], key: str) -> str:
    value = values.get(key)
    return value if isinstance(value, str) else ""


class Reply:
    """What a hook answers; empty: nothing at all."""

    def __init__(
        self,
        *,
        context: str = "",
        to_person: str = "",
        send_back: str = "",
        after: Sequence[Callable[[], object]] = (),
    ) -> None:
        #: Text for the model.
        self.context = context
        #: One line for the person.
        self.to_person = to_person
        #: At Stop: why the turn goes on.
        self.send_back = send_back
        #: What is done once the answer is out: nothing counts as given that was not delivered.
        self.after = list(after)

    def to_dict(self, event: str) -> dict[str, Any]:
        """The JSON object for standard output; {} for nothing."""
        form: dict[str, Any] = {}
        if self.send_back and event == "Stop":
            form |= {"decision": "block", "reason": self.send_back[:MAX_CHARACTERS]}
        if self.context and event in _TAKE_CONTEXT:
            form["hookSpecificOutput"] = {
                "hookEventName": event,
                "additionalContext": self.context[:MAX_CHARACTERS],
            }
        if self.to_person:
            form["systemMessage"] = self.to_person[:MAX_CHARACTERS]
        return form
