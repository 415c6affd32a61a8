"""A workspace to run consolidations in, with a small engine whose every step can be foretold.

The crash driver uses it too, in processes of its own: nothing here may need pytest.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hikidashi.atomic import TEMP_PREFIX
from hikidashi.config.settings import Settings, load_settings
from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.records.history import History
from hikidashi.records.library import load_tree
from hikidashi.records.record import Record, parse_record, render_record
from hikidashi.source import Source
from hikidashi.staging.entry import Disposition, Entry, entry_id
from hikidashi.staging.store import StagingStore
from hikidashi.times import format_time
from hikidashi.worker.bench import Bench, Checkpoint, no_checkpoint
from hikidashi.worker.engine import CleanupMaterials, Materials
from hikidashi.worker.report import Operation, RunReport
from hikidashi.worker.run import ConsolidateReport, consolidate, run_consolidation
from hikidashi.worker.scratch import Scratch

MORNING = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)

WORKSPACE_ID = "0123456789abcdef" * 2


def make_entry(number: int, **changes: Any) -> Entry:
    """An entry that becomes `memory/decisions/choice-<number>.md`."""
    at = format_time(MORNING + timedelta(minutes=number))
    values: dict[str, Any] = {
        "id": entry_id("claude-code", at, f"uuid-{number}", "decision", 0),
        "kind": "decision",
        "title": f"Choice {number}",
        "body": f"Port {8000 + number} serves it.",
        "why": "",
        "quote": f"port {8000 + number} it is then",
        "source": Source(
            host="claude-code", session_id="s1", lines=(number, number), uuids=(f"u{number}", f"u{number}"), at=at
        ),
        "trust": "user",
    }
    return Entry(**(values | changes))


def decision_path(number: int) -> str:
    return f"memory/decisions/choice-{number}.md"


def old_path(number: int) -> str:
    return f"memory/decisions/old-{number}.md"


def decision(path: str, body: str, sources: Iterable[Source], **changes: Any) -> Record:
    at = format_time(MORNING)
    values: dict[str, Any] = {"created_at": at, "updated_at": at, "status": "open", "trust": "user"}
    slug = path.rpartition("/")[2].removesuffix(".md")
    return Record(kind="decision", path=path, slug=slug, body=body, sources=tuple(sources), **(values | changes))


class PlainEngine:
    """One decision an entry, and a summary line each; clean-up drops one `old-<n>` record a run."""

    name = "plain"

    def __init__(self, *, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.injection: list[bool] = []
        self.meanwhile = meanwhile

    def set_resident_knowledge_injection(self, on: bool) -> None:
        self.injection.append(on)

    def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
        assert self.injection == [False]
        dispositions = []
        for entry in materials.entries:
            scratch.begin_turn()
            path = f"memory/decisions/{entry.title.lower().replace(' ', '-')}.md"
            while path in scratch.tree:  # a person has one of that name
                path = f"{path.removesuffix('.md')}-b.md"
            text = render_record(decision(path, f"# {entry.title}\n\n{entry.body}\n\n{entry.id}\n", [entry.source]))
            scratch.write(path, text.decode(), [entry.id])
            self._summarise(scratch, entry)
            findings = scratch.end_turn()
            assert not findings, findings
            dispositions.append(Disposition(entry_id=entry.id, kind="applied", record=path))
        self.meanwhile()
        return dispositions

    def _summarise(self, scratch: Scratch, entry: Entry) -> None:
        path = "memory/summary.md"
        there = scratch.read(path)
        record = (
            Record(kind="summary", path=path, slug="summary", body="# Summary\n", updated_at=format_time(MORNING))
            if there is None
            else parse_record(path, there.encode())
        )
        body = f"{record.body.rstrip()}\n- {entry.title}\n"
        scratch.write(path, render_record(replace(record, body=body)).decode(), [entry.id])

    def clean_up(self, scratch: Scratch, materials: CleanupMaterials) -> list[Operation]:
        assert self.injection == [False]
        old = sorted(p for p in scratch.tree if "/old-" in p and p not in materials.protected)
        if not old or not materials.losses_left:
            return []
        scratch.begin_turn()
        scratch.delete(old[0])
        findings = scratch.end_turn()
        assert not findings, findings
        return [Operation(op="drop", paths=(old[0],), categories=("outdated",), reason="it is old")]


class Workshop:
    """One workspace with its database and history."""

    def __init__(self, root: Path, *, environ: Mapping[str, str] | None = None, clock: datetime | None = None) -> None:
        self.workspace = Workspace(root.resolve(), WORKSPACE_ID)
        self.workspace.home.mkdir(parents=True, exist_ok=True)
        self.connection: sqlite3.Connection = connect(self.workspace.database)
        migrate(self.connection)
        self.now = clock or MORNING + timedelta(days=1)
        self.settings: Settings = load_settings(self.workspace, environ=environ or {})
        self.store = StagingStore(self.workspace, self.connection, self.clock)
        self.history = History(self.workspace.history)
        self.history.create()

    def clock(self) -> datetime:
        return self.now

    def close(self) -> None:
        self.connection.close()

    def reopened(self) -> Workshop:
        """As the next process finds it."""
        self.close()
        return Workshop(self.workspace.root, clock=self.now)

    def bench(self, checkpoint: Checkpoint = no_checkpoint) -> Bench:
        return Bench.open(self.workspace, self.connection, self.clock, checkpoint)

    def stage(self, *numbers: int) -> list[str]:
        entries = [make_entry(number) for number in numbers]
        with transaction(self.connection):
            self.store.add_pending(entries)
        self.store.flush_pending()
        return [entry.id for entry in entries]

    def keep_old(self, *numbers: int) -> None:
        """Records of an earlier run, for clean-up to drop."""
        for number in numbers:
            source = make_entry(number + 500).source
            data = render_record(decision(old_path(number), f"# Old {number}\n\nOnce true.\n", [source]))
            self.write(old_path(number), data.decode())
        self.history.commit(self.tree(), author="worker", subject="An earlier run", at=self.now)

    def write(self, path: str, text: str) -> None:
        """As a person's editor does it."""
        file = self.workspace.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def read(self, path: str) -> str:
        return (self.workspace.home / path).read_text(encoding="utf-8")

    def tree(self) -> dict[str, bytes]:
        return load_tree(self.workspace)

    def run(
        self,
        *,
        checkpoint: Checkpoint = no_checkpoint,
        meanwhile: Callable[[], None] = lambda: None,
        engine: Callable[[], Any] | None = None,
        **options: Any,
    ) -> RunReport:
        return run_consolidation(
            self.workspace,
            self.settings,
            self.connection,
            engine or (lambda: PlainEngine(meanwhile=meanwhile)),
            clock=self.clock,
            checkpoint=checkpoint,
            **options,
        )

    def drain(self, *, engine: Callable[[], Any] = PlainEngine, **options: Any) -> ConsolidateReport:
        return consolidate(
            self.workspace, self.settings, self.connection, engine, drain=True, clock=self.clock, **options
        )

    def states(self) -> dict[str, str]:
        return {row["id"]: row["state"] for row in self.connection.execute("SELECT id, state FROM entries")}

    def assert_whole(self, ids: Iterable[str]) -> None:
        """Nothing lost, nothing twice, nothing half-written: what must hold whenever no process is at work."""
        tree = self.tree()
        records = [data.decode() for path, data in tree.items() if path.startswith("memory/decisions/")]
        states = self.states()
        for entry in ids:
            applied = sum(text.count(entry) for text in records)
            file = self.workspace.staging / f"{entry}.json"
            if states[entry] == "consumed":
                assert (applied, file.exists()) == (1, False), entry
            else:
                assert (states[entry], applied, file.exists()) == ("staged", 0, True), entry
        assert History(self.workspace.history).tree() == tree
        assert not self.workspace.journal.exists()
        assert not self.workspace.claim_path.exists()
        folders = (self.workspace.memory, self.workspace.knowledge)
        left = [path for folder in folders for path in folder.rglob(f"{TEMP_PREFIX}*")]
        assert left + list(self.workspace.home.glob(f"{TEMP_PREFIX}*")) == []
        open_runs = self.connection.execute("SELECT count(*) FROM runs WHERE outcome = 'running'").fetchone()
        assert open_runs[0] == 0
