"""The two phases of a run: integration and clean-up, from snapshot to publication (design section 6)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from hikidashi.config.settings import Settings
from hikidashi.errors import Busy, Conflict, LintErrors, ModelFailure
from hikidashi.records.finding import Finding
from hikidashi.staging.claim import HeldClaim
from hikidashi.staging.entry import Disposition, Entry
from hikidashi.times import format_time
from hikidashi.worker.bench import Bench
from hikidashi.worker.cleanup_log import LOG_PATH, with_operations
from hikidashi.worker.dispositions import check_dispositions
from hikidashi.worker.edits import Edits, commit_edits
from hikidashi.worker.engine import Engine
from hikidashi.worker.gate import cleanup_phase, integration_phase
from hikidashi.worker.journal import Journal, Phase
from hikidashi.worker.operations import judge_operations, operation_line
from hikidashi.worker.project import find_project
from hikidashi.worker.publish import publish
from hikidashi.worker.report import Operation, RunReport
from hikidashi.worker.scratch import Change, Lint, Scratch

__all__ = ["PROJECT_WAIT_SECONDS", "EngineFactory", "Phases"]

#: Makes the engine of a run; again when the run starts over, since an engine may hold a conversation.
EngineFactory = Callable[[], Engine]

#: How long a run waits for a git command in the project to end. A stale `index.lock` never goes away.
PROJECT_WAIT_SECONDS: Final = 60.0

_POLL_SECONDS: Final = 0.5

_Result = TypeVar("_Result")


@dataclass(slots=True, kw_only=True)
class Phases:
    """One run under its claim; `integrate` and `clean_up` fill `report`."""

    bench: Bench
    settings: Settings
    held: HeldClaim
    report: RunReport
    make_engine: EngineFactory
    engine: Engine
    #: Raises `BudgetSpent` or `LostClaim`; called before each turn.
    check: Callable[[], None]
    sleep: Callable[[float], None] = time.sleep

    def integrate(self, entries: Sequence[Entry]) -> None:
        """Steps 3 to 6: work the entries in and publish, started over once if a person wrote meanwhile."""
        self._twice(lambda: self._integrate(entries))

    def clean_up(self) -> None:
        """Step 7: tidy with the same engine on fresh materials, published as its own commit."""
        self._twice(self._clean_up)

    def _twice(self, phase: Callable[[], None]) -> None:
        try:
            phase()
        except Conflict as exc:
            if self.bench.workspace.journal.exists():  # begun and not taken back: that is recovery's to end
                raise
            self.report.notices.append(f"started over once: {exc}")
            self.engine = self.make_engine()
            self.engine.set_resident_knowledge_injection(False)
            phase()

    def _integrate(self, entries: Sequence[Entry]) -> None:
        checkpoint = self.bench.checkpoint
        edits = self._snapshot()
        checkpoint("run:snapshot")
        materials, lint = integration_phase(self.bench, self.settings, edits, entries)
        self._note(materials.notices)
        scratch = Scratch(edits.tree, lint, self._turn)
        checkpoint("run:materials")
        dispositions = self.engine.integrate(scratch, materials)
        checkpoint("run:integrated")
        _refuse(lint, scratch)
        wrong = check_dispositions(dispositions, entries, scratch.before, scratch.tree)
        if wrong:
            raise ModelFailure(
                f"the engine's dispositions do not hold ({'; '.join(wrong)}); the entries wait for the next run",
                kind="content",
            )
        checkpoint("run:checked")
        commit = self._publish(
            "integration",
            scratch.changes(),
            dispositions=dispositions,
            subject=f"Integrate {len(entries)} {'entry' if len(entries) == 1 else 'entries'}",
            body="\n".join(_disposition_lines(dispositions, entries)),
        )
        self.report.dispositions = list(dispositions)
        self.report.consumed = len(dispositions)
        self.report.commits["integration"] = commit
        checkpoint("run:published")

    def _clean_up(self) -> None:
        checkpoint = self.bench.checkpoint
        edits = self._snapshot()
        materials, lint = cleanup_phase(self.bench, self.settings, edits)
        scratch = Scratch(edits.tree, lint, self._turn)
        claimed = self.engine.clean_up(scratch, materials)
        checkpoint("run:cleaned-up")
        if not scratch.changes() and not claimed:
            return
        _refuse(lint, scratch)
        operations, wrong = judge_operations(
            claimed,
            scratch.before,
            scratch.tree,
            protected=materials.protected,
            losses_left=materials.losses_left,
        )
        if wrong:
            raise ModelFailure(
                f"the engine's clean-up does not hold ({'; '.join(wrong)}); nothing of it was published", kind="content"
            )
        commit = self._publish(
            "clean-up",
            {**scratch.changes(), **self._log_change(edits, operations)},
            operations=operations,
            subject=_cleanup_subject(operations),
            body="\n".join(operation_line(operation) for operation in operations),
        )
        self.report.operations = list(operations)
        self.report.commits["clean-up"] = commit
        checkpoint("run:clean-up-published")

    def _snapshot(self) -> Edits:
        """The live tree, committed, once the project's git is at rest."""
        edits = self._when_git_rests(lambda: commit_edits(self.bench))
        self._note(edits.notices)
        return edits

    def _when_git_rests(self, step: Callable[[], _Result]) -> _Result:
        """Do `step` under the guard, at a moment when no git command is half-way through the project's files.

        Raises `Busy` after `PROJECT_WAIT_SECONDS`.
        """
        project = find_project(self.bench.workspace)
        deadline = time.monotonic() + PROJECT_WAIT_SECONDS
        waits = project is not None and project.tracks_records_or_unreadable()
        while True:
            with self.held.guard():
                reason = project.busy() if project is not None and waits else ""
                if not reason:
                    return step()
            if time.monotonic() > deadline:
                raise Busy(f"{reason}; finish or abort that, then run `hikidashi consolidate`")
            self.check()
            self.sleep(_POLL_SECONDS)

    def _publish(
        self,
        phase: Phase,
        changes: Mapping[str, Change],
        *,
        subject: str,
        body: str,
        dispositions: Sequence[Disposition] = (),
        operations: Sequence[Operation] = (),
    ) -> str:
        journal = Journal(
            workspace_id=self.bench.workspace.id,
            run_id=self.report.run_id,
            phase=phase,
            engine=self.report.engine,
            at=format_time(self.bench.clock()),
            changes=dict(changes),
            dispositions=tuple(dispositions),
            operations=tuple(operations),
            subject=subject,
            body=body,
            trailers=_trailers(self.report.engine, operations),
        )
        return self._when_git_rests(lambda: publish(self.bench, self.held, journal))

    def _log_change(self, snapshot: Edits, operations: Sequence[Operation]) -> dict[str, Change]:
        if LOG_PATH in snapshot.refused:  # history has the operations all the same
            self._note([f"{LOG_PATH} was not written: {snapshot.refused[LOG_PATH].message}"])
            return {}
        old = snapshot.tree.get(LOG_PATH)
        at = format_time(self.bench.clock())
        return {LOG_PATH: (old, with_operations(old, operations, self.report.run_id, at))}

    def _turn(self) -> None:
        self.check()
        self.report.turns += 1

    def _note(self, lines: Sequence[str]) -> None:
        self.report.notices += [line for line in lines if line not in self.report.notices]


def _refuse(lint: Lint, scratch: Scratch) -> None:
    """The last look before publication: whatever the engine did, no new error gets out."""
    findings: list[Finding] = lint(scratch.before, scratch.tree, scratch.named)
    if findings:
        first = findings[0]
        raise LintErrors(
            f"{first.path}:{first.line}: {first.code} {first.message} (and {len(findings) - 1} more); "
            "nothing was published"
        )


def _disposition_lines(dispositions: Sequence[Disposition], entries: Sequence[Entry]) -> list[str]:
    titles = {entry.id: " ".join(entry.title.split()) for entry in entries}
    return [f"{d.entry_id} {d.kind} {d.record or d.reason}: {titles[d.entry_id]}" for d in dispositions]


def _cleanup_subject(operations: Sequence[Operation]) -> str:
    counts = Counter(operation.op for operation in operations)
    return "Clean up: " + ", ".join(f"{op} {count}" for op, count in sorted(counts.items()))


def _trailers(engine: str, operations: Sequence[Operation]) -> dict[str, tuple[str, ...]]:
    trailers: dict[str, tuple[str, ...]] = {"Engine": (engine,)}
    if operations:
        trailers["Operation"] = tuple(operation_line(operation) for operation in operations)
    return trailers
