"""How long a write into the drawer takes, beside a bare insert and commit in the same run.

    python -m benchmarks.drawer [WRITES] [--facts NUMBER] [--folder FOLDER]

Three ways take turns, write by write, so that what else the machine does disturbs them alike:

    bare      one INSERT of the same text into a table of its own database, one commit, flushed as ours are
    write     `Drawer.write`: secrets looked for, fact, version, index, refusals, one commit
    replace   the same for a key that is there already

The facts that are there before have words of realistic frequencies and a dozen aliases each. The time is the wall's,
since a commit waits for the disk. In the end it tells what forgetting one key takes, which writes the database anew.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer.draft import checked
from hikidashi.drawer.fact import Draft
from hikidashi.drawer.store import Drawer

_SYLLABLES = (
    "ba",
    "co",
    "di",
    "fe",
    "gu",
    "ha",
    "jo",
    "ki",
    "lu",
    "me",
    "no",
    "pa",
    "qui",
    "ra",
    "so",
    "ti",
    "va",
    "we",
)


def _word(rank: int) -> str:
    """A made-up word; each rank has its own."""
    text = ""
    while True:
        text += _SYLLABLES[rank % len(_SYLLABLES)]
        rank //= len(_SYLLABLES)
        if not rank:
            return text


def _text(rng: random.Random, words: int) -> str:
    """Words whose frequencies fall as 1/rank (Zipf), as those of prose do."""
    return " ".join(_word(int(20_000 ** rng.random())) for _ in range(words))


def _draft(rng: random.Random, key: str) -> Draft:
    return Draft(
        key=key,
        type="capability",
        body=_text(rng, 25),
        confidence=0.9,
        proof=_text(rng, 6),
        aliases=tuple(_text(rng, 2) for _ in range(12)),
        trust="user",
        origin="command",
    )


def _fill(drawer: Drawer, rng: random.Random, count: int) -> None:
    for start in range(0, count, 1000):
        drafts = [checked(_draft(rng, f"deploy:{_word(n)}-{n}")) for n in range(start, min(start + 1000, count))]
        with transaction(drawer.connection):
            for draft in drafts:
                drawer.put_checked(draft)


def _bare(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE facts (id INTEGER PRIMARY KEY, key TEXT UNIQUE, body TEXT)")
    return connection


def _milliseconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def _row(name: str, times: Sequence[float], base: Sequence[float]) -> str:
    def at(values: Sequence[float], part: float) -> float:
        return sorted(values)[min(int(len(values) * part), len(values) - 1)]

    ratio = at(times, 0.5) / at(base, 0.5)
    return f"{name:<10}{at(times, 0.5):>10.2f}{at(times, 0.99):>10.2f}{max(times):>10.2f}{ratio:>10.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drawer", description="How long a write takes.")
    parser.add_argument("writes", type=int, nargs="?", default=500, help="of each way (default 500)")
    parser.add_argument("--facts", type=int, default=10_000, help="that are there before (default 10000)")
    parser.add_argument("--folder", type=Path, help="on the disk to measure (default: the temporary folder)")
    given = parser.parse_args()
    rng = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="hikidashi-bench-", dir=given.folder) as made:
        folder = Path(made)
        connection = connect(folder / "workspace.sqlite")
        migrate(connection)
        drawer = Drawer(connection, "workspace")
        _fill(drawer, rng, given.facts)
        bare = _bare(folder)
        times: dict[str, list[float]] = {"bare": [], "write": [], "replace": []}

        def insert(draft: Draft) -> None:
            bare.execute("BEGIN IMMEDIATE")
            bare.execute("INSERT INTO facts (key, body) VALUES (?, ?)", (draft.key, draft.body))
            bare.execute("COMMIT")

        for number in range(given.writes):
            new, again = _draft(rng, f"push:{_word(number)}-{number}"), _draft(rng, f"push:{_word(number)}-{number}")
            times["bare"].append(_milliseconds(lambda new=new: insert(new)))
            times["write"].append(_milliseconds(lambda new=new: drawer.write(new)))
            times["replace"].append(_milliseconds(lambda again=again: drawer.write(again)))
        print(f"{given.facts:,} facts before, {given.writes:,} writes of each; milliseconds")
        print(f"{'':<10}{'p50':>10}{'p99':>10}{'worst':>10}{'x bare':>10}")
        for name, found in times.items():
            print(_row(name, found, times["bare"]))
        size = (folder / "workspace.sqlite").stat().st_size / 1e6
        took = _milliseconds(lambda: drawer.forget("push:ba-0"))
        print(f"forget one key of a database of {size:.0f} MB: {took:.0f} ms")
        connection.close()
        bare.close()


if __name__ == "__main__":
    main()
