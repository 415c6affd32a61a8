"""Searching the drawer by words, for `read --query`."""

from __future__ import annotations

from typing import Final

from hikidashi.cli.context import opened_drawers
from hikidashi.cli.fact_view import fact_form
from hikidashi.cli.output import emit_json, say, short, table
from hikidashi.config.machine import this_machine
from hikidashi.drawer.fact import Fact, Scope
from hikidashi.drawer.reading import find_facts
from hikidashi.recall.match import Match, search
from hikidashi.times import now

__all__ = ["search_facts"]

#: Facts that a search gives at most.
_LIMIT: Final = 20
#: Characters of a fact's text in the list.
_LISTED: Final = 100


def search_facts(query: str, scope: Scope | None, *, as_json: bool) -> None:
    """Print the facts and rules that meet anything of `query`, best first, each with the reason."""
    machine_id = this_machine().id
    with opened_drawers(scope) as here:
        connections = {drawer.scope: drawer.connection for drawer in here.drawers.existing(scope)}
        matches = search(query, connections, limit=_LIMIT, now=now(), machine_id=machine_id)
        whole: dict[tuple[Scope, str], Fact] = {}
        for drawer_scope, connection in connections.items():
            keys = [match.fact.key for match in matches if match.fact.scope == drawer_scope]
            whole |= {(drawer_scope, key): fact for key, fact in find_facts(connection, drawer_scope, keys).items()}
    found = [(match, whole[match.fact.scope, match.fact.key]) for match in matches]
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


def _form(match: Match, fact: Fact) -> dict[str, object]:
    reasons = [{"by": reason.by, "said": reason.said} for reason in match.reasons]
    return {**fact_form(fact, this_machine()), "reasons": reasons, "score": match.score}


def _why(match: Match) -> str:
    return f"found by {'; '.join(map(str, match.reasons))}"
