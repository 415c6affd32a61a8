"""What a model says of a chunk, and what of it holds (design sections 5.6 and 5.7).

A model claims; this module looks each claim up. The evidence must stand, word for word, in the event that is named,
and that event must be of whom the claim says it is. IDs, sources, trust and times are attached here and never taken
from the answer. What does not hold is dropped with a reason of a fixed list; nothing is mended in the model's favour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hikidashi.capture.answers import ACTIVITIES, FACTS, ActivityClaim, ExtractionAnswer, FactClaim, answer_schema
from hikidashi.capture.chunks import Chunk
from hikidashi.capture.claim_evidence import Evidence, Refused, evidence_of, refuse_texts
from hikidashi.capture.claim_reasons import REASONS, Reason
from hikidashi.capture.entries import MAX_BODY, MAX_QUOTE, MAX_TITLE
from hikidashi.capture.lasting import lasting_orders, rule_key
from hikidashi.capture.passages import cut, folded, one_line
from hikidashi.capture.pieces import Piece
from hikidashi.capture.topics import branch_topic, tickets_in
from hikidashi.drawer.fact import CONFIDENCE, Draft, Sighting, clean_key
from hikidashi.errors import UsageError
from hikidashi.redact import find_secrets, redact
from hikidashi.source import Source
from hikidashi.staging.entry import Entry, entry_id

__all__ = ["REASONS", "Dropped", "Examined", "ExtractionAnswer", "Reason", "Standing", "answer_schema", "examine"]

#: Claims of one answer that are kept at most, of activities and of facts.
MAX_CLAIMS: Final = 60
_MAX_ALIASES: Final = 12
_MAX_ALIAS: Final = 100
_MAX_SAMPLE: Final = 160


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
        except Refused as refused:
            event = self._chunk.event(claim.event)
            self._found.dropped.append(
                Dropped(
                    reason=refused.reason,
                    kind=kind if kind in ACTIVITIES or kind in FACTS else "",
                    sample=_sample(sample),
                    event=claim.event,
                    line=event.first.line if event else -1,
                )
            )

    # -- activities

    def _entry(self, claim: ActivityClaim) -> Entry:
        kind: Any = claim.kind.strip().lower()
        if kind not in ACTIVITIES:
            raise Refused("unknown-kind")
        title = cut(one_line(_sendable(claim.title)), MAX_TITLE)
        body = cut(_sendable(claim.body).strip(), MAX_BODY)
        why = cut(one_line(_sendable(claim.why)), MAX_QUOTE)
        if not title or not (body or why):
            raise Refused("incomplete")
        evidence = evidence_of(claim, kind, self._chunk)
        refuse_texts(evidence, self._chunk, title, body, why)
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
            trust=evidence.trust(f"{title}\n{body}\n{why}"),
            status="done" if status == "done" else "open" if kind == "request" else "",
            topic=_topic(piece.branch, f"{title}\n{evidence.quote}") if kind != "attempt" else "",
        )

    def _since(self, number: int, evidence: Evidence) -> Piece:
        """The first piece that belongs to an activity."""
        if number == 0:
            return evidence.piece
        first = self._chunk.event(number)
        if first is None:
            raise Refused("unknown-event")
        return first.first

    def _refuse_known(self, kind: str, title: str) -> None:
        if len(self._titles) >= MAX_CLAIMS:
            raise Refused("too-many")
        name = (kind, folded(title))
        if name in self._titles:
            raise Refused("twice")
        if name in self._standing.titles:
            raise Refused("stands")
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
            raise Refused("unknown-kind")
        body = cut(_sendable(claim.body).strip(), MAX_BODY)
        if not body:
            raise Refused("incomplete")
        evidence = evidence_of(claim, kind, self._chunk)
        aliases = _aliases(claim.aliases)
        key = rule_key(evidence.quote) if kind == "rule" else _key(claim.key, kind)
        refuse_texts(evidence, self._chunk, key, body, *aliases)
        if folded(body) in self._standing.bodies or (kind == "rule" and _is_promoted(evidence)):
            raise Refused("stands")
        if len(self._keys) >= MAX_CLAIMS:
            raise Refused("too-many")
        if key in self._keys:
            raise Refused("twice")
        self._keys.add(key)
        if kind == "rule" and evidence.trust(body) != "user":
            body = evidence.quote  # a person orders in words of their own
        piece = evidence.piece
        source = self._source(piece, piece)
        draft = Draft(
            key=key,
            type=kind,
            body=body,
            confidence=CONFIDENCE["reflection"],
            proof=f"{evidence.event.speaker}: “{evidence.quote}”",
            aliases=aliases,
            trust=evidence.trust(body),
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


def _topic(branch: str, text: str) -> str:
    """What ties an entry to other sessions: its branch's ticket, else one that its own words name, else its branch."""
    topic = branch_topic(branch)
    tickets = tickets_in(text)
    return f"ticket:{tickets[0]}" if tickets and not topic.startswith("ticket:") else topic


def _order(claim: ActivityClaim | FactClaim, kind: str, name: str) -> tuple[object, ...]:
    return claim.event, kind, folded(claim.quote), folded(name), claim.body, claim.model_dump_json()


#: What nobody sees and a terminal or a model obeys: control characters, marks of direction, tags, blanks without width.
#: Joiners stay, since some scripts and emoji need them.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2060-\u2064\u202a-\u202e\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)


def _writable(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _sendable(text: str) -> str:
    """Text that UTF-8 can hold and that holds nothing but what is seen."""
    return _UNSEEN.sub("", _writable(text).replace("\r\n", "\n").replace("\r", "\n"))


def _sample(text: str) -> str:
    """A dropped claim's text in one short line, without a secret, in pieces neither."""
    shown = _sendable(text[: 4 * _MAX_SAMPLE])
    whole = "".join(map(str.strip, shown.splitlines()))
    if find_secrets(whole) and not find_secrets(shown):
        return "[redacted:secret]"
    return cut(one_line(redact(shown)), _MAX_SAMPLE)


def _aliases(claimed: Sequence[str]) -> tuple[str, ...]:
    clean = dict.fromkeys(folded(_sendable(alias)) for alias in claimed)
    return tuple(alias for alias in clean if alias and len(alias) <= _MAX_ALIAS)[:_MAX_ALIASES]


def _key(claimed: str, kind: str) -> str:
    """The key as it is stored: small, without blanks, `<kind>:` in front where the model put nothing there."""
    name = "-".join(re.sub(r"\s*:\s*", ":", _writable(claimed).lower()).split())
    if not name.strip(":-"):
        raise Refused("incomplete")
    try:
        return clean_key(name if ":" in name.strip(":") else f"{kind}:{name.strip(':')}")
    except UsageError as exc:
        raise Refused("unfit-key") from exc


def _is_promoted(evidence: Evidence) -> bool:
    """Whether the rules made a candidate of the same order already, as they do without a model."""
    return any(
        folded(order) in evidence.quote or evidence.quote in folded(order)
        for order in lasting_orders(evidence.event.text)
    )
