"""Whether a fact is what a turn is about, judged by what of the turn it meets. Standard library only.

A fact that the prompt names (a whole part of its key, an alias) is meant. One that only shares words with it must
share enough of them: 30 % of the content, where a long prompt counts as six words, so a prompt of three words needs
one, a long one two. Everyday words weigh a third. What can be done is met by its names: by words alone it must meet
half, since commands share words with everything. Rules need less, since a rule that is missed costs more than one too
many.
"""

from __future__ import annotations

import math

from hikidashi.drawer.names import ALIAS, HEAD, PART, WORD
from hikidashi.recall.lookup import Clues, Index, Named
from hikidashi.recall.question import EVERYDAY, PROJECT, PROMPT, Item, Voice

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

    from hikidashi.drawer.fact import FactType

__all__ = ["BARS", "Candidate", "Judge", "Reason", "on_verb"]

#: The share of a prompt's content that a fact must meet by its words.
BARS: Final[dict[FactType, float]] = {
    "capability": 0.5,
    "procedure": 0.4,
    "decision": 0.3,
    "fact": 0.3,
    "rule": 0.12,
}

#: The share that a key's later part must make up to name the fact by itself.
_TARGET: Final = 0.3

#: What a name counts, in words of a body.
_STRENGTH: Final = {HEAD: 4.0, PART: 4.0, ALIAS: 3.5, WORD: 1.2}
#: What each further word of a name adds to that.
_LONGER: Final = 0.3
#: What it counts that a rule says the verb of a capability that is asked for.
_ON_VERB: Final = 0.5
#: The share of a katakana or hangul word's pairs that a body must hold, the first of them too: プロジェクト is not met
#: by プロ, nor 콘테스트 by 테스트.
_ENOUGH: Final = 0.6


class Reason:
    """Why a fact was found."""

    def __init__(self, by: str, said: str, voice: str) -> None:
        #: key, key part, alias, word of the key, words; verb for a rule on what is asked for
        self.by: Final = by
        #: The turn's words, and which voice said them: prompt, prompt before, branch or file.
        self.said: Final = said
        self.voice: Final = voice

    def __str__(self) -> str:
        where = "" if self.voice == PROMPT else f" ({self.voice})"
        return f"words: {self.said}{where}" if self.by == "words" else f"{self.by} `{self.said}`{where}"


class Candidate:
    """What facts meet of the turn to which the same clues lead."""

    def __init__(
        self, named: list[Named], at: frozenset[int], met: _Met, strength: float, reasons: tuple[Reason, ...]
    ) -> None:
        #: The prompt says the first part of its key or an alias: the verb of a capability, the topic of a decision.
        heads = [one.at for one in named if one.voice == PROMPT and one.how in (HEAD, ALIAS)]
        self.headed_at: Final = frozenset().union(*heads, frozenset())
        #: The prompt names it; only what stands around the prompt does.
        self.named: Final = any(one.voice == PROMPT and _names(one, met.in_prompt) for one in named)
        self.around: Final = any(one.voice != PROMPT and _names(one, met.in_all) for one in named)
        #: Where the turn names it, and where it says its words.
        self.at: Final = at
        self.words_at: Final = frozenset(met.at)
        #: Full words of content that it shares with the prompt.
        self.words: Final = met.words
        #: Not all that it shares with the turn are everyday words.
        self.telling: Final = met.telling
        #: The share of the prompt's content, and of the whole turn's, that it meets.
        self.share: Final = met.in_prompt
        self.whole_share: Final = met.in_all
        self.strength: Final = strength
        self.reasons: Final = reasons


def _names(one: Named, share: float) -> bool:
    """Whether a name is enough to mean a fact. A target of one word (`shop`, `github`) is said for other reasons too,
    so it must make up enough of what is said."""
    return one.how in (HEAD, ALIAS) or (one.how == PART and (one.size > 1 or share >= _TARGET))


class _Met:
    """What of a turn's words a fact meets."""

    def __init__(self) -> None:
        self.in_prompt = 0.0
        self.in_all = 0.0
        self.strength = 0.0
        self.words = 0
        #: A word that is no everyday one is among them.
        self.telling = False
        self.at: Final[set[int]] = set()
        #: Voice -> words.
        self.said: Final[dict[str, list[str]]] = {}


class Judge:
    """Judges the facts of one drawer for one turn."""

    def __init__(self, voices: list[Voice], index: Index) -> None:
        self._voices = voices
        self._index = index
        self._prompt = index.total(voices[0])
        self._whole = index.total(*(voice for voice in voices if voice.kind != PROJECT))
        #: Voice and item, by the terms of the item and by the positions it stands at.
        self._of_term: dict[str, list[tuple[int, int]]] = {}
        self._of_position: dict[int, tuple[int, int]] = {}
        for number, voice in enumerate(voices):
            for place, item in enumerate(voice.items) if voice.kind != PROJECT else ():
                for term in item.terms:
                    self._of_term.setdefault(term, []).append((number, place))
                last = item.at[0] + max(item.size, 1)
                self._of_position.update((at, (number, place)) for at in range(item.at[0], last))

    def candidate(self, clues: Clues) -> Candidate:
        """What a fact meets of the turn to which these clues lead."""
        known = [self._index.clues[number] for number in clues]
        named = [clue for clue in known if isinstance(clue, Named)]
        terms = {clue for clue in known if isinstance(clue, str)}
        strength, at, reasons = self._by_names(named)
        met = self._by_words(terms, frozenset().union(*(one.at for one in named), frozenset()))
        reasons += [Reason("words", ", ".join(dict.fromkeys(some)), kind) for kind, some in met.said.items()]
        met.in_prompt /= self._prompt
        met.in_all /= self._whole
        return Candidate(named, at, met, strength + met.strength, tuple(reasons))

    def _by_words(self, terms: set[str], covered: frozenset[int]) -> _Met:
        """What the turn's words make, those that names cover included."""
        met = _Met()
        touched = {place for term in terms for place in self._of_term.get(term, ())}
        touched.update(self._of_position[at] for at in covered if at in self._of_position)
        for number, place in sorted(touched):
            voice = self._voices[number]
            item = voice.items[place]
            held = terms.intersection(item.terms)
            by_words = self._met(item, held) if held else 0.0
            by_names = _covered(item, covered)
            share = max(by_words, by_names)
            if not share:
                continue
            weight = self._index.weight(item) * share * voice.weight
            met.in_all += weight
            met.telling = met.telling or item.weight > EVERYDAY
            if number == 0:
                met.in_prompt += weight
                met.words += share * item.weight >= 1
            if by_words:
                met.at.update(_positions(item, held))
            if by_words > by_names:
                met.strength += weight * self._rarity(held)
                met.said.setdefault(voice.kind, []).append(item.said)
        return met

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
        known = [term for term in item.terms if term in index.searched or term in held or term not in index.counts]
        share = sum(term in held for term in known) / len(known)
        return share if share >= _ENOUGH and item.terms[0] in held else 0.0

    def _rarity(self, held: set[str]) -> float:
        """1 for a word of one fact, a half for a word of ten, …"""
        return 1 / (1 + math.log10(min(self._index.counts.get(term, 1) for term in held)))


def on_verb(verb: str) -> Candidate:
    """What a rule meets of a turn that asks for a capability of this verb, in whatever words."""
    return Candidate([], frozenset(), _Met(), _ON_VERB, (Reason("verb", verb, PROMPT),))


def _strength(one: Named) -> float:
    return _STRENGTH[one.how] * one.weight * (1 + _LONGER * one.said.count(" "))


def _by(one: Named) -> str:
    if one.alias:
        return "alias"
    return "word of the key" if one.how == WORD else "key part"


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
