"""The order of facts that a turn is about, and which of them another one covers. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hikidashi.drawer.fact import Fact
from hikidashi.recall.judge import Candidate
from hikidashi.times import parse_time

__all__ = ["MAX_BY_WORDS", "Ranked", "in_order", "parted", "weight_of"]

#: Facts that share no more than words with the prompt: so many at most, and how near the best of them they must be.
MAX_BY_WORDS: Final = 3
_NEAR: Final = 0.5

_TYPES: Final = {"capability": 1.15, "procedure": 1.1, "decision": 1.05, "fact": 1.0, "rule": 1.0}
_CONFIDENCE: Final = 0.2
_RECENCY: Final = 0.15
_HALF_LIFE_DAYS: Final = 60
_USE: Final = 0.1
_MANY_USES: Final = 20
_STALE: Final = 0.7
_ELSEWHERE: Final = 0.9
_GLOBAL: Final = 0.95

#: The share of words that two facts have in common which speak of one thing.
_ALIKE: Final = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A fact with what is known of it for this turn."""

    fact: Fact
    candidate: Candidate
    #: The prompt holds the whole key.
    exact: bool
    score: float


def weight_of(fact: Fact, *, now: datetime, machine_id: str) -> float:
    """What type, confidence, age, use and state make of a match: about 0.6 to 1.3, so that the match decides."""
    days = max((now - parse_time(max(fact.updated_at, fact.last_seen))).total_seconds() / 86_400, 0)
    weight = _TYPES[fact.type]
    weight *= 1 - _CONFIDENCE + _CONFIDENCE * fact.confidence
    weight *= 1 - _RECENCY + _RECENCY * math.exp2(-days / _HALF_LIFE_DAYS)
    weight *= 1 + _USE * min(1.0, math.log1p(fact.uses) / math.log1p(_MANY_USES))
    weight *= _STALE if fact.status == "stale" else 1.0
    weight *= _ELSEWHERE if fact.machine_id and fact.machine_id != machine_id else 1.0
    return weight * (_GLOBAL if fact.scope == "global" else 1.0)


def in_order(found: Sequence[Ranked]) -> list[Ranked]:
    """Best first: whole keys, then by score; of equals the newest."""
    newest = sorted(found, key=lambda one: (one.fact.scope != "workspace", one.fact.key))
    newest.sort(key=lambda one: one.fact.updated_at, reverse=True)
    return sorted(newest, key=lambda one: (not one.exact, -round(one.score, 3)))


def parted(
    found: Sequence[Ranked], words_of: Callable[[Ranked], frozenset[str]]
) -> tuple[list[Ranked], list[tuple[Ranked, str]]]:
    """The facts (no rules) in their order, and those that go, each with why.

    `words_of` gives a fact's words. Two facts that speak of one thing stay together, the newer one first: one of
    them may contradict the other, and who reads them must see both.
    """
    kept: list[Ranked] = []
    gone: list[tuple[Ranked, str]] = []
    named = [one for one in found if one.candidate.named or one.exact] or [one for one in found if one.candidate.around]
    named_at = frozenset().union(*(one.candidate.at for one in named), frozenset())
    by_words: list[Ranked] = []
    for one in found:
        if any(one is other for other in named):
            better = next((other for other in named if _covers(other, one)), None)
            if better is None or (_says(one) and _alike(words_of(one), words_of(better))):
                kept.append(one)
            else:
                gone.append((one, f"`{better.fact.key}` meets more of it"))
        elif named and one.candidate.words < 2 and one.candidate.words_at <= named_at:
            gone.append((one, "its words only name what is given already"))
        else:
            by_words.append(one)
    near, far = _nearest(by_words)
    gone += [(one, "others share more words with it") for one in far]
    return _side_by_side(in_order(kept + near), words_of), gone


def _says(one: Ranked) -> bool:
    """Whether it states something, rather than tell what can be done."""
    return one.fact.type in ("decision", "fact")


def _covers(other: Ranked, one: Ranked) -> bool:
    """Whether `other` is named by all that names `one` and by more: deploy:blyck in "deploy blyck", not deploy:shop."""
    return not one.exact and _says(one) == _says(other) and one.candidate.at < other.candidate.at


def _nearest(by_words: list[Ranked]) -> tuple[list[Ranked], list[Ranked]]:
    """The best of the facts that nothing names, and the others."""
    best = max((one.candidate.strength for one in by_words), default=0.0)
    near = [one for one in by_words if one.candidate.strength >= _NEAR * best]
    far = [one for one in by_words if one.candidate.strength < _NEAR * best]
    return near[:MAX_BY_WORDS], near[MAX_BY_WORDS:] + far


def _side_by_side(kept: list[Ranked], words_of: Callable[[Ranked], frozenset[str]]) -> list[Ranked]:
    """What speaks of one thing together, where its best stands, the newest first."""
    rest, order = list(kept), list[Ranked]()
    while rest:
        first = rest.pop(0)
        alike = [one for one in rest if _says(one) and _says(first) and _alike(words_of(first), words_of(one))]
        rest = [one for one in rest if not any(one is other for other in alike)]
        order += sorted([first, *alike], key=lambda one: (not one.exact, _newest(one)))
    return order


def _newest(one: Ranked) -> tuple[float, str]:
    return -parse_time(one.fact.updated_at).timestamp(), one.fact.key


def _alike(words: frozenset[str], others: frozenset[str]) -> bool:
    return len(words & others) >= _ALIKE * len(words | others)
