"""Looking up one claim's evidence, and why one does not hold (design section 5.6)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from hikidashi.capture.answers import ActivityClaim, FactClaim
from hikidashi.capture.chunks import Chunk, Shown
from hikidashi.capture.claim_reasons import Reason
from hikidashi.capture.entries import MAX_QUOTE
from hikidashi.capture.pieces import Piece
from hikidashi.capture.quoting import (
    find_quote,
    is_cited,
    is_evidence,
    is_own,
    is_question,
    piece_at,
    shares_words,
    speaks_for_the_person,
    stands_before,
    whole_sentence,
)
from hikidashi.redact import find_secrets
from hikidashi.source import Trust

__all__ = ["Evidence", "Refused", "evidence_of", "refuse_texts"]

#: Who may say what. Pasted text came with the person's prompt, so it may ask for work, but it settles nothing.
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


class Refused(Exception):
    """A claim does not hold."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where a claim's evidence stands."""

    event: Shown
    #: The piece in which the quote begins.
    piece: Piece
    #: Folded; of a person's words the whole sentence. '' for none.
    quote: str

    def trust(self, text: str) -> Trust:
        """Who vouches for a claim of that text.

        It is the person only where they said something, and the text has a word of it: "yes, go on like that" may be
        evidence of anything, and what a model makes of it, or of a question, is the model's.
        """
        role = self.piece.role
        own = shares_words(self.quote, text) and not is_question(self.quote)
        return role if own or role != "user" else "assistant"


def evidence_of(claim: ActivityClaim | FactClaim, kind: str, chunk: Chunk) -> Evidence:
    """The claim's evidence, looked up in the chunk. Raises `Refused`."""
    event = chunk.event(claim.event)
    if event is None:
        raise Refused("unknown-event")
    quote = _quote(claim.quote, event, chunk)
    speaker = event.speaker
    if claim.said_by.strip().lower() != speaker or not is_own(event, quote):
        raise Refused("wrong-speaker")
    if speaker not in _SOURCES[kind]:
        raise Refused("not-shown" if kind == "capability" else "not-a-source")
    if not quote and (speaker == "person" or isinstance(claim, FactClaim)):
        raise Refused("no-quote")
    if kind == "capability" and not (event.first.kind == "call" and event.first.outcome == "ok"):
        raise Refused("not-shown")
    if kind in _OWN_WORDS and quote:
        _refuse_borrowed(quote, event, chunk)
    piece = piece_at(event, quote)
    if quote and speaker == "person":
        quote = whole_sentence(event, quote)
    return Evidence(event=event, piece=piece, quote=quote[:MAX_QUOTE].rstrip())


def _quote(claimed: str, event: Shown, chunk: Chunk) -> str:
    """The quote as it stands in `event`; '' when nothing long enough to be evidence was quoted."""
    quote = find_quote(claimed, event)
    if quote or not is_evidence(claimed):
        return quote
    if any(find_quote(claimed, other) for other in chunk.events if other is not event):
        raise Refused("wrong-event")
    raise Refused("not-word-for-word")


def _refuse_borrowed(quote: str, event: Shown, chunk: Chunk) -> None:
    if event.speaker == "person" and is_cited(event, quote):
        raise Refused("not-a-source")
    if stands_before(chunk, event, quote):
        raise Refused("copied")


def refuse_texts(evidence: Evidence, chunk: Chunk, *texts: str) -> None:
    """Raise `Refused` where what a claim tells holds a secret, or tells of the person what its evidence does not."""
    # In pieces a secret has no shape: lines are put together, and each text with the next.
    joined = ["".join(map(str.strip, text.splitlines())) for text in texts]
    pairs = map("".join, itertools.pairwise(joined))
    if any(find_secrets(text) for text in (*texts, *joined, *pairs, "".join(joined))):
        raise Refused("secret")
    if speaks_for_the_person("\n".join(texts), chunk, by_person=evidence.event.speaker == "person"):
        raise Refused("speaks-for-the-person")
