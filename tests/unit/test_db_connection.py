"""Whatever state a database is in, opening and using it ends well or in one line that says what to do."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.db.connection import connect, database_errors, read_only, transaction
from hikidashi.db.migrations import LATEST, migrate, schema_version
from hikidashi.errors import Busy, CorruptData, HikidashiError, StorageFailure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "100% odd? #name é"
    folder.mkdir()
    return folder / "workspace.sqlite"


def made(path: Path) -> Path:
    connection = connect(path)
    migrate(connection)
    connection.execute("INSERT INTO meta VALUES ('workspace_id', 'x')")
    connection.close()
    return path


def _damage(path: Path) -> None:
    made(path)
    data = bytearray(path.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    path.write_bytes(data)


def _newer(path: Path) -> None:
    connection = sqlite3.connect(made(path))
    connection.execute(f"PRAGMA user_version = {LATEST + 1}")
    connection.close()


def _alter(statement: str) -> Callable[[Path], None]:
    def alter(path: Path) -> None:
        connection = sqlite3.connect(made(path), isolation_level=None)
        connection.execute(statement)
        connection.close()

    return alter


def _link(path: Path) -> None:
    made(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def _foreign(path: Path) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE meta (whatever)")
    connection.close()


#: What lies in the database's place, and what is said.
UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a folder": (lambda path: path.mkdir(), "is a folder where the database belongs; move it aside"),
    "a link": (_link, "is a link where the database belongs; move it aside"),
    "a named pipe": (lambda path: os.mkfifo(path), "is no file where the database belongs"),
    "text": (lambda path: path.write_text("not a database, but long enough to be read as one" * 100), "not a database"),
    "damaged": (_damage, "is damaged"),
    "newer": (_newer, f"has schema {LATEST + 1}, this hikidashi knows up to {LATEST}: upgrade hikidashi"),
    "a missing table": (_alter("DROP TABLE meta"), "lacks a part of its schema (no such table: meta); move it aside"),
    "a missing column": (
        _alter("ALTER TABLE meta RENAME COLUMN value TO content"),
        "lacks a part of its schema (no such column: value)",
    ),
    "another program's": (_foreign, "cannot be used (table meta already exists)"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_an_unusable_database_is_one_line_with_the_mend(path: Path, what: str) -> None:
    make, said = UNUSABLE[what]
    make(path)
    with pytest.raises(CorruptData) as caught, database_errors(path):
        connection = connect(path)
        try:
            migrate(connection)
            connection.execute("SELECT value FROM meta").fetchall()
        finally:
            connection.close()
    assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        (sqlite3.SQLITE_BUSY, Busy, "locked by another process; try again"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Busy, "locked by another process"),
        (sqlite3.SQLITE_LOCKED, Busy, "locked by another process"),
        (sqlite3.SQLITE_PROTOCOL, Busy, "locked by another process"),
        (sqlite3.SQLITE_FULL, StorageFailure, "the disk is full; free some space"),
        (sqlite3.SQLITE_READONLY, StorageFailure, "it is read-only; make it and its folder writable"),
        (sqlite3.SQLITE_READONLY_DBMOVED, StorageFailure, "it is read-only"),
        (sqlite3.SQLITE_CANTOPEN, StorageFailure, "it cannot be opened; give your user access"),
        (sqlite3.SQLITE_IOERR_WRITE, StorageFailure, "the disk failed or is full"),
        (sqlite3.SQLITE_PERM, StorageFailure, "permission denied"),
        (sqlite3.SQLITE_NOLFS, StorageFailure, "no file of that size"),
        (sqlite3.SQLITE_NOMEM, StorageFailure, "not enough memory"),
        (sqlite3.SQLITE_CORRUPT, CorruptData, "is damaged"),
        (sqlite3.SQLITE_CORRUPT_VTAB, CorruptData, "is damaged"),
        (sqlite3.SQLITE_NOTADB, CorruptData, "is not a database"),
        (sqlite3.SQLITE_ERROR, CorruptData, "cannot be used"),
        (sqlite3.SQLITE_CONSTRAINT, CorruptData, "cannot be used"),
    ],
)
def test_each_error_of_the_driver_is_one_of_ours(code: int, expected: type[HikidashiError], said: str) -> None:
    error = sqlite3.OperationalError("it said\nso")
    error.sqlite_errorcode = code
    with pytest.raises(expected) as caught, database_errors("here.sqlite"):
        raise error
    assert type(caught.value) is expected
    assert said in str(caught.value) and "here.sqlite" in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.__cause__ is error


def test_misuse_of_the_driver_is_not_called_damage(path: Path) -> None:
    connection = connect(path)
    connection.close()
    with pytest.raises(sqlite3.ProgrammingError), database_errors(path):
        connection.execute("SELECT 1")


def test_its_files_are_private_whatever_the_umask(path: Path) -> None:
    before = os.umask(0o000)
    try:
        connection = connect(path)
        migrate(connection)
        modes = {name.name: name.stat().st_mode & 0o777 for name in path.parent.iterdir()}
    finally:
        os.umask(before)
    connection.close()
    assert modes == {f"workspace.sqlite{end}": 0o600 for end in ("", "-wal", "-shm")}


def test_a_database_that_was_copied_open_to_all_is_made_private(path: Path) -> None:
    made(path).chmod(0o644)
    connect(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_commit_is_durable_and_forgotten_text_is_overwritten(path: Path) -> None:
    connection = connect(path)
    settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in (
        "journal_mode", "synchronous", "foreign_keys", "secure_delete")}  # fmt: skip
    connection.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


def test_a_full_disk_rolls_back_and_says_so(path: Path) -> None:
    connection = connect(made(path))
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(StorageFailure, match="the disk is full; free some space"), transaction(connection):
        connection.execute("UPDATE meta SET value = 'y'")
        connection.execute("INSERT INTO meta VALUES ('big', ?)", ("x" * 100_000,))
    assert not connection.in_transaction
    assert [row["value"] for row in connection.execute("SELECT value FROM meta")] == ["x"]
    connection.close()


def test_an_error_in_a_transaction_undoes_all_of_it(path: Path) -> None:
    connection = connect(made(path))
    with pytest.raises(KeyboardInterrupt), transaction(connection):
        connection.execute("DELETE FROM meta")
        raise KeyboardInterrupt
    assert connection.execute("SELECT count(*) FROM meta").fetchone()[0] == 1
    connection.close()


def test_transactions_are_not_nested(path: Path) -> None:
    connection = connect(made(path))
    with pytest.raises(RuntimeError, match="open already"), transaction(connection), transaction(connection):
        pass
    assert not connection.in_transaction
    connection.close()


def test_a_writer_that_waited_long_enough_says_busy(path: Path) -> None:
    first, second = connect(made(path)), connect(path, busy_seconds=0.05)
    with transaction(first):
        with pytest.raises(Busy, match="locked by another process"), transaction(second):
            pytest.fail("two writers at once")
        assert second.execute("SELECT count(*) FROM meta").fetchone()[0] == 1, "readers do not wait"
    first.close()
    second.close()


def test_reading_sees_what_is_there_and_cannot_write(path: Path) -> None:
    connection = read_only(made(path))
    assert connection.execute("SELECT value FROM meta").fetchone()["value"] == "x"
    with pytest.raises(StorageFailure, match="read-only"), transaction(connection):
        connection.execute("DELETE FROM meta")
    connection.close()


def test_reading_a_missing_or_damaged_database_is_one_line(path: Path) -> None:
    with pytest.raises(CorruptData, match="is missing; run `hikidashi trust`"):
        read_only(path)
    path.write_text("not a database " * 500)
    with pytest.raises(CorruptData, match="is not a database"):
        read_only(path)
    assert not path.with_name("workspace.sqlite-wal").exists()


def test_a_database_survives_the_loss_of_its_shared_memory_file(path: Path) -> None:
    connection = connect(made(path))
    connection.execute("UPDATE meta SET value = 'in the log'")
    shutil.copytree(path.parent, path.parent.with_name("copy"))  # as a crash leaves it
    connection.close()
    copy = path.parent.with_name("copy") / path.name
    copy.with_name("workspace.sqlite-shm").unlink()
    connection = connect(copy)
    assert connection.execute("SELECT value FROM meta").fetchone()["value"] == "in the log"
    assert schema_version(connection) == LATEST
    connection.close()


def test_opening_waits_for_another_process_that_is_making_the_database(path: Path) -> None:
    """The switch to the write-ahead log fails at once beside a writer, busy timeout or not."""
    maker = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    maker.execute("CREATE TABLE t (x)")
    maker.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="try again in a moment"):
        connect(path, busy_seconds=0.05)
    end = threading.Timer(0.1, maker.execute, ("COMMIT",))
    end.start()
    connect(path, busy_seconds=10).close()
    end.join()
    maker.close()
