"""What a model is shown of a session: pieces of redacted text, each with its place and who vouches for it.

A long text becomes several pieces that joined are the whole again; a piece is small enough that a chunk cut between
pieces fits any window. How an event is cut depends on nothing but the event, so a reading that was broken off between
two pieces goes on at the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from hikidashi.hosts.transcript import Outcome, Role

__all__ = ["MAX_PIECE_BYTES", "SPEAKERS", "Piece", "PieceKind", "Speaker", "parts_of"]

#: UTF-8 bytes of one piece at most: about 350 tokens of English, 400 of Japanese.
MAX_PIECE_BYTES: Final = 1_200

#: What a piece shows:
#:   words    what somebody said
#:   pasted   what a person put into a prompt and did not say: code, logs, quotes, documents
#:   answer   what a person chose when the agent asked
#:   plan     a plan of the agent that a person approved
#:   tasks    the agent's task list
#:   call     a tool call and how it ended
#:   link     a ready-made fact such as "pull request opened"
#:   stop     the person stopped the agent; without text
PieceKind = Literal["words", "pasted", "answer", "plan", "tasks", "call", "link", "stop"]

#: Who speaks, as the model is told.
Speaker = Literal["person", "assistant", "tool", "external", "pasted"]
SPEAKERS: Final[tuple[Speaker, ...]] = ("person", "assistant", "tool", "external", "pasted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A text of one event, or one of its parts. All texts are redacted."""

    kind: PieceKind
    #: Who vouches for the text: `user` for a person's own words only; what is pasted is `external`.
    role: Role
    text: str
    session_id: str
    #: 0-based line of the event, and its uuid; '' when it has none.
    line: int
    uuid: str
    #: ISO 8601, always a time.
    at: str
    #: The event's identity, the same in copies of the session.
    anchor: str
    #: Which piece it is among those of its line, from 0; with `anchor` it names the piece.
    index: int = 0
    #: Part `part` of `parts` of one text, from 1.
    part: int = 1
    parts: int = 1
    #: Line and uuid of the call, for a call; else those of the event.
    first_line: int = -1
    first_uuid: str = ""
    #: Git branch of the event; '' when unknown. Never shown to a model.
    branch: str = ""
    #: Of an answer: the part of the text that is the person's; '' where all of it is its speaker's.
    said: str = ""
    #: Calls: the tool, how it ended and the exit code, if one is known.
    tool: str = ""
    outcome: Outcome = "unknown"
    exit_code: int | None = None

    @property
    def speaker(self) -> Speaker:
        """Who speaks, as the model is told."""
        if self.kind == "pasted":
            return "pasted"
        return "person" if self.role == "user" else self.role

    def follows(self, other: Piece) -> bool:
        """Whether it is the next part of the same text."""
        return self.part == other.part + 1 and self.index == other.index + 1 and self.anchor == other.anchor


def parts_of(text: str, limit: int = MAX_PIECE_BYTES) -> Iterator[str]:
    """Cut a text into parts of at most `limit` bytes that joined are the text; '' gives one empty part.

    It is cut behind a line's end, else behind a sentence or a word, where one ends in the second half of a part.
    """
    start = 0
    while len(text) - start > limit // 4 and len(text[start : start + limit + 1].encode("utf-8", "replace")) > limit:
        end = start + _fitting(text[start : start + limit], limit)
        end = _good_end(text, start, end)
        yield text[start:end]
        start = end
    yield text[start:]


def _fitting(text: str, limit: int) -> int:
    """How many characters of `text` fit into `limit` bytes; at least one."""
    kept = text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
    return max(len(kept), 1)


def _good_end(text: str, start: int, end: int) -> int:
    least = start + (end - start) // 2
    for mark in ("\n", ". ", "。", " "):
        found = text.rfind(mark, least, end)
        if found >= 0:
            return found + len(mark)
    return end
