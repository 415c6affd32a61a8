"""Reading facts. Standard library only, since hooks read through it."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.drawer.fact import Fact, FactStatus, FactType, Origin, Scope
from hikidashi.errors import CorruptData

__all__ = [
    "DamagedFact",
    "FactVersion",
    "all_facts",
    "count_facts",
    "fact_keys",
    "fact_of",
    "find_fact",
    "sound_fact",
    "versions_of",
]

_SQL: Final = queries("drawer")


class DamagedFact(CorruptData):
    """One row of the drawer cannot be read. Writing its key anew or forgetting it mends that."""

    def __init__(self, scope: Scope, key: str, problem: str) -> None:
        mend = "write it anew with `hikidashi write`, or give it up with `hikidashi forget`"
        super().__init__(f"the fact {key} is damaged ({problem}): {mend}")
        self.scope, self.key, self.problem = scope, key, problem


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVersion:
    """What a fact said once; the newest one is what it says now."""

    #: 1, 2, …
    version: int
    type: FactType
    body: str
    proof: str
    confidence: float
    origin: Origin
    #: When it was written.
    at: str


def fact_of(row: sqlite3.Row) -> Fact:
    """The fact of a row of `facts`. Raises `DamagedFact` when its JSON or one of its times is none."""
    try:
        return Fact(
            id=row["id"],
            scope=row["scope"],
            key=row["key"],
            type=row["type"],
            body=row["body"],
            confidence=row["confidence"],
            proof=row["proof"],
            status=row["status"],
            probe=_words(row["probe"]),
            aliases=_words(row["aliases"]),
            trust=row["trust"],
            origin=row["origin"],
            digest=row["digest"],
            machine_id=row["machine_id"],
            machine_name=row["machine_name"],
            source=_mapping(row["source"]),
            rules_version=row["rules_version"],
            version=row["version"],
            created_at=row["created_at"],
            updated_at=_time(row["updated_at"]),
            last_seen=_time(row["last_seen"]),
            last_verified=row["last_verified"] and _time(row["last_verified"]),
            last_failed=row["last_failed"] and _time(row["last_failed"]),
            failure=row["failure"],
            uses=row["uses"],
        )
    except IndexError as exc:  # somebody took a column away; `SELECT *` does not mind
        raise CorruptData("the table facts lacks a column: move the database aside and make a new one") from exc
    except ValueError as exc:
        raise DamagedFact(row["scope"], row["key"], str(exc)) from exc


def _words(text: str) -> tuple[str, ...]:
    words = json.loads(text)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("no list of words")
    return tuple(words)


def _mapping(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("no mapping")
    return found


def _time(text: str) -> str:
    datetime.fromisoformat(text)
    return text


def _rows(connection: sqlite3.Connection, name: str, values: dict[str, object]) -> list[sqlite3.Row]:
    with database_errors(database_name(connection)):
        return connection.execute(_SQL[name], values).fetchall()


def find_fact(connection: sqlite3.Connection, scope: Scope, key: str) -> Fact | None:
    """The fact of a key as `clean_key` gives it, whatever its status."""
    rows = _rows(connection, "fact", {"scope": scope, "key": key})
    return fact_of(rows[0]) if rows else None


def sound_fact(connection: sqlite3.Connection, scope: Scope, key: str) -> Fact | None:
    """The same; None also where the row is damaged, for whoever is about to replace the fact, which mends it."""
    try:
        return find_fact(connection, scope, key)
    except DamagedFact:
        return None


def all_facts(
    connection: sqlite3.Connection,
    scope: Scope,
    *,
    type: FactType | None = None,
    status: FactStatus | None = None,
    damaged: list[DamagedFact] | None = None,
) -> list[Fact]:
    """The facts of a scope in the order of their keys, all or those of one type or status.

    Rows that cannot be read are left out and added to `damaged`; without that list the first is raised.
    """
    found = []
    for row in _rows(connection, "all_facts", {"scope": scope, "type": type, "status": status}):
        try:
            found.append(fact_of(row))
        except DamagedFact as exc:
            if damaged is None:
                raise
            damaged.append(exc)
    return found


def fact_keys(connection: sqlite3.Connection, scope: Scope) -> list[str]:
    """All keys of a scope, sorted."""
    return [row["key"] for row in _rows(connection, "fact_keys", {"scope": scope})]


def count_facts(connection: sqlite3.Connection, scope: Scope) -> dict[tuple[FactStatus, FactType], int]:
    """How many facts there are of each status and type."""
    rows = _rows(connection, "count_facts", {"scope": scope})
    return {(row["status"], row["type"]): row["facts"] for row in rows}


def versions_of(connection: sqlite3.Connection, fact: Fact) -> list[FactVersion]:
    """Every version of a fact, oldest first, the current one included."""
    return [FactVersion(**dict(row)) for row in _rows(connection, "versions", {"fact_id": fact.id})]
