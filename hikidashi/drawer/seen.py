"""Noting that facts were asked for: this is what keeps them from decay. Standard library only.

Design section 8, "Decay": an explicit read, a key or alias match of a prompt, approval and fresh evidence count;
that a fact was merely shown because a word matched does not.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Final

from hikidashi.db.connection import queries, transaction
from hikidashi.drawer.fact import Fact
from hikidashi.drawer.reading import fact_of

__all__ = ["note_read", "note_seen"]

_SQL: Final = queries("drawer")


def note_seen(connection: sqlite3.Connection, fact_ids: Iterable[int], at: str) -> None:
    """A prompt named these facts by key or alias at the time `at`. Raises `Busy` and its kin as `transaction` does."""
    with transaction(connection):
        connection.executemany(_SQL["seen"], [{"id": fact_id, "at": at} for fact_id in fact_ids])


def note_read(connection: sqlite3.Connection, fact: Fact, at: str) -> Fact:
    """Somebody read this fact on purpose at the time `at`; gives it as it is then.

    A stale fact is active again, a retired one stays retired. A fact that was forgotten meanwhile comes back as given.
    """
    with transaction(connection):
        row = connection.execute(_SQL["read"], {"id": fact.id, "at": at}).fetchone()
    return fact if row is None else fact_of(row)
