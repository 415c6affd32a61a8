"""Opening `workspace.sqlite`. Standard library only, since hooks read through it.

WAL, a busy timeout, explicit transactions that begin IMMEDIATE (a deferred one that turns from reading to
writing fails at once with "database is locked", busy timeout or not). Driver errors become ours here.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, LiteralString

from hikidashi.atomic import FILE_MODE, storage_errors
from hikidashi.errors import Busy, CorruptData, HikidashiError, StorageFailure

__all__ = ["BUSY_SECONDS", "connect", "database_errors", "queries", "read_only", "transaction"]

#: How long a writer waits for another one before it says busy.
BUSY_SECONDS: Final = 30.0

_SQL_FOLDER: Final = Path(__file__).parent / "sql"

_FULL: Final = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
)


def _translated(exc: sqlite3.DatabaseError, path: Path | str) -> HikidashiError:
    code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy(f"{path} is locked by another process; try again in a moment")
    if code in _FULL:
        return StorageFailure(
            f"cannot write {path}: {exc}; check free space and permissions, then run the same command again"
        )
    return CorruptData(f"{path} cannot be used ({exc}); move it aside and run `hikidashi trust` to make a new one")


@contextlib.contextmanager
def database_errors(path: Path | str) -> Iterator[None]:
    """Turn the driver's errors of the block into `Busy`, `StorageFailure` or `CorruptData`."""
    try:
        yield
    except sqlite3.DatabaseError as exc:
        raise _translated(exc, path) from exc


def connect(path: Path) -> sqlite3.Connection:
    """Open (or make) the database at `path` for reading and writing; the caller runs `migrate` once.

    Autocommit mode: writes go through `transaction`. Raises as `database_errors` says.
    """
    if not path.exists():
        with storage_errors(f"make {path}"):  # sqlite would make it with the umask's mode
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, FILE_MODE))
    with database_errors(path):
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a commit survives a power cut, not just a crash
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten (forgotten secrets)
    return connection


def read_only(path: Path) -> sqlite3.Connection:
    """Open an existing database for reading. Raises as `database_errors` says; a missing file is `CorruptData`."""
    if not path.is_file():
        raise CorruptData(f"{path} is missing; run `hikidashi trust` to make a new one")
    with database_errors(path):
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One write transaction: committed as a whole, rolled back on any error. Not to be nested."""
    with database_errors("workspace.sqlite"):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def queries(name: LiteralString) -> dict[str, str]:
    """The statements of `db/sql/<name>.sql` by name; each starts with a line `-- name: the_name`.

    All data access of a room stands in one such file, so that a reviewer reads it in one place.
    """
    statements: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (_SQL_FOLDER / f"{name}.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("-- name:"):
            current = statements.setdefault(line.removeprefix("-- name:").strip(), [])
        else:
            current.append(line)
    return {key: "\n".join(lines).strip() for key, lines in statements.items()}
