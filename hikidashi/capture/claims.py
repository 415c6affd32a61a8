"""What a model says of a chunk, and what of it holds (design sections 5.6 and 5.7).

A model claims; this module looks each claim up. The evidence must stand, word for word, in the event that is named,
and that event must be of whom the claim says it is. IDs, sources, trust and times are attached here and never taken
from the answer. What does not hold is dropped with a reason of a fixed list; nothing is mended in the model's favour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from hikidashi.capture.answers import ACTIVITIES, FACTS, ActivityClaim, ExtractionAnswer, FactClaim, answer_schema
from hikidashi.capture.chunks import Chunk, Shown
from hikidashi.capture.entries import MAX_BODY, MAX_QUOTE, MAX_TITLE
from hikidashi.capture.lasting import lasting_orders, rule_key
from hikidashi.capture.passages import cut, one_line
from hikidashi.capture.pieces import Piece
from hikidashi.capture.quoting import (
    MIN_QUOTE,
    find_quote,
    folded,
    is_cited,
    piece_at,
    speaks_for_the_person,
    stands_before,
)
from hikidashi.drawer.fact import CONFIDENCE, Draft, Sighting, clean_key
from hikidashi.errors import UsageError
from hikidashi.redact import find_secrets, redact
from hikidashi.source import Source
from hikidashi.staging.entry import Entry, entry_id

__all__ = ["REASONS", "Dropped", "Examined", "ExtractionAnswer", "Reason", "Standing", "answer_schema", "examine"]

#: Why a claim was dropped.
Reason = Literal[
    "unknown-kind",
    "incomplete",
    "unknown-event",
    "wrong-speaker",
    "wrong-event",
    "not-word-for-word",
    "no-quote",
    "speaks-for-the-person",
    "not-a-source",
    "copied",
    "not-shown",
    "secret",
    "unfit-key",
    "twice",
    "stands",
    "too-many",
]

#: Each reason in the words of a report.
REASONS: Final[Mapping[Reason, str]] = {
    "unknown-kind": "of a kind that there is not",
    "incomplete": "without a title, a body or a key",
    "unknown-event": "names an event that was not shown",
    "wrong-speaker": "somebody else said it than is claimed",
    "wrong-event": "the quote stands in another event than is named",
    "not-word-for-word": "the quote stands in no event",
    "no-quote": "claimed of the person, or a fact, without a quote of 12 characters",
    "speaks-for-the-person": "tells what the person said or wants, which its evidence does not show",
    "not-a-source": "a tool's output, external or pasted text makes no such thing",
    "copied": "the words stood in a tool's output or in external or pasted text before",
    "not-shown": "a capability without a call that succeeded",
    "secret": "holds a secret",
    "unfit-key": "its key cannot be kept",
    "twice": "claimed twice",
    "stands": "stands already",
    "too-many": "one chunk cannot have so many",
}

#: Claims of one answer that are kept at most, of activities and of facts.
MAX_CLAIMS: Final = 60
_MAX_ALIASES: Final = 12
_MAX_ALIAS: Final = 100
_MAX_SAMPLE: Final = 160

#: Who may say what. `pasted` text is the person's prompt, so it may ask for work, but it settles nothing.
_SOURCES: Final[Mapping[str, frozenset[str]]] = {
    "decision": frozenset({"person", "assistant"}),
    "discussion": frozenset({"person", "assistant"}),
    "request": frozenset({"person", "assistant", "pasted"}),
    "attempt": frozenset({"person", "assistant", "tool", "external", "pasted"}),
    "rule": frozenset({"person"}),
    "procedure": frozenset({"person", "assistant", "tool"}),
    "fact": frozenset({"person", "assistant", "tool"}),
    "capability": frozenset({"tool", "external"}),
}
#: What only counts when its words are the speaker's own.
_OWN_WORDS: Final = frozenset({"decision", "rule"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known already: a claim of the same adds nothing."""

    #: Bodies of facts and candidates, folded.
    bodies: frozenset[str] = frozenset()
    #: (kind, folded title) of entries.
    titles: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, *, bodies: Sequence[str] = (), titles: Sequence[tuple[str, str]] = ()) -> Standing:
        """From texts as they are stored."""
        return cls(
            bodies=frozenset(map(folded, bodies)), titles=frozenset((kind, folded(title)) for kind, title in titles)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A claim that does not hold."""

    reason: Reason
    #: What it claimed to be; '' for a word that is no kind.
    kind: str
    #: Its title or body in one line, redacted and cut.
    sample: str
    #: The event it named, and that event's 0-based line; -1 when the chunk has no such event.
    event: int
    line: int


@dataclass(slots=True, kw_only=True)
class Examined:
    """What of an answer holds."""

    entries: list[Entry] = field(default_factory=list)
    #: Fact candidates, each with what was seen of it; capabilities still need their machine.
    drafts: list[tuple[Draft, list[Sighting]]] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


class _Refused(Exception):
    """A claim does not hold."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Where a claim's evidence stands."""

    event: Shown
    #: The piece in which the quote begins.
    piece: Piece
    #: Folded; '' for none.
    quote: str


def examine(answer: ExtractionAnswer, chunk: Chunk, *, standing: Standing | None = None) -> Examined:
    """Look up each claim of `answer` in `chunk`. The order of the claims makes no difference to what is kept."""
    return _Examination(chunk, standing or Standing()).run(answer)


class _Examination:
    def __init__(self, chunk: Chunk, standing: Standing) -> None:
        self._chunk = chunk
        self._standing = standing
        self._found = Examined()
        self._ordinals: dict[tuple[str, int, str], int] = {}
        self._titles: set[tuple[str, str]] = set()
        self._keys: set[str] = set()

    def run(self, answer: ExtractionAnswer) -> Examined:
        for activity in sorted(answer.activities, key=lambda one: _order(one, one.kind, one.title)):
            self._try(activity, activity.kind, activity.title or activity.body)
        for fact in sorted(answer.facts, key=lambda one: _order(one, one.type, one.key)):
            self._try(fact, fact.type, fact.body or fact.key)
        return self._found

    def _try(self, claim: ActivityClaim | FactClaim, kind: str, sample: str) -> None:
        try:
            if isinstance(claim, ActivityClaim):
                self._found.entries.append(self._entry(claim))
            else:
                self._found.drafts.append(self._draft(claim))
        except _Refused as refused:
            event = self._chunk.event(claim.event)
            self._found.dropped.append(
                Dropped(
                    reason=refused.reason,
                    kind=kind if kind in ACTIVITIES or kind in FACTS else "",
                    sample=cut(one_line(redact(sample[: 4 * _MAX_SAMPLE])), _MAX_SAMPLE),
                    event=claim.event,
                    line=event.first.line if event else -1,
                )
            )

    # -- evidence

    def _evidence(self, claim: ActivityClaim | FactClaim, kind: str) -> _Evidence:
        """The claim's evidence, looked up. Raises `_Refused`."""
        event = self._chunk.event(claim.event)
        if event is None:
            raise _Refused("unknown-event")
        quote = self._quote(claim.quote, event)
        if claim.said_by.strip().lower() != event.speaker:
            raise _Refused("wrong-speaker")
        if event.speaker not in _SOURCES[kind]:
            raise _Refused("not-shown" if kind == "capability" else "not-a-source")
        if not quote and (event.speaker == "person" or isinstance(claim, FactClaim)):
            raise _Refused("no-quote")
        if kind == "capability" and not (event.first.kind == "call" and event.first.outcome == "ok"):
            raise _Refused("not-shown")
        if kind in _OWN_WORDS and quote:
            if event.speaker == "person" and is_cited(event, quote):
                raise _Refused("not-a-source")
            if stands_before(self._chunk, event, quote):
                raise _Refused("copied")
        return _Evidence(event=event, piece=piece_at(event, quote), quote=quote[:MAX_QUOTE].rstrip())

    def _quote(self, claimed: str, event: Shown) -> str:
        """The quote as it stands in `event`; '' when nothing long enough to be evidence was quoted."""
        quote = find_quote(claimed, event)
        if quote or not is_long_enough(claimed):
            return quote
        if any(find_quote(claimed, other) for other in self._chunk.events if other is not event):
            raise _Refused("wrong-event")
        raise _Refused("not-word-for-word")

    def _refuse_texts(self, evidence: _Evidence, *texts: str) -> None:
        if any(find_secrets(text) for text in texts):
            raise _Refused("secret")
        by_person = evidence.event.speaker == "person"
        if speaks_for_the_person("\n".join(texts), self._chunk, by_person=by_person):
            raise _Refused("speaks-for-the-person")

    # -- activities

    def _entry(self, claim: ActivityClaim) -> Entry:
        kind: Any = claim.kind.strip().lower()
        if kind not in ACTIVITIES:
            raise _Refused("unknown-kind")
        title = cut(one_line(_sendable(claim.title)), MAX_TITLE)
        body = cut(_sendable(claim.body).strip(), MAX_BODY)
        why = cut(one_line(_sendable(claim.why)), MAX_QUOTE)
        if not title or not (body or why):
            raise _Refused("incomplete")
        evidence = self._evidence(claim, kind)
        self._refuse_texts(evidence, title, body, why)
        first = self._since(claim.since, evidence)
        self._refuse_known(kind, title)
        status = claim.status.strip().lower() if kind == "request" else ""
        piece = evidence.piece
        return Entry(
            id=self._id(piece, kind),
            kind=kind,
            title=title,
            body=body,
            why=why,
            quote=evidence.quote,
            source=self._source(first, piece),
            trust=piece.role,
            status="done" if status == "done" else "open" if kind == "request" else "",
        )

    def _since(self, number: int, evidence: _Evidence) -> Piece:
        """The first piece that belongs to an activity."""
        if number == 0:
            return evidence.piece
        first = self._chunk.event(number)
        if first is None:
            raise _Refused("unknown-event")
        return first.first if number <= evidence.event.number else evidence.piece

    def _refuse_known(self, kind: str, title: str) -> None:
        if len(self._titles) >= MAX_CLAIMS:
            raise _Refused("too-many")
        name = (kind, folded(title))
        if name in self._titles:
            raise _Refused("twice")
        if name in self._standing.titles:
            raise _Refused("stands")
        self._titles.add(name)

    def _id(self, piece: Piece, kind: str) -> str:
        """The entry's ID: of the piece, since the parts of one long text may be in several chunks."""
        anchor = f"{piece.anchor}#{piece.index}" if piece.index else piece.anchor
        ordinal = self._ordinals.get((piece.anchor, piece.index, kind), 0)
        self._ordinals[piece.anchor, piece.index, kind] = ordinal + 1
        return entry_id(self._chunk.host, piece.at, anchor, kind, ordinal)

    def _source(self, first: Piece, last: Piece) -> Source:
        line, uuid = (first.first_line, first.first_uuid) if first.first_line <= last.line else (last.line, last.uuid)
        return Source(
            host=self._chunk.host,
            session_id=last.session_id,
            lines=(line, last.line),
            uuids=(uuid, last.uuid),
            at=last.at,
        )

    # -- facts

    def _draft(self, claim: FactClaim) -> tuple[Draft, list[Sighting]]:
        kind: Any = claim.type.strip().lower()
        if kind not in FACTS:
            raise _Refused("unknown-kind")
        body = cut(_sendable(claim.body).strip(), MAX_BODY)
        if not body:
            raise _Refused("incomplete")
        evidence = self._evidence(claim, kind)
        aliases = _aliases(claim.aliases)
        key = rule_key(evidence.quote) if kind == "rule" else _key(claim.key, kind)
        self._refuse_texts(evidence, key, body, *aliases)
        if folded(body) in self._standing.bodies or (kind == "rule" and _is_promoted(evidence)):
            raise _Refused("stands")
        if len(self._keys) >= MAX_CLAIMS:
            raise _Refused("too-many")
        if key in self._keys:
            raise _Refused("twice")
        self._keys.add(key)
        piece = evidence.piece
        source = self._source(piece, piece)
        draft = Draft(
            key=key,
            type=kind,
            body=body,
            confidence=CONFIDENCE["reflection"],
            proof=f"{evidence.event.speaker}: “{evidence.quote}”",
            aliases=aliases,
            trust=piece.role,
            origin="reflection",
            source=source.to_dict(),
        )
        sighting = Sighting(
            key=key,
            anchor=piece.anchor,
            host=self._chunk.host,
            session_id=piece.session_id,
            path=self._chunk.path,
            line=piece.line,
            at=piece.at,
            tool=piece.tool,
            told=evidence.quote,
        )
        return draft, [sighting]


def is_long_enough(quote: str) -> bool:
    """Whether a claimed quote is long enough to be evidence, or to be taken for a false one."""
    return len(folded(quote)) >= MIN_QUOTE


def _order(claim: ActivityClaim | FactClaim, kind: str, name: str) -> tuple[object, ...]:
    return claim.event, kind, folded(claim.quote), folded(name), claim.body, claim.model_dump_json()


def _sendable(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _aliases(claimed: Sequence[str]) -> tuple[str, ...]:
    clean = dict.fromkeys(folded(_sendable(alias)) for alias in claimed)
    return tuple(alias for alias in clean if alias and len(alias) <= _MAX_ALIAS)[:_MAX_ALIASES]


def _key(claimed: str, kind: str) -> str:
    """The key as it is stored: small, without blanks, `<kind>:` in front where the model put nothing there."""
    name = "-".join(_sendable(claimed).lower().split())
    if not name.strip(":-"):
        raise _Refused("incomplete")
    try:
        return clean_key(name if ":" in name.strip(":") else f"{kind}:{name.strip(':')}")
    except UsageError as exc:
        raise _Refused("unfit-key") from exc


def _is_promoted(evidence: _Evidence) -> bool:
    """Whether the rules made a candidate of the same order already, as they do without a model."""
    return any(
        folded(order) in evidence.quote or evidence.quote in folded(order)
        for order in lasting_orders(evidence.event.text)
    )
