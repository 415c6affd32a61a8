"""How candidates are shown: in JSON, in a list, and whole with their evidence and what a yes would change."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterable, Sequence
from typing import Any, Final

from hikidashi.cli.desk import Desk
from hikidashi.cli.fact_view import ORIGINS, damaged_form
from hikidashi.cli.output import amount, handful, say, short, shown_time, table
from hikidashi.drawer.candidates import Candidate
from hikidashi.drawer.fact import Draft, Fact, Sighting

__all__ = ["EVIDENCE_SHOWN", "desk_form", "show_candidate", "show_change", "show_list"]

#: Characters of a text in a list, and sightings shown of one candidate.
_LISTED: Final = 100
EVIDENCE_SHOWN: Final = 5


def desk_form(desk: Desk) -> dict[str, Any]:
    """The JSON form of all that waits."""
    forms = [_candidate_form(desk, candidate) for candidate in desk.candidates]
    return {"candidates": forms, "damaged": damaged_form(desk.damaged)}


def _candidate_form(desk: Desk, candidate: Candidate) -> dict[str, Any]:
    """The JSON form of a candidate: its row, the fact that a yes would replace, what was seen of its key."""
    fact = desk.standing(candidate)
    return {
        **candidate.to_dict(),
        "replaces": None if fact is None else _replaced_form(fact),
        "evidence": [dataclasses.asdict(sighting) for sighting in desk.evidence(candidate)],
    }


def _replaced_form(fact: Fact) -> dict[str, Any]:
    return {
        "key": fact.key,
        "type": fact.type,
        "body": fact.body,
        "proof": fact.proof,
        "probe": list(fact.probe),
        "status": fact.status,
        "machine": fact.machine_name,
        "version": fact.version,
    }


def show_list(desk: Desk, candidates: Iterable[Candidate]) -> None:
    """Print candidates as a list: what each says and what bears it out."""
    rows = []
    for candidate in candidates:
        details = [candidate.key, short(candidate.body, _LISTED)]
        if candidate.proof and candidate.origin != "rule":  # a rule's is that the person said it
            details.append(f"proof: {short(candidate.proof, _LISTED)}")
        fact = desk.standing(candidate)
        if fact is not None:
            details.append(f"would replace: {short(fact.body, _LISTED)}")
        kind = candidate.verb or candidate.type
        rows.append((candidate.id, kind, str(candidate.sessions), "\n".join(details)))
    table(("id", "what", "sessions", "key"), rows)


def show_candidate(desk: Desk, candidate: Candidate) -> None:
    """Print one candidate whole."""
    marks = [candidate.type, f"confidence {candidate.confidence:g}", amount(candidate.sessions, "session")]
    if candidate.scope == "global":
        marks.insert(0, "global")
    say(f"{candidate.id}  {candidate.key}  ({', '.join(marks)})", "bold", hang="       ")
    fact = desk.standing(candidate)
    proposal = desk.proposal(candidate)
    if fact is None:
        say(candidate.body, indent="    ")
    else:
        show_change(fact, proposal)
    table(("", ""), _rows(candidate, proposal))
    _show_evidence(desk.evidence(candidate))


def _rows(candidate: Candidate, proposal: Draft) -> list[tuple[str, str]]:
    probe = shlex.join(proposal.probe)
    kind = "It only reads" if candidate.probe else "It stays as it is"
    told = f"{probe}\n{kind}; `hikidashi verify` runs it, without a shell, in an empty folder."
    rows = [
        ("proof", candidate.proof if candidate.origin != "rule" else ""),
        ("check", told if probe else ""),
        ("also", handful(proposal.aliases)),
        ("machine", candidate.machine_name),
        ("from", ORIGINS.get(candidate.origin, candidate.origin)),
    ]
    return [row for row in rows if row[1]]


def _show_evidence(sightings: Sequence[Sighting]) -> None:
    """Print the newest sightings; lines count from 1, as in editors."""
    if not sightings:
        return
    rows = [
        (shown_time(seen.at), seen.outcome, f"{short(seen.told, 300)}\n{seen.path}:{seen.line + 1}")
        for seen in reversed(sightings[-EVIDENCE_SHOWN:])
    ]
    say()
    table(("seen (UTC)", "end", "what"), rows)
    if len(sightings) > EVIDENCE_SHOWN:
        say(f"… and {len(sightings) - EVIDENCE_SHOWN} more", "dim")


def show_change(fact: Fact, new: Draft) -> None:
    """Print what a yes would change of a fact: what it says now, and what it would say."""
    retired = ", retired" if fact.status == "retired" else ""
    changes = [(f"now, version {fact.version}{retired}", fact.body, new.body)]
    if fact.type != new.type:
        changes.append(("type", fact.type, new.type))
    if fact.probe != new.probe:
        changes.append(("check", shlex.join(fact.probe) or "none", shlex.join(new.probe) or "none"))
    if set(fact.aliases) - set(new.aliases):
        changes.append(("also", handful(fact.aliases), handful(new.aliases)))
    say(f"{fact.key} is in the drawer; a yes replaces it ({changes[0][0]}):", "yellow", indent="    ")
    for name, old, text in changes:
        mark = "" if name == changes[0][0] else f"{name}: "
        for sign, style, words in (("-", "red", old), ("+", "green", text)):
            for number, line in enumerate(words.split("\n")):
                say(f"{sign} {'' if number else mark}{line}", style, indent="    ", hang="  ")
