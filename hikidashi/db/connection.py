"""Opening `workspace.sqlite` and `global.sqlite`. Standard library only, since hooks read through it.

WAL (on network file systems a rollback journal), a busy timeout, explicit transactions that begin IMMEDIATE (a
deferred one that turns from reading to writing fails at once with "database is locked", busy timeout or not).
Driver errors become ours here.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Iterator

from hikidashi.errors import Busy, CorruptData, HikidashiError, StorageFailure
from hikidashi.file_uri import file_uri

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Final, LiteralString

__all__ = [
    "BUSY_SECONDS",
    "GLOBAL_DATABASE",
    "connect",
    "database_errors",
    "database_name",
    "queries",
    "quick_writer",
    "read_only",
    "transaction",
]

#: How long a writer waits for another one before it says busy.
BUSY_SECONDS: Final = 30.0

_SQL_FOLDER: Final = os.path.join(os.path.dirname(__file__), "sql")  # noqa: PTH118, PTH120

#: PROTOCOL: many processes fought for the write-ahead log's first lock and this one lost too often.
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)

#: What the file system refused, and the mend.
_REFUSED: Final = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space and run the same command again",
    sqlite3.SQLITE_READONLY: "it is read-only; make it and its folder writable and run the same command again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; give your user access to it and its folder and try again",
    sqlite3.SQLITE_PERM: "permission denied; give your user access to it and its folder and try again",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; check it and run the same command again",
    sqlite3.SQLITE_NOLFS: "the file system takes no file of that size; free some space and try again",
    sqlite3.SQLITE_NOMEM: "there is not enough memory; close some programs and run the same command again",
}

_ANEW: Final = "move it aside and run `hikidashi trust` to make a new one"
_GLOBAL_ANEW: Final = "move it aside; the next write to the global scope makes a new one"

#: The user's own database, in the data folder: the scope `global`.
GLOBAL_DATABASE: Final = "global.sqlite"


def _anew(path: Path | str) -> str:
    return _GLOBAL_ANEW if os.path.basename(path) == GLOBAL_DATABASE else _ANEW  # noqa: PTH119


def _translated(exc: sqlite3.DatabaseError, path: Path | str) -> HikidashiError:
    code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    said = " ".join(str(exc).split())
    if code in _BUSY:
        return Busy(f"{path} is locked by another process; try again in a moment")
    if code in _REFUSED:
        return StorageFailure(f"cannot use {path} ({said}): {_REFUSED[code]}")
    if code == sqlite3.SQLITE_NOTADB:
        return CorruptData(f"{path} is not a database; {_anew(path)}")
    if code == sqlite3.SQLITE_CORRUPT:
        return CorruptData(f"{path} is damaged ({said}); {_anew(path)}")
    if code == sqlite3.SQLITE_ERROR and said.startswith("no such"):
        return CorruptData(f"{path} lacks a part of its schema ({said}); {_anew(path)}")
    return CorruptData(f"{path} cannot be used ({said}); {_anew(path)}")


@contextlib.contextmanager
def database_errors(path: Path | str) -> Iterator[None]:
    """Turn the driver's errors of the block into `Busy`, `StorageFailure` or `CorruptData`.

    Misuse of the driver (a closed connection, a missing parameter) is our mistake, no state of the database:
    it passes as it is.
    """
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.DatabaseError as exc:
        raise _translated(exc, path) from exc


def database_name(connection: sqlite3.Connection) -> str:
    """The file's name without its folder (`workspace.sqlite`, `global.sqlite`), for messages."""
    try:
        row = connection.execute("PRAGMA database_list").fetchone()
    except sqlite3.DatabaseError:  # too damaged even for that: the statement behind this one says what is wrong
        return "the database"
    return os.path.basename(row[2]) or "the database"  # noqa: PTH119


def _prepare_file(path: Path) -> None:
    """Make the file with our mode (sqlite would take the umask's, and its -wal and -shm files follow it)."""
    from hikidashi.atomic import FILE_MODE, storage_errors  # readers do without

    try:
        found = os.lstat(path)
    except FileNotFoundError:
        with storage_errors(f"make {path}"):
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), FILE_MODE))
        return
    except OSError:
        with storage_errors(f"open {path}"):
            raise
    if not stat.S_ISREG(found.st_mode):
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "a link" if stat.S_ISLNK(found.st_mode) else "no file"
        raise CorruptData(f"{path} is {what} where the database belongs; {_anew(path)}")
    if sys.platform != "win32" and found.st_mode & 0o077 and found.st_uid == os.geteuid():
        with storage_errors(f"make {path} private"):
            path.chmod(FILE_MODE)


def _set_journal(connection: sqlite3.Connection, path: Path, seconds: float) -> None:
    """Take the write-ahead log, on a network file system a rollback journal (see `hikidashi.db.network`).

    The switch ignores the busy timeout, so we wait ourselves: several processes that open one fresh database at once
    would otherwise fail with "database is locked".
    """
    from hikidashi.db.network import network_kind  # readers do without

    leave_log = bool(network_kind(path.parent))
    deadline = time.monotonic() + seconds
    while True:
        try:
            if leave_log:
                _leave_log(connection, path)
            else:
                connection.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as exc:
            code = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code not in _BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(0.005 + os.urandom(1)[0] / 5000)  # up to 56 ms, each its own: it parts the competitors
        else:
            return


def _leave_log(connection: sqlite3.Connection, path: Path) -> None:
    """Take a rollback journal. TRUNCATE keeps the journal's file, so that no write has to change the folder.

    A database that comes from a local disk leaves its log while we have it alone: that needs no shared memory.
    """
    with path.open("rb") as file:
        has_log = file.read(19)[18:] == b"\x02"  # read version, sqlite.org/fileformat.html
    try:
        if has_log:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone()
        connection.execute("PRAGMA journal_mode = TRUNCATE").fetchone()
    finally:
        if has_log:
            connection.execute("PRAGMA locking_mode = NORMAL").fetchone()
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # the lock goes at the next access


def connect(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open (or make) the database at `path` for reading and writing; the caller runs `migrate` once.

    Autocommit mode: writes go through `transaction`. Raises as `database_errors` says.
    """
    _prepare_file(path)
    with database_errors(path):
        connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            _set_journal(connection, path, busy_seconds)
            connection.execute("PRAGMA synchronous = FULL")  # a commit survives a power cut, not just a crash
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted is overwritten (forgotten secrets)
        except BaseException:
            connection.close()
            raise
    return connection


def read_only(path: Path | str, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Open an existing database for reading. Raises as `database_errors` says; a missing file is `CorruptData`."""
    if os.path.isdir(path):  # noqa: PTH112
        raise CorruptData(f"{path} is a folder where the database belongs; {_anew(path)}")
    if not os.path.isfile(path):  # noqa: PTH113
        raise CorruptData(f"{path} is missing; run `hikidashi trust` to make a new one")
    with database_errors(path):
        try:
            return _reader(path, busy_seconds)
        except sqlite3.OperationalError as exc:
            if getattr(exc, "sqlite_errorcode", 0) != sqlite3.SQLITE_READONLY_ROLLBACK:
                raise
        # A process was killed while it wrote with a rollback journal: undoing that takes a writer.
        with contextlib.closing(sqlite3.connect(path, timeout=busy_seconds)) as writer:
            writer.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        return _reader(path, busy_seconds)


def _reader(path: Path | str, busy_seconds: float) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{file_uri(path)}?mode=ro", uri=True, timeout=busy_seconds, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # it opens at the first statement
    except BaseException:
        connection.close()
        raise
    return connection


def quick_writer(path: Path | str, *, wait_ms: int) -> sqlite3.Connection:
    """Open an existing database for a small write that a power cut may take, and wait at most that long for others.

    For hooks: nothing is made, no journal mode is set. Raises as `database_errors` says.
    """
    with database_errors(path):
        uri = f"{file_uri(path)}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=wait_ms / 1000, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA secure_delete = ON")
        except BaseException:
            connection.close()
            raise
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """One write transaction: committed as a whole, rolled back on any error.

    Raises `RuntimeError` when one is open already: the inner one could neither commit nor roll back.
    """
    nested = connection.in_transaction
    if nested:
        raise RuntimeError("a transaction is open already")
    with database_errors(database_name(connection)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # a full disk may have rolled it back already
                connection.execute("ROLLBACK")
            raise


def queries(name: LiteralString) -> dict[str, str]:
    """The statements of `db/sql/<name>.sql` by name; each starts with a line `-- name: the_name`.

    All data access of a room stands in one such file, so that a reviewer reads it in one place.
    """
    statements: dict[str, list[str]] = {}
    current: list[str] = []
    with open(f"{_SQL_FOLDER}{os.sep}{name}.sql", encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith("-- name:"):
            current = statements.setdefault(line.removeprefix("-- name:").strip(), [])
        else:
            current.append(line)
    return {key: "\n".join(lines).strip() for key, lines in statements.items()}
