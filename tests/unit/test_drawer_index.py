"""The index holds what the facts hold, whatever happened to them, and nothing of a fact that is gone."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer.fact import Draft, Fact
from hikidashi.drawer.index import FEW_ALIASES, index_fact, purge_index, reindex, unindex_fact
from hikidashi.drawer.store import Drawer

TABLES = ("recall_names", "recall_key_names", "recall_alias_sets", "recall_alias_names", "recall_facts", "recall_words")


@pytest.fixture
def drawer(tmp_path: Path) -> Iterator[Drawer]:
    connection = connect(tmp_path / "workspace.sqlite")
    migrate(connection)
    yield Drawer(connection, "workspace")
    connection.close()


def draft(key: str, body: str, aliases: tuple[str, ...] = (), **values: Any) -> Draft:
    given: dict[str, Any] = {"type": "capability", "confidence": 1, "trust": "user", "origin": "command"} | values
    return Draft(key=key, body=body, aliases=aliases, **given)


def content(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """What the index says, without the numbers that it gives to names and sets."""
    queries = {
        "names": "SELECT name, named FROM recall_names ORDER BY name",
        "keys": "SELECT name, fact_id, how FROM recall_key_names JOIN recall_names ON id = name_id ORDER BY 1, 2",
        "aliases": "SELECT name, fact_id, how FROM recall_alias_names a JOIN recall_names n ON n.id = name_id"
        " JOIN recall_facts f ON f.set_id = a.set_id ORDER BY 1, 2",
        "sets": "SELECT digest, facts FROM recall_alias_sets ORDER BY 1",
        "facts": "SELECT fact_id, rule FROM recall_facts ORDER BY 1",
        "words": "SELECT word, facts FROM recall_words ORDER BY word",
        "text": "SELECT rowid, words FROM recall_text ORDER BY rowid",
    }
    return {name: [tuple(row) for row in connection.execute(sql)] for name, sql in queries.items()}


def found(connection: sqlite3.Connection, word: str) -> list[int]:
    rows = connection.execute("SELECT rowid FROM recall_text WHERE recall_text MATCH ? ORDER BY rowid", (f'"{word}"',))
    return [row[0] for row in rows]


def test_a_fact_is_found_by_its_names_and_words(drawer: Drawer) -> None:
    fact = drawer.write(
        draft("deploy:harbour", "fly deploy ships v1.2.0 in C++ 本番環境へ", ("デプロイ", "put it live"))
    )
    says = content(drawer.connection)
    assert [row[0] for row in says["keys"]] == ["deploy", "harbour"]
    assert [row[0] for row in says["aliases"]] == ["put live", "デプロイ"]
    for word in ("ship", "v1.2.0", "c++", "本番", "番環", "put", "デプ"):
        assert found(drawer.connection, word) == [fact.id], word
    assert found(drawer.connection, "へ") == []
    assert dict(says["words"])[""] == 1


def test_words_of_a_long_list_of_aliases_are_no_words_of_the_fact(drawer: Drawer) -> None:
    many = tuple(f"phrase {number} aside" for number in range(FEW_ALIASES + 1))
    drawer.write(draft("deploy:harbour", "fly deploy", many))
    assert found(drawer.connection, "aside") == []
    assert len(content(drawer.connection)["aliases"]) == FEW_ALIASES + 1


def test_facts_with_the_same_aliases_share_one_set(drawer: Drawer) -> None:
    for number in range(5):
        drawer.write(draft(f"deploy:app{number}", "fly deploy", ("ship it", "デプロイ")))
    assert [row[1] for row in content(drawer.connection)["sets"]] == [5]
    (names,) = drawer.connection.execute("SELECT count(*) FROM recall_alias_names").fetchone()
    assert names == 2


def test_writing_again_replaces_and_indexing_again_changes_nothing(drawer: Drawer) -> None:
    drawer.write(draft("deploy:harbour", "the old quokka", ("ship it",)))
    fact = drawer.write(draft("deploy:harbour", "the new wombat", ("デプロイ",)))
    before = content(drawer.connection)
    assert found(drawer.connection, "quokka") == []
    assert [row[0] for row in before["aliases"]] == ["デプロイ"]
    with transaction(drawer.connection):
        index_fact(drawer.connection, fact)
        index_fact(drawer.connection, fact)
    assert content(drawer.connection) == before


def test_a_retired_fact_is_not_in_it_until_it_is_written_anew(drawer: Drawer) -> None:
    drawer.write(draft("deploy:harbour", "fly deploy", ("ship it",)))
    drawer.retire("deploy:harbour")
    assert not any(content(drawer.connection).values())
    with transaction(drawer.connection):
        assert reindex(drawer.connection) == 0
    assert not any(content(drawer.connection).values())
    drawer.write(draft("deploy:harbour", "fly deploy", ("ship it",)))
    assert content(drawer.connection)["facts"]


def test_taking_out_what_is_not_in_it_does_no_harm(drawer: Drawer) -> None:
    drawer.write(draft("deploy:harbour", "fly deploy"))
    before = content(drawer.connection)
    with transaction(drawer.connection):
        unindex_fact(drawer.connection, 99)
    assert content(drawer.connection) == before


def test_an_error_in_the_callers_transaction_leaves_the_index_as_it_was(drawer: Drawer) -> None:
    fact = drawer.write(draft("deploy:harbour", "fly deploy", ("ship it",)))
    before = content(drawer.connection)
    with pytest.raises(KeyError), transaction(drawer.connection):
        unindex_fact(drawer.connection, fact.id)
        raise KeyError
    assert content(drawer.connection) == before
    assert found(drawer.connection, "fly") == [fact.id]


@pytest.mark.parametrize("seed", range(4))
def test_after_any_life_of_the_facts_it_is_what_a_new_one_would_be(drawer: Drawer, seed: int) -> None:
    rng = random.Random(seed)
    words = ["harbour", "lantern", "quokka", "顧客", "管理", "デプロイ", "port", "3000", "never", "use"]
    kinds: tuple[Any, ...] = ("capability", "rule", "decision")
    keys = [f"{verb}:{target}" for verb in ("deploy", "test", "鍵") for target in ("shop", "my-app", "顧客")]
    written: dict[str, Fact] = {}
    for _ in range(60):
        key = rng.choice(keys)
        act = rng.randrange(6)
        if act == 0 and key in written:
            drawer.retire(key)
        elif act == 1 and key in written:
            drawer.forget(key, wait_seconds=0)
            del written[key]
        else:
            body = " ".join(rng.choices(words, k=rng.randrange(1, 12)))
            aliases = tuple(rng.sample(words, k=rng.randrange(3)))
            written[key] = drawer.write(draft(key, body, aliases, type=rng.choice(kinds)))
    before = content(drawer.connection)
    with transaction(drawer.connection):
        reindex(drawer.connection)
    assert content(drawer.connection) == before
    drawer.connection.execute("INSERT INTO recall_text (recall_text, rank) VALUES ('integrity-check', 1)")


def test_nothing_is_left_when_the_last_fact_goes(drawer: Drawer) -> None:
    for key in ("deploy:harbour", "test:harbour"):
        drawer.write(draft(key, "quokka 港湾設備", ("ship it",)))
    for key in ("deploy:harbour", "test:harbour"):
        drawer.forget(key)
    assert not any(content(drawer.connection).values())
    for table in TABLES:
        assert drawer.connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0, table


def test_a_purge_takes_the_words_of_deleted_facts_out_of_the_search_tables(drawer: Drawer) -> None:
    drawer.write(draft("other:lantern", "plain words"))
    fact = drawer.write(draft("deploy:harbour", "zephyrous"))
    with transaction(drawer.connection):
        unindex_fact(drawer.connection, fact.id)

    def kept() -> bool:
        rows = drawer.connection.execute("SELECT block FROM recall_text_data").fetchall()
        return any(b"zephyrous" in row[0] for row in rows)

    assert kept(), "otherwise this test could not fail"
    with transaction(drawer.connection):
        purge_index(drawer.connection)
    assert not kept()
    assert found(drawer.connection, "plain") != []
