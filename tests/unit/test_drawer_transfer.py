"""A long import is written in pieces: others come to their turn, and one that is cut off can be gone on with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer.fact import Draft
from hikidashi.drawer.places import Drawers
from hikidashi.drawer.reading import all_facts
from hikidashi.drawer.store import Drawer
from hikidashi.drawer.transfer import Incoming, import_facts, parse_lines
from hikidashi.errors import Busy

FACTS = 250


def _scope(number: int) -> str:
    return "workspace" if number % 10 else "global"


def lines() -> list[Incoming]:
    """Every tenth for the user's own drawer."""
    written = [
        json.dumps({"key": f"note:{n}", "type": "fact", "body": f"Number {n}.", "scope": _scope(n)})
        for n in range(FACTS)
    ]
    return parse_lines("\n".join(written).encode())


@pytest.fixture
def path(tmp_path: Path, home: Path) -> Path:
    return tmp_path / "workspace.sqlite"


@pytest.fixture
def drawers(path: Path) -> Iterator[Drawers]:
    with closing(connect(path, busy_seconds=0)) as connection:
        migrate(connection)
        with Drawers(connection) as opened:
            yield opened


def test_others_write_between_the_pieces(drawers: Drawers, path: Path) -> None:
    seen: list[int] = []

    def others_turn(seconds: float) -> None:
        assert seconds > 0
        with closing(connect(path, busy_seconds=0)) as other:
            values = {"confidence": 1.0, "trust": "user", "origin": "command"}
            draft = Draft(key=f"other:{len(seen)}", type="fact", body="mine", **values)  # type: ignore[arg-type]
            Drawer(other, "workspace").write(draft)
            seen.append(len(all_facts(other, "workspace")))

    done = import_facts(drawers, lines(), sleep=others_turn)
    assert [one.key for one in done] == [f"note:{n}" for n in range(FACTS)], "in the order of the lines"
    assert {one.action for one in done} == {"created"}
    assert seen == [101, 202, 228], "three pieces of the workspace's, then the user's own"
    assert len(all_facts(drawers.writable("global").connection, "global")) == FACTS // 10


def test_an_import_that_is_cut_off_says_how_far_it_came_and_goes_on_there(drawers: Drawers, path: Path) -> None:
    with closing(connect(path, busy_seconds=0)) as other:
        pauses = 0

        def take_the_lock(seconds: float) -> None:
            nonlocal pauses
            pauses += 1
            if pauses == 2:
                other.execute("BEGIN IMMEDIATE")

        with pytest.raises(Busy, match=r"200 of 250 facts are in: run the same import again for the rest$"):
            import_facts(drawers, lines(), sleep=take_the_lock)
        other.execute("ROLLBACK")
    done = import_facts(drawers, lines(), sleep=lambda seconds: None)
    assert Counter(one.action for one in done) == {"unchanged": 200, "created": 50}


def test_an_import_that_could_not_begin_says_only_why(drawers: Drawers, path: Path) -> None:
    with closing(connect(path, busy_seconds=0)) as other, transaction(other), pytest.raises(Busy) as raised:
        import_facts(drawers, lines(), sleep=lambda seconds: None)
    assert "facts are in" not in str(raised.value)
