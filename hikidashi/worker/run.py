"""One consolidation run, and how runs follow each other (design section 6).

`run_consolidation` reads as the steps of the design. Everything that can be lost is safe before each step:
entries stay staged until the transaction that follows the history commit, and a publication that was begun is
finished by whoever takes the claim next.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from hikidashi.config.settings import Settings
from hikidashi.config.workspace import Workspace
from hikidashi.errors import BudgetSpent, Busy, CorruptData, HikidashiError, StorageFailure
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.staging.claim import HeldClaim, take_claim
from hikidashi.staging.entry import Entry
from hikidashi.staging.pause import paused_since
from hikidashi.staging.store import StagingStore, next_batch
from hikidashi.times import Clock, format_time, now
from hikidashi.ulid import random_ulid
from hikidashi.worker.bench import Bench, Checkpoint, no_checkpoint
from hikidashi.worker.ledger import batch_limit, close_run, halve_batch, run_row, set_batch_limit, start_run
from hikidashi.worker.outcomes import CONTENT_FAILURES, FAILURES, exit_code, outcome_of
from hikidashi.worker.phases import EngineFactory, Phases
from hikidashi.worker.recover import recover
from hikidashi.worker.report import Outcome, RunReport

__all__ = ["ConsolidateReport", "consolidate", "exit_code", "run_consolidation"]

#: Between two looks at a claim that another process holds, while `--drain` waits for it.
_DRAIN_POLL_SECONDS: Final = 1.0


def run_consolidation(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    engine_factory: EngineFactory,
    *,
    clean_up_only: bool = False,
    clock: Clock = now,
    checkpoint: Checkpoint = no_checkpoint,
    processes: Processes = SYSTEM_PROCESSES,
    sleep: Callable[[float], None] = time.sleep,
) -> RunReport:
    """One run: claim, recover, integrate, clean up, release.

    How it ended stands in the report's `outcome`; `exit_code(outcome)` is the command's. Raises only what is
    no outcome of a run: `StorageFailure`, `CorruptData`, and errors of the program itself. Nothing is lost then.
    """
    began = time.monotonic()
    report = RunReport(run_id=random_ulid(clock()), engine="", started_at=format_time(clock()))
    since = paused_since(connection)
    if since:
        report.message = f"paused since {since}; run `hikidashi resume`"
        return report
    # 1. Claim
    try:
        held = take_claim(
            workspace, report.run_id, max_seconds=settings.worker.max_seconds, clock=clock, processes=processes
        )
    except Busy as exc:
        report.outcome, report.message = "busy", str(exc)
        return report
    report.started_at = held.claim.started_at  # not before: the run that held it until now has ended then
    bench = Bench.open(workspace, connection, clock, checkpoint)
    run = _Run(bench=bench, settings=settings, held=held, report=report, began=began, sleep=sleep)
    try:
        checkpoint("run:claimed")
        held.start_heartbeat()
        run.under_claim(engine_factory, clean_up_only)
    finally:
        held.stop_heartbeat()
        _release(held, report)
        report.seconds = time.monotonic() - began
    checkpoint("run:released")
    return report


def _release(held: HeldClaim, report: RunReport) -> None:
    try:
        held.release()
    except (Busy, StorageFailure) as exc:  # the run has ended all the same; the claim dies with this process
        report.notices.append(f"the claim could not be released: {exc}")


def _done_line(report: RunReport) -> str:
    count = len(report.operations)
    tidied = f", {count} clean-up {'operation' if count == 1 else 'operations'}" if count else ""
    return f"{report.consumed} {'entry' if report.consumed == 1 else 'entries'} consumed{tidied}"


@dataclass(slots=True, kw_only=True)
class _Run:
    """What `run_consolidation` does while it holds the claim."""

    bench: Bench
    settings: Settings
    held: HeldClaim
    report: RunReport
    began: float
    sleep: Callable[[float], None]
    batch: list[str] = field(default_factory=list)

    def under_claim(self, engine_factory: EngineFactory, clean_up_only: bool) -> None:
        """Steps 2 to 8."""
        # 2. Recover what a killed run left
        self._recover()
        # 3. Fix the IDs
        entries = [] if clean_up_only else self._take_entries()
        if not entries and not clean_up_only:
            self.report.message = "nothing is staged"
            return
        # 4. The engine, with no knowledge put into its prompt
        engine = engine_factory()
        engine.set_resident_knowledge_injection(False)
        self.report.engine = engine.name
        start_run(self.bench.connection, self.report, self.batch)
        self.bench.checkpoint("run:started")
        phases = Phases(
            bench=self.bench,
            settings=self.settings,
            held=self.held,
            report=self.report,
            make_engine=engine_factory,
            engine=engine,
            check=self._check,
            sleep=self.sleep,
        )
        # 5. Integration, published
        if entries:
            self._phase(lambda: phases.integrate(entries))
        # 6. Clean-up, published; alone when that was asked for
        if clean_up_only or self.report.outcome == "done":
            self._phase(phases.clean_up)
        # 7. The run's row, and what this run says about the next batch
        self._save()
        self._learn()
        self.bench.checkpoint("run:saved")

    def _recover(self) -> None:
        report, bench = self.report, self.bench
        report.recovered += self.held.found
        # A journal consumes entries by their rows: files that no row knows are taken up before.
        report.recovered += bench.store.sweep().lines()
        with self.held.guard():
            self.held.verify()
            found = recover(bench, report.run_id)
        report.recovered += found
        bench.checkpoint("run:recovered")
        if found:
            report.recovered += bench.store.sweep().lines()
        bench.checkpoint("run:swept")
        report.remaining = bench.store.totals().entries

    def _take_entries(self) -> list[Entry]:
        staged = self.bench.store.staged()
        batch = next_batch(staged, self.settings, batch_limit(self.bench.connection))
        self.batch = [one.entry.id for one in batch]
        if self.batch:
            self.held.set_consumed(self.batch)
        return [one.entry for one in batch]

    def _check(self) -> None:
        """Before each turn: the time that a run may take, and whether the claim is still ours."""
        limit = self.settings.worker.max_seconds
        if time.monotonic() - self.began > limit:
            raise BudgetSpent(f"the run took longer than {limit} seconds; raise worker.max_seconds or run it again")
        self.held.verify()

    def _phase(self, phase: Callable[[], None]) -> None:
        """Do one phase and set the outcome. Errors that are no outcome are raised, the outcome set as well."""
        report = self.report
        try:
            phase()
        except HikidashiError as exc:
            outcome = outcome_of(exc)
            report.message = str(exc)
            self._see_what_was_published()
            report.outcome = self._failed(outcome or "crashed")
            if outcome is None:
                self._save_if_possible()
                raise
        except KeyboardInterrupt:
            self._see_what_was_published()
            report.outcome, report.message = self._failed("crashed"), "interrupted"
            self._save_if_possible()  # an end of its own: no entry is to blame for it
            raise
        except Exception as exc:
            # A fault of the program, perhaps over one entry: the batch is halved until that one is alone.
            self._see_what_was_published()
            report.outcome = self._failed("crashed")
            report.message = f"the program failed ({type(exc).__name__}); the entries stayed staged"
            self._save_if_possible()
            self._learn()
            raise
        else:
            report.outcome, report.message = "done", _done_line(report)

    def _failed(self, outcome: Outcome) -> Outcome:
        """`partial` once integration is published: what a clean-up fails at costs no entry."""
        return "partial" if "integration" in self.report.commits else outcome

    def _see_what_was_published(self) -> None:
        """An error in the middle of a publication: the row may know more than we, or the journal waits."""
        report = self.report
        with contextlib.suppress(StorageFailure, CorruptData, Busy):
            row = run_row(self.bench.connection, report.run_id)
            if row is not None:
                report.commits = {**row.report.get("commits", {}), **report.commits}
                report.consumed = row.report.get("consumed", report.consumed)
        if self.bench.workspace.journal.exists():
            report.notices.append("a publication was begun; the next run finishes it, no entry is lost")

    def _save(self) -> None:
        report, bench = self.report, self.bench
        report.remaining = bench.store.totals().entries
        report.seconds = time.monotonic() - self.began
        close_run(bench.connection, report.run_id, report.outcome, bench.clock(), report.to_dict())

    def _save_if_possible(self) -> None:
        """Where the database cannot be written either, the next run closes the row as crashed."""
        with contextlib.suppress(StorageFailure, CorruptData, Busy):
            self._save()

    def _learn(self) -> None:
        """Halve the next batch after a failure that an entry may have caused; let it grow back after success."""
        connection, outcome = self.bench.connection, self.report.outcome
        limit = batch_limit(connection)
        if "integration" in self.report.commits:
            if limit is not None:
                grown = limit * 2
                set_batch_limit(connection, grown if grown < self.settings.worker.batch_entries else None)
        elif self.batch and outcome in (*CONTENT_FAILURES, "crashed"):
            halve_batch(connection, len(self.batch))
            if outcome in CONTENT_FAILURES or len(self.batch) == 1:
                quarantined = self.bench.store.count_failure(self.batch)
                self.report.notices += [f"entry {i} failed alone too often and is in quarantine" for i in quarantined]
            self._save()  # again: saved first, so that a kill in between does not count the failure twice


@dataclass(slots=True, kw_only=True)
class ConsolidateReport:
    """The runs of one `consolidate`, in order; at least one."""

    runs: list[RunReport]

    @property
    def last(self) -> RunReport:
        """The run that ended last: what remains, and why no further one followed."""
        return self.runs[-1]

    @property
    def exit_code(self) -> int:
        """The code of the first run that failed, else 0."""
        return next((code for code in (exit_code(run.outcome) for run in self.runs) if code), 0)

    def to_dict(self) -> dict[str, object]:
        """The last run in the form of `status --json`, and all of them under `runs`."""
        return {**self.last.to_dict(), "runs": [run.to_dict() for run in self.runs]}


def consolidate(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    engine_factory: EngineFactory,
    *,
    manual: bool = True,
    drain: bool = False,
    clean_up_only: bool = False,
    coalesce: bool = True,
    clock: Clock = now,
    checkpoint: Checkpoint = no_checkpoint,
    processes: Processes = SYSTEM_PROCESSES,
    sleep: Callable[[float], None] = time.sleep,
) -> ConsolidateReport:
    """Run once, or as often as the caller's kind allows. Raises as `run_consolidation` does.

    By hand: exactly one pass. `drain`: until nothing is staged or a run fails; a claim that another process
    holds is waited for, `worker.max_seconds` in all. Automatic (not `manual`), with `coalesce`: at most
    `worker.max_coalesced_runs` further ones for entries that are left or arrived meanwhile.
    """
    further = settings.worker.max_coalesced_runs if coalesce and not manual else 0
    patience = float(settings.worker.max_seconds) if drain else 0.0
    store = StagingStore(workspace, connection, clock)
    runs: list[RunReport] = []
    while True:
        run = run_consolidation(
            workspace,
            settings,
            connection,
            engine_factory,
            clean_up_only=clean_up_only,
            clock=clock,
            checkpoint=checkpoint,
            processes=processes,
            sleep=sleep,
        )
        if run.outcome == "busy" and patience > 0:
            patience -= _DRAIN_POLL_SECONDS
            sleep(_DRAIN_POLL_SECONDS)
            continue
        runs.append(run)
        run.remaining = store.totals().entries  # after the release: what arrived until now
        ended = run.outcome in FAILURES or run.outcome == "idle" or run.remaining == 0 or clean_up_only
        if ended or not (drain or further > 0):
            return ConsolidateReport(runs=runs)
        further -= 1
