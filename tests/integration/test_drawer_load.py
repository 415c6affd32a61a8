"""Many processes at one drawer: no error reaches anyone, and no write is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.drawer.reading import all_facts, find_fact, versions_of
from tests.support.commands import Commands

#: Gives the drawer's path, this process's number, and how long or how often.
_START = """
import json, sys, time
from pathlib import Path
from hikidashi.db.connection import connect, read_only
from hikidashi.drawer.fact import Draft
from hikidashi.drawer.reading import all_facts, count_facts, find_fact, versions_of
from hikidashi.drawer.seen import note_read
from hikidashi.drawer.store import Drawer
from hikidashi.usage.events import record
path, number, amount = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def draft(key, body):
    return Draft(key=key, type="fact", body=body, confidence=1, trust="user", origin="command", aliases=("an alias",))
"""

WRITER = (
    _START
    + """
drawer = Drawer(connect(path), "workspace")
end = time.monotonic() + amount
done = {"shared": 0, "new": 0}
slowest = 0.0
while time.monotonic() < end:
    begun = time.monotonic()
    drawer.write(draft("shared", f"{number} {done['shared']}"))
    done["shared"] += 1
    drawer.write(draft(f"own:{number}:{done['new'] % 50}", f"body {done['new']}"))
    done["new"] += 1
    slowest = max(slowest, (time.monotonic() - begun) / 2)
print(json.dumps(done | {"slowest": slowest}))
"""
)

READER = (
    _START
    + """
writing = connect(path)
end = time.monotonic() + amount
reads, seen, notes = 0, 0, 0
while time.monotonic() < end:
    reader = read_only(path) if number % 2 else connect(path)
    for _ in range(20):
        reader.execute("BEGIN")
        fact = find_fact(reader, "workspace", "shared")
        if fact is not None:
            rows = versions_of(reader, fact)
            assert [row.version for row in rows] == list(range(1, fact.version + 1))
            assert rows[-1].body == fact.body
            assert fact.version >= seen, "a write was lost"
            seen = fact.version
        total = sum(count_facts(reader, "workspace").values())
        assert total == len(all_facts(reader, "workspace"))
        reader.execute("COMMIT")
        reads += 1
    if fact is not None:
        note_read(writing, fact, fact.last_seen)
        record(writing, "explicit", "fact:workspace:shared", via="read", at=fact.last_seen)
        notes += 1
    reader.close()
print(json.dumps({"reads": reads, "notes": notes}))
"""
)

UPDATER = (
    _START
    + """
drawer = Drawer(connect(path), "workspace")
for turn in range(int(amount)):
    drawer.write(draft("one", f"{number} {turn}"))
print(json.dumps({}))
"""
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    connection = connect(tmp_path / "workspace.sqlite")
    migrate(connection)
    connection.close()
    return tmp_path / "workspace.sqlite"


def together(run: Commands, path: Path, programs: list[str], amount: float) -> list[dict[str, Any]]:
    """Let all of them begin at once; gives what each printed. Fails when one printed an error."""
    code = f"import sys; exec({programs!r}[int(sys.argv[2])])"
    ended = run.python(code, [(path, number, amount) for number in range(len(programs))])
    assert [(one.code, one.err) for one in ended] == [(0, "")] * len(programs)
    return [one.json() for one in ended]


def bodies(path: Path) -> dict[str, str]:
    connection = connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    found = {fact.key: fact.body for fact in all_facts(connection, "workspace")}
    connection.close()
    return found


def load(run: Commands, path: Path, seconds: float) -> None:
    said = together(run, path, [WRITER] * 4 + [READER] * 8, seconds)
    writers, readers = said[:4], said[4:]
    connection = connect(path)
    shared = find_fact(connection, "workspace", "shared")
    assert shared is not None
    assert shared.version == len(versions_of(connection, shared)) == sum(writer["shared"] for writer in writers)
    assert shared.uses == sum(reader["notes"] for reader in readers)
    uses = connection.execute("SELECT count(*) FROM usage_events").fetchone()[0]
    assert uses == shared.uses
    connection.close()
    found = bodies(path)
    for number, writer in enumerate(writers):
        last = range(max(0, writer["new"] - 50), writer["new"])
        assert {found[f"own:{number}:{turn % 50}"] for turn in last} == {f"body {turn}" for turn in last}
        assert writer["new"] > 0
    assert all(reader["reads"] for reader in readers)


def test_four_writers_and_eight_readers_for_a_moment(path: Path, run: Commands) -> None:
    load(run, path, 1.5)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_four_writers_and_eight_readers_for_a_minute(path: Path, run: Commands) -> None:
    load(run, path, 60)


def test_two_processes_update_one_key_a_hundred_times_each(path: Path, run: Commands) -> None:
    together(run, path, [UPDATER, UPDATER], 100)
    connection = connect(path)
    fact = find_fact(connection, "workspace", "one")
    assert fact is not None
    versions = versions_of(connection, fact)
    connection.close()
    assert fact.version == 200
    assert [version.version for version in versions] == list(range(1, 201))
    assert sorted(version.body for version in versions) == sorted(f"{n} {turn}" for n in (0, 1) for turn in range(100))
