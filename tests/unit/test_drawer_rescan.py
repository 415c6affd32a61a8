"""Newer redaction rules read everything in the drawer again, once, and take out what older ones let pass."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.db.connection import connect, read_only, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer.fact import Draft, Sighting, fact_subject
from hikidashi.drawer.reading import all_facts, versions_of
from hikidashi.drawer.rescan import Rescanned, rescan_if_due
from hikidashi.drawer.sightings import add_sighting, sightings_of
from hikidashi.drawer.store import Drawer
from hikidashi.redact import RULES_VERSION
from hikidashi.usage.events import record, uses_of
from tests.support.command import hikidashi

TOKEN = "gh" + "p_" + "a1B2" * 9
AT = "2026-03-01T12:00:00.000Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workspace.sqlite"


@pytest.fixture
def drawer(path: Path) -> Iterator[Drawer]:
    connection = connect(path)
    migrate(connection)
    yield Drawer(connection, "workspace")
    connection.close()


def write(drawer: Drawer, key: str, body: str = "text") -> None:
    drawer.write(
        Draft(
            key=key, type="capability", body=body, confidence=1, trust="user", origin="command",
            probe=("gh", "auth", "status"), aliases=("an alias",),
        )
    )  # fmt: skip


def older(connection: sqlite3.Connection, **columns: str) -> None:
    """Give the facts texts that the rules of an older version let pass."""
    for column, value in columns.items():
        connection.execute(f"UPDATE facts SET {column} = ?, rules_version = 0", (value,))
    connection.execute("DELETE FROM meta WHERE key = 'redaction_rules'")


def left_in(path: Path) -> list[str]:
    return [file.name for file in path.parent.glob(f"{path.name}*") if b"a1B2a1B2" in file.read_bytes()]


def test_what_is_clean_is_marked_and_read_once(drawer: Drawer) -> None:
    write(drawer, "k")
    drawer.connection.execute("UPDATE facts SET rules_version = 0")
    assert rescan_if_due(drawer.connection) == Rescanned()
    [fact] = all_facts(drawer.connection, "workspace")
    assert (fact.rules_version, fact.version) == (RULES_VERSION, 1)
    drawer.connection.execute("UPDATE facts SET rules_version = 0")
    rescan_if_due(drawer.connection)
    assert all_facts(drawer.connection, "workspace")[0].rules_version == 0, "these rules were here already"
    rescan_if_due(drawer.connection, rules_version=RULES_VERSION + 1)
    assert all_facts(drawer.connection, "workspace")[0].rules_version == RULES_VERSION + 1


def test_a_secret_goes_from_every_text_and_every_file(drawer: Drawer, path: Path) -> None:
    write(drawer, "k")
    write(drawer, "other", "left as it is")
    connection = drawer.connection
    with transaction(connection):
        add_sighting(
            connection,
            Sighting(
                key="k", anchor="a", host="h", session_id="s", path="p", line=0, at=AT, target=TOKEN,
                told=f"use {TOKEN}",
            ),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO candidates SELECT 'c1', scope, key, type, :text, confidence, :text, :words, :words, trust,"
            " origin, digest, machine_id, machine_name, source, 0, 'waiting', 1, :at, :at, NULL, NULL"
            " FROM facts WHERE key = 'k'",
            {"at": AT, "text": f"curl -H 'Authorization: Bearer {TOKEN}'", "words": json.dumps(["x", TOKEN])},
        )  # fmt: skip
    connection.execute("UPDATE fact_versions SET body = ? WHERE fact_id = 1", (f"once {TOKEN}",))
    older(
        connection,
        body=f"export GH_TOKEN={TOKEN}", proof=f"as {TOKEN}", failure=TOKEN, aliases=json.dumps(["ship", TOKEN]),
        probe=json.dumps(["gh", "auth", "login", TOKEN]), source=json.dumps({"host": "h", "session_id": TOKEN}),
    )  # fmt: skip
    connection.execute("UPDATE facts SET body = 'left as it is', proof = '', failure = '' WHERE key = 'other'")
    assert left_in(path)
    done = rescan_if_due(connection)
    assert (done.redacted, done.left) == (("k", "other"), None)
    assert left_in(path) == []
    fact, other = all_facts(connection, "workspace")
    mark = "[redacted:github-token]"
    assert (fact.body, fact.proof, fact.failure) == (f"export GH_TOKEN={mark}", f"as {mark}", mark)
    assert (fact.aliases, fact.probe, fact.source["session_id"]) == (("ship", mark), (), mark)
    assert (fact.version, fact.rules_version, other.body) == (1, RULES_VERSION, "left as it is")
    assert versions_of(connection, fact)[0].body == f"once {mark}"
    [seen] = sightings_of(connection, "workspace", "k")
    assert (seen.target, seen.told) == (mark, f"use {mark}")
    row = connection.execute("SELECT body, probe, aliases, rules_version FROM candidates").fetchone()
    assert mark.split(":")[0] in row["body"] and TOKEN not in row["body"] + row["aliases"]
    assert (row["probe"], row["rules_version"]) == ("[]", RULES_VERSION)


def test_keys_that_hold_one_stay_apart(drawer: Drawer, path: Path) -> None:
    for key in ("one", "two"):
        write(drawer, key, key)
        record(drawer.connection, "explicit", fact_subject("workspace", key), via="read", at=AT)
    for number, key in enumerate(("one", "two")):
        secret = TOKEN[:-1] + str(number)
        drawer.connection.execute("UPDATE facts SET key = ?, rules_version = 0 WHERE key = ?", (f"auth:{secret}", key))
        subject = fact_subject("workspace", f"auth:{secret}")
        drawer.connection.execute(
            "UPDATE usage_events SET subject = ? WHERE subject = ?", (subject, fact_subject("workspace", key))
        )
    drawer.connection.execute("DELETE FROM meta WHERE key = 'redaction_rules'")
    done = rescan_if_due(drawer.connection)
    facts = all_facts(drawer.connection, "workspace")
    assert {fact.body for fact in facts} == {"one", "two"}
    assert tuple(fact.key for fact in facts) == done.redacted
    for fact in facts:
        assert fact.key.startswith("auth:[redacted:github-token]~")
        assert len(uses_of(drawer.connection, fact_subject("workspace", fact.key))) == 1
    assert left_in(path) == []


def test_a_fact_written_meanwhile_is_not_written_over(drawer: Drawer, path: Path) -> None:
    write(drawer, "k")
    older(drawer.connection, body=f"use {TOKEN}")
    other = Drawer(connect(path), "workspace")
    done: list[bool] = []

    def meanwhile(statement: str) -> None:
        if statement.startswith("BEGIN") and not done:
            done.append(True)
            write(other, "k", "a new text")

    drawer.connection.set_trace_callback(meanwhile)
    rescan_if_due(drawer.connection)
    drawer.connection.set_trace_callback(None)
    other.connection.close()
    assert done
    [fact] = all_facts(drawer.connection, "workspace")
    assert (fact.body, fact.version) == ("a new text", 2)


def test_a_reader_in_the_way_is_said_and_the_next_call_finishes(drawer: Drawer, path: Path) -> None:
    write(drawer, "k")
    older(drawer.connection, body=f"use {TOKEN}")
    reader = read_only(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM facts").fetchone()
    done = rescan_if_due(drawer.connection, wait_seconds=0.05)
    assert "reads an older state" in str(done.left)
    assert left_in(path)
    reader.close()
    assert rescan_if_due(drawer.connection) == Rescanned()
    assert left_in(path) == []


def test_commands_do_it_and_say_so(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    hikidashi("init", cwd=project)
    hikidashi("write", "k", "text", "--type", "fact", cwd=project)
    with sqlite3.connect(project / ".hikidashi" / "workspace.sqlite") as connection:
        older(connection, body=f"use {TOKEN}")
    connection.close()
    ran = hikidashi("facts", "--json", cwd=project)
    assert ran.json["facts"][0]["body"] == "use [redacted:github-token]"
    assert ran.err == "warning: newer rules found secrets in the drawer and took them out (k): change them\n"
    assert hikidashi("facts", cwd=project).err == ""
