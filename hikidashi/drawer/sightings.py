"""Calls and sentences that bear a key out or contradict it: the lines behind candidates and facts (`why`)."""

from __future__ import annotations

import dataclasses
import sqlite3
from typing import Final

from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.drawer.fact import Scope, Sighting

__all__ = ["add_sighting", "sightings_of"]

_SQL: Final = queries("drawer")


def add_sighting(connection: sqlite3.Connection, sighting: Sighting) -> bool:
    """Note it in the CALLER's transaction; False when the same event was noted already (a copy of the session)."""
    return connection.execute(_SQL["add_sighting"], dataclasses.asdict(sighting)).rowcount == 1


def sightings_of(connection: sqlite3.Connection, scope: Scope, key: str) -> list[Sighting]:
    """What was seen of a key, oldest first."""
    with database_errors(database_name(connection)):
        rows = connection.execute(_SQL["sightings"], {"scope": scope, "key": key}).fetchall()
    return [Sighting(**dict(row)) for row in rows]
