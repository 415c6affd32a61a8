"""Whatever order things happen in, and wherever the process dies: no entry lost, none consumed twice.

A state machine drives the store through captures, runs, take-backs and harm done to the folder; before any
step of a write the process may die, and is then started anew. A plain dictionary says what must be true.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from hikidashi.atomic import Step, observed
from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.errors import StorageFailure
from hikidashi.source import Source
from hikidashi.staging.entry import Disposition, Entry, entry_id
from hikidashi.staging.store import StagingStore

AT = "2026-05-03T09:30:00.000Z"


def make_entry(number: int) -> Entry:
    return Entry(
        id=entry_id("claude-code", AT, str(number), "attempt", 0),
        kind="attempt",
        title=f"Attempt {number}",
        body="x" * number,
        why="",
        quote="",
        source=Source(host="claude-code", session_id="s1", lines=(1, 2), uuids=("a", "b"), at=AT),
        trust="tool",
    )


ENTRIES = {entry.id: entry for entry in map(make_entry, range(5))}
IDS = sorted(ENTRIES)

some_ids = st.sets(st.sampled_from(IDS), min_size=1)
#: The process dies before this step of a write; most operations have fewer steps and live.
death = st.one_of(st.none(), st.integers(0, 12))


class ProcessDies(BaseException):
    """kill -9."""


def dying_at(step_number: int | None) -> Callable[[Step, Path], None]:
    steps = [0]

    def before(step: Step, path: Path) -> None:
        if steps[0] == step_number:
            raise ProcessDies
        steps[0] += 1

    return before


class Staging(RuleBasedStateMachine):
    """The store beside a dictionary of states."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="hikidashi-staging-"))
        self.workspace = Workspace(self.folder, "0" * 32)
        self.workspace.home.mkdir()
        self.open()
        #: What must be true: ID -> (state, run, disposition).
        self.model: dict[str, tuple[str, str | None, str | None]] = {}
        self.runs = 0

    def open(self) -> None:
        self.connection: sqlite3.Connection = connect(self.workspace.database)
        self.connection.execute("PRAGMA synchronous = OFF")  # no power is cut here
        migrate(self.connection)
        self.store = StagingStore(self.workspace, self.connection)

    def teardown(self) -> None:
        self.connection.close()
        shutil.rmtree(self.folder)

    def rows(self) -> dict[str, tuple[str, str | None, str | None]]:
        found = self.connection.execute("SELECT id, state, run_id, disposition FROM entries")
        return {row["id"]: (row["state"], row["run_id"], row["disposition"]) for row in found}

    def survive(
        self, dies_at: int | None, act: Callable[[], object], after: dict[str, tuple[str, str | None, str | None]]
    ) -> None:
        """Do `act`, which leads to `after` for the IDs that it names; after a death each ID is before or after."""
        expected = self.model | after
        try:
            with observed(dying_at(dies_at)):
                act()
        except ProcessDies:
            self.connection.close()
            self.open()
            rows = self.rows()
            for known in expected.keys() | rows.keys():
                assert rows.get(known) in (self.model.get(known), expected.get(known)), known
            self.model = rows
        else:
            self.model = expected

    def waiting(self) -> list[str]:
        return [known for known, (state, _, _) in self.model.items() if state == "staged"]

    @rule(ids=some_ids)
    def capture(self, ids: set[str]) -> None:
        new = ids - self.model.keys()
        with transaction(self.connection):
            assert set(self.store.add_pending(ENTRIES[known] for known in sorted(ids))) == new
        self.model |= dict.fromkeys(new, ("pending", None, None))

    @rule(dies_at=death)
    def flush(self, dies_at: int | None) -> None:
        after = {known: ("staged", None, None) for known, (state, _, _) in self.model.items() if state == "pending"}
        self.survive(dies_at, self.store.flush_pending, dict(after))

    @rule(dies_at=death)
    def sweep(self, dies_at: int | None) -> None:
        after = {known: ("staged", None, None) for known, (state, _, _) in self.model.items() if state == "pending"}
        self.survive(dies_at, self.store.sweep, dict(after))
        if dies_at is None:
            self.check_folder()

    @rule(ids=some_ids, discarded=some_ids, dies_at=death)
    def run(self, ids: set[str], discarded: set[str], dies_at: int | None) -> None:
        """A run over some of what waits: one transaction, then the files."""
        taken = sorted(ids & set(self.waiting()))
        if not taken:
            return
        self.runs += 1
        run_id = f"R{self.runs}"
        kinds = {known: "discarded" if known in discarded else "applied" for known in taken}
        dispositions = [
            Disposition(entry_id=known, kind="discarded" if known in discarded else "applied") for known in taken
        ]

        def publish() -> None:
            with transaction(self.connection):
                self.store.consume(run_id, dispositions)
            self.store.delete_files(taken)

        self.survive(dies_at, publish, {known: ("consumed", run_id, kinds[known]) for known in taken})

    def consumed_by(self, run_id: str, kinds: Iterable[str]) -> list[str]:
        return sorted(known for known, (_, run, kind) in self.model.items() if run == run_id and (kind or "") in kinds)

    @rule(number=st.integers(1, 6), dies_at=death)
    def requeue(self, number: int, dies_at: int | None) -> None:
        freed = self.consumed_by(f"R{number}", ["discarded"])
        before = dict(self.model)
        self.model |= dict.fromkeys(freed, ("pending", None, None))  # committed before any file is touched
        try:
            with observed(dying_at(dies_at)):
                assert self.store.requeue(f"R{number}") == freed
        except ProcessDies:
            self.connection.close()
            self.open()
        rows = self.rows()
        for known, row in rows.items():
            pending = self.model[known][0] == "pending"
            assert row == (("staged", None, None) if pending and row[0] == "staged" else self.model[known]), before
        self.model = rows

    @rule(number=st.integers(1, 6))
    def take_back(self, number: int) -> None:
        freed = self.consumed_by(f"R{number}", ["applied", "discarded"])
        with transaction(self.connection):
            assert self.store.release(f"R{number}") == len(freed)
        self.model |= dict.fromkeys(freed, ("staged", None, None))

    @rule(known=st.sampled_from(IDS), dies_at=death)
    def fail_alone(self, known: str, dies_at: int | None) -> None:
        row = self.connection.execute("SELECT lone_failures FROM entries WHERE id = ?", (known,)).fetchone()
        last = self.model.get(known, ("",))[0] == "staged" and row["lone_failures"] == 2
        after: dict[str, tuple[str, str | None, str | None]] = {known: ("quarantined", None, None)} if last else {}
        self.survive(dies_at, lambda: self.store.count_failure([known]), after)

    @rule(known=st.sampled_from(IDS), harm=st.sampled_from(["gone", "empty", "garbage", "folder", "copy"]))
    def harm(self, known: str, harm: str) -> None:
        """A person, a backup or a power cut changes a file; `copy` brings back one of a known entry."""
        if known not in self.model:
            return
        self.workspace.staging.mkdir(exist_ok=True)
        path = self.workspace.staging / f"{known}.json"
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        if harm == "folder":
            path.mkdir()
        elif harm != "gone":
            content = {"empty": "", "garbage": "{", "copy": ENTRIES[known].to_json()}[harm]
            path.write_text(content, encoding="utf-8")

    @invariant()
    def rows_are_as_they_must_be(self) -> None:
        assert self.rows() == self.model
        assert sorted(staged.entry.id for staged in self.store.staged()) == sorted(self.waiting())
        assert self.store.totals().entries == len(self.waiting())

    def check_folder(self) -> None:
        """After a sweep the folder holds exactly what waits, word for word."""
        files = {p.name: p.read_text(encoding="utf-8") for p in self.workspace.staging.glob("*.json")}
        assert files == {f"{known}.json": ENTRIES[known].to_json() for known in self.waiting()}
        assert self.store.totals().invalid == 0
        assert self.store.sweep().lines() == []


TestStaging = Staging.TestCase
TestStaging.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.slow
def test_the_same_for_long() -> None:
    run_state_machine_as_test(
        Staging,
        settings=settings(
            max_examples=300, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_a_disk_that_is_full_at_any_step_loses_nothing(tmp_path: Path) -> None:
    """One clear error at each step in turn; once there is space again the same calls end well."""
    ids = IDS[:2]
    refused = 0
    for refuse_at in range(100):
        workspace = Workspace(tmp_path / str(refuse_at), "0" * 32)
        workspace.home.mkdir(parents=True)
        connection = connect(workspace.database)
        connection.execute("PRAGMA synchronous = OFF")
        migrate(connection)
        store = StagingStore(workspace, connection)
        steps = [0]

        def refuse(step: Step, path: Path, refuse_at: int = refuse_at, steps: list[int] = steps) -> None:
            steps[0] += 1
            if steps[0] > refuse_at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with transaction(connection):
            store.add_pending(ENTRIES[known] for known in ids)
        run = [Disposition(entry_id=known, kind="discarded", reason="noise") for known in ids[:1]]

        def work(
            store: StagingStore = store, connection: sqlite3.Connection = connection, run: list[Disposition] = run
        ) -> None:
            store.sweep()
            with transaction(connection):
                store.consume("R1", run)
            store.delete_files(ids[:1])
            (store._folder.staging / "notes.txt").write_text("mine")
            store.sweep()
            store.requeue("R1")

        with observed(refuse):
            try:
                work()
            except StorageFailure as exc:
                refused += 1
                assert "\n" not in str(exc)
            else:
                assert refused > 20
                connection.close()
                break
        store.sweep()
        rows = {row["id"]: row["state"] for row in connection.execute("SELECT id, state FROM entries")}
        files = sorted(p.stem for p in workspace.staging.glob("*.json"))
        assert len(rows) == len(ids)
        assert files == sorted(known for known, state in rows.items() if state == "staged")
        assert set(rows.values()) <= {"staged", "consumed"}
        connection.close()
    else:
        pytest.fail("it never ended well")
