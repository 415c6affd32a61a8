"""Pieces of a session -> chunks that fit a model's window, and how a chunk is shown to it (design section 5.7)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from hikidashi.capture.passages import cut, folded, one_line
from hikidashi.capture.pieces import Piece, Speaker

__all__ = ["Chunk", "Chunks", "Shown", "room_for"]

#: Tokens that an event takes beside its text: the line that names it.
_HEADER_TOKENS: Final = 20
#: A chunk is not made smaller than this, whatever else the window has to hold.
_LEAST_ROOM: Final = 500
#: Characters kept of one text for the next chunk's `before`.
_BEFORE: Final = 300

#: How many tokens a text has, about.
Estimate = Callable[[str], int]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One event as a chunk shows it: a piece, or parts of one text that follow each other."""

    #: From 1, in the chunk.
    number: int
    pieces: tuple[Piece, ...]
    #: The pieces' texts, joined.
    text: str

    @cached_property
    def words(self) -> str:
        """The text, folded."""
        return folded(self.text)

    @property
    def first(self) -> Piece:
        """Its first piece."""
        return self.pieces[0]

    @property
    def speaker(self) -> Speaker:
        """Who speaks."""
        return self.pieces[0].speaker


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """Pieces of one transcript that go to a model together."""

    host: str
    #: The transcript, as sightings name it.
    path: str
    pieces: tuple[Piece, ...]
    #: What was said before the first piece, for understanding only; '' at a session's start.
    before: str = ""
    #: About how many tokens `render` takes.
    tokens: int = 0
    estimate: Estimate = field(repr=False, compare=False)

    @cached_property
    def events(self) -> tuple[Shown, ...]:
        """The numbered events."""
        groups: list[list[Piece]] = []
        for piece in self.pieces:
            if groups and piece.follows(groups[-1][-1]):
                groups[-1].append(piece)
            else:
                groups.append([piece])
        return tuple(
            Shown(number=number, pieces=tuple(group), text="".join(piece.text for piece in group))
            for number, group in enumerate(groups, start=1)
        )

    @cached_property
    def tag(self) -> str:
        """What marks the lines between events: no text of the chunk holds it, so no text can forge such a line."""
        texts = [self.before, *(piece.text for piece in self.pieces)]
        tag = hashlib.sha256("\x1f".join(texts).encode()).hexdigest()
        while any(tag[:8] in text for text in texts):
            tag = hashlib.sha256(tag.encode()).hexdigest()
        return tag[:8]

    def event(self, number: int) -> Shown | None:
        """The event of that number; None when the chunk has none."""
        return self.events[number - 1] if 1 <= number <= len(self.events) else None

    def render(self) -> str:
        """The chunk as the model is shown it."""
        lines = [f"=== {self.tag} {self.host}, {self.pieces[0].at[:16]} to {self.pieces[-1].at[:16]}"]
        if self.before:
            lines += [f"=== {self.tag} earlier, no event of this part", self.before]
        for event in self.events:
            lines += [f"=== {self.tag} {event.number} {_described(event)}"]
            if event.text:
                lines.append(event.text.removesuffix("\n"))
        return "\n".join([*lines, f"=== {self.tag} end"])

    def halves(self) -> tuple[Chunk, Chunk] | None:
        """The chunk in two of about the same size; None when it is one piece."""
        if len(self.pieces) < 2:
            return None
        costs = [_cost(piece, self.estimate) for piece in self.pieces]
        half, total, at = sum(costs) / 2, 0, 0
        while at < len(costs) - 1 and (at == 0 or total + costs[at] / 2 < half):
            total += costs[at]
            at += 1
        first = replace(self, pieces=self.pieces[:at], tokens=sum(costs[:at]) + self.estimate(self.before))
        before = first.closing
        tokens = sum(costs[at:]) + self.estimate(before)
        return first, replace(self, pieces=self.pieces[at:], tokens=tokens, before=before)

    @property
    def closing(self) -> str:
        """What the next chunk is told of this one: the person's and the agent's last words."""
        return _closing(self.pieces)


def _closing(pieces: tuple[Piece, ...]) -> str:
    last: dict[str, str] = {}
    for piece in reversed(pieces):
        if piece.kind in ("words", "answer") and piece.speaker not in last and piece.text.strip():
            last[piece.speaker] = cut(one_line(piece.text), _BEFORE)
        if len(last) == 2:
            break
    return "\n".join(f"{speaker}: {text}" for speaker, text in sorted(last.items(), reverse=True))


def _described(event: Shown) -> str:
    first, last = event.first, event.pieces[-1]
    words: list[str] = [event.speaker]
    if first.kind == "call":
        words.append(first.tool)
        words.append({"ok": "ok", "failed": "failed", "unknown": "no outcome"}[first.outcome])
        if first.exit_code is not None:
            words.append(f"exit {first.exit_code}")
    elif first.kind != "words" and first.kind != event.speaker:
        words.append({"stop": "stopped the agent", "plan": "plan, approved by the person"}.get(first.kind, first.kind))
    if first.parts > 1:
        shown = f"part {first.part}" if first is last else f"parts {first.part} to {last.part}"
        words.append(f"({shown} of {first.parts})")
    return " ".join(words)


def _cost(piece: Piece, estimate: Estimate) -> int:
    return estimate(piece.text) + _HEADER_TOKENS


def room_for(chunk_tokens: int, *, window: int, besides: int) -> int:
    """Tokens that a chunk may have: `capture.chunk_tokens`, less where the window is too small for that.

    `besides` is what else the window has to hold: the prompt and the answer.
    """
    return max(min(chunk_tokens, window - besides), _LEAST_ROOM)


class Chunks:
    """Takes the pieces of one transcript in order, gives chunks of at most `limit` tokens.

    A piece that is larger than the limit is a chunk of its own.
    """

    def __init__(self, *, host: str, path: str, limit: int, estimate: Estimate, before: str = "") -> None:
        self._host = host
        self._path = path
        self._limit = limit
        self._estimate = estimate
        self._before = before
        self._pieces: list[Piece] = []
        self._tokens = estimate(before)

    @property
    def waiting(self) -> int:
        """Pieces that were added and are in no chunk yet."""
        return len(self._pieces)

    def add(self, piece: Piece) -> Chunk | None:
        """Take a piece; the chunk of all pieces before it when it fits no more into that."""
        cost = _cost(piece, self._estimate)
        full = self.rest() if self._pieces and self._tokens + cost > self._limit else None
        self._pieces.append(piece)
        self._tokens += cost
        return full

    def rest(self) -> Chunk | None:
        """The chunk of what waits; None when nothing does."""
        if not self._pieces:
            return None
        chunk = Chunk(
            host=self._host,
            path=self._path,
            pieces=tuple(self._pieces),
            before=self._before,
            tokens=self._tokens,
            estimate=self._estimate,
        )
        self._before = chunk.closing
        self._pieces, self._tokens = [], self._estimate(self._before)
        return chunk
