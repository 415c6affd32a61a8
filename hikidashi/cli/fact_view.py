"""How facts are shown: the JSON form with stable keys, and the lines for people."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from click.exceptions import Exit

from hikidashi.cli.output import handful, plain, say, short, shown_time, table
from hikidashi.config.machine import Machine
from hikidashi.drawer.candidates import DamagedCandidate
from hikidashi.drawer.fact import Fact, is_elsewhere
from hikidashi.drawer.reading import DamagedFact
from hikidashi.times import parse_time

__all__ = ["ORIGINS", "age", "damaged_form", "fact_form", "name_damaged", "show_fact", "show_facts"]

#: Characters of a fact's text in a list.
_LISTED = 100

#: Aliases shown of one fact: what sessions show comes with more than a hundred, its verb's in all languages.
_ALIASES_SHOWN = 12

#: Where a fact or a candidate comes from, in words.
ORIGINS: Final = {
    "promotion": "a command that worked",
    "rule": "your own words",
    "reflection": "a model's reading of a session",
    "memory_write": "an agent wrote it",
    "import": "an import",
    "command": "a command",
}


def fact_form(fact: Fact, machine: Machine) -> dict[str, Any]:
    """The JSON form of a fact. `elsewhere`: a capability that was proven on another machine."""
    return {
        "scope": fact.scope,
        "key": fact.key,
        "type": fact.type,
        "body": fact.body,
        "status": fact.status,
        "confidence": fact.confidence,
        "proof": fact.proof,
        "probe": list(fact.probe),
        "aliases": list(fact.aliases),
        "trust": fact.trust,
        "origin": fact.origin,
        "machine": fact.machine_name,
        "elsewhere": is_elsewhere(fact, machine.id),
        "source": fact.source,
        "version": fact.version,
        "uses": fact.uses,
        "created_at": fact.created_at,
        "updated_at": fact.updated_at,
        "last_seen": fact.last_seen,
        "last_verified": fact.last_verified,
        "last_failed": fact.last_failed,
        "failure": fact.failure,
    }


def show_fact(fact: Fact, machine: Machine, now: datetime) -> None:
    """Print one fact whole."""
    marks = [fact.type, fact.status, f"confidence {fact.confidence:g}", f"version {fact.version}"]
    if fact.scope == "global":
        marks.insert(0, "global")
    say(f"{fact.key}  ({', '.join(marks)})", "bold" if fact.status == "active" else "bold yellow", hang="    ")
    if fact.status == "retired":
        say("Retired: no agent is given it. `hikidashi write` brings it back.", "yellow")
    say(fact.body, indent="    ")
    rows = [("proof", fact.proof if fact.origin != "rule" else "")]  # "from" says that the person said it
    if is_elsewhere(fact, machine.id):
        rows.append(("machine", f"worked on {fact.machine_name or 'another machine'}, not shown on {machine.name}"))
    if fact.last_failed:
        rows.append(("failed", f"{shown_time(fact.last_failed)} UTC: {fact.failure or 'no reason was kept'}"))
    if fact.last_verified:
        rows.append(("verified", f"{age(fact.last_verified, now)} ago"))
    rows += [
        ("check", shlex.join(fact.probe)),
        ("also", _aliases(fact.aliases)),
        ("written", f"{age(fact.updated_at, now)} ago"),
        ("from", ORIGINS.get(fact.origin, fact.origin)),
    ]
    table(("", ""), [row for row in rows if row[1]])


def _aliases(aliases: Sequence[str]) -> str:
    return handful(aliases, _ALIASES_SHOWN) + (" (`--json` has all)" if len(aliases) > _ALIASES_SHOWN else "")


def damaged_form(damaged: Iterable[DamagedFact | DamagedCandidate]) -> list[dict[str, str]]:
    """The JSON form of rows that could not be read."""
    return [{"scope": one.scope, "key": one.key, "problem": one.problem} for one in damaged]


def name_damaged(damaged: Sequence[DamagedFact]) -> None:
    """Name each row that could not be read, with the mend, and end the command with its code, if there is one.

    To be called last: what is whole was shown before.
    """
    if not damaged:
        return
    sys.stdout.flush()
    for one in damaged:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"error: {plain(' '.join(str(one).split()))}\n")
    raise Exit(DamagedFact.exit_code)


def show_facts(facts: Iterable[Fact], machine: Machine, now: datetime) -> None:
    """Print a list of facts, each with the beginning of what it says and what bears it out."""
    table(
        ("type", "status", "sure", "seen", "scope", "key"),
        [
            (
                fact.type,
                fact.status,
                f"{fact.confidence:g}",
                age(fact.last_seen, now),
                fact.scope,
                "\n".join(filter(None, (fact.key, short(fact.body, _LISTED), _evidence(fact, machine)))),
            )
            for fact in facts
        ],
    )


def _evidence(fact: Fact, machine: Machine) -> str:
    """What bears it out or contradicts it, in one line; '' for nothing."""
    parts = []
    if is_elsewhere(fact, machine.id):
        parts.append(f"worked on {fact.machine_name or 'another machine'}")
    if fact.proof and fact.origin != "rule":
        parts.append(f"proof: {short(fact.proof, _LISTED)}")
    if fact.last_failed:
        parts.append(f"failed since: {short(fact.failure, _LISTED)}")
    return "; ".join(parts)


def age(at: str, now: datetime) -> str:
    """How long ago a stored time is, in its largest unit: `3 days`; `0 min` for one that has not come yet."""
    passed = max(now - parse_time(at), timedelta())
    if passed < timedelta(hours=1):
        return f"{passed // timedelta(minutes=1)} min"
    if passed < timedelta(days=1):
        return f"{passed // timedelta(hours=1)} h"
    days = passed // timedelta(days=1)
    return "1 day" if days == 1 else f"{days} days"
