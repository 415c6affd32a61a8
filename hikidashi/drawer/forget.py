"""Forgetting a key: no trace of it in the database's files (`hikidashi forget`).

    1. one transaction: the rows of the key go from every table and from the index, a refusal comes
    2. the database is written anew (VACUUM): a deleted row is overwritten at once (secure_delete), but a page that
       was filled anew may keep old bytes between its rows, and an index its old segments
    3. the write-ahead log is emptied into the database, which waits for readers of an older state

Steps 2 and 3 may be kept from ending by a full disk or a long reader. Then the key is gone for everybody who asks,
the answer says what is left, and the same call again takes up there.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.db.connection import database_errors, database_name, queries, transaction
from hikidashi.drawer.fact import Scope, fact_subject
from hikidashi.drawer.index import purge_index, unindex_fact
from hikidashi.drawer.refusals import is_forgotten, note_forgotten
from hikidashi.errors import Busy, HikidashiError, StorageFailure

__all__ = ["WAIT_SECONDS", "Forgotten", "clean_files", "forget_key", "is_known"]

#: How long forgetting waits for readers that keep the write-ahead log.
WAIT_SECONDS: Final = 10.0

_SQL: Final = queries("forget")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What forgetting a key found and did."""

    key: str
    scope: Scope
    #: Whether a fact of this key was there.
    fact: bool
    #: Rows that went.
    candidates: int
    sightings: int
    uses: int
    #: It was forgotten before; the files were cleaned once more.
    again: bool
    #: Why bytes of it may still be in the database's files; None when none are.
    left: HikidashiError | None

    @property
    def found(self) -> bool:
        """Whether anything of the key was there."""
        return self.fact or self.again or bool(self.candidates or self.sightings or self.uses)


def is_known(connection: sqlite3.Connection, scope: Scope, key: str) -> bool:
    """Whether anything is kept of `key`, or was forgotten."""
    values = {"scope": scope, "key": key, "subject": fact_subject(scope, key)}
    with database_errors(database_name(connection)):
        kept = bool(connection.execute(_SQL["is_known"], values).fetchone()[0])
    return kept or is_forgotten(connection, scope=scope, key=key)


def forget_key(
    connection: sqlite3.Connection, scope: Scope, key: str, *, at: str, wait_seconds: float = WAIT_SECONDS
) -> Forgotten:
    """Forget `key` (as `clean_key` gives it) at the time `at`. A key that nobody knows changes nothing."""
    again = is_forgotten(connection, scope=scope, key=key)
    of_key = {"scope": scope, "key": key}
    with transaction(connection):
        facts = connection.execute(_SQL["forget_fact"], of_key).fetchall()
        for row in facts:
            unindex_fact(connection, row["id"])
        candidates = connection.execute(_SQL["forget_candidates"], of_key).rowcount
        sightings = connection.execute(_SQL["forget_sightings"], of_key).rowcount
        uses = connection.execute(_SQL["forget_uses"], {"subject": fact_subject(scope, key)}).rowcount
        _forget_notes(connection, key)
        found = bool(facts or candidates or sightings or uses)
        if found:
            note_forgotten(connection, scope=scope, key=key, at=at)
            purge_index(connection)
    left = clean_files(connection, wait_seconds) if found or again else None
    return Forgotten(
        key=key,
        scope=scope,
        fact=bool(facts),
        candidates=candidates,
        sightings=sightings,
        uses=uses,
        again=again and not found,
        left=left,
    )


def _forget_notes(connection: sqlite3.Connection, key: str) -> None:
    """Take out what the extraction of sessions that go on has gathered for the key, to propose it again."""
    forms = {"plain": json.dumps(key, ensure_ascii=False), "escaped": json.dumps(key)}
    for row in connection.execute(_SQL["notes_of_key"], forms).fetchall():
        state = json.loads(row["state"])
        gathered = state.get("promoting")
        if gathered is not None:
            state["promoting"] = _without(gathered, key)
            values = {"host": row["host"], "path": row["path"], "state": json.dumps(state, ensure_ascii=False)}
            connection.execute(_SQL["set_notes"], values)


def _without(data: Any, key: str) -> Any:
    """`data` without what stands under `key`, and without the items of lists that name it."""
    if isinstance(data, dict):
        return {name: _without(value, key) for name, value in data.items() if name != key}
    if isinstance(data, list):
        kept = (item for item in data if item != key and not (isinstance(item, list) and key in item))
        return [_without(item, key) for item in kept]
    return data


def clean_files(connection: sqlite3.Connection, wait_seconds: float) -> HikidashiError | None:
    """Leave no bytes of deleted rows in the database's files: steps 2 and 3 above.

    Gives why they did not end, None when they did.
    """
    try:
        with _waiting(connection, wait_seconds), database_errors(database_name(connection)):
            deadline = time.monotonic() + wait_seconds
            connection.execute(_SQL["rewrite"])
            while connection.execute(_SQL["empty_log"]).fetchone()[0]:  # 1: a reader or writer was in the way
                if time.monotonic() >= deadline:
                    return Busy("another process still reads an older state of the database")
                time.sleep(0.02)
    except (Busy, StorageFailure) as exc:
        return exc
    return None


@contextlib.contextmanager
def _waiting(connection: sqlite3.Connection, seconds: float) -> Iterator[None]:
    """Wait at most so long for others, and keep the copy that VACUUM makes out of temporary files."""
    before = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("busy_timeout", "temp_store")]
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    connection.execute("PRAGMA temp_store = MEMORY")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before[0]:d}")
        connection.execute(f"PRAGMA temp_store = {before[1]:d}")
