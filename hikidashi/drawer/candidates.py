"""Candidates: facts that wait for a person's yes. Reading them, naming them, and which matter most."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.drawer.fact import Draft, FactType, Origin, Scope, Trust
from hikidashi.drawer.refusals import content_of
from hikidashi.errors import CorruptData
from hikidashi.times import parse_time

__all__ = [
    "ID_LENGTH",
    "Candidate",
    "CandidateState",
    "DamagedCandidate",
    "candidate_of",
    "id_parts",
    "new_id",
    "ranked",
    "waiting",
]

CandidateState = Literal["waiting", "approved", "rejected", "expired"]

#: Crockford's letters: none that is taken for another one when read aloud or typed.
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

#: Letters of an ID; it grows by one for each other proposal that begins so.
ID_LENGTH: Final = 5
_MAX_ID: Final = 26

#: How much a yes to it helps: what a next session would fail at first.
_TYPE_WEIGHT: Final[dict[FactType, float]] = {"rule": 6, "capability": 3, "decision": 4, "procedure": 4, "fact": 3}
_VERB_WEIGHT: Final = {
    "deploy": 6.0,
    "publish": 6.0,
    "infra": 5.0,
    "connect-db": 5.0,
    "connect-ssh": 5.0,
    "auth": 4.0,
    "push": 3.0,
    "container": 3.0,
    "package": 2.0,
    "build": 2.0,
    "test": 2.0,
}

#: After so many days a candidate weighs half.
_HALF_LIFE_DAYS: Final = 14.0

_SQL: Final = queries("gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One row of `candidates`. Times are ISO 8601 in UTC. The fields up to `source` are those of `Draft`."""

    #: Short, made of its content: what people type.
    id: str
    scope: Scope
    key: str
    type: FactType
    body: str
    confidence: float
    proof: str
    probe: tuple[str, ...]
    aliases: tuple[str, ...]
    trust: Trust
    origin: Origin
    digest: str
    machine_id: str
    machine_name: str
    source: dict[str, Any]
    rules_version: int
    state: CandidateState
    #: In how many sessions it was seen; 1 for what somebody wrote.
    sessions: int
    #: When it began to wait, and when something new was last seen of it.
    first_seen: str
    last_seen: str
    #: Put off by a person until then.
    later_until: str | None
    decided_at: str | None

    @property
    def verb(self) -> str:
        """What a capability does: the part of its key before the colon; '' for other types."""
        return self.key.partition(":")[0] if self.type == "capability" and ":" in self.key else ""

    @property
    def seen_at(self) -> str:
        """When what bears it out happened."""
        at = self.source.get("at")
        return at if isinstance(at, str) and at else self.last_seen

    def is_put_off(self, at: str) -> bool:
        """Whether a person put it off beyond the time `at`."""
        return self.later_until is not None and self.later_until > at

    def draft(self) -> Draft:
        """What would be written."""
        return Draft(
            key=self.key,
            type=self.type,
            body=self.body,
            scope=self.scope,
            confidence=self.confidence,
            proof=self.proof,
            probe=self.probe,
            aliases=self.aliases,
            trust=self.trust,
            origin=self.origin,
            digest=self.digest,
            machine_id=self.machine_id,
            machine_name=self.machine_name,
            source=self.source,
        )

    def to_dict(self) -> dict[str, Any]:
        """Its form in JSON."""
        return {
            "id": self.id,
            "scope": self.scope,
            "key": self.key,
            "type": self.type,
            "verb": self.verb,
            "body": self.body,
            "confidence": self.confidence,
            "proof": self.proof,
            "probe": list(self.probe),
            "aliases": list(self.aliases),
            "trust": self.trust,
            "origin": self.origin,
            "digest": self.digest,
            "machine_id": self.machine_id,
            "machine_name": self.machine_name,
            "source": self.source,
            "state": self.state,
            "sessions": self.sessions,
            "first_seen": self.first_seen,
            "last_seen": self.last_seen,
            "later_until": self.later_until,
        }


class DamagedCandidate(CorruptData):
    """One row of the gate cannot be read. Forgetting its key mends that, and so does seeing it again."""

    def __init__(self, scope: Scope, key: str, problem: str) -> None:
        super().__init__(f"the candidate for {key} is damaged ({problem}): give it up with `hikidashi forget {key}`")
        self.scope, self.key, self.problem = scope, key, problem


def candidate_of(row: sqlite3.Row) -> Candidate:
    """The candidate of a row of `candidates`. Raises `DamagedCandidate` when its JSON is damaged."""
    values = dict(row)
    try:
        lists = {name: json.loads(values[name]) for name in ("probe", "aliases")}
        values["source"] = json.loads(values["source"])
        if not isinstance(values["source"], dict):
            raise ValueError("no mapping")
        for name, words in lists.items():
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise ValueError("no list of words")
            values[name] = tuple(words)
        return Candidate(**values)
    except (ValueError, TypeError) as exc:
        raise DamagedCandidate(row["scope"], row["key"], str(exc)) from exc


def new_id(connection: sqlite3.Connection, *parts: str) -> str:
    """The ID of a proposal made of `parts` (scope, key, content, machine): the same for the same proposal.

    As short as the other proposals of this database allow.
    """
    letters = _letters(parts)
    for length in range(ID_LENGTH, _MAX_ID):
        row = connection.execute(_SQL["candidate"], {"id": letters[:length]}).fetchone()
        with contextlib.suppress(DamagedCandidate):
            if row is None or id_parts(candidate_of(row)) == parts:
                return letters[:length]
    return letters


def _letters(parts: tuple[str, ...]) -> str:
    digest = int.from_bytes(hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).digest(), "big")
    return "".join(_LETTERS[(digest >> (5 * place)) & 31] for place in range(_MAX_ID))


def id_parts(candidate: Candidate) -> tuple[str, ...]:
    """What the ID of a candidate is made of."""
    content = content_of(candidate.digest, candidate.body)
    return candidate.scope, candidate.key, content, candidate.machine_id


def waiting(connection: sqlite3.Connection, *, damaged: list[DamagedCandidate] | None = None) -> list[Candidate]:
    """All that wait in one database, those that were put off too, in no order that matters.

    Rows that cannot be read are left out and added to `damaged`; without that list the first is raised.
    """
    with database_errors(database_name(connection)):
        rows = connection.execute(_SQL["waiting"]).fetchall()
    found = []
    for row in rows:
        try:
            found.append(candidate_of(row))
        except DamagedCandidate as exc:
            if damaged is None:
                raise
            damaged.append(exc)
    return found


def ranked(candidates: Iterable[Candidate], now: datetime) -> list[Candidate]:
    """What matters first: by type and verb, how sure it is, in how many sessions and how lately it was seen."""
    return sorted(candidates, key=lambda candidate: (-_weight(candidate, now), candidate.key, candidate.id))


def _weight(candidate: Candidate, now: datetime) -> float:
    base = _VERB_WEIGHT.get(candidate.verb, _TYPE_WEIGHT[candidate.type])
    age = max((now - _time(candidate.seen_at, now)) / timedelta(days=1), 0.0)
    often = 1 + math.log2(max(candidate.sessions, 1)) / 2
    return float(base * candidate.confidence * often * 0.5 ** (age / _HALF_LIFE_DAYS))


def _time(text: str, otherwise: datetime) -> datetime:
    try:
        return parse_time(text)
    except ValueError:  # a transcript's own time, which nobody checked
        return otherwise
