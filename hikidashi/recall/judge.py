"""Whether a fact is what a turn is about, judged by what of the turn it meets. Standard library only.

A fact that the prompt names (a whole part of its key, an alias) is meant. One that only shares words with it must
share enough of them: 30 % of the content, where a long prompt counts as six words, so a prompt of three words needs
one, a long one two. Everyday words weigh a third. Rules need less, since a rule that is missed costs more than one
too many.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

from hikidashi.drawer.names import ALIAS, PART, WORD
from hikidashi.recall.lookup import Found, Index, Named
from hikidashi.recall.question import PROJECT, PROMPT, Item, Voice

__all__ = ["BAR", "RULE_BAR", "Candidate", "Judge", "Reason"]

#: The share of a prompt's content that a fact must meet by its words; a rule.
BAR: Final = 0.3
RULE_BAR: Final = 0.12

#: Words of content that a long prompt counts as.
_LONG: Final = 6.0

#: What a name counts, in words of a body.
_STRENGTH: Final = {PART: 4.0, ALIAS: 3.5, WORD: 1.2}
#: What each further word of a name adds to that.
_LONGER: Final = 0.3
#: What a word weighs that so many facts hold that it was not searched.
_COMMON: Final = 0.3
#: The share of a katakana or hangul word's pairs that a body must hold: プロジェクト is not met by プロ.
_ENOUGH: Final = 0.6


class Reason(NamedTuple):
    """Why a fact was found."""

    #: key, key part, alias, word of the key, words
    by: str
    #: The turn's words.
    said: str
    #: Which voice said them: prompt, prompt before, branch or file.
    voice: str

    def __str__(self) -> str:
        where = "" if self.voice == PROMPT else f" ({self.voice})"
        return f"words: {self.said}{where}" if self.by == "words" else f"{self.by} `{self.said}`{where}"


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A fact that meets something of the turn."""

    fact_id: int
    #: The prompt names it; only what stands around the prompt does.
    named: bool
    around: bool
    #: Where the turn names it, and where it says its words.
    at: frozenset[int]
    words_at: frozenset[int]
    #: Full words of content that it shares with the prompt.
    words: int
    #: The share of the prompt's content, and of the whole turn's, that it meets.
    share: float
    whole_share: float
    strength: float
    reasons: tuple[Reason, ...]


class Judge:
    """Judges the facts of one drawer for one turn."""

    def __init__(self, voices: list[Voice], index: Index) -> None:
        self._voices = voices
        self._index = index
        self._totals = [sum(self._weight(item) for item in voice.items) * voice.weight for voice in voices]
        self._prompt = min(self._totals[0], _LONG) or 1.0
        spoken = sum(total for total, voice in zip(self._totals, voices, strict=True) if voice.kind != PROJECT)
        self._whole = min(spoken, _LONG) or 1.0

    def _weight(self, item: Item) -> float:
        """An item's weight in the turn: what every other fact holds tells little."""
        counts, common = self._index.counts, self._index.common
        if all(counts.get(term, 0) > common for term in item.terms):
            return item.weight * _COMMON
        return item.weight

    def candidate(self, fact_id: int, found: Found) -> Candidate:
        """What the fact meets of the turn."""
        strength, at, reasons = self._by_names(found.named)
        covered = frozenset().union(*(one.at for one in found.named)) if found.named else frozenset()
        in_prompt = in_all = 0.0
        words, words_at, said = 0, set[int](), dict[str, list[str]]()
        for number, voice in enumerate(self._voices):
            for place, item in enumerate(voice.items) if voice.kind != PROJECT else ():
                held = found.held.get((number, place))
                by_words = self._met(item, held) if held else 0.0
                share = max(by_words, _covered(item, covered))
                if not share:
                    continue
                met = self._weight(item) * share * voice.weight
                in_all += met
                if number == 0:
                    in_prompt += met
                    words += share * item.weight >= 1
                if by_words and held:
                    words_at.update(_positions(item, held))
                    if by_words > _covered(item, covered):
                        strength += met * self._rarity(held)
                        said.setdefault(voice.kind, []).append(item.said)
        reasons += [Reason("words", ", ".join(dict.fromkeys(some)), kind) for kind, some in said.items()]
        telling = [one for one in found.named if one.how != WORD]
        return Candidate(
            fact_id=fact_id,
            named=any(one.voice == PROMPT for one in telling),
            around=any(one.voice != PROMPT for one in telling),
            at=at,
            words_at=frozenset(words_at),
            words=words,
            share=in_prompt / self._prompt,
            whole_share=in_all / self._whole,
            strength=strength,
            reasons=tuple(reasons),
        )

    def _by_names(self, named: list[Named]) -> tuple[float, frozenset[int], list[Reason]]:
        """The strength of the names, where they stand, and the reasons; a name inside another one counts once."""
        strength, covered, reasons = 0.0, set[int](), list[Reason]()
        for one in sorted(named, key=lambda one: (-_strength(one), sorted(one.at))):
            if one.at <= covered:
                continue
            covered |= one.at
            strength += _strength(one)
            if one.voice != PROJECT:
                reasons.append(Reason(_by(one), one.said, one.voice))
        for voice in (PROMPT, None):
            at = frozenset().union(*(one.at for one in named if voice is None or one.voice == voice), frozenset())
            if at:
                return strength, at, reasons
        return strength, frozenset(), reasons

    def _met(self, item: Item, held: set[str]) -> float:
        """The share of an item that a fact's words meet."""
        if item.size:
            return len(_positions(item, held)) / item.size
        index = self._index
        known = [term for term in item.terms if term in index.searched or term not in index.counts]
        share = sum(term in held for term in known) / len(known)
        return share if share >= _ENOUGH else 0.0

    def _rarity(self, held: set[str]) -> float:
        """1 for a word of one fact, a half for a word of ten, …"""
        return 1 / (1 + math.log10(min(self._index.counts.get(term, 1) for term in held)))


def _strength(one: Named) -> float:
    return _STRENGTH[one.how] * one.weight * (1 + _LONGER * one.said.count(" "))


def _by(one: Named) -> str:
    if one.alias:
        return "alias"
    return "key part" if one.how == PART else "word of the key"


def _positions(item: Item, held: set[str]) -> set[int]:
    """Where an item's terms stand that a fact holds."""
    return {
        place
        for term, at in zip(item.terms, item.at, strict=True)
        if term in held
        for place in range(at, at + len(term) if item.size else at + 1)
    }


def _covered(item: Item, covered: frozenset[int]) -> float:
    """The share of an item that names cover."""
    if not covered:
        return 0.0
    if item.size:
        return sum(item.at[0] + place in covered for place in range(item.size)) / item.size
    return float(item.at[0] in covered)
