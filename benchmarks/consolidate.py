"""How long 200 entries take against 1,000 records, beside the least that any worker must do: parse and write them.

    python -m benchmarks.consolidate [ENTRIES [RECORDS]]

The whole run is claim, snapshot, both phases of the rules engine, journal, files, history and database, on the
temporary folder's disk. The baseline parses each record and renders it again, once.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.records.history import History
from hikidashi.records.record import Record, RecordKind, parse_record, read_record, record_path, render_record
from hikidashi.source import Source, Trust
from hikidashi.staging.entry import Entry, EntryKind, entry_id
from hikidashi.staging.store import StagingStore
from hikidashi.times import format_time
from hikidashi.worker.materials import build_materials, make_lint
from hikidashi.worker.rules import RulesEngine
from hikidashi.worker.run import run_consolidation
from hikidashi.worker.scratch import Scratch

__all__ = ["main", "make_entries", "make_records"]

_START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
#: When the run takes place: soon after the entries, so that few records are past their days.
_END = _START + timedelta(days=50)
_VOCABULARY = (
    "build cache deploy error format hook index lint module node object parse query route schema value worker login"
    " session redirect client server branch review style table column click modal input store fetch retry timeout"
    " queue batch stream buffer socket port proxy header cookie migrate replica shard ledger invoice ticket palette"
    " canvas cursor viewport layout grid font icon banner tooltip"
)
_WORDS = tuple(_VOCABULARY.split())

_Result = TypeVar("_Result")


def _words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choice(_WORDS) for _ in range(count))


def _source(number: int, session: str, at: datetime) -> Source:
    lines = (number, number + 4)
    uuids = (f"{number:08x}-0000-4000-8000-000000000000", f"{number:08x}-0000-4000-8000-000000000004")
    return Source(host="claude-code", session_id=session, lines=lines, uuids=uuids, at=format_time(at))


def make_records(count: int) -> dict[str, bytes]:
    """A tree of `count` records, the same on every call: three decisions for each request."""
    chance = random.Random(20260301)
    tree: dict[str, bytes] = {}
    for number in range(count):
        kind: RecordKind = "request" if number % 4 == 3 else "decision"
        at = _START + timedelta(minutes=30 * number)
        title = _words(chance, 6).capitalize()
        body = f"# {title}\n\n{_words(chance, 70)}.\n\n**Why:** {_words(chance, 12)}.\n\n> {_words(chance, 10)}\n"
        slug = f"{title.lower().replace(' ', '-')[:50]}-{number}"
        sources = tuple(_source(number, f"session-{number % 300}", at) for _ in range(1 + number % 3))
        record = Record(
            kind=kind,
            path=record_path(kind, slug),
            slug=slug,
            body=body,
            created_at=format_time(at),
            updated_at=format_time(at),
            status="open",
            trust="user",
            sources=sources[:1],
        )
        tree[record.path] = render_record(record)
    return tree


def make_entries(count: int) -> list[Entry]:
    """`count` entries of 100 sessions, the same on every call."""
    chance = random.Random(20260502)
    kinds: tuple[EntryKind, ...] = ("decision", "decision", "request", "attempt", "request")
    entries = []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        trust: Trust = "tool" if kind == "attempt" else chance.choice(["user", "assistant"])
        at = _START + timedelta(days=40, minutes=7 * number)
        source = _source(number, f"new-session-{number // 2}", at)
        entries.append(
            Entry(
                id=entry_id("claude-code", source.at, f"anchor-{number}", kind, 0),
                kind=kind,
                title=_words(chance, 7).capitalize(),
                body=f"{_words(chance, 60)}.\n\n- {_words(chance, 8)}\n- {_words(chance, 8)}",
                why=_words(chance, 12),
                quote=_words(chance, 9),
                source=source,
                trust=trust,
                status="" if kind != "request" else chance.choice(["open", "done"]),
            )
        )
    return entries


def _timed(step: Callable[[], _Result]) -> tuple[float, _Result]:
    began = time.perf_counter()
    result = step()
    return time.perf_counter() - began, result


def _engine_alone(tree: dict[str, bytes], entries: Sequence[Entry]) -> int:
    settings = load_settings(None, environ={})
    materials = build_materials(entries, tree, settings)
    scratch = Scratch(tree, make_lint("integration", now=_END, entries=entries, read_only=materials.read_only))
    RulesEngine(settings, lambda: _END).integrate(scratch, materials)
    return len(scratch.changes())


def _whole_run(folder: Path, tree: dict[str, bytes], entries: Sequence[Entry]) -> str:
    workspace = Workspace(folder.resolve(), "0123456789abcdef" * 2)
    for path, data in tree.items():
        file = workspace.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    connection = connect(workspace.database)
    migrate(connection)
    history = History(workspace.history)
    history.create()
    history.commit(tree, author="worker", subject="An earlier run", at=_START)
    store = StagingStore(workspace, connection)
    with transaction(connection):
        store.add_pending(entries)
    store.flush_pending()
    limits = {"HIKIDASHI_WORKER_BATCH_ENTRIES": "1000", "HIKIDASHI_WORKER_BATCH_BYTES": "2000000"}
    settings = load_settings(None, environ=limits)
    seconds, report = _timed(
        lambda: run_consolidation(workspace, settings, connection, lambda: RulesEngine(settings), clock=lambda: _END)
    )
    connection.close()
    assert report.consumed == len(entries), report.message
    return f"{seconds:6.2f} s  the whole run ({report.outcome}, {len(report.operations)} clean-up operations)"


def main(arguments: Sequence[str]) -> int:
    """Print seconds and peak memory."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidate", description="How long one run takes.")
    parser.add_argument("entries", type=int, nargs="?", default=200, help="staged entries (default 200)")
    parser.add_argument("records", type=int, nargs="?", default=1_000, help="records there already (default 1,000)")
    given = parser.parse_args(arguments)
    entries, tree = make_entries(given.entries), make_records(given.records)
    baseline, _ = _timed(lambda: [render_record(parse_record(path, data)) for path, data in tree.items()])
    # parsed records are kept by their bytes; the engine must not profit from the baseline
    tree = make_records(len(tree))
    read_record.cache_clear()
    print(f"{len(entries)} entries, {len(tree):,} records, {sum(map(len, tree.values())) / 1e6:.1f} MB")
    print(f"{baseline:6.2f} s  baseline: parse and render each record once")
    seconds, changed = _timed(lambda: _engine_alone(tree, entries))
    print(
        f"{seconds:6.2f} s  materials and integration alone ({changed} files), {seconds / baseline:.1f}x the baseline"
    )
    with tempfile.TemporaryDirectory(prefix="hikidashi-bench-") as folder:
        print(_whole_run(Path(folder) / "project", tree, entries))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    print(f"{peak:6.0f} MB peak memory of the process")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
