"""`read`, `facts` and `why`: looking into the drawer."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any, Final, get_args

import click

from hikidashi.cli.context import opened_drawers
from hikidashi.cli.fact_search import search_facts
from hikidashi.cli.fact_view import ORIGINS, damaged_form, fact_form, name_damaged, show_fact, show_facts
from hikidashi.cli.output import amount, emit_json, json_option, say, short, shown_time, table, warn
from hikidashi.config.machine import this_machine
from hikidashi.config.settings import Settings
from hikidashi.drawer.decay import EXEMPT, passes_of, unseen
from hikidashi.drawer.fact import Fact, FactStatus, FactType, Scope, Sighting, fact_subject
from hikidashi.drawer.reading import DamagedFact, FactVersion, all_facts, versions_of
from hikidashi.drawer.seen import note_read
from hikidashi.drawer.sightings import sightings_of
from hikidashi.drawer.store import Drawer
from hikidashi.errors import Busy, StorageFailure, UsageError
from hikidashi.times import format_time, now, parse_time
from hikidashi.usage.events import record, uses_of

__all__ = ["facts_command", "read_command", "scope_option", "why_command"]

#: Adds `--scope` to a command that looks into both drawers.
scope_option: Final = click.option(
    "--scope", type=click.Choice(get_args(Scope)), help="Only the workspace's facts, or only your own global ones."
)


@click.command("read")
@click.argument("key", metavar="[KEY]", required=False)
@click.option("--query", metavar="TEXT", help="Search instead: facts and rules that meet anything of TEXT, best first.")
@scope_option
@json_option
def read_command(key: str | None, query: str | None, scope: Scope | None, as_json: bool) -> None:
    """Read the fact of KEY: the workspace's, else your own global one.

    It counts as a use, and makes a stale fact active again; so does a search that names a fact by key or alias. A
    retired one is shown by its key alone, and stays retired.
    """
    if (key is None) == (query is None):
        raise UsageError("give a KEY to read, or --query TEXT to search")
    if key is None:
        search_facts(query or "", scope, as_json=as_json)
        return
    with opened_drawers(scope) as here:
        drawer, fact = here.drawers.expect(key, scope)
        fact = _counted(drawer, fact)
    if as_json:
        emit_json({"fact": fact_form(fact, this_machine())})
    else:
        show_fact(fact, this_machine(), now())


def _counted(drawer: Drawer, fact: Fact) -> Fact:
    """The fact after its reading was noted. A disk that takes no note is no reason not to show it."""
    at = format_time(now())
    try:
        fact = note_read(drawer.connection, fact, at)
        record(drawer.connection, "explicit", fact_subject(fact.scope, fact.key), via="read", at=at)
    except (Busy, StorageFailure) as exc:
        warn(f"that it was read could not be noted: {exc}")
    return fact


@click.command("facts")
@scope_option
@click.option("--type", "fact_type", type=click.Choice(get_args(FactType)), help="Only facts of this type.")
@click.option("--status", type=click.Choice(get_args(FactStatus)), help="Only facts of this status.")
@json_option
def facts_command(scope: Scope | None, fact_type: FactType | None, status: FactStatus | None, as_json: bool) -> None:
    """List the facts of the drawer, by key: the workspace's and your own global ones."""
    damaged: list[DamagedFact] = []
    with opened_drawers(scope) as here:
        facts = [
            fact
            for drawer in here.drawers.existing(scope)
            for fact in all_facts(drawer.connection, drawer.scope, type=fact_type, status=status, damaged=damaged)
        ]
    facts.sort(key=lambda fact: (fact.key, fact.scope != "workspace"))
    if as_json:
        emit_json({"facts": [fact_form(fact, this_machine()) for fact in facts], "damaged": damaged_form(damaged)})
    else:
        _show_list(facts, narrowed=bool(scope or fact_type or status or damaged))
    name_damaged(damaged)


def _show_list(facts: list[Fact], *, narrowed: bool) -> None:
    if facts:
        show_facts(facts, this_machine(), now())
    elif narrowed:
        say("No facts of that kind.")
    else:
        say(
            "No facts yet: `hikidashi extract` proposes some, `hikidashi inbox` shows them, `hikidashi write` adds one."
        )


@click.command("why")
@click.argument("key", metavar="KEY")
@scope_option
@json_option
def why_command(key: str, scope: Scope | None, as_json: bool) -> None:
    """Where the fact of KEY comes from, what was seen of it, where it was given, and when it will become stale.

    In JSON lines of transcripts count from 0; for people, as editors do, from 1.
    """
    with opened_drawers(scope) as here:
        drawer, fact = here.drawers.expect(key, scope)
        versions = versions_of(drawer.connection, fact)
        sightings = sightings_of(drawer.connection, fact.scope, fact.key)
        uses = [dict(row) for row in uses_of(drawer.connection, fact_subject(fact.scope, fact.key))]
        decay = _decay_form(drawer, fact, here.settings, now())
    if as_json:
        form = {
            "fact": fact_form(fact, this_machine()),
            "versions": [dataclasses.asdict(version) for version in versions],
            "sightings": [dataclasses.asdict(sighting) for sighting in sightings],
            "uses": uses,
            "decay": decay,
        }
        emit_json(form)
        return
    show_fact(fact, this_machine(), now())
    _show_source(fact)
    _show_sightings(sightings)
    _show_uses(uses)
    _show_versions(versions)
    say()
    say(_decay_line(fact, decay))


def _decay_form(drawer: Drawer, fact: Fact, settings: Settings, at: datetime) -> dict[str, Any]:
    """What decay makes of a fact that nobody asks for from now on; its days are UTC's."""
    counted = unseen(parse_time(fact.last_seen), at, passes_of(drawer.connection).gaps)
    exempt = fact.type in EXEMPT
    left = {
        "stale_on": settings.drawer.stale_days if fact.status == "active" else None,
        "retired_on": settings.drawer.retired_days if fact.status in ("active", "stale") else None,
    }
    return {
        "exempt": exempt,
        "unseen_days": round(counted / timedelta(days=1), 1),
        **{
            name: None if exempt or days is None else _day(at + max(timedelta(days=days) - counted, timedelta()))
            for name, days in left.items()
        },
    }


def _day(at: datetime) -> str:
    return format_time(at)[:10]


def _decay_line(fact: Fact, decay: dict[str, Any]) -> str:
    if fact.status == "retired":
        return "It is retired; only `hikidashi write` brings it back."
    if decay["exempt"]:
        return f"A {fact.type} does not decay."
    days = f"Nobody asked for it in {decay['unseen_days']:g} days."
    stale, retired = decay["stale_on"], decay["retired_on"]
    if fact.status == "stale":
        return f"{days} It is stale, and will be retired on {retired} unless somebody reads it."
    return f"{days} It will be stale on {stale} and retired on {retired}, unless somebody asks for it."


def _show_source(fact: Fact) -> None:
    source = fact.source
    if source:
        lines = source.get("lines") or []
        first, last = (lines[0] + 1, lines[-1] + 1) if lines else (0, 0)
        where = "" if not lines else f", line {first}" if first == last else f", lines {first} to {last}"
        say()
        say(f"From {source.get('host', 'a host')}, session {source.get('session_id', '?')}{where}.")


def _show_sightings(sightings: list[Sighting]) -> None:
    if sightings:
        say()
        rows = [
            (shown_time(seen.at), seen.outcome, f"{short(seen.told, 200)}\n{seen.path}:{seen.line + 1}")
            for seen in sightings
        ]
        table(("when (UTC)", "outcome", "what was seen"), rows)


def _show_uses(uses: list[dict[str, Any]]) -> None:
    if uses:
        say()
        words = {"explicit": "asked for", "exposure": "given"}
        rows = [
            (
                shown_time(use["last_at"]),
                words.get(use["kind"], use["kind"]),
                amount(use["uses"], "time"),
                f"by {use['via']}" + (f", session {use['session_id']}" if use["session_id"] else ""),
            )
            for use in uses
        ]
        table(("last (UTC)", "use", "how often", "how"), rows)


def _show_versions(versions: list[FactVersion]) -> None:
    if len(versions) > 1:
        say()
        rows = [
            (str(version.version), shown_time(version.at), ORIGINS.get(version.origin, version.origin), version.body)
            for version in reversed(versions[:-1])
        ]
        table(("version", "written (UTC)", "from", "what it said before"), rows)
