"""Which candidates a person means: by ID or the beginning of one, by key or the beginning of one, by verb, by type."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.drawer.candidates import Candidate, candidate_of
from hikidashi.drawer.fact import FactType
from hikidashi.drawer.near import near_keys
from hikidashi.errors import NoSuchFact, UsageError

__all__ = ["decided_as", "named", "of_kind"]

#: What people write for letters that IDs do not have.
_MISREAD: Final = str.maketrans("ILO", "110")

_SQL: Final = queries("gate")


def named(name: str, candidates: Sequence[Candidate]) -> Candidate | None:
    """The waiting candidate that `name` means; None for none. Raises `UsageError` when it may mean several."""
    typed = name.strip().upper().translate(_MISREAD)
    key = name.strip()
    ways = (
        [candidate for candidate in candidates if candidate.id == typed],
        [candidate for candidate in candidates if candidate.key == key],
        [candidate for candidate in candidates if typed and candidate.id.startswith(typed)],
        [candidate for candidate in candidates if key and candidate.key.startswith(key)],
    )
    found = next((way for way in ways if way), [])
    if len(found) > 1:
        which = ", ".join(f"{candidate.id} ({candidate.key})" for candidate in found[:5])
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        raise UsageError(f"{name} may mean {which}{more}: give the ID of the one you mean")
    return found[0] if found else None


def of_kind(
    candidates: Iterable[Candidate], *, verbs: Collection[str] = (), types: Collection[FactType] = ()
) -> list[Candidate]:
    """The candidates of these verbs that are of these types; none given means any."""
    return [
        candidate
        for candidate in candidates
        if (not verbs or candidate.verb in verbs) and (not types or candidate.type in types)
    ]


def decided_as(name: str, connections: Iterable[sqlite3.Connection], candidates: Iterable[Candidate]) -> NoSuchFact:
    """The error for a name that no waiting candidate has: what became of it, or names like it."""
    typed = name.strip().upper().translate(_MISREAD)
    for connection in connections:
        with database_errors(database_name(connection)):
            row = connection.execute(_SQL["decided_like"], {"id": typed, "key": name.strip()}).fetchone()
        if row is not None:
            return _became(candidate_of(row))
    names = {text: None for candidate in candidates for text in (candidate.key, candidate.id)}
    near = near_keys(name, names)
    mend = f"did you mean {' or '.join(near)}?" if near else "`hikidashi candidates` lists them"
    return NoSuchFact(f"no candidate is named {name}: {mend}")


def _became(candidate: Candidate) -> NoSuchFact:
    what = f"{candidate.id} ({candidate.key})"
    if candidate.state == "approved":
        return NoSuchFact(f"{what} was approved already: look at it with `hikidashi read {candidate.key}`")
    if candidate.state == "rejected":
        return NoSuchFact(f"{what} was rejected: `hikidashi write {candidate.key} …` writes it all the same")
    return NoSuchFact(f"{what} waited too long and expired: it comes back when it is seen again")
