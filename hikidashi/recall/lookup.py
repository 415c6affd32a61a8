"""What the index says about a question: which facts it names, and which hold its rare words. Standard library only.

Every step is bounded: a name that thousands of facts have is followed to the newest of them only, and a word that
is in more than one fact of a hundred is not searched at all.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.drawer.names import WORD
from hikidashi.recall.question import PROJECT, PROMPT, Voice

__all__ = ["Found", "Index", "Named", "consistent"]

_SQL: Final = queries("recall")

#: Words that are searched at most, the rarest first, and how common one may be: 1 % of the facts, or five facts where
#: there are fewer than 500.
MAX_WORDS: Final = 8
_COMMON_SHARE: Final = 100
_COMMON_LEAST: Final = 5

#: Facts that are followed from a part of a key, alias sets from an alias, facts from a set.
_OF_KEY: Final = 1_000
_SETS: Final = 300
_OF_SET: Final = 200
#: Names that start alike, and beginnings that are looked up.
_NAMES_FROM: Final = 200
_PREFIXES: Final = 500
#: Names that are followed at most.
_FOLLOWED: Final = 60
_RULES: Final = 2_000

#: Behind every name.
_END: Final = "\U0010ffff"


class Named(NamedTuple):
    """A name that a voice says."""

    how: int
    weight: float
    #: Which voice says it, where, and in which words.
    voice: str
    at: frozenset[int]
    said: str
    #: Whether it names by alias, not by key.
    alias: bool


@dataclass(slots=True)
class Found:
    """What is known of one fact before it is read."""

    named: list[Named] = field(default_factory=list)
    #: Voice number and item number -> the item's terms that the fact holds.
    held: dict[tuple[int, int], set[str]] = field(default_factory=dict)


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
        row = connection.execute(_SQL["indexed_facts"]).fetchone()
        #: Facts in the index.
        self.facts: Final = int(row[0]) if row is not None else 0
        #: What is in more facts says nothing.
        self.common: Final = max(_COMMON_LEAST, self.facts // _COMMON_SHARE)
        #: Term -> in how many facts it stands, of the terms that were asked for.
        self.counts: dict[str, int] = {}
        #: Those of them that were searched for.
        self.searched: frozenset[str] = frozenset()

    def find(self, voices: list[Voice]) -> dict[int, Found]:
        """The facts that the voices name or whose words they say, by ID."""
        found: dict[int, Found] = {}
        if self.facts:
            self._follow(self._names(voices), found)
            self._search(voices, found)
        return found

    # -- names

    def _names(self, voices: list[Voice]) -> list[tuple[int, list[Named]]]:
        """The names that are said: their IDs and by whom, those of few facts first. `how` and `alias` come later."""
        asked = dict.fromkeys(name for voice in voices for name in voice.exact)
        rows = self._rows("names", names=json.dumps(list(asked)))
        said: dict[int, tuple[int, list[Named]]] = {}
        for name_id, name, named in (*rows, *self._names_from(voices)):
            for voice in voices if name_id not in said else ():
                there = voice.where(name)
                if there is not None:
                    one = Named(WORD, voice.weight, voice.kind, *there, alias=False)
                    said.setdefault(name_id, (named, []))[1].append(one)
        ranked = sorted(said.items(), key=lambda row: (-row[1][1][0].weight, row[1][0], row[0]))
        return [(name_id, one) for name_id, (_, one) in ranked[:_FOLLOWED]]

    def _names_from(self, voices: list[Voice]) -> Iterator[sqlite3.Row]:
        prefixes = dict.fromkeys(prefix for voice in voices for prefix in voice.prefixes)
        for prefix in list(prefixes)[:_PREFIXES]:
            yield from self._rows("names_from", first=prefix, last=prefix + _END, limit=_NAMES_FROM)

    def _follow(self, names: list[tuple[int, list[Named]]], found: dict[int, Found]) -> None:
        sets: dict[int, list[Named]] = {}
        for name_id, said in names:
            projects = any(one.voice == PROJECT for one in said)
            for fact_id, how in self._rows("of_key_name", name_id=name_id, limit=_OF_KEY):
                # The project's own name is said all the time: it tells nothing about what is asked.
                named = [one._replace(how=WORD if projects else how) for one in said]
                found.setdefault(fact_id, Found()).named += named
            for set_id, how in self._rows("sets_of_name", name_id=name_id, limit=_SETS):
                named = [one._replace(how=WORD if projects else how, alias=True) for one in said]
                sets.setdefault(set_id, []).extend(named)
        cut = False
        for set_id, named in sets.items():
            facts = self._rows("of_set", set_id=set_id, limit=_OF_SET)
            cut = cut or len(facts) == _OF_SET
            for (fact_id,) in facts:
                found.setdefault(fact_id, Found()).named += named
        if cut:
            self._complete(sets, found)

    def _complete(self, sets: dict[int, list[Named]], found: dict[int, Found]) -> None:
        """Aliases of facts that were found by their key and were cut off from a long list of facts with that alias."""
        without = [fact_id for fact_id, one in found.items() if not any(named.alias for named in one.named)]
        for fact_id, set_id in self._rows("set_of_facts", ids=json.dumps(without)):
            found[fact_id].named += sets.get(set_id, ())

    # -- words

    def _search(self, voices: list[Voice], found: dict[int, Found]) -> None:
        asked: dict[str, list[tuple[int, int]]] = {}
        for number, voice in enumerate(voices):
            if voice.kind == PROJECT:
                continue
            for at, item in enumerate(voice.items):
                for term in item.terms:
                    asked.setdefault(term, []).append((number, at))
        self.counts = {row[0]: row[1] for row in self._rows("word_counts", words=json.dumps(list(asked)))}
        order = {term: place for place, term in enumerate(asked)}
        rare = sorted(
            (term for term, facts in self.counts.items() if facts <= self.common),
            key=lambda term: (voices[asked[term][0][0]].kind != PROMPT, self.counts[term], order[term]),
        )
        self.searched = frozenset(rare[:MAX_WORDS])
        for term in rare[:MAX_WORDS]:
            for (fact_id,) in self._rows("holding", word=f'"{term}"'):
                held = found.setdefault(fact_id, Found()).held
                for place in asked[term]:
                    held.setdefault(place, set()).add(term)

    # -- facts

    def rules(self) -> set[int]:
        """IDs of the newest rules."""
        return {row[0] for row in self._rows("rules", limit=_RULES)}

    def read(self, fact_ids: Iterable[int]) -> list[sqlite3.Row]:
        """The rows of facts that are in use."""
        return self._rows("facts", ids=json.dumps(list(fact_ids)))

    def of_keys(self, scope: str, keys: Iterable[str]) -> list[sqlite3.Row]:
        """The rows of the facts in use that have these keys."""
        return self._rows("of_keys", scope=scope, keys=json.dumps(list(keys)))

    def words(self, fact_ids: Iterable[int]) -> dict[int, frozenset[str]]:
        """The words of facts, by ID."""
        rows = self._rows("words_of_facts", ids=json.dumps(list(fact_ids)))
        return {row[0]: frozenset(row[1].split()) for row in rows}

    def _rows(self, name: str, **values: object) -> list[sqlite3.Row]:
        return self._connection.execute(_SQL[name], values).fetchall()
