"""A forgotten key leaves no byte in the database's files, and says so when something keeps it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.db.connection import connect, read_only, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer import forget as forgetting
from hikidashi.drawer import refusals
from hikidashi.drawer.fact import Draft, Sighting, fact_subject
from hikidashi.drawer.sightings import add_sighting, sightings_of
from hikidashi.drawer.store import Drawer
from hikidashi.errors import Busy, HikidashiError, NoSuchFact
from hikidashi.usage.events import record, uses_of

AT = "2026-03-01T12:00:00.000Z"
KEY = "deploy:quokkaworks"
BODY = "rsync the quarzified build to the zephyrous host, 港湾設備へ配備する"
ALIASES = ("put it on quokkaworks", "港湾設備へ配備")
OLD_BODY = "an erstwhile xylograph of it " + "and xylophagous more of it " * 140
TOLD = "rsync -a dist/ wombatious@host:/srv"

#: Beginnings of words that stand nowhere else: an index may keep words without their endings.
LATIN = ("quokk", "quarz", "zephyr", "xylogr", "xyloph", "wombat")
WORDS = (*LATIN, "港湾設備", "港湾", "湾設", "設備")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workspace.sqlite"


@pytest.fixture
def drawer(path: Path) -> Iterator[Drawer]:
    connection = connect(path)
    migrate(connection)
    yield Drawer(connection, "workspace")
    connection.close()


def draft(key: str, body: str, aliases: tuple[str, ...] = ()) -> Draft:
    return Draft(
        key=key, type="capability", body=body, confidence=1, trust="user", origin="command", aliases=aliases
    )  # fmt: skip


def fill(drawer: Drawer, count: int = 300, seed: int = 1) -> None:
    """Other facts, so that the pages are shared, split and filled anew."""
    rng = random.Random(seed)
    for number in range(count):
        words = " ".join(rng.choice(("use", "the", "build", "host", "port", "never")) for _ in range(rng.randrange(80)))
        drawer.write(draft(f"other:{number}", f"{number} {words}", ("other",)))


def learn(drawer: Drawer) -> None:
    """Everything that is kept of a key."""
    for number in range(4):
        drawer.write(draft(KEY, f"{OLD_BODY} {number}", ALIASES))
        fill(drawer, 40, number)
    drawer.write(draft(KEY, BODY, ALIASES))
    with transaction(drawer.connection):
        sighting = Sighting(
            key=KEY, anchor="a1", host="claude-code", session_id="s1", path="/s.jsonl", line=4, at=AT, told=TOLD
        )
        assert add_sighting(drawer.connection, sighting)
        assert not add_sighting(drawer.connection, sighting), "a copy of the session"
        drawer.connection.execute(
            "INSERT INTO candidates SELECT 'c1', scope, key, type, body, confidence, proof, probe, aliases, trust,"
            " origin, digest, machine_id, machine_name, source, rules_version, 'approved', 1, :at, :at, NULL, :at"
            " FROM facts WHERE key = :key",
            {"at": AT, "key": KEY},
        )
    record(drawer.connection, "exposure", fact_subject("workspace", KEY), session_id="s1", via="hook", at=AT)


def left_in(path: Path) -> dict[str, list[str]]:
    """Which words stand in which of the database's files."""
    files = {file.name: file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*"))}
    found = {name: [word for word in WORDS if word.encode() in data] for name, data in files.items()}
    return {name: words for name, words in found.items() if words}


def test_nothing_of_it_is_left_in_any_file(drawer: Drawer, path: Path) -> None:
    fill(drawer)
    learn(drawer)
    assert left_in(path), "or the test proves nothing"
    done = drawer.forget(f" {KEY}")
    assert (done.fact, done.candidates, done.sightings, done.uses, done.left) == (True, 1, 1, 1, None)
    assert left_in(path) == {}
    assert drawer.find(KEY) is None
    assert sightings_of(drawer.connection, "workspace", KEY) == []
    assert uses_of(drawer.connection, fact_subject("workspace", KEY)) == []
    assert drawer.connection.execute("SELECT count(*) FROM facts").fetchone()[0] == 300
    assert drawer.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_other_keys_and_the_same_key_elsewhere_stay(drawer: Drawer) -> None:
    learn(drawer)
    drawer.write(draft("deploy:quokkaworks-staging", "another"))
    Drawer(drawer.connection, "global").write(
        Draft(key=KEY, scope="global", type="rule", body="b", confidence=1, trust="user", origin="command")
    )
    drawer.forget(KEY)
    assert drawer.find("deploy:quokkaworks-staging") is not None
    assert Drawer(drawer.connection, "global").find(KEY) is not None


def test_it_is_not_proposed_again_until_it_is_written_anew(drawer: Drawer) -> None:
    learn(drawer)
    drawer.forget(KEY)
    assert refusals.is_forgotten(drawer.connection, scope="workspace", key=KEY)
    fact = drawer.write(draft(KEY, BODY))
    assert (fact.version, fact.uses) == (1, 0)
    assert not refusals.is_forgotten(drawer.connection, scope="workspace", key=KEY)


def test_a_reader_that_keeps_an_older_state_is_said_and_the_next_call_finishes(drawer: Drawer, path: Path) -> None:
    learn(drawer)
    reader = read_only(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM facts").fetchone()
    done = drawer.forget(KEY, wait_seconds=0.1)
    assert isinstance(done.left, Busy) and "reads an older state" in str(done.left)
    assert drawer.find(KEY) is None
    assert left_in(path)
    assert reader.execute("SELECT body FROM facts WHERE key = ?", (KEY,)).fetchone()["body"] == BODY
    reader.execute("COMMIT")
    again = drawer.forget(KEY)
    assert (again.again, again.fact, again.left) == (True, False, None)
    assert left_in(path) == {}
    reader.close()


def test_a_writer_in_the_way_keeps_the_files_but_not_the_fact(
    drawer: Drawer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn(drawer)
    other = connect(path)
    clean = forgetting.clean_files

    def blocked(connection: sqlite3.Connection, seconds: float) -> HikidashiError | None:
        with transaction(other):
            other.execute("INSERT INTO meta VALUES ('busy', '1')")
            return clean(connection, seconds)

    monkeypatch.setattr(forgetting, "clean_files", blocked)
    assert "locked by another process" in str(drawer.forget(KEY, wait_seconds=0.1).left)
    other.close()
    assert drawer.find(KEY) is None
    assert drawer.connection.execute("PRAGMA busy_timeout").fetchone()[0] == 30_000
    with transaction(drawer.connection):
        pass


def test_a_writer_before_it_leaves_everything_as_it_was(path: Path, drawer: Drawer) -> None:
    learn(drawer)
    hasty = Drawer(connect(path, busy_seconds=0.05), "workspace")
    with transaction(drawer.connection), pytest.raises(Busy):
        hasty.forget(KEY)
    hasty.connection.close()
    assert drawer.find(KEY) is not None


def test_a_key_that_only_waits_or_was_only_seen_can_be_forgotten(drawer: Drawer) -> None:
    with transaction(drawer.connection):
        add_sighting(
            drawer.connection,
            Sighting(key="push:x", anchor="a", host="h", session_id="s", path="p", line=0, at=AT),
        )
    done = drawer.forget("push:x")
    assert (done.fact, done.sightings) == (False, 1)
    assert refusals.is_forgotten(drawer.connection, scope="workspace", key="push:x")
    with pytest.raises(NoSuchFact):
        drawer.forget("push:y")
    assert not refusals.is_forgotten(drawer.connection, scope="workspace", key="push:y")
