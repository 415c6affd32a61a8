"""The order of facts that a turn is about, and which of them another one covers. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import date, datetime

from hikidashi.drawer.terms import fold, terms
from hikidashi.recall.judge import Candidate
from hikidashi.recall.lookup import Brief

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["MAX_BY_WORDS", "Ranked", "Speech", "in_order", "parted", "weight_of"]

#: Facts that share no more than words with the prompt: so many at most, and how near the best of them they must be.
MAX_BY_WORDS: Final = 3
_NEAR: Final = 0.5

_TYPES: Final = {"capability": 1.15, "procedure": 1.1, "decision": 1.05, "fact": 1.0, "rule": 1.0}
_CONFIDENCE: Final = 0.2
_RECENCY: Final = 0.15
_HALF_LIFE_DAYS: Final = 60
_USE: Final = 0.1
_MANY_USES: Final = math.log1p(20)
_STALE: Final = 0.7
_ELSEWHERE: Final = 0.9
_GLOBAL: Final = 0.95

#: The share of words that two facts have in common which speak of one thing.
_ALIKE: Final = 0.6


class Ranked:
    """A fact with what is known of it for this turn."""

    def __init__(self, fact: Brief, candidate: Candidate, *, exact: bool, score: float) -> None:
        self.fact: Final = fact
        self.candidate: Final = candidate
        #: The prompt holds the whole key.
        self.exact: Final = exact
        self.score: Final = score


class Speech:
    """What a fact speaks of."""

    def __init__(self, key: str, body: str, words: frozenset[str]) -> None:
        folded = fold(body)
        named = terms(key)
        #: What its key names and its body says, and all that its body says (`words` are those of both).
        self.subject: Final = {word for word in named if word in folded}
        self.words: Final = words - (named - self.subject)


def weight_of(fact: Brief, *, now: datetime, machine_id: str) -> float:
    """What type, confidence, age, use and state make of a match: about 0.6 to 1.3, so that the match decides."""
    last = date.fromisoformat(max(fact.updated_at, fact.last_seen)[:10])
    days = max(now.toordinal() - last.toordinal(), 0)
    weight = _TYPES[fact.type]
    weight *= 1 - _CONFIDENCE + _CONFIDENCE * fact.confidence
    weight *= 1 - _RECENCY + _RECENCY * math.exp2(-days / _HALF_LIFE_DAYS)
    weight *= 1 + _USE * min(1.0, math.log1p(fact.uses) / _MANY_USES) if fact.uses else 1.0
    weight *= _STALE if fact.status == "stale" else 1.0
    elsewhere = fact.type == "capability" and fact.machine_id not in ("", machine_id)
    weight *= _ELSEWHERE if elsewhere else 1.0
    return weight * (_GLOBAL if fact.scope == "global" else 1.0)


def in_order(found: Sequence[Ranked]) -> list[Ranked]:
    """Best first: whole keys, then by score; of equals the newest."""
    newest = sorted(found, key=lambda one: (one.fact.scope != "workspace", one.fact.key))
    newest.sort(key=lambda one: one.fact.updated_at, reverse=True)
    return sorted(newest, key=lambda one: (not one.exact, -round(one.score, 3)))


def parted(
    found: Sequence[Ranked], speech_of: Callable[[Ranked], Speech | None]
) -> tuple[list[Ranked], list[tuple[Ranked, str]]]:
    """The facts (no rules) in their order, and those that go, each with why.

    Two facts that speak of one thing stay together, the newer one first: one of them may contradict the other, and
    who reads them must see both. `speech_of` gives what one of the best facts speaks of, None for the others.
    """
    named = [one for one in found if one.candidate.named or one.exact] or [one for one in found if one.candidate.around]
    named_at = frozenset().union(*(one.candidate.at for one in named), frozenset())
    alike = {_likeness(one): one for one in reversed(named)}  # the best of those that the same words name
    is_named = {one.fact for one in named}
    kept: list[Ranked] = []
    gone: list[tuple[Ranked, str]] = []
    by_words: list[Ranked] = []
    for one in found:
        if one.fact in is_named:
            better = next((other for other in alike.values() if _covers(other, one)), None)
            if better is None or _alike(one, better, speech_of):
                kept.append(one)
            else:
                gone.append((one, f"`{better.fact.key}` meets more of it"))
        elif named and one.candidate.at | one.candidate.words_at <= named_at and _adds_nothing(one):
            gone.append((one, "its words only name what is given already"))
        else:
            by_words.append(one)
    near, far = _nearest(by_words)
    gone += [(one, "others share more words with it") for one in far]
    return _side_by_side(in_order(kept + near), speech_of), gone


def _likeness(one: Ranked) -> tuple[frozenset[int], frozenset[int], bool]:
    return one.candidate.at, one.candidate.headed_at, _says(one)


def _adds_nothing(one: Ranked) -> bool:
    """Whether a fact whose words are all a part of what is named is none beside it: one word in common is too little
    for a statement, and what can be done has names of its own."""
    return one.candidate.words < 2 or not _says(one)


def _says(one: Ranked) -> bool:
    """Whether it states something, rather than tell what can be done."""
    return one.fact.type in ("decision", "fact")


def _covers(other: Ranked, one: Ranked) -> bool:
    """Whether what names `one` names `other` too, and more does: deploy:blyck in "deploy blyck", not deploy:shop.

    What is known of the same target to another end goes too: in "deploy blyck" there is no question of logs:blyck.
    A decision on deploying stays beside what can be deployed.
    """
    if one.exact:
        return False
    better, less = other.candidate, one.candidate
    if _says(one) == _says(other):
        return less.at < better.at or (not _says(one) and bool(better.headed_at) and not less.headed_at)
    return less.at | less.words_at < better.at and less.headed_at != better.headed_at


def _nearest(by_words: list[Ranked]) -> tuple[list[Ranked], list[Ranked]]:
    """The best of the facts that nothing names, and the others."""
    best = max((one.candidate.strength for one in by_words), default=0.0)
    near = [one for one in by_words if one.candidate.strength >= _NEAR * best]
    far = [one for one in by_words if one.candidate.strength < _NEAR * best]
    return near[:MAX_BY_WORDS], near[MAX_BY_WORDS:] + far


def _side_by_side(kept: list[Ranked], speech_of: Callable[[Ranked], Speech | None]) -> list[Ranked]:
    """What speaks of one thing together, where its best stands, the newest first."""
    order: list[Ranked] = []
    placed: set[Brief] = set()
    saying = [one for one in kept if _says(one) and speech_of(one) is not None]
    for first in kept:
        if first.fact in placed:
            continue
        others = saying if _says(first) else ()
        alike = [first]
        alike += [
            one for one in others if one.fact not in placed and one is not first and _alike(first, one, speech_of)
        ]
        placed.update(one.fact for one in alike)
        alike.sort(key=lambda one: one.fact.key)
        alike.sort(key=lambda one: (one.exact, one.fact.updated_at), reverse=True)
        order += alike
    return order


def _alike(one: Ranked, other: Ranked, speech_of: Callable[[Ranked], Speech | None]) -> bool:
    """Whether two facts say the same of the same thing, but for a word or two: a "not", another number."""
    if not (_says(one) and _says(other)):
        return False
    said, also = speech_of(one), speech_of(other)
    if said is None or also is None or len(said.words & also.words) < _ALIKE * len(said.words | also.words):
        return False
    return said.subject <= also.words and also.subject <= said.words
