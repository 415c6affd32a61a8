"""Databases of earlier versions open and get what is new; broken and newer ones are one line, every time."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from hikidashi.config.workspace import open_workspace
from hikidashi.db.connection import connect
from hikidashi.db.migrations import LATEST, migrate, schema_version
from hikidashi.drawer.places import global_database
from hikidashi.errors import CorruptData
from tests.support.command import hikidashi

MIGRATIONS = sorted((Path(__file__).parents[2] / "hikidashi" / "db" / "sql" / "migrations").glob("*.sql"))


def make(path: Path, version: int) -> None:
    """A database as a program of that version left it."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for file in MIGRATIONS[:version]:
            connection.executescript(file.read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA user_version = {version}")
    path.chmod(0o600)


def change(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


def database(project: Path) -> Path:
    return project / ".hikidashi" / "workspace.sqlite"


def test_there_is_a_file_for_each_version() -> None:
    assert [int(file.name[:3]) for file in MIGRATIONS] == list(range(1, LATEST + 1))


@pytest.mark.parametrize("version", range(1, LATEST + 1))
def test_a_workspace_of_each_version_opens_and_takes_facts(project: Path, version: int) -> None:
    workspace = open_workspace(project)
    for file in project.joinpath(".hikidashi").glob("workspace.sqlite*"):
        file.unlink()
    make(database(project), version)
    change(
        database(project),
        f"INSERT INTO meta VALUES ('workspace_id', '{workspace.id}')",
        "INSERT INTO meta VALUES ('kept', 'as it was')",
    )
    assert hikidashi("facts", "--json", cwd=project).json == {"facts": [], "damaged": []}
    ran = hikidashi("write", "k", "text", "--type", "fact", cwd=project)
    assert (ran.code, ran.err) == (0, "")
    assert "text" in hikidashi("read", "k", cwd=project).out
    connection = connect(database(project))
    assert schema_version(connection) == LATEST
    assert connection.execute("SELECT value FROM meta WHERE key = 'kept'").fetchone()["value"] == "as it was"
    assert migrate(connection) == LATEST
    connection.close()


@pytest.mark.parametrize("version", range(LATEST + 1))
def test_the_users_own_database_of_each_version_opens(project: Path, version: int) -> None:
    global_database().parent.mkdir(parents=True, exist_ok=True)
    make(global_database(), version)
    assert hikidashi("facts", "--json", cwd=project).json == {"facts": [], "damaged": []}
    assert hikidashi("write", "k", "text", "--type", "fact", "--scope", "global", cwd=project).code == 0
    assert [fact["scope"] for fact in hikidashi("facts", "--json", cwd=project).json["facts"]] == ["global"]


COMMANDS = ("facts", "read k", "why k", "retire k", "forget k --yes", "export", "write k b --type fact")


@pytest.mark.parametrize("column", ["failure", "aliases", "version"])
def test_a_missing_column_is_one_line_every_time(project: Path, tmp_path: Path, column: str) -> None:
    hikidashi("write", "k", "text", "--type", "fact", cwd=project)
    change(database(project), f"ALTER TABLE facts RENAME COLUMN {column} TO something")
    kept = tmp_path / "kept.sqlite"
    shutil.copy(database(project), kept)
    for line in COMMANDS:
        if line.startswith("forget"):  # it may delete a row that it cannot read
            continue
        for _ in range(2):
            begun = time.monotonic()
            ran = hikidashi(*line.split(), cwd=project)
            assert (ran.code, ran.out, ran.err.count("\n")) == (8, "", 1), ran
            assert "lacks a column" in ran.err or f"no column named {column}" in ran.err or "no such column" in ran.err
            assert "aside" in ran.err
            assert time.monotonic() - begun < 5
    with contextlib.closing(sqlite3.connect(database(project))) as connection:
        assert connection.execute("SELECT body FROM facts").fetchall() == [("text",)]


@pytest.mark.parametrize("table", ["facts", "fact_versions", "usage_events"])
def test_a_missing_table_is_one_line(project: Path, table: str) -> None:
    hikidashi("write", "k", "text", "--type", "fact", cwd=project)
    change(database(project), f"DROP TABLE {table}")
    ran = hikidashi("why", "k", cwd=project)
    assert (ran.code, ran.out) == (8, "")
    assert ran.err == (
        f"error: workspace.sqlite lacks a part of its schema (no such table: {table}); "
        "move it aside and run `hikidashi trust` to make a new one\n"
    )


@pytest.mark.parametrize("line", COMMANDS)
def test_a_newer_database_is_refused_with_one_line(project: Path, line: str) -> None:
    hikidashi("write", "k", "text", "--type", "fact", "--scope", "global", cwd=project)
    hikidashi("write", "k", "text", "--type", "fact", cwd=project)
    newer = f"PRAGMA user_version = {LATEST + 1}"
    change(global_database(), newer)
    ran = hikidashi(*line.split(), "--scope", "global", cwd=project)
    assert (ran.code, ran.out) == (8, "")
    said = f"has schema {LATEST + 1}, this hikidashi knows up to {LATEST}: upgrade hikidashi to use it\n"
    assert ran.err == f"error: global.sqlite {said}"
    change(database(project), newer)
    ran = hikidashi(*line.split(), cwd=project)
    assert (ran.code, ran.out, ran.err) == (8, "", f"error: workspace.sqlite {said}")


def test_a_damaged_database_of_the_user_says_what_to_do(project: Path) -> None:
    global_database().parent.mkdir(parents=True, exist_ok=True)
    global_database().write_bytes(b"no database " * 500)
    ran = hikidashi("facts", cwd=project)
    assert (ran.code, ran.out) == (8, "")
    assert ran.err.endswith(
        "is not a database; move it aside; the next write to the global scope makes a new one\n"
    )  # fmt: skip


def test_a_part_that_the_workspace_lacks_is_not_said_of_the_global_database(project: Path) -> None:
    for scope in ("global", "workspace"):  # a drawer without facts is not looked into
        assert hikidashi("write", "note:a", "mine", "--type", "fact", "--scope", scope, cwd=project).code == 0
    with contextlib.closing(sqlite3.connect(project / ".hikidashi" / "workspace.sqlite")) as connection:
        connection.execute("DROP TABLE recall_names")
    ran = hikidashi("recall", "note a", cwd=project)
    assert ran.code == CorruptData.exit_code
    assert ran.err.startswith("error: workspace.sqlite lacks a part of its schema")
