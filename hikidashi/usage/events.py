"""Uses of facts and records, and tokens of sessions: one table, one call (design section 10). Standard library only."""

from __future__ import annotations

import sqlite3
from typing import Final, Literal

from hikidashi.db.connection import database_errors, database_name, queries, transaction

__all__ = ["UseKind", "record", "uses_of"]

#: Somebody asked for it; it was shown without being asked for; tokens of a session.
UseKind = Literal["explicit", "exposure", "tokens"]

_SQL: Final = queries("usage")


def record(
    connection: sqlite3.Connection,
    kind: UseKind,
    subject: str,
    *,
    session_id: str = "",
    via: str,
    amount: int = 1,
    at: str,
    busy_ms: int | None = None,
) -> None:
    """Note one use, in the caller's transaction if one is open, else in one of its own.

    `subject` is `drawer.fact.fact_subject(…)` or `record:<path>`, '' for tokens; `via` says what showed it.
    With `busy_ms` it waits only that long for another writer and raises `Busy` then (a hook passes 20).
    """
    values = {"kind": kind, "subject": subject, "session_id": session_id, "via": via, "amount": amount, "at": at}
    if connection.in_transaction:
        connection.execute(_SQL["record"], values)
        return
    before = None if busy_ms is None else connection.execute("PRAGMA busy_timeout").fetchone()[0]
    try:
        if busy_ms is not None:
            connection.execute(f"PRAGMA busy_timeout = {busy_ms:d}")
        with transaction(connection):
            connection.execute(_SQL["record"], values)
    finally:
        if before is not None:
            connection.execute(f"PRAGMA busy_timeout = {before:d}")


def uses_of(connection: sqlite3.Connection, subject: str) -> list[sqlite3.Row]:
    """What was noted of a subject, by kind, way and session: kind, via, session_id, uses, first_at, last_at."""
    with database_errors(database_name(connection)):
        return connection.execute(_SQL["uses"], {"subject": subject}).fetchall()
