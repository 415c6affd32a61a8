"""Every migration of `workspace.sqlite`, in order. Standard library only.

A migration and the row that records it commit together. A database newer than this program is refused
with one line. Migration files are `db/sql/migrations/NNN_name.sql`; a published one is never edited.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from hikidashi.db.connection import database_errors, database_name, transaction
from hikidashi.errors import CorruptData

__all__ = ["LATEST", "migrate", "schema_version"]

_FOLDER: Final = Path(__file__).parent / "sql" / "migrations"

_FILES: Final = tuple(sorted(_FOLDER.glob("[0-9][0-9][0-9]_*.sql")))

#: The schema version that this program writes and reads.
LATEST: Final = int(_FILES[-1].name[:3])


def schema_version(connection: sqlite3.Connection) -> int:
    """The version of an open database; 0 for an empty one."""
    with database_errors(database_name(connection)):
        row = connection.execute("PRAGMA user_version").fetchone()
    return int(row[0])


def _statements(text: str) -> list[str]:
    statements, current = [], ""
    for line in text.splitlines():
        current += line + "\n"
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements


def migrate(connection: sqlite3.Connection) -> int:
    """Bring the database to `LATEST` and give the version it had. Raises `CorruptData` for a newer one."""
    found = schema_version(connection)
    if found > LATEST:
        raise CorruptData(
            f"{database_name(connection)} has schema {found}, this hikidashi knows up to {LATEST}: "
            "upgrade hikidashi to use it"
        )
    for file in _FILES:
        number = int(file.name[:3])
        if number <= found:
            continue
        with transaction(connection):
            if schema_version(connection) >= number:  # another process was faster
                continue
            for statement in _statements(file.read_text(encoding="utf-8")):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
    return found
