"""Text that a person types into Claude Code while the agent is busy.

The client logs what happens to its queue as `queue-operation` lines (seen in the client 2.0.76):

    enqueue   typed; `content` is the text
    dequeue   taken as the next prompt; a user line with the text follows
    remove    handed to the agent in the middle of its turn; versions before 2.1.68 write no other line of it,
              later ones an `attachment` of type `queued_command`
    popAll    taken back into the input box to be edited

So a text is told once: by the user or attachment line that repeats it, else when the agent goes on after the
text left the queue. A text that was taken back is told only as what the person made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["TypedAhead", "TypedText"]

#: Operations that are remembered at once; the oldest are forgotten first.
MAX_QUEUED: Final = 64
#: Texts told from the queue alone that a late line may still repeat.
MAX_TOLD: Final = 16


@dataclass(slots=True, kw_only=True)
class TypedText:
    """One element of the client's queue; `text` is '' for what no person typed (notifications, images)."""

    text: str
    line: int
    at: str
    session_id: str
    #: It left the queue.
    taken: bool = False
    #: A line repeated it while it was still in the queue.
    repeated: bool = False


class TypedAhead:
    """The queue as far as its lines tell."""

    def __init__(self) -> None:
        #: Elements that are in the queue, or left it and are not told yet.
        self.waiting: list[TypedText] = []
        self._told: list[str] = []

    def enqueue(self, line: Mapping[str, object], number: int, text: str) -> None:
        """The line put an element into the queue, of which `text` was typed."""
        at, session_id = line.get("timestamp"), line.get("sessionId")
        self.waiting.append(
            TypedText(
                text=text,
                line=number,
                at=at if isinstance(at, str) else "",
                session_id=session_id if isinstance(session_id, str) else "",
            )
        )
        del self.waiting[:-MAX_QUEUED]

    def leave(self) -> None:
        """The oldest element left the queue, towards the agent. The lines do not say which; the client is fair."""
        for typed in self.waiting:
            if not typed.taken:
                if typed.repeated or not typed.text:
                    self.waiting.remove(typed)
                typed.taken = True
                return

    def take_back(self, text: str) -> None:
        """The person took an element back: the one with `text`, or the oldest when none has it."""
        waiting = [typed for typed in self.waiting if not typed.taken]
        chosen = next((typed for typed in waiting if typed.text == text), waiting[0] if waiting else None)
        if chosen:
            self.waiting.remove(chosen)

    def is_repeated_by(self, *texts: str) -> bool:
        """A prompt line with one of `texts` was written: its element is told by it.

        True when the text was told from the queue already, so that the line must not count again.
        """
        for typed in self.waiting:
            if typed.text in texts and not typed.repeated:
                if typed.taken:
                    self.waiting.remove(typed)
                typed.repeated = True
                return False
        told = next((text for text in self._told if text in texts), None)
        self._told.clear()
        return told is not None

    def was_injected(self, *texts: str) -> None:
        """A line that no person typed was written with one of `texts`: its element is nobody's words."""
        for typed in self.waiting:
            if typed.text and typed.text in texts and not typed.repeated:
                typed.text = ""
                if typed.taken:
                    self.waiting.remove(typed)
                return

    def told_now(self) -> list[TypedText]:
        """The elements that left the queue unrepeated, now that the agent goes on."""
        told = [typed for typed in self.waiting if typed.taken]
        if told:
            self.waiting = [typed for typed in self.waiting if not typed.taken]
            self._told = [*self._told, *(typed.text for typed in told)][-MAX_TOLD:]
        return told
