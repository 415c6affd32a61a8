"""A fact is replaced by its key, keeps its versions, and never holds a secret."""

from __future__ import annotations

import dataclasses
import sqlite3
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer import refusals
from hikidashi.drawer.fact import MAX_BODY, Draft
from hikidashi.drawer.reading import all_facts, count_facts, fact_keys, find_fact, versions_of
from hikidashi.drawer.seen import note_read
from hikidashi.drawer.store import Drawer
from hikidashi.errors import CorruptData, NoSuchFact, SecretRefused, UsageError
from hikidashi.times import format_time

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Watch:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(tmp_path / "workspace.sqlite")
    migrate(connection)
    yield connection
    connection.close()


@pytest.fixture
def drawer(connection: sqlite3.Connection, watch: Watch) -> Drawer:
    return Drawer(connection, "workspace", watch)


def draft(key: str = "deploy:harbour", body: str = "fly deploy --app harbour", **values: Any) -> Draft:
    given: dict[str, Any] = {"type": "capability", "confidence": 0.9, "trust": "user", "origin": "command"} | values
    return Draft(key=key, body=body, **given)


def at(days: float) -> str:
    return format_time(START + timedelta(days=days))


def test_what_was_written_is_read_back_whole(drawer: Drawer) -> None:
    whole = draft(
        proof="deployed: https://harbour.example",
        probe=("fly", "status", "--app", "harbour"),
        aliases=("ship it", "デプロイ"),
        digest="d1",
        machine_id="m1",
        machine_name="desk",
        source={"host": "claude-code", "session_id": "s1", "lines": [3, 4]},
    )
    fact = drawer.write(whole)
    assert drawer.find("deploy:harbour") == fact
    assert (fact.status, fact.version, fact.uses, fact.failure) == ("active", 1, 0, "")
    assert fact.created_at == fact.updated_at == fact.last_seen == at(0)
    assert (fact.last_verified, fact.last_failed) == (None, None)
    assert {name: getattr(fact, name) for name in (field.name for field in dataclasses.fields(Draft))} == (
        dataclasses.asdict(whole)
    )


def test_the_same_key_replaces_and_its_versions_are_kept(drawer: Drawer, watch: Watch) -> None:
    first = drawer.write(draft())
    watch.at += timedelta(days=1)
    second = drawer.write(draft(body="fly deploy --remote-only", type="procedure", proof="seen", confidence=0.5))
    assert (second.id, second.version, second.created_at, second.updated_at) == (first.id, 2, at(0), at(1))
    assert fact_keys(drawer.connection, "workspace") == ["deploy:harbour"]
    versions = versions_of(drawer.connection, second)
    assert [(v.version, v.type, v.body, v.proof, v.confidence, v.at) for v in versions] == [
        (1, "capability", "fly deploy --app harbour", "", 0.9, at(0)),
        (2, "procedure", "fly deploy --remote-only", "seen", 0.5, at(1)),
    ]


def test_a_write_forgives_what_was_said_of_the_text_before(drawer: Drawer) -> None:
    first = drawer.write(draft())
    drawer.verified(first, True, "running", at(1))
    drawer.verified(first, False, "no such app", at(2))
    drawer.retire("deploy:harbour")
    fact = drawer.write(draft(body="another way"))
    assert (fact.status, fact.last_verified, fact.last_failed, fact.failure) == ("active", None, None, "")


def test_keys_and_aliases_are_nfc(drawer: Drawer) -> None:
    apart = unicodedata.normalize("NFD", "café:ガス")
    fact = drawer.write(draft(key=f"  {apart} ", aliases=(apart, f" {apart}", "", "two  words")))
    assert fact.key == unicodedata.normalize("NFC", apart) != apart
    assert fact.aliases == (fact.key, "two words")
    assert drawer.find(apart) == drawer.find(fact.key) == fact
    assert drawer.write(draft(key=apart)).version == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"key": " "}, "the key is empty"),
        ({"key": "a\nb"}, "does not print"),
        ({"body": " \n"}, "the body is empty"),
        ({"body": "x" * (MAX_BODY + 1)}, "the body has 4,001 characters, at most 4,000 are kept: shorten it"),
        ({"body": "a\0b"}, "the body holds bytes that are no text"),
        ({"body": "a\udc80b"}, "the body holds bytes that are no text: give it in UTF-8"),
        ({"proof": "x" * 1001}, "the proof has 1,001 characters"),
        ({"probe": ("x" * 1001,)}, "the probe has"),
        ({"aliases": ("x" * 101,)}, "the alias has"),
        ({"aliases": tuple(f"word {n}" for n in range(201))}, "there are 201 aliases"),
    ],
)
def test_what_is_no_fact_is_refused_with_the_mend(drawer: Drawer, change: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        drawer.write(draft(**change))
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert all_facts(drawer.connection, "workspace") == []


TOKEN = "gh" + "p_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"key": f"auth:{TOKEN}"}, "key"),
        ({"body": f"first line\nexport GH_TOKEN={TOKEN}"}, "body"),
        ({"proof": f"logged in with {TOKEN}"}, "proof"),
        ({"probe": ("gh", "auth", "status", TOKEN)}, "probe"),
        ({"aliases": ("log in", TOKEN)}, "alias"),
    ],
)
def test_a_secret_is_refused_with_its_place_and_nothing_of_it(
    drawer: Drawer, change: dict[str, Any], field: str
) -> None:
    drawer.write(draft(key="other"))
    with pytest.raises(SecretRefused, match=f"^the {field} holds a secret .*column .*take it out.*nothing was written"
    ) as caught:  # fmt: skip
        drawer.write(draft(**change))
    assert "a1B2" not in str(caught.value)
    if field == "body":
        assert "line 2, column 17" in str(caught.value)
    assert fact_keys(drawer.connection, "workspace") == ["other"]


def test_putting_is_the_callers_transaction(drawer: Drawer) -> None:
    with pytest.raises(KeyboardInterrupt), transaction(drawer.connection):
        drawer.put(draft())
        raise KeyboardInterrupt
    assert drawer.find("deploy:harbour") is None
    with transaction(drawer.connection):
        drawer.put(draft())
    assert drawer.find("deploy:harbour") is not None


def test_a_draft_of_another_scope_is_a_mistake(drawer: Drawer) -> None:
    with pytest.raises(ValueError, match="global"):
        drawer.write(draft(scope="global"))


def test_a_missing_key_names_keys_like_it(drawer: Drawer) -> None:
    for key in ("deploy:harbour", "deploy:harbor-staging", "test:harbour", "rule:commits"):
        drawer.write(draft(key=key))
    with pytest.raises(NoSuchFact, match=r"no fact has the key Deploy:harbor: did you mean deploy:harbour or"):
        drawer.retire("Deploy:harbor")
    with pytest.raises(NoSuchFact, match=r"no fact has the key zzzzqqq: `hikidashi facts` lists the keys"):
        drawer.forget("zzzzqqq")


def test_a_probe_that_passed_is_the_best_proof(drawer: Drawer) -> None:
    broken = drawer.verified(drawer.write(draft(proof="an old one")), False, "not signed in", at(1))
    assert broken is not None
    assert (broken.status, broken.failure, broken.last_failed) == ("active", "not signed in", at(1))
    assert (broken.confidence, broken.proof) == (0.3, "an old one")
    drawer.set_status("deploy:harbour", "stale")
    fact = drawer.verified(broken, True, "2 machines started", at(2))
    assert fact is not None
    assert (fact.status, fact.confidence, fact.proof) == ("active", 1.0, "2 machines started")
    assert (fact.last_verified, fact.last_failed, fact.failure, fact.last_seen) == (at(2), None, "", at(2))


def test_a_failure_older_than_the_last_success_changes_nothing(drawer: Drawer) -> None:
    fact = drawer.write(draft())
    good = drawer.verified(fact, True, "fine", at(5))
    assert good is not None
    assert drawer.verified(fact, False, "an old failure", at(4)) == good
    newer = drawer.verified(fact, False, "gone", at(6))
    assert newer is not None
    assert newer.failure == "gone"


@pytest.mark.parametrize("passed", [True, False])
def test_what_a_probe_says_of_a_text_that_is_not_there_any_more_is_not_noted(drawer: Drawer, passed: bool) -> None:
    old = drawer.write(draft())
    new = drawer.write(draft(body="another way"))
    assert drawer.verified(old, passed, "it said", at(9)) is None
    assert drawer.find("deploy:harbour") == new
    drawer.forget("deploy:harbour")
    assert drawer.verified(new, passed, "it said", at(9)) is None
    anew = drawer.write(draft())
    assert drawer.verified(dataclasses.replace(anew, id=anew.id + 1), passed, "it said", at(9)) is None
    assert drawer.find("deploy:harbour") == anew


@pytest.mark.parametrize(("status", "after"), [("active", "active"), ("stale", "active"), ("retired", "retired")])
def test_an_explicit_read_revives_a_stale_fact_never_a_retired_one(drawer: Drawer, status: str, after: str) -> None:
    fact = drawer.write(draft())
    drawer.connection.execute("UPDATE facts SET status = ?", (status,))
    found = note_read(drawer.connection, fact, at(7))
    assert (found.status, found.uses, found.last_seen) == (after, 1, at(7))
    assert note_read(drawer.connection, fact, at(6)).last_seen == at(7), "a clock that was set back"


def test_reading_a_fact_that_was_forgotten_meanwhile(drawer: Drawer) -> None:
    fact = drawer.write(draft())
    drawer.forget(fact.key)
    assert note_read(drawer.connection, fact, at(1)) == fact


def test_reading_by_keys_type_and_status(drawer: Drawer) -> None:
    for key, type in (("b", "rule"), ("a", "decision"), ("ü'\"", "rule")):
        drawer.write(draft(key=key, type=type))
    drawer.retire("b")
    connection = drawer.connection
    assert [fact.key for fact in all_facts(connection, "workspace")] == ["a", "b", "ü'\""]
    assert all_facts(connection, "global") == []
    assert [fact.key for fact in all_facts(connection, "workspace", type="rule", status="active")] == ["ü'\""]
    assert find_fact(connection, "global", "a") is None
    assert count_facts(connection, "workspace") == {
        ("active", "decision"): 1, ("active", "rule"): 1, ("retired", "rule"): 1,
    }  # fmt: skip


def test_writing_takes_refusals_back(drawer: Drawer) -> None:
    content = refusals.content_of("", "fly deploy --app harbour")
    with transaction(drawer.connection):
        refusals.note_rejected(
            drawer.connection, scope="workspace", key="deploy:harbour", content=content, at=at(0)
        )  # fmt: skip
    drawer.write(draft())
    assert not refusals.is_rejected(drawer.connection, scope="workspace", key="deploy:harbour", content=content)
    drawer.forget("deploy:harbour")
    assert refusals.is_forgotten(drawer.connection, scope="workspace", key="deploy:harbour")
    drawer.write(draft())
    assert not refusals.is_forgotten(drawer.connection, scope="workspace", key="deploy:harbour")


@pytest.mark.parametrize("value", ["{}", "[1]", "[", "nonsense"])
def test_a_damaged_row_is_one_line(drawer: Drawer, value: str) -> None:
    drawer.write(draft())
    drawer.connection.execute("UPDATE facts SET aliases = ?", (value,))
    with pytest.raises(CorruptData, match=r"deploy:harbour is damaged .* `hikidashi write`"):
        drawer.find("deploy:harbour")
    assert drawer.write(draft()).version == 2
