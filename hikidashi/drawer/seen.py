"""Noting that a fact was read on purpose: this is what keeps it from decay. Standard library only.

Design section 8, "Decay": an explicit read, a key or alias match of a prompt (`recall.seen`), approval and fresh
evidence count; that a fact was merely shown because a word matched does not.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from hikidashi.db.connection import queries, transaction
from hikidashi.drawer.fact import Fact
from hikidashi.drawer.reading import fact_of

__all__ = ["note_read"]

_SQL: Final = queries("drawer")


def note_read(connection: sqlite3.Connection, fact: Fact, at: str) -> Fact:
    """Somebody read this fact on purpose at the time `at`; gives it as it is then.

    A stale fact is active again, a retired one stays retired. A fact that was forgotten meanwhile comes back as given.
    """
    with transaction(connection):
        row = connection.execute(_SQL["read"], {"id": fact.id, "at": at}).fetchone()
    return fact if row is None else fact_of(row)
