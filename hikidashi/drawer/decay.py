"""Decay: a `decision` or `fact` that nobody asks for becomes stale, then retired (design section 8, "Decay").

A pass looks at every fact at most once a day and moves it at most one step: active -> stale at
`drawer.stale_days`, stale -> retired at `drawer.retired_days`. `capability`, `rule` and `procedure` never move.

**Days unseen** are days in which the drawer was in use. A clock that jumps forward, a machine that was off and a
person who was away look the same from here, and none of them is a reason to lose a decision. So the time between
two passes counts at most 30 days:

    unseen = (now - last_seen) - for each gap of over 30 days between two passes:
                                 what of it lies between last_seen and now, beyond 30 days

A clock that was set back counts nothing: what of a gap has not come yet is forgotten, and a `last_seen` that has not
come yet counts as now. The time of the last pass and the gaps stand in `meta.decay_pass`; it begins with the first
write or pass.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from hikidashi.db.connection import database_errors, database_name, queries, transaction
from hikidashi.drawer.fact import FactStatus, FactType, Scope
from hikidashi.drawer.index import unindex_fact
from hikidashi.times import format_time, parse_time

__all__ = [
    "EXEMPT",
    "MAX_GAP",
    "Decayed",
    "Passes",
    "apply_decay",
    "decay_if_due",
    "next_status",
    "passes_of",
    "start_passes",
    "unseen",
]

#: Types that never decay: what works, what was ordered and how it is done stays true unused.
EXEMPT: Final[frozenset[FactType]] = frozenset({"capability", "rule", "procedure"})

#: The time between two passes counts at most this long.
MAX_GAP: Final = timedelta(days=30)

#: `decay_if_due` leaves this long between two passes.
_EVERY: Final = timedelta(days=1)

_SQL: Final = queries("decay")

Gap = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """What is kept of earlier passes."""

    #: The last one, or the first write; None before both.
    last: datetime | None = None
    #: Times between two passes that were longer than `MAX_GAP`, oldest first.
    gaps: tuple[Gap, ...] = ()

    def at(self, now: datetime) -> Passes:
        """The same after a pass at the time `now`."""
        if self.last is None:
            return Passes(last=now)
        if now < self.last:
            cut = ((start, min(end, now)) for start, end in self.gaps)
            return Passes(last=now, gaps=tuple((start, end) for start, end in cut if end - start > MAX_GAP))
        new = ((self.last, now),) if now - self.last > MAX_GAP else ()
        return Passes(last=now, gaps=self.gaps + new)

    def since(self, first_seen: datetime) -> Passes:
        """The same without gaps that ended before any fact that is left was seen."""
        return Passes(last=self.last, gaps=tuple(gap for gap in self.gaps if gap[1] > first_seen))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decayed:
    """What a pass moved."""

    stale: int = 0
    retired: int = 0


def unseen(last_seen: datetime, now: datetime, gaps: Iterable[Gap] = ()) -> timedelta:
    """How long a fact counts as unseen at the time `now`; never negative."""
    counted = now - last_seen
    for start, end in gaps:
        inside = min(end, now) - max(start, last_seen)
        counted -= max(inside - MAX_GAP, timedelta())
    return max(counted, timedelta())


def next_status(
    type: FactType, status: FactStatus, unseen: timedelta, *, stale_days: int, retired_days: int
) -> FactStatus:
    """The status after one pass: at most one step on."""
    if type in EXEMPT:
        return status
    if status == "active" and unseen >= timedelta(days=stale_days):
        return "stale"
    if status == "stale" and unseen >= timedelta(days=retired_days):
        return "retired"
    return status


def start_passes(connection: sqlite3.Connection, at: str) -> None:
    """Count from the first write on, in the CALLER's transaction."""
    connection.execute(_SQL["start_passes"], {"value": json.dumps({"last": at, "gaps": []})})


def passes_of(connection: sqlite3.Connection) -> Passes:
    """What is kept of earlier passes; a damaged note counts as none."""
    with database_errors(database_name(connection)):
        row = connection.execute(_SQL["get_pass"]).fetchone()
    if row is None:
        return Passes()
    try:
        kept = json.loads(row["value"])
        gaps = tuple((parse_time(start), parse_time(end)) for start, end in kept["gaps"])
        return Passes(last=parse_time(kept["last"]), gaps=gaps)
    except (ValueError, TypeError, KeyError):
        return Passes()


def _note(connection: sqlite3.Connection, passes: Passes) -> None:
    value = {
        "last": None if passes.last is None else format_time(passes.last),
        "gaps": [[format_time(start), format_time(end)] for start, end in passes.gaps],
    }
    connection.execute(_SQL["set_pass"], {"value": json.dumps(value)})


def _is_due(passes: Passes, now: datetime) -> bool:
    return passes.last is None or not timedelta() <= now - passes.last < _EVERY


def decay_if_due(
    connection: sqlite3.Connection, scope: Scope, now: datetime, *, stale_days: int, retired_days: int
) -> Decayed:
    """A pass, unless the last one was less than a day ago. Commands that open the drawer and `extract` call it."""
    if not _is_due(passes_of(connection), now):
        return Decayed()
    with transaction(connection):
        if not _is_due(passes_of(connection), now):  # another process was faster: two passes would move two steps
            return Decayed()
        return _pass(connection, scope, now, stale_days, retired_days)


def apply_decay(
    connection: sqlite3.Connection, scope: Scope, now: datetime, *, stale_days: int, retired_days: int
) -> Decayed:
    """One pass over the facts of a scope, in one transaction."""
    with transaction(connection):
        return _pass(connection, scope, now, stale_days, retired_days)


def _pass(connection: sqlite3.Connection, scope: Scope, now: datetime, stale_days: int, retired_days: int) -> Decayed:
    moved: dict[FactStatus, int] = {}
    passes = passes_of(connection).at(now)
    first = now
    for row in connection.execute(_SQL["decaying"], {"scope": scope}).fetchall():
        try:
            seen = parse_time(row["last_seen"])
        except ValueError:  # a damaged row, which commands that list facts name
            continue
        first = min(first, seen)
        age = unseen(seen, now, passes.gaps)
        status = next_status(row["type"], row["status"], age, stale_days=stale_days, retired_days=retired_days)
        if status != row["status"]:
            connection.execute(_SQL["decay"], {"id": row["id"], "status": status, "at": format_time(now)})
            moved[status] = moved.get(status, 0) + 1
            if status == "retired":
                unindex_fact(connection, row["id"])
    _note(connection, passes.since(first))
    return Decayed(stale=moved.get("stale", 0), retired=moved.get("retired", 0))
