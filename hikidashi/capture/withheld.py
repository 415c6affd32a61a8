"""Activities that the rules found while a model was to read the session: kept back, so that nothing is staged twice.

A failing model never silently becomes rules (design section 6, "Engines"). Only a reading without a model, which
somebody chose, takes up what stands behind the place that the model came to.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from hikidashi.capture.follow import path_text
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.staging.entry import Entry
from hikidashi.staging.store import StagingStore

__all__ = ["drop_read", "take_up", "withheld_count", "withhold"]

_SQL: Final = queries("model_reading")


def withhold(connection: sqlite3.Connection, host: str, path: Path, entries: Iterable[Entry]) -> None:
    """Keep entries of one transcript back, in the CALLER's transaction."""
    connection.executemany(
        _SQL["withhold"],
        [
            {
                "id": entry.id,
                "host": host,
                "path": path_text(path),
                "line": entry.source.lines[1],
                "content": entry.to_json(),
            }
            for entry in entries
        ],
    )


def drop_read(connection: sqlite3.Connection, host: str, path: Path, line: int) -> None:
    """A model has read a transcript up to `line`, exclusive; in the CALLER's transaction."""
    connection.execute(_SQL["read_by_model"], {"host": host, "path": path_text(path), "line": line})


def withheld_count(connection: sqlite3.Connection) -> int:
    """How many activities wait for the model to come to them."""
    with database_errors("workspace.sqlite"):
        return int(connection.execute(_SQL["withheld_count"]).fetchone()["entries"])


def take_up(connection: sqlite3.Connection, store: StagingStore) -> list[Entry]:
    """Make entries of what no model came to, in a transaction of its own; gives those that were new.

    Their files are written by the next `flush_pending`.
    """
    if not withheld_count(connection):
        return []
    with transaction(connection):
        left = [Entry.from_json(row["content"]) for row in connection.execute(_SQL["left_by_model"]).fetchall()]
        new = set(store.add_pending(left))
        connection.execute(_SQL["forget_withheld"])
    return [entry for entry in left if entry.id in new]
