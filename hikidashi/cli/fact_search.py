"""Searching the drawer by words, for `read --query`."""

from __future__ import annotations

import sqlite3
from typing import Final

from hikidashi.cli.context import opened_drawers
from hikidashi.cli.fact_view import fact_form
from hikidashi.cli.output import emit_json, say, short, table
from hikidashi.config.machine import this_machine
from hikidashi.drawer.fact import Fact, Scope, fact_subject
from hikidashi.drawer.reading import find_fact
from hikidashi.drawer.seen import note_read
from hikidashi.recall.match import Match, search
from hikidashi.times import format_time, now
from hikidashi.usage.events import record

__all__ = ["search_facts"]

#: Facts that a search gives at most.
_LIMIT: Final = 20
#: Characters of a fact's text in the list.
_LISTED: Final = 100
#: Reasons by which a query names a fact, and does not merely share words with it.
_NAMED: Final = frozenset({"key", "key part", "alias"})


def search_facts(query: str, scope: Scope | None, *, as_json: bool) -> None:
    """Print the facts and rules that meet anything of `query`, best first, each with the reason.

    What the query names by key or alias is read by it; what only shares words with it is shown.
    """
    with opened_drawers(scope) as here:
        connections = {drawer.scope: drawer.connection for drawer in here.drawers.existing(scope)}
        matches = search(query, connections, limit=_LIMIT, now=now(), machine_id=this_machine().id)
        found = []
        for match in matches:
            connection = connections[match.fact.scope]
            fact = find_fact(connection, match.fact.scope, match.fact.key)
            if fact is not None:  # None: forgotten meanwhile
                found.append((match, _noted(connection, fact, match)))
    if as_json:
        emit_json({"facts": [_form(match, fact) for match, fact in found]})
    elif found:
        table(
            ("type", "status", "scope", "key"),
            [
                (fact.type, fact.status, fact.scope, f"{fact.key}\n{short(fact.body, _LISTED)}\n{_why(match)}")
                for match, fact in found
            ],
        )
    else:
        say("No fact meets that: `hikidashi facts` lists all keys.")


def _noted(connection: sqlite3.Connection, fact: Fact, match: Match) -> Fact:
    """The fact as it is once its reading, or its being shown, was noted."""
    at = format_time(now())
    named = any(reason.by in _NAMED for reason in match.reasons)
    record(connection, "explicit" if named else "exposure", fact_subject(fact.scope, fact.key), via="read", at=at)
    return note_read(connection, fact, at) if named else fact


def _form(match: Match, fact: Fact) -> dict[str, object]:
    reasons = [{"by": reason.by, "said": reason.said} for reason in match.reasons]
    return {**fact_form(fact, this_machine()), "reasons": reasons, "score": match.score}


def _why(match: Match) -> str:
    return f"found by {'; '.join(map(str, match.reasons))}"
