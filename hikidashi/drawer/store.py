"""The drawer of one scope: writing, retiring and forgetting facts (design section 8).

Every change is one short transaction that begins IMMEDIATE, so that writers wait for each other for a moment and
readers for nobody. What takes time, looking for secrets, is done before.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from typing import Final

from hikidashi.db.connection import queries, transaction
from hikidashi.drawer.decay import start_passes
from hikidashi.drawer.draft import CheckedDraft, checked
from hikidashi.drawer.fact import Draft, Fact, FactStatus, Scope, clean_key
from hikidashi.drawer.forget import WAIT_SECONDS, Forgotten, forget_key
from hikidashi.drawer.index import index_fact, unindex_fact
from hikidashi.drawer.near import missing_fact
from hikidashi.drawer.reading import fact_keys, fact_of, find_fact, sound_fact
from hikidashi.drawer.refusals import allow, content_of, take_back_rejected
from hikidashi.errors import NoSuchFact
from hikidashi.redact import RULES_VERSION
from hikidashi.times import Clock, format_time, now

__all__ = ["FAILED_CONFIDENCE", "Drawer"]

#: What is left of a fact's confidence when its probe did not confirm it.
FAILED_CONFIDENCE: Final = 0.3

_SQL: Final = queries("drawer")
_META: Final = queries("meta")


class Drawer:
    """The facts of one scope, over an open and migrated database."""

    def __init__(self, connection: sqlite3.Connection, scope: Scope, clock: Clock = now) -> None:
        self.connection: Final = connection
        self.scope: Final = scope
        self._clock = clock

    def find(self, key: str) -> Fact | None:
        """The fact of a key, whatever its status. Raises `UsageError` for what can be no key."""
        return find_fact(self.connection, self.scope, clean_key(key))

    def replaced(self, key: str) -> Fact | None:
        """The fact that is about to be replaced or forgotten; None also where its row is damaged, for that mends it."""
        return sound_fact(self.connection, self.scope, clean_key(key))

    def write(self, draft: Draft) -> Fact:
        """Write a fact in a transaction of its own; see `put`."""
        clean = checked(draft)
        with transaction(self.connection):
            return self.put_checked(clean)

    def put(self, draft: Draft) -> Fact:
        """Write a fact in the CALLER's transaction: a new one, or the next version of the key's.

        It is active again whatever it was, and may be proposed again if it was forgotten. Raises `SecretRefused`
        with the place of a secret, `UsageError` for what is empty or too long; nothing was written then.
        """
        return self.put_checked(checked(draft))

    def put_checked(self, draft: CheckedDraft) -> Fact:
        """The same for a draft that was checked before the transaction began."""
        if draft.scope != self.scope:
            raise ValueError(f"a draft of scope {draft.scope} for the drawer of scope {self.scope}")
        at = self._now()
        values = dataclasses.asdict(draft) | {
            "probe": _json(draft.probe),
            "aliases": _json(draft.aliases),
            "source": _json(draft.source),
            "rules_version": RULES_VERSION,
            "at": at,
        }
        fact = fact_of(self.connection.execute(_SQL["put_fact"], values).fetchone())
        self.connection.execute(
            _SQL["add_version"],
            {
                "fact_id": fact.id,
                "version": fact.version,
                "type": fact.type,
                "body": fact.body,
                "proof": fact.proof,
                "confidence": fact.confidence,
                "origin": fact.origin,
                "at": at,
            },
        )
        start_passes(self.connection, at)
        allow(self.connection, scope=self.scope, key=fact.key)
        content = content_of(fact.digest, fact.body)
        take_back_rejected(self.connection, scope=self.scope, key=fact.key, content=content)
        index_fact(self.connection, fact)
        return fact

    def retire(self, key: str) -> Fact:
        """Take a fact out of use: it is kept and never given. Raises `NoSuchFact`."""
        with transaction(self.connection):
            return self.set_status(clean_key(key), "retired")

    def set_status(self, key: str, status: FactStatus) -> Fact:
        """Give a fact another status, in the CALLER's transaction. Raises `NoSuchFact`."""
        row = self.connection.execute(_SQL["set_status"], self._of(key) | {"status": status}).fetchone()
        fact = self._expected(row, key)
        if status == "retired":
            unindex_fact(self.connection, fact.id)
        else:
            index_fact(self.connection, fact)
        return fact

    def forget(self, key: str, *, wait_seconds: float = WAIT_SECONDS) -> Forgotten:
        """Delete the key's fact, versions, candidates, sightings and uses, and every trace in the database's files.

        It is not proposed again until it is written anew. Raises `NoSuchFact` when nothing is known of the key.
        """
        key = clean_key(key)
        done = forget_key(self.connection, self.scope, key, at=self._now(), wait_seconds=wait_seconds)
        if not done.found:
            raise self._missing(key)
        return done

    def verified(self, fact: Fact, passed: bool, said: str, at: str) -> Fact | None:
        """What the fact's probe said at the time `at`, in one line; gives the fact as it is then.

        A pass is the best proof there is: confidence 1.0, a stale fact is active again, a failure before it is
        history. A fail leaves the proof and takes confidence away; one older than the last pass or failure changes
        nothing. None when the fact was written anew or forgotten since: what was checked is not what stands there.
        """
        values = {"id": fact.id, "version": fact.version, "said": said, "at": at, "confidence": FAILED_CONFIDENCE}
        with transaction(self.connection):
            self.connection.execute(_SQL["probe_passed" if passed else "probe_failed"], values)
            row = self.connection.execute(_SQL["fact"], self._of(fact.key)).fetchone()
        return fact_of(row) if row is not None and (row["id"], row["version"]) == (fact.id, fact.version) else None

    def _now(self) -> str:
        return format_time(self._clock())

    def _of(self, key: str) -> dict[str, object]:
        return {"scope": self.scope, "key": key}

    def _expected(self, row: sqlite3.Row | None, key: str) -> Fact:
        if row is None:
            raise self._missing(key)
        return fact_of(row)

    def _missing(self, key: str) -> NoSuchFact:
        return missing_fact(key, fact_keys(self.connection, self.scope))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
