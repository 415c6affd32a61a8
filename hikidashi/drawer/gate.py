"""The gate: what may come before a person, and what calls say of facts that passed it (design section 8).

`propose` and `observe_failure` work in the CALLER's transaction: phase 1 commits candidates with its entries and
its watermark. Both may be given the same events again; an event counts once, also in copies of its session.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal

from hikidashi.db.connection import queries, transaction
from hikidashi.drawer.candidates import Candidate, DamagedCandidate, candidate_of, new_id
from hikidashi.drawer.fact import Draft, Fact, Sighting
from hikidashi.drawer.intake import Unfit, clean_draft, clean_line, clean_sighting
from hikidashi.drawer.reading import sound_fact
from hikidashi.drawer.refusals import content_of, is_forgotten, is_rejected
from hikidashi.drawer.sightings import add_sighting
from hikidashi.source import trust_rank
from hikidashi.times import format_time

__all__ = ["STALE_SESSIONS", "Proposal", "apply_failures", "observe_failure", "propose", "sweep"]

#: A capability is stale when authentication failed in so many sessions without a success between.
STALE_SESSIONS: Final = 2

#: What became of a proposal:
#:   new        it waits
#:   seen       it waited already, and counts once more
#:   kept       something better founded waits under its key; that stays
#:   evidence   it bears out a fact of the drawer
#:   known      each of its events was counted before, or it only repeats what the drawer says
#:   refused    a person rejected this content or had the key forgotten
#:   unfit      its key or its body cannot be kept: too long, not printable, or a secret in the key
Outcome = Literal["new", "seen", "kept", "evidence", "known", "refused", "unfit"]

_SQL: Final = queries("gate")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What became of a draft."""

    outcome: Outcome
    #: The candidate that waits under its key now; '' when none does.
    id: str = ""
    #: Texts in which a secret was found and replaced; the proposer should have done that.
    redacted: int = 0


def propose(
    connection: sqlite3.Connection, draft: Draft, sightings: Sequence[Sighting], *, at: str, rules_version: int
) -> Proposal:
    """Let `draft` wait for a person's yes, or count it as evidence, in the CALLER's transaction.

    `sightings` are the successes behind it (none for what somebody wrote), `at` is now, `rules_version` that of the
    redaction rules that read the texts. The database is that of the draft's scope.
    """
    try:
        draft, redacted = clean_draft(draft)
    except Unfit:
        return Proposal(outcome="unfit")
    seen = []
    for sighting in sightings:
        clean, count = clean_sighting(sighting, draft.key)
        seen.append(clean)
        redacted += count
    outcome, candidate_id = _Intake(connection, draft, seen, at=at, rules_version=rules_version).take()
    return Proposal(outcome=outcome, id=candidate_id, redacted=redacted)


class _Intake:
    """One draft on its way in."""

    def __init__(
        self, connection: sqlite3.Connection, draft: Draft, seen: Sequence[Sighting], *, at: str, rules_version: int
    ) -> None:
        self._connection = connection
        self._draft = draft
        self._seen = seen
        self._at = at
        self._rules_version = rules_version
        self._of_key: dict[str, object] = {"scope": draft.scope, "key": draft.key}
        self._content = content_of(draft.digest, draft.body)

    def take(self) -> tuple[Outcome, str]:
        """What became of it, and the candidate that waits under its key."""
        draft = self._draft
        fact = sound_fact(self._connection, draft.scope, draft.key)
        if fact is not None and fact.status != "retired" and self._is_same(fact):
            return self._bear_out(fact), ""
        if is_forgotten(self._connection, scope=draft.scope, key=draft.key):
            return "refused", ""  # before anything of the key is written again
        if is_rejected(self._connection, scope=draft.scope, key=draft.key, content=self._content):
            return "refused", ""
        old = self._waiting()
        fresh = self._note_sightings()
        if not fresh and self._seen:
            return "known", old.id if old else ""
        if old is not None and self._is_same(old):
            return self._see_again(old)
        return self._take_place_of(old)

    def _is_same(self, other: Fact | Candidate) -> bool:
        """Whether the draft says what a fact or candidate of its key says, of the same machine."""
        machines = {self._draft.machine_id, other.machine_id} - {""}
        return len(machines) < 2 and self._content == content_of(other.digest, other.body)

    def _waiting(self) -> Candidate | None:
        row = self._connection.execute(_SQL["waiting_of_key"], self._of_key).fetchone()
        try:
            return None if row is None else candidate_of(row)
        except DamagedCandidate:  # one that can be read takes its place
            self._connection.execute(_SQL["drop_candidate"], {"id": row["id"]})
            return None

    def _note_sightings(self) -> int:
        return sum(add_sighting(self._connection, sighting) for sighting in self._seen)

    def _bear_out(self, fact: Fact) -> Outcome:
        if not self._note_sightings():  # an agent that writes it once more has shown nothing
            return "known"
        happened = min(max(sighting.at for sighting in self._seen), self._at)
        values = {"id": fact.id, "at": happened, "confidence": self._draft.confidence}
        self._connection.execute(_SQL["fact_evidence"], values)
        return "evidence"

    def _see_again(self, old: Candidate) -> tuple[Outcome, str]:
        values = {"id": old.id, "sessions": self._sessions(), "at": self._at}
        self._connection.execute(_SQL["seen_again"], values)
        if self._is_better(old):
            self._connection.execute(_SQL["better_text"], {"id": old.id, **self._texts()})
        return "seen", old.id

    def _take_place_of(self, old: Candidate | None) -> tuple[Outcome, str]:
        draft = self._draft
        if old is not None:
            if not self._is_better(old):
                return "kept", old.id
            self._connection.execute(_SQL["drop_candidate"], {"id": old.id})
        candidate_id = new_id(self._connection, draft.scope, draft.key, self._content, draft.machine_id)
        values = {"id": candidate_id, "sessions": self._sessions(), "at": self._at, **self._of_key, **self._texts()}
        self._connection.execute(_SQL["put_candidate"], values)
        return "new", candidate_id

    def _is_better(self, old: Candidate) -> bool:
        """Whether its text takes the place of one that waits: as sure, as trusted, and of a later event."""
        draft = self._draft
        if draft.confidence < old.confidence or trust_rank(draft.trust) > trust_rank(old.trust):
            return False
        happened = draft.source.get("at")
        return str(happened or self._at) >= old.seen_at

    def _sessions(self) -> int:
        row = self._connection.execute(_SQL["sessions_seen"], self._of_key).fetchone()
        return max(int(row["sessions"]), 1)

    def _texts(self) -> dict[str, object]:
        draft = self._draft
        return {
            "type": draft.type,
            "body": draft.body,
            "confidence": draft.confidence,
            "proof": draft.proof,
            "probe": json.dumps(draft.probe, ensure_ascii=False),
            "aliases": json.dumps(draft.aliases, ensure_ascii=False),
            "trust": draft.trust,
            "origin": draft.origin,
            "digest": draft.digest,
            "machine_id": draft.machine_id,
            "machine_name": draft.machine_name,
            "source": json.dumps(draft.source, ensure_ascii=False, sort_keys=True),
            "rules_version": self._rules_version,
        }


def observe_failure(
    connection: sqlite3.Connection, sighting: Sighting, said: str, *, machine_id: str = ""
) -> Literal["noted", "stale", "history", "known", "nobody"]:
    """A call of a key's verb and target failed (`failed`) or was not let in (`denied`), in the CALLER's transaction.

    `said` is what it said in one line, `machine_id` where it ran. The fact keeps when and what, unless a success came
    later (`history`) or it was proven on another machine; authentication failures in two sessions without a success
    between make a capability `stale`. `known`: counted before. `nobody`: neither a fact nor a candidate has this key.
    """
    sighting, _ = clean_sighting(sighting, sighting.key)
    of_key: dict[str, object] = {"scope": sighting.scope, "key": sighting.key}
    fact = sound_fact(connection, sighting.scope, sighting.key)
    if fact is None and connection.execute(_SQL["waiting_of_key"], of_key).fetchone() is None:
        return "nobody"
    if not add_sighting(connection, sighting):
        return "known"
    if fact is None or (fact.machine_id and machine_id and fact.machine_id != machine_id):
        return "history"
    return _fail(connection, fact, {sighting.at: clean_line(said)})


def apply_failures(connection: sqlite3.Connection, fact: Fact) -> None:
    """Let a fact that was just approved carry the failures seen while it waited, in the CALLER's transaction."""
    _fail(connection, fact, {})


def _fail(connection: sqlite3.Connection, fact: Fact, said: dict[str, str]) -> Literal["noted", "stale", "history"]:
    """Put what is known of failures since the last success into the fact; `said` by the time of a failure."""
    of_key: dict[str, object] = {"scope": fact.scope, "key": fact.key}
    since = connection.execute(_SQL["last_success"], of_key).fetchone()["at"]
    failures = connection.execute(_SQL["last_failures"], {**of_key, "since": since}).fetchall()
    if not failures:
        return "history"
    denied = {row["session_id"] for row in failures if row["outcome"] == "denied"}
    stale = len(denied) >= STALE_SESSIONS
    newest = failures[0]
    known = {fact.last_failed or "": fact.failure} | said
    words = known.get(newest["at"]) or f"`{newest['told']}` failed"
    values = {"id": fact.id, "at": newest["at"], "said": words, "stale": int(stale)}
    if connection.execute(_SQL["fact_failed"], values).rowcount == 0:
        return "history"
    return "stale" if stale else "noted"


def sweep(connection: sqlite3.Connection, now: datetime, *, days: float) -> int:
    """Let candidates wait no longer that were not seen again for `days` days, or that a person wrote by hand.

    Gives how many. In a transaction of its own.
    """
    at = format_time(now)
    with transaction(connection):
        settled = connection.execute(_SQL["settle"], {"at": at}).rowcount
        before = format_time(now - timedelta(days=days))
        return settled + connection.execute(_SQL["expire"], {"at": at, "before": before}).rowcount
