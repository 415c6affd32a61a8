"""Which facts a turn is given, and why (design section 9). Standard library only.

    1. find     names that the turn says, and at most eight of its rare words (`lookup.py`)
    2. judge    a name of a fact suffices; words must make up enough of what is asked (`judge.py`)
    3. shadow   the workspace's fact stands for the user's own one of the same key; rules of both apply
    4. rank     by how much of the turn a fact meets, then type, confidence, use and age; covered ones go (`rank.py`)
    5. fill     the budgets of facts and of rules

Nothing is written here: `seen.note_turn` does that once the turn has its answer.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime

from hikidashi.drawer.terms import fold, is_everyday, script_of
from hikidashi.recall.inject import estimate_tokens, mark, told
from hikidashi.recall.judge import BARS, Candidate, Judge, Reason, on_verb
from hikidashi.recall.lookup import Brief, Index, Note, consistent
from hikidashi.recall.question import PROMPT, Question, folded_prompt, voices
from hikidashi.recall.rank import Ranked, Speech, in_order, parted, weight_of

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

    from hikidashi.drawer.fact import FactType, Scope

__all__ = ["MAX_RULES", "RULE_TOKENS", "LeftOut", "Match", "Recalled", "recall", "search"]

#: The budget of a turn's rules.
MAX_RULES: Final = 8
RULE_TOKENS: Final = 430

#: So many of the best facts are compared with each other.
_COMPARED: Final = 16
#: Facts that are read to see whether they fit into what is left of a budget.
_TRIED: Final = 3

_UNREAD: Final = "newer redaction rules have not read it yet"

#: For a search: whatever meets anything.
_ANY: Final = 0.01

#: Facts that are read of those found, and rules.
_READ: Final = 40
_READ_RULES: Final = 30


class Match:
    """A fact that a turn is given."""

    def __init__(self, fact: Note, reasons: tuple[Reason, ...], score: float, tokens: int) -> None:
        self.fact: Final = fact
        self.reasons: Final = reasons
        self.score: Final = score
        #: Tokens of its text, about.
        self.tokens: Final = tokens


class LeftOut:
    """A fact that was found and is not given."""

    def __init__(self, fact: Brief, reasons: tuple[Reason, ...], why: str) -> None:
        self.fact: Final = fact
        self.reasons: Final = reasons
        self.why: Final = why


class Recalled:
    """What a turn is given, best first."""

    def __init__(self, facts: list[Match], rules: list[Match], left_out: list[LeftOut], named: list[Brief]) -> None:
        self.facts: Final = facts
        self.rules: Final = rules
        self.left_out: Final = left_out
        #: Facts that the prompt named by key or alias (given now or before, or over a budget): they were asked for.
        self.named: Final = named


class _Around:
    """What a turn is judged by besides its words."""

    def __init__(self, question: Question, now: datetime, machine_id: str, rules_version: int | None = None) -> None:
        self.now: Final = now
        self.machine_id: Final = machine_id
        #: Only facts that these redaction rules read; None for all.
        self.rules_version: Final = rules_version
        #: The folded prompt.
        self.prompt: Final = folded_prompt(question)
        self.left_out: Final[list[LeftOut]] = []


def recall(
    question: Question,
    drawers: Mapping[Scope, sqlite3.Connection],
    *,
    top_k: int,
    max_tokens: int,
    now: datetime,
    machine_id: str = "",
    given: Collection[str] = (),
    rules_version: int | None = None,
) -> Recalled:
    """What a turn is given: at most `top_k` facts in `max_tokens`, and rules in a budget of their own.

    `given` holds the marks (`inject.mark`) of what the session was given before. With `rules_version`, facts that
    other redaction rules read are passed over. Raises as `db.connection.database_errors` says.
    """
    around = _Around(question, now, machine_id, rules_version)
    with _reading(drawers) as indexes:
        found = _found(question, indexes, around, BARS)
        facts = in_order([one for one in found if one.fact.type != "rule"])
        kept, gone = parted(facts, _speech_of(indexes, facts))
        rules = in_order(_with_rules_on(kept, [one for one in found if one.fact.type == "rule"], indexes, around))
        chosen, over = _filled(kept, top_k, max_tokens, indexes, around, given)
        chosen_rules, rules_over = _filled(rules, MAX_RULES, RULE_TOKENS, indexes, around, given)
    left = [*around.left_out, *(LeftOut(one.fact, _reasons(one), why) for one, why in gone)]
    named = [one.fact for one in (*kept, *rules) if one.candidate.named or one.exact]
    return Recalled(chosen, chosen_rules, [*over, *rules_over, *left], named)


def search(
    query: str, drawers: Mapping[Scope, sqlite3.Connection], *, limit: int, now: datetime, machine_id: str = ""
) -> list[Match]:
    """The facts and rules that meet anything of `query`, best first: for a person or agent that asks for more."""
    question = Question(prompt=query)
    around = _Around(question, now, machine_id)
    with _reading(drawers) as indexes:
        found = in_order(_found(question, indexes, around, dict.fromkeys(BARS, _ANY)))
        return [_match(one, indexes, around) for one in found[:limit]]


@contextlib.contextmanager
def _reading(drawers: Mapping[Scope, sqlite3.Connection]) -> Iterator[dict[Scope, Index]]:
    with contextlib.ExitStack() as stack:
        indexes = {}
        for scope in _SCOPES:
            if scope in drawers:
                stack.enter_context(consistent(drawers[scope]))
                indexes[scope] = Index(drawers[scope])
        yield indexes


#: The workspace's facts shadow the user's own ones.
_SCOPES: Final[tuple[Scope, ...]] = ("workspace", "global")


def _found(
    question: Question, indexes: Mapping[Scope, Index], around: _Around, bars: Mapping[FactType, float]
) -> list[Ranked]:
    """Steps 1 to 3: what the turn is about, in no order."""
    spoken = voices(question)
    found: list[Ranked] = []
    for index in indexes.values():
        alike = index.find(spoken, _least(bars))
        judge = Judge(spoken, index)
        found += _read(index, [(judge.candidate(clues), ids) for clues, ids in alike.items()], around, bars)
    if "global" in indexes and "workspace" in indexes:
        found = _shadowed(found, indexes["workspace"], around)
    if any(one.candidate.named or one.exact for one in found if one.fact.type != "rule"):
        # The prompt itself names what it is about: what stands around it brings no other facts then.
        found = [one for one in found if one.fact.type == "rule" or _by_prompt(one, bars)]
    return found


def _by_prompt(one: Ranked, bars: Mapping[FactType, float]) -> bool:
    return one.exact or one.candidate.named or one.candidate.share >= bars[one.fact.type]


def _with_rules_on(
    kept: Sequence[Ranked], rules: list[Ranked], indexes: Mapping[Scope, Index], around: _Around
) -> list[Ranked]:
    """The rules, and those that say the verb of a capability that the turn asks for in another language."""
    heads = {one.fact.key.partition(":")[0] for one in kept if one.candidate.headed_at and ":" in one.fact.key}
    there = {(one.fact.scope, one.fact.id) for one in rules}
    for scope, index in indexes.items():
        about = {fact_id: head for head in sorted(heads) for fact_id in index.rules_saying(head)}
        briefs = index.briefs(fact_id for fact_id in about if (scope, fact_id) not in there)
        rules = rules + [_ranked(fact, on_verb(about[fact.id]), False, around) for fact in briefs.values()]
    return [one for one in rules if around.rules_version in (None, one.fact.rules_version)]


def _least(bars: Mapping[FactType, float]) -> float:
    """The lowest bar of facts that are no rules."""
    return min(bar for kind, bar in bars.items() if kind != "rule")


def _passes(candidate: Candidate, bar: float) -> bool:
    if candidate.named or candidate.around:
        return True
    enough = max(candidate.share, candidate.whole_share) >= bar
    return enough and (candidate.telling or bar <= _ANY)  # "go on" asks for nothing, though bodies hold "go"


def _read(
    index: Index, found: list[tuple[Candidate, list[int]]], around: _Around, bars: Mapping[FactType, float]
) -> list[Ranked]:
    """The facts of the best candidates, read and weighed."""
    least = _least(bars)
    likely = [
        (one, ids, _passes(one, least) or len(one.at) > 1)
        for one, ids in found
        if _passes(one, min(bars.values())) or len(one.at) > 1
    ]
    likely.sort(key=lambda row: -row[0].strength)
    chosen: dict[int, Candidate] = {}
    if all(telling for _, _, telling in likely) and sum(len(ids) for _, ids, _ in likely) <= _READ:
        chosen = {fact_id: one for one, ids, _ in likely for fact_id in ids}
    else:
        rules = index.rules()
        facts = chosen_rules = 0
        for one, ids, telling in likely:
            for fact_id in sorted(ids, reverse=True) if telling else rules.intersection(ids):
                is_rule = fact_id in rules
                chosen_rules += is_rule
                facts += not is_rule
                if chosen_rules <= _READ_RULES if is_rule else facts <= _READ:
                    chosen[fact_id] = one
    briefs = index.briefs(chosen)
    ranked = []
    for fact_id, candidate in chosen.items():
        fact = briefs.get(fact_id)
        if fact is None:
            continue
        exact = _says_key(around.prompt, fact.key)
        if exact or _passes(candidate, bars[fact.type]):
            ranked.append(_ranked(fact, candidate, exact, around))
    unread = [one for one in ranked if around.rules_version not in (None, one.fact.rules_version)]
    around.left_out.extend(LeftOut(one.fact, _reasons(one), _UNREAD) for one in unread)
    return [one for one in ranked if one.fact not in {other.fact for other in unread}]


def _ranked(fact: Brief, candidate: Candidate, exact: bool, around: _Around) -> Ranked:
    score = candidate.strength * weight_of(fact, now=around.now, machine_id=around.machine_id)
    return Ranked(fact, candidate, exact=exact, score=round(score, 3))


def _says_key(prompt: str, key: str) -> bool:
    """Whether the folded prompt holds the whole key, not as a part of a longer one."""
    wanted = fold(key)
    if is_everyday(wanted):
        return False
    at = prompt.find(wanted)
    while at >= 0:
        before, after = prompt[:at][-1:], prompt[at + len(wanted) : at + len(wanted) + 2]
        if not (_joins(wanted[:1], before) or _joins(wanted[-1:], after[:1]) or _goes_on(after)):
            return True
        at = prompt.find(wanted, at + 1)
    return False


def _joins(edge: str, beside: str) -> bool:
    """Whether the character beside a key's first or last one makes another word of it."""
    return edge.isalnum() and beside.isalnum() and not script_of(edge) and not script_of(beside)


def _goes_on(after: str) -> bool:
    return len(after) == 2 and after[0] in "-_./:" and after[1].isalnum()


def _shadowed(found: list[Ranked], workspace: Index, around: _Around) -> list[Ranked]:
    """The facts without the user's own ones whose key the workspace has: what names those names the workspace's."""
    own = [one for one in found if one.fact.scope == "global" and one.fact.type != "rule"]
    there = workspace.briefs_of_keys("workspace", [one.fact.key for one in own]) if own else {}
    read = {one.fact.id for one in found if one.fact.scope == "workspace"}
    kept = [one for one in found if one.fact.scope == "workspace" or one.fact.type == "rule"]
    for one in own:
        stands = there.get(one.fact.key)
        if stands is None:
            kept.append(one)
        elif stands.id not in read and (one.candidate.named or one.exact):
            kept.append(_ranked(stands, one.candidate, one.exact, around))
    return kept


def _speech_of(indexes: Mapping[Scope, Index], facts: Sequence[Ranked]) -> Callable[[Ranked], Speech | None]:
    """Gives what a fact speaks of, None where it is not one of the best; they are read at the first question."""
    best = [one.fact for one in facts if one.fact.type in ("decision", "fact")][:_COMPARED]
    known: dict[Brief, Speech] = {}

    def speech(one: Ranked) -> Speech | None:
        if not known:
            for scope, index in indexes.items():
                some = {fact.id: fact for fact in best if fact.scope == scope}
                words = index.words(some) if some else {}
                bodies = index.bodies(some) if some else {}
                known.update(
                    {
                        fact: Speech(fact.key, bodies[number], words.get(number, frozenset()))
                        for number, fact in some.items()
                    }
                )
        return known.get(one.fact)

    return speech


def _reasons(one: Ranked) -> tuple[Reason, ...]:
    reasons = one.candidate.reasons
    if one.exact:
        return (Reason("key", one.fact.key, PROMPT), *(some for some in reasons if some.by != "key part"))
    return reasons


def _match(one: Ranked, indexes: Mapping[Scope, Index], around: _Around) -> Match:
    fact = indexes[one.fact.scope].note(one.fact.id)
    tokens = estimate_tokens(told(fact, now=around.now, machine_id=around.machine_id))
    return Match(fact, _reasons(one), one.score, tokens)


def _filled(
    found: Sequence[Ranked],
    count: int,
    tokens: int,
    indexes: Mapping[Scope, Index],
    around: _Around,
    given: Collection[str],
) -> tuple[list[Match], list[LeftOut]]:
    """As many as the budget holds, in their order, and the others."""
    chosen: list[Match] = []
    left: list[LeftOut] = []
    room, too_long = tokens, 0
    for one in found:
        if mark(one.fact) in given:
            why = "given before in this session"
        elif len(chosen) == count:
            why = f"over the {count} of a turn"
        elif too_long == _TRIED or (match := _match(one, indexes, around)).tokens > room:
            too_long = min(too_long + 1, _TRIED)
            why = f"over the {tokens} tokens of a turn"
        else:
            chosen.append(match)
            room -= match.tokens
            continue
        left.append(LeftOut(one.fact, _reasons(one), why))
    return chosen, left
