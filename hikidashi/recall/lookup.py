"""What the index says about a question: which facts it names, and which hold its rare words. Standard library only.

Every step is bounded: a name that thousands of facts have is followed to the newest of them only, and a word that
is in more than one fact of a hundred is not searched at all.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator

from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.drawer.names import WORD
from hikidashi.drawer.terms import plain_tokens, script_of
from hikidashi.recall.question import PROJECT, PROMPT, Item, Voice

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Any, Final

    from hikidashi.drawer.fact import FactStatus, FactType, Origin, Scope, Trust

__all__ = ["LONG", "Brief", "Clues", "Index", "Named", "Note", "consistent"]

_SQL: Final = queries("recall")

#: Words that are searched at most, the rarest first, and how common one may be: 1 % of the facts, or five facts where
#: there are fewer than 500.
MAX_WORDS: Final = 8
_COMMON_SHARE: Final = 100
_COMMON_LEAST: Final = 5

#: A name of more facts is followed to the newest so many; two such names are joined while the rarer one has no more
#: than that. How many of them are joined.
_MANY: Final = 600
_NEWEST: Final = 60
_NEWEST_EACH: Final = 5
_JOINED: Final = 2_500
_MET: Final = 4
#: In so many facts (or 1 %) a word of a longer part of a key may stand to be followed.
_RARE: Final = 50
#: Sets of aliases that are followed.
_SETS: Final = 600
#: Beginnings that are looked up, and names that start so; names that are followed.
_FIRSTS: Final = 500
_NAMES_FROM: Final = 3_000
_FOLLOWED: Final = 60
#: Facts that names of few facts lead to, all together.
_FOLLOWED_FACTS: Final = 6_000
#: Rules that are told from other facts, and those whose words are read.
_RULES: Final = 200
_RULES_READ: Final = 40

#: Words of content that a long prompt counts as.
LONG: Final = 6.0
#: What a word weighs that so many facts hold that it is not searched.
_COMMON: Final = 0.3

#: Sorts behind all names that begin alike; behind those that go on with another word.
_BEHIND: Final = "\U0010ffff"
_BEHIND_PHRASE: Final = "!"


class Named:
    """A name that a voice says."""

    def __init__(
        self, how: int, voice: Voice, at: frozenset[int], said: str, *, alias: bool = False, spoken: bool = True
    ) -> None:
        #: How it names (`drawer.names`), and whether as an alias.
        self.how: Final = how
        self.alias: Final = alias
        #: Which voice says it, where, and in which words.
        self.voice: Final = voice.kind
        self.weight: Final = voice.weight
        self.at: Final = at
        self.said: Final = said
        #: How many words it is, about.
        self.size: Final = len(at) // 2 if script_of(said[0]) else said.count(" ") + 1
        self._voice: Final = voice
        self._spoken: Final = spoken

    def naming(self, how: int, *, alias: bool) -> Named:
        """The same words as a name of another kind, which they are only where a person speaks."""
        return Named(how if self._spoken else WORD, self._voice, self.at, self.said, alias=alias)


class _Said:
    """A name of the index that is said."""

    def __init__(self, name_id: int, named: int) -> None:
        self.name_id: Final = name_id
        #: How many keys and sets of aliases have it.
        self.named: Final = named
        self.by: Final[list[Named]] = []


#: A name that is said, or a word of the turn that a fact holds.
Clue = Named | str

#: What several facts have in common, as numbers of clues.
Clues = tuple[int, ...]


class Brief:
    """What ranking needs of a fact; the fields are those of `drawer.fact.Fact`."""

    id: int
    scope: Scope
    key: str
    type: FactType
    status: FactStatus
    confidence: float
    updated_at: str
    last_seen: str
    uses: int
    machine_id: str
    rules_version: int
    version: int

    def __init__(self, row: sqlite3.Row) -> None:
        self.id, self.scope, self.key, self.type, self.status, self.confidence, *rest = row
        self.updated_at, self.last_seen, self.uses, self.machine_id, self.rules_version, self.version = rest


class Note:
    """What is shown of a fact; the fields are those of `drawer.fact.Fact`."""

    id: int
    scope: Scope
    key: str
    type: FactType
    status: FactStatus
    body: str
    confidence: float
    proof: str
    trust: Trust
    origin: Origin
    machine_id: str
    machine_name: str
    version: int
    source: dict[str, Any]
    updated_at: str
    last_seen: str
    last_verified: str | None
    last_failed: str | None
    failure: str

    def __init__(self, row: sqlite3.Row) -> None:
        self.id, self.scope, self.key, self.type, self.status, self.body, self.confidence, *rest = row
        self.proof, self.trust, self.origin, self.machine_id, self.machine_name, self.version, source, *times = rest
        self.source = json.loads(source)
        self.updated_at, self.last_seen, self.last_verified, self.last_failed, self.failure = times


@contextlib.contextmanager
def consistent(connection: sqlite3.Connection) -> Iterator[None]:
    """One state of the database for all reads of the block (and the locks taken once)."""
    with database_errors(database_name(connection)):
        if connection.in_transaction:
            yield
            return
        connection.execute("BEGIN")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


class Index:
    """The look-ups in one drawer."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        rows = self._rows("indexed_facts")
        #: Facts in the index.
        self.facts: Final = int(rows[0][0]) if rows else 0
        #: What is in more facts says nothing.
        self.common: Final = max(_COMMON_LEAST, self.facts // _COMMON_SHARE)
        #: Term -> in how many facts it stands, of the terms that were asked for.
        self.counts: dict[str, int] = {}
        #: Those of them that were searched for.
        self.searched: frozenset[str] = frozenset()
        self._rules: set[int] | None = None
        self._rule_words: dict[int, frozenset[str]] | None = None
        #: What led to facts, by number.
        self.clues: list[Clue] = []

    def find(self, voices: list[Voice], least: float) -> dict[Clues, list[int]]:
        """The IDs of facts that the voices name or whose words they say, by the clues to them.

        Facts are put together that the same clues lead to, since hundreds of them may share an alias. A word that
        makes up less than `least` of the prompt brings no fact but a rule by itself; 1 or more leaves words out.
        """
        found: dict[int, list[int]] = {}
        if self.facts:
            self._follow(self._names(voices), found)
            if least < 1:
                self._search(voices, found, least)
        alike: dict[Clues, list[int]] = {}
        for fact_id, clues in found.items():
            alike.setdefault(tuple(clues), []).append(fact_id)
        return alike

    def _clue(self, clue: Clue) -> int:
        self.clues.append(clue)
        return len(self.clues) - 1

    def _at(self, number: int) -> frozenset[int]:
        clue = self.clues[number]
        return clue.at if isinstance(clue, Named) else frozenset()

    def _clues(self, name: _Said, how: int, alias: bool, known: dict[tuple[int, int, bool], list[int]]) -> list[int]:
        """The numbers of a name's clues where it names in this way; `known` keeps them for the next fact."""
        clues = known.get((name.name_id, how, alias))
        if clues is None:
            # The project's own name is said all the time: it tells nothing about what is asked.
            telling = WORD if any(one.voice == PROJECT for one in name.by) else how
            clues = [self._clue(one.naming(telling, alias=alias)) for one in name.by]
            known[name.name_id, how, alias] = clues
        return clues

    # -- names

    def _names(self, voices: list[Voice]) -> list[_Said]:
        """The names that are said and by whom, those of few facts first. `how` and `alias` come later."""
        exact = dict.fromkeys(name for voice in voices for name in voice.exact)
        rows = self._rows("names", names=json.dumps(list(exact)))
        for prefixes, behind in (("pairs", _BEHIND), ("phrases", _BEHIND_PHRASE)):
            firsts = dict.fromkeys(first for voice in voices for first in getattr(voice, prefixes))
            asked = json.dumps(list(firsts)[:_FIRSTS])
            rows += self._rows("names_from", firsts=asked, behind=behind, limit=_NAMES_FROM)
        said: dict[int, _Said] = {}
        for name_id, name, named in rows:
            for voice in voices if name_id not in said else ():
                there = voice.where(name)
                if there is not None:
                    one = Named(WORD, voice, *there, spoken=voice.is_spoken(name))
                    said.setdefault(name_id, _Said(name_id, named)).by.append(one)
        return sorted(said.values(), key=lambda one: (-one.by[0].weight, one.named, one.name_id))[:_FOLLOWED]

    def _follow(self, names: list[_Said], found: dict[int, list[int]]) -> None:
        """Add the facts that have the names. A name of very many facts is followed to the newest, and to those that
        another name leads to as well."""
        named = {one.name_id: one for one in names}
        clues: dict[tuple[int, int, bool], list[int]] = {}
        sets: dict[int, list[int]] = {}
        facts_of: dict[int, int] = {}
        all_ids = json.dumps(list(named))
        for name_id, set_id, how, facts in self._rows("sets_of_names", name_ids=all_ids, limit=_SETS):
            sets.setdefault(set_id, []).extend(self._clues(named[name_id], how, True, clues))
            facts_of[set_id] = facts
        large = {set_id: sets[set_id] for set_id, facts in facts_of.items() if facts > _NEWEST}
        few = json.dumps([one.name_id for one in names if one.named <= _MANY])
        rare = json.dumps([one.name_id for one in names if one.named <= max(_RARE, self.common)])
        # The newest facts of the others; where there are none, the name is only ever a word of a longer part.
        newest = {
            one: self._rows("of_key_name", name_id=one.name_id, limit=_NEWEST) for one in names if one.named > _MANY
        }
        many = [one for one, rows in newest.items() if rows]
        self._meet(many[:_MET], large, found)
        for name_id, fact_id, how in self._rows("of_key_names", name_ids=few, rare=rare, limit=_FOLLOWED_FACTS):
            found.setdefault(fact_id, []).extend(self._clues(named[name_id], how, False, clues))
        members = self._members([number for number in sets if number not in large], list(large))
        found.update((fact_id, []) for fact_id in members if fact_id not in found)
        for one in many:
            among = self._rows("of_key_name_among", name_id=one.name_id, ids=json.dumps(list(found)))
            for fact_id, how in {(row[0], row[1]) for row in (*newest[one], *among)}:
                found.setdefault(fact_id, []).extend(self._clues(one, how, False, clues))
        if large:
            others = json.dumps([fact_id for fact_id in found if fact_id not in members])
            members.update(map(tuple, self._rows("set_of_facts", ids=others)))
        for fact_id, set_id in members.items():
            found[fact_id].extend(sets.get(set_id, ()))

    def _members(self, small: list[int], large: list[int]) -> dict[int, int]:
        """Facts of sets of aliases, and their set: all of the small sets, the newest of the large ones."""
        rows = self._rows("of_sets", set_ids=json.dumps(small), limit=_FOLLOWED_FACTS) if small else []
        each = max(_NEWEST_EACH, 2 * _NEWEST // max(len(large), 1))
        for set_id in large:
            rows += self._rows("of_set", set_id=set_id, limit=min(each, _NEWEST))
        return {row[0]: row[1] for row in rows}

    def _meet(self, many: list[_Said], large: dict[int, list[int]], found: dict[int, list[int]]) -> None:
        """Add the facts that two names lead to of which each has very many."""
        for number, one in enumerate(many):
            if one.named > _JOINED:
                break
            rows = [
                self._rows("of_both_names", name_id=one.name_id, other=other.name_id, limit=_NEWEST)
                for other in many[number + 1 :]
            ]
            at = one.by[0].at
            # deploy as a part of the key and as an alias is one word
            others = [set_id for set_id, clues in large.items() if not all(self._at(clue) <= at for clue in clues)]
            if others:
                asked = json.dumps(others)
                rows.append(self._rows("of_name_and_sets", name_id=one.name_id, sets=asked, limit=_NEWEST))
            found.update((row[0], []) for some in rows for row in some)

    # -- words

    def weight(self, item: Item) -> float:
        """An item's weight in the turn: a word that is in many facts tells little."""
        if all(self.counts.get(term, 0) > self.common for term in item.terms):
            return item.weight * _COMMON
        return item.weight

    def _search(self, voices: list[Voice], found: dict[int, list[int]], least: float) -> None:
        asked: dict[str, list[tuple[Voice, Item]]] = {}
        for voice in voices:
            for item in voice.items if voice.kind != PROJECT else ():
                for term in item.terms:
                    asked.setdefault(term, []).append((voice, item))
        self.counts = {row[0]: row[1] for row in self._rows("word_counts", words=json.dumps(list(asked)))}
        # `asked` and the stable sort keep the order of the turn among words of one rarity.
        rare = [term for term in asked if 0 < self.counts.get(term, 0) <= self.common]
        rare.sort(key=lambda term: (asked[term][0][0].kind != PROMPT, self.counts[term]))
        holding = {term: [row[0] for row in self._rows("holding", word=f'"{term}"')] for term in rare[:MAX_WORDS]}
        self.searched = frozenset(holding)
        # A word that is too little by itself counts only where something else leads to the fact too, or for a rule.
        times = Counter(fact_id for facts in holding.values() for fact_id in facts)
        led = {fact_id for fact_id, words in times.items() if words > 1 or fact_id in found} | self.rules()
        total = self.total(voices[0])
        for term, facts in holding.items():
            number = self._clue(term)
            suffices = any(item.weight * voice.weight >= least * total for voice, item in asked[term])
            for fact_id in facts if suffices else led.intersection(facts):
                found.setdefault(fact_id, []).append(number)
        self._search_rules([term for term in asked if self.counts.get(term, 0) > self.common], found)

    def _search_rules(self, terms: list[str], found: dict[int, list[int]]) -> None:
        """Rules are few, so words that are too common for a search are looked for in the newest of them."""
        if not terms:
            return
        numbers = {term: self._clue(term) for term in terms}
        for fact_id, words in self._words_of_rules().items():
            clues = [number for term, number in numbers.items() if term in words]
            if clues:
                found.setdefault(fact_id, []).extend(clues)

    def total(self, *voices: Voice) -> float:
        """The weight of all that voices say, at most that of `LONG` words."""
        said = sum(self.weight(item) * voice.weight for voice in voices for item in voice.items)
        return min(said, LONG) or 1.0

    def rules_saying(self, name: str) -> list[int]:
        """IDs of the newest rules that say all words of `name`."""
        wanted = {token.text for token in plain_tokens(name)}
        return [fact_id for fact_id, words in self._words_of_rules().items() if wanted and wanted <= words]

    def _words_of_rules(self) -> dict[int, frozenset[str]]:
        if self._rule_words is None:
            self._rule_words = self.words(sorted(self.rules(), reverse=True)[:_RULES_READ])
        return self._rule_words

    # -- facts

    def rules(self) -> set[int]:
        """IDs of the newest rules."""
        if self._rules is None:
            self._rules = {row[0] for row in self._rows("rules", limit=_RULES)}
        return self._rules

    def briefs(self, fact_ids: Iterable[int]) -> dict[int, Brief]:
        """Facts that are in use, in brief, by ID."""
        return {row["id"]: Brief(row) for row in self._rows("briefs", ids=json.dumps(list(fact_ids)))}

    def briefs_of_keys(self, scope: Scope, keys: Iterable[str]) -> dict[str, Brief]:
        """The facts in use that have these keys, in brief, by key."""
        rows = self._rows("briefs_of_keys", scope=scope, keys=json.dumps(list(keys)))
        return {row["key"]: Brief(row) for row in rows}

    def note(self, fact_id: int) -> Note:
        """What is to be shown of a fact that was read in brief."""
        return Note(self._rows("note", id=fact_id)[0])

    def words(self, fact_ids: Iterable[int]) -> dict[int, frozenset[str]]:
        """The words of facts, by ID."""
        rows = self._rows("words_of_facts", ids=json.dumps(list(fact_ids)))
        return {row[0]: frozenset(row[1].split()) for row in rows}

    def bodies(self, fact_ids: Iterable[int]) -> dict[int, str]:
        """The bodies of facts, by ID."""
        return {row["id"]: row["body"] for row in self._rows("bodies", ids=json.dumps(list(fact_ids)))}

    def _rows(self, name: str, **values: object) -> list[sqlite3.Row]:
        try:
            return self._connection.execute(_SQL[name], values).fetchall()
        except sqlite3.DatabaseError:
            with database_errors(database_name(self._connection)):  # the other drawer's `consistent` is around it too
                raise
