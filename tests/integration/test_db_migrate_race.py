"""Migrations under fire: fifty processes at once, and kill -9 in front of every statement."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from hikidashi.db.connection import connect
from hikidashi.db.migrations import LATEST, migrate
from tests.support.commands import Commands

ROOT = Path(__file__).resolve().parents[2]

OPENER = """
import sys
from pathlib import Path
from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import LATEST, migrate, schema_version
path, name = Path(sys.argv[1]), sys.argv[2]
connection = connect(path)
migrate(connection)
with transaction(connection):
    connection.execute("INSERT INTO meta VALUES (?, '1')", (name,))
assert schema_version(connection) == LATEST
"""

#: Opens, migrates, and kills itself in front of the Nth statement; exits 0 when there were fewer.
VICTIM = """
import os, signal, sys
from pathlib import Path
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
left = int(sys.argv[2])
def trace(statement):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
connection = connect(Path(sys.argv[1]))
connection.set_trace_callback(trace)
migrate(connection)
"""


def schema(path: Path) -> list[str]:
    connection = sqlite3.connect(path)
    found = [row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL ORDER BY name")]
    connection.close()
    return found


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The schema of each version, from the empty database on."""
    path = tmp_path_factory.mktemp("stages") / "workspace.sqlite"
    found: list[list[str]] = [[]]
    for migration in sorted((ROOT / "hikidashi" / "db" / "sql" / "migrations").glob("*.sql")):
        connection = sqlite3.connect(path)
        connection.executescript(migration.read_text(encoding="utf-8"))
        connection.close()
        found.append(schema(path))
    return found


@pytest.fixture(scope="module")
def whole(stages: list[list[str]]) -> list[str]:
    return stages[LATEST]


def test_fifty_processes_open_and_migrate_one_fresh_database(tmp_path: Path, whole: list[str], run: Commands) -> None:
    path = tmp_path / "workspace.sqlite"
    for opener in run.python(OPENER, [(path, number) for number in range(50)]):
        assert (opener.code, opener.err) == (0, "")
    assert schema(path) == whole
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM meta").fetchone()[0] == 50
    connection.close()


def test_a_migration_killed_anywhere_is_whole_or_not_there(
    tmp_path: Path, stages: list[list[str]], whole: list[str], run: Commands
) -> None:
    statement = 0
    while True:
        path = tmp_path / f"{statement}.sqlite"
        (victim,) = run.python(VICTIM, [(path, statement)])
        found = sqlite3.connect(path)
        version = found.execute("PRAGMA user_version").fetchone()[0]
        found.close()
        assert schema(path) == stages[version]
        connection = connect(path)
        assert migrate(connection) == version
        connection.close()
        assert schema(path) == whole
        if not victim.killed:
            break
        statement += 1
    assert (victim.code, victim.err) == (0, "")
    assert statement > len(whole), "it was killed in front of each statement"
