"""Events of a session -> the pieces that a model is shown (design sections 5.5 and 5.7).

A person's prompts and the agent's words are shown whole, calls in one line with how they ended and the head and tail
of what they printed. Nobody's speech is left out: what was injected, compaction summaries, what sub-agents were told,
our own commands and their answers. Everything is redacted while it is whole, before it is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from hikidashi.capture.asks import PLAN_PREFIX
from hikidashi.capture.calls_shown import answers_of, called, plan_of, tasks_of
from hikidashi.capture.passages import Place
from hikidashi.capture.pieces import Piece, PieceKind, parts_of
from hikidashi.capture.voices import own_and_pasted
from hikidashi.hosts.transcript import Event, Role
from hikidashi.redact import redact

__all__ = ["Digest"]

_ASKING: Final = "AskUserQuestion"
_PLANNING: Final = frozenset({"ExitPlanMode", "exit_plan_mode"})
_TASKS: Final = frozenset({"TodoWrite"})


@dataclass(frozen=True, slots=True)
class _Voice:
    """One text of an event, redacted."""

    kind: PieceKind
    role: Role
    text: str
    said: str = ""


class Digest:
    """Events in, pieces out. One a transcript.

    Between two readings it needs only `last_at`; a reading goes on at the start of a line, and of that line's pieces
    skips those that were taken before.
    """

    def __init__(self, *, last_at: str = "") -> None:
        #: Time of the last event that had one, for those that have none.
        self.last_at = last_at
        self._session_id = ""
        #: The anchor of the last pieces, and how many pieces it has.
        self._anchor = ""
        self._count = 0

    def feed(self, event: Event) -> list[Piece]:
        """The pieces of one event, in order; [] for one that is not shown or was counted before (`repeat`)."""
        if event.session_id:
            self._session_id = event.session_id
        place = Place.of(event, self.last_at)
        if event.at == place.at:
            self.last_at = event.at
        if event.repeat or event.sidechain:
            return []
        voices = (voice for voice in _voices_of(event) if voice.text.strip() or voice.kind == "stop")
        return [piece for voice in voices for piece in self._pieces(event, place, voice)]

    def _pieces(self, event: Event, place: Place, voice: _Voice) -> Iterator[Piece]:
        texts = list(parts_of(voice.text))
        called = 0 <= event.call_line <= event.line
        for part, text in enumerate(texts, start=1):
            yield Piece(
                kind=voice.kind,
                role=voice.role,
                text=text,
                session_id=self._session_id,
                line=place.line,
                uuid=place.uuid,
                at=place.at,
                anchor=place.anchor,
                index=self._next_index(place.anchor),
                part=part,
                parts=len(texts),
                first_line=event.call_line if called else place.line,
                first_uuid=event.call_uuid if called else place.uuid,
                branch=event.branch,
                said=voice.said,
                tool=event.tool if voice.kind == "call" else "",
                outcome=event.outcome,
                exit_code=event.exit_code,
            )

    def _next_index(self, anchor: str) -> int:
        if anchor != self._anchor:
            self._anchor, self._count = anchor, 0
        self._count += 1
        return self._count - 1


def _clean(text: str) -> str:
    """Redacted, and such that it can be sent: half a surrogate pair has no UTF-8."""
    return redact(text).encode("utf-8", "replace").decode("utf-8")


def _voices_of(event: Event) -> Iterator[_Voice]:
    kind = event.kind
    if kind == "user":
        yield from _prompt(event.text)
    elif kind == "assistant":
        yield _Voice("words", "assistant", _clean(event.text))
    elif kind == "tool_result":
        yield from _result(event)
    elif kind == "interrupt":
        yield _Voice("stop", "user", "")
    elif kind == "link":
        yield _Voice("link", "tool", _clean(event.text.strip()))
    elif kind == "context" and event.role == "assistant" and event.text.startswith(PLAN_PREFIX):
        yield _Voice("plan", "assistant", _clean(event.text[len(PLAN_PREFIX) :].strip()))


def _prompt(text: str) -> Iterator[_Voice]:
    if text.lstrip().startswith(PLAN_PREFIX):  # a client sends it in the person's place
        yield _Voice("plan", "assistant", _clean(text.lstrip()[len(PLAN_PREFIX) :].strip()))
        return
    for own, part in own_and_pasted(_clean(text)):
        yield _Voice("words", "user", part) if own else _Voice("pasted", "external", part)


def _result(event: Event) -> Iterator[_Voice]:
    if event.tool in _TASKS:
        told = tasks_of(event)
        if told:
            yield _Voice("tasks", "assistant", _clean(told))
    elif event.tool == _ASKING and event.outcome == "ok" and not event.refused:
        for question, answer in answers_of(event):
            question, answer = _clean(question), _clean(answer)
            yield _Voice("answer", "user", f'"{question}"="{answer}"', answer)
    elif event.tool in _PLANNING and event.outcome == "ok" and not event.refused:
        plan = plan_of(event)
        if plan:
            yield _Voice("plan", "assistant", _clean(plan))
    else:
        shown = called(event)
        if shown:
            yield _Voice("call", event.role, shown)
