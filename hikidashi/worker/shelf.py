"""The records that the rules engine works on, parsed once and indexed by what entries are matched with.

Without the indexes each entry would be compared with each record. The shelf follows the scratch: a turn that
the linter returns is taken back here too (`begin`, `take_back`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import lru_cache

from hikidashi.records.library import Library
from hikidashi.records.record import REMEMBERED, Record, Tree
from hikidashi.source import Source
from hikidashi.times import parse_time
from hikidashi.worker.choice import Choice, content, negated, read_choice
from hikidashi.worker.rules_text import statement, topic_of
from hikidashi.worker.sameness import Fingerprint, Wording, find_same

__all__ = ["Shelf", "joined_sources", "later", "stamp", "time_of"]

_KINDS = ("decision", "request")


@lru_cache(maxsize=REMEMBERED)
def stamp(at: str) -> datetime:
    """`parse_time`, remembered: the same few thousand times are compared over and over."""
    return parse_time(at)


def time_of(record: Record) -> datetime:
    """When a record was touched last."""
    return stamp(record.updated_at)


def later(one: str, other: str) -> str:
    """The later of two stored times, in the words it was written in."""
    return other if stamp(other) > stamp(one) else one


@lru_cache(maxsize=REMEMBERED)
def _reading(text: str) -> tuple[Wording, Choice]:
    """A decision's statement, ready for comparison; kept for the next run over the same records."""
    title, _, rest = text.partition("\n")
    return Wording.of(text), read_choice(title, rest)


def joined_sources(sources: Iterable[Source], more: Iterable[Source]) -> tuple[Source, ...]:
    """Both without repetition, those that stood there first."""
    return tuple(dict.fromkeys([*sources, *more]))


def slug_of(path: str) -> str:
    """The slug in a record's path."""
    return path.rpartition("/")[2].removesuffix(".md")


class Shelf:
    """Decisions and requests of a tree; broken files count as taken slugs only."""

    def __init__(self, tree: Tree, read_only: Collection[str] = ()) -> None:
        library = Library(tree)
        self.read_only = frozenset(read_only)
        #: Paths that stood there when the phase began.
        self.existed = frozenset(tree)
        #: Slugs that are taken, by files that could not be read too; in lower case, as some file systems see them.
        self.slugs: set[str] = {slug.lower() for slug in (*library.slugs, *map(slug_of, self.read_only))}
        self.records: dict[str, Record] = {}
        self._sources: defaultdict[Source, set[str]] = defaultdict(set)
        self._sessions: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._topics: defaultdict[str, set[str]] = defaultdict(set)
        self._wordings: dict[str, Wording] = {}
        self._blocks: defaultdict[Fingerprint, dict[str, Wording]] = defaultdict(dict)
        self._texts: defaultdict[str, dict[str, Wording]] = defaultdict(dict)
        self._choices: dict[str, Choice] = {}
        self._values: defaultdict[str, set[str]] = defaultdict(set)
        self._undo: list[tuple[str, Record | None]] = []
        for record in library.records():
            if record.kind in _KINDS:
                self._place(record)

    def begin(self) -> None:
        """A turn begins: what is put from here on can be taken back."""
        self._undo = []

    def take_back(self) -> None:
        """Undo everything since `begin`."""
        for path, old in reversed(self._undo):
            self._remove(path)
            if old is None:
                self.slugs.discard(slug_of(path))
            else:
                self._place(old)
        self._undo = []

    def put(self, record: Record) -> None:
        """Add or replace a record."""
        self._undo.append((record.path, self.records.get(record.path)))
        self._remove(record.path)
        self._place(record)

    def writable(self, path: str) -> bool:
        """Whether this run may change the file."""
        return path not in self.read_only

    def carriers(self, source: Source, kind: str) -> list[Record]:
        """Records of `kind` that have `source`, sorted by path."""
        return self._of(self._sources.get(source, ()), kind)

    def of_session(self, host: str, session_id: str, kind: str) -> list[Record]:
        """Records of `kind` with a source in that session, sorted by path."""
        return self._of(self._sessions.get((host, session_id), ()), kind)

    def of_topic(self, topic: str, kind: str) -> list[Record]:
        """Records of `kind` with that topic, sorted by path; none for ''."""
        return self._of(self._topics.get(topic, ()), kind) if topic else []

    def wording(self, record: Record) -> Wording:
        """The record's title and statement, ready for comparison."""
        known = self._wordings.get(record.path)
        return Wording.of(statement(record.body)) if known is None else known

    def same_decision(self, wording: Wording, at: datetime) -> Record | None:
        """The decision that says the same; of replaced ones only those still in force at `at`."""
        candidates = self._blocks.get(wording.hard, {}) | self._texts.get(wording.text, {})
        block = {
            path: other
            for path, other in candidates.items()
            if self.records[path].status != "replaced" or time_of(self.records[path]) >= at
        }
        path = find_same(wording, block)
        return None if path is None else self.records[path]

    def choosing(self, values: Iterable[str]) -> list[tuple[Record, Choice, frozenset[str]]]:
        """Open decisions that chose all of `values`, each with its choice and its content words."""
        paths: set[str] | None = None
        for value in values:
            found = self._values.get(value, set())
            paths = set(found) if paths is None else paths & found
        rows = []
        for path in sorted(paths or ()):
            record = self.records[path]
            if record.status == "open" and not negated_without_choice(record, self._choices[path]):
                rows.append((record, self._choices[path], frozenset(content(statement(record.body)))))
        return rows

    def _of(self, paths: Iterable[str], kind: str) -> list[Record]:
        return [record for path in sorted(paths) if (record := self.records[path]).kind == kind]

    def _place(self, record: Record) -> None:
        path = record.path
        self.records[path] = record
        self.slugs.add(record.slug)
        for source in record.sources:
            self._sources[source].add(path)
            self._sessions[source.host, source.session_id].add(path)
        topic = topic_of(record.body)
        if topic:
            self._topics[topic].add(path)
        if record.kind == "decision":
            self._place_decision(record)

    def _place_decision(self, record: Record) -> None:
        path = record.path
        wording, choice = _reading(statement(record.body))
        self._wordings[path], self._choices[path] = wording, choice
        self._blocks[wording.hard][path] = wording
        self._texts[wording.text][path] = wording
        for value in choice.chosen:
            self._values[value].add(path)

    def _remove(self, path: str) -> None:
        record = self.records.pop(path, None)
        if record is None:
            return
        for source in record.sources:
            self._sources[source].discard(path)
            self._sessions[source.host, source.session_id].discard(path)
        self._topics[topic_of(record.body)].discard(path)
        if record.kind == "decision":
            wording = self._wordings.pop(path)
            self._blocks[wording.hard].pop(path, None)
            self._texts[wording.text].pop(path, None)
            for value in self._choices.pop(path).chosen:
                self._values[value].discard(path)


def negated_without_choice(record: Record, choice: Choice) -> bool:
    """Whether a decision forbids what its title names ("Do not use npm"), so that nothing of it is given up."""
    return not choice.given_up and negated(record.title)
