"""Names that very many facts have are followed to a few of them, and still lead to the right one."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator

import pytest

from hikidashi.db.connection import transaction
from hikidashi.drawer.index import index_fact
from hikidashi.drawer.reading import fact_of
from hikidashi.times import format_time
from tests.support.drawers import NOW, Filled, filled

INSERT = """
INSERT INTO facts (scope, key, type, body, confidence, proof, status, probe, aliases, trust, origin, digest, machine_id,
    machine_name, source, rules_version, version, created_at, updated_at, last_seen)
VALUES ('workspace', :key, :type, :body, 0.9, '', 'active', '[]', :aliases, 'user', 'command', '', '', '', '{}', 1, 1,
    :at, :at, :at)
"""


Row = tuple[str, str, str, list[str]]


def put(connection: sqlite3.Connection, rows: list[Row]) -> None:
    """Facts of (key, type, body, aliases), straight into the tables."""
    values = [
        {"key": key, "type": kind, "body": body, "aliases": json.dumps(aliases), "at": format_time(NOW)}
        for key, kind, body, aliases in rows
    ]
    with transaction(connection):
        connection.executemany(INSERT, values)
        for row in connection.execute("SELECT * FROM facts").fetchall():
            index_fact(connection, fact_of(row))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """1,000 facts of one verb, 1,000 of one target, and the one of both in the middle."""
    aliases = ["デプロイ", "ship it"]
    before: list[Row] = [
        (f"deploy:app{number}", "capability", f"fly deploy app{number}", aliases) for number in range(1_000)
    ]
    after: list[Row] = [
        (f"topic{number}:lantern", "fact", f"lantern has quirk number {number}", []) for number in range(1_000)
    ]
    middle: list[Row] = [("deploy:lantern", "capability", "npm run dist", aliases)]
    rules: list[Row] = [(f"rule:{number}", "rule", "Never deploy on a holiday", []) for number in range(3)]
    rows = [*before[:500], *after[:500], *middle, *before[500:], *after[500:], *rules]
    with filled(tmp_path_factory.mktemp("many")) as here:
        put(here.connections["workspace"], rows)
        yield here


@pytest.mark.parametrize(
    "prompt", ["deploy lantern", "lanternをデプロイして", "ship it, lantern I mean", "is deploy:lantern still so?"]
)
def test_the_fact_of_a_common_verb_and_a_common_target_is_found(many: Filled, prompt: str) -> None:
    assert many.keys(prompt) == ["deploy:lantern"]


def test_a_common_name_alone_gives_as_many_as_fit_and_rules_are_not_crowded_out(many: Filled) -> None:
    found = many.recall("deploy it")
    assert len(found.facts) == 5 and all(match.fact.key.startswith("deploy:") for match in found.facts)
    assert {match.fact.key for match in found.rules} == {"rule:0", "rule:1", "rule:2"}
    assert many.keys("デプロイして", project="lantern")[0] == "deploy:lantern"


def test_a_word_of_more_than_one_fact_of_a_hundred_is_not_searched(many: Filled) -> None:
    assert many.keys("quirk") == []
    assert many.keys("quirk app77") == ["deploy:app77"]


def test_it_takes_no_longer_than_a_turn_can_wait(many: Filled) -> None:
    for prompt in ("deploy lantern", "デプロイして", "deploy lantern and ship it " * 200):
        many.keys(prompt)
        start = time.process_time()
        many.keys(prompt)
        assert time.process_time() - start < 0.25, prompt
