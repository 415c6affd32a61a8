"""What a session's reading brings before the gate: drafts with their sightings, and failures (design section 8).

One of it goes over the events of a transcript beside the fold that makes entries. What it found is proposed in the
transaction that commits the watermark, so it comes before the gate exactly once; its sightings are known by their
anchors, so copies of a session and a reading from the start again add nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from hikidashi.capture import classify
from hikidashi.capture.lasting import Lasting
from hikidashi.config.machine import Machine
from hikidashi.drawer.fact import Draft, Sighting
from hikidashi.drawer.gate import Proposal, observe_failure, propose
from hikidashi.hosts.transcript import Event
from hikidashi.redact import RULES_VERSION

__all__ = ["Found", "Promoting", "bring_before_the_gate", "is_known_state"]

#: Of the state; another one is not continued, its file is read from the start.
_VERSION: Final = [1, classify.STATE_VERSION]


def is_known_state(state: object) -> bool:
    """Whether `Promoting.restore` can go on from it."""
    return isinstance(state, dict) and state.get("version") == _VERSION


@dataclass(slots=True)
class Found:
    """What a piece of a transcript brought."""

    drafts: list[tuple[Draft, list[Sighting]]] = field(default_factory=list)
    #: Failed and denied calls, each with what it said.
    failures: list[tuple[Sighting, str]] = field(default_factory=list)


class Promoting:
    """Takes the events of one transcript, in order."""

    def __init__(self, host: str, *, path: str, project_of: Callable[[str], str]) -> None:
        self._calls = classify.Promotion(host, path=path, copies=True, project_of=project_of)
        self._rules = Lasting(host, path, copies=True)
        self._said: list[tuple[Draft, list[Sighting]]] = []

    def feed(self, event: Event, last_at: str) -> None:
        """Take one event; `last_at` is the last time before it that an event had."""
        if event.kind == "tool_result":
            self._calls.feed(event)
        elif event.kind == "user":
            self._rules.last_at = last_at
            self._said += [(draft, [sighting]) for draft, sighting in self._rules.feed(event)]

    def take(self) -> Found:
        """What is new since the last call."""
        said, self._said = self._said, []
        return Found(drafts=[*self._calls.drafts(), *said], failures=self._calls.failures())

    def to_state(self) -> dict[str, Any]:
        """The state between two readings: small JSON, redacted."""
        return {"version": _VERSION, "calls": self._calls.to_state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `to_state`'s form. Raises `ValueError` for a state of another version."""
        if not is_known_state(state):
            raise ValueError("the state is of another version")
        self._calls.restore(state["calls"])


def bring_before_the_gate(
    connection: sqlite3.Connection, found: Sequence[Found], *, at: str, machine: Machine
) -> list[tuple[Draft, Proposal]]:
    """Propose what was found, in the CALLER's transaction; gives what became of each draft."""
    proposals = []
    for one in found:
        for draft, sightings in one.drafts:
            placed = draft
            if draft.type == "capability":
                placed = replace(draft, machine_id=machine.id, machine_name=machine.name)
            proposals.append((draft, propose(connection, placed, sightings, at=at, rules_version=RULES_VERSION)))
        for sighting, said in one.failures:
            observe_failure(connection, sighting, said, machine_id=machine.id)
    return proposals
