"""Every statement of the package stands in one file a room, fits the schema and is used."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hikidashi
from hikidashi.db.connection import connect, queries
from hikidashi.db.migrations import migrate

PACKAGE = Path(hikidashi.__file__).parent
ROOMS = sorted(path.stem for path in (PACKAGE / "db" / "sql").glob("*.sql"))
STATEMENTS = [(room, name, sql) for room in ROOMS for name, sql in queries(room).items()]


class AnyValue(dict[str, Any]):
    """Gives every named parameter a value."""

    def __missing__(self, key: str) -> None:
        return None


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    connection = connect(tmp_path_factory.mktemp("db") / "workspace.sqlite")
    migrate(connection)
    yield connection
    connection.close()


def test_there_are_statements() -> None:
    assert ("staging", "consume") in {(room, name) for room, name, _ in STATEMENTS}


@pytest.mark.parametrize(("room", "name", "sql"), STATEMENTS, ids=[f"{room}:{name}" for room, name, _ in STATEMENTS])
def test_a_statement_fits_the_schema(migrated: Any, room: str, name: str, sql: str) -> None:
    bare = re.sub(r"--[^\n]*", "", sql)
    parameters = AnyValue() if re.search(r"[:@$][A-Za-z_]", bare) else (None,) * bare.count("?")
    migrated.execute(f"EXPLAIN {sql}", parameters)


@pytest.mark.parametrize(("room", "name"), [(room, name) for room, name, _ in STATEMENTS])
def test_a_statement_is_used(room: str, name: str) -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert f'"{name}"' in code, f"nothing asks for {name} of db/sql/{room}.sql"


def test_names_are_not_given_twice() -> None:
    for room in ROOMS:
        text = (PACKAGE / "db" / "sql" / f"{room}.sql").read_text(encoding="utf-8")
        names = re.findall(r"^-- name: *(\S+)", text, re.MULTILINE)
        assert len(names) == len(set(names)) and set(names) == set(queries(room))
