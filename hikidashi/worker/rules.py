"""The embedded engine: deterministic, free, no model (design section 6, "Engines").

The same entries on the same tree give the same bytes: no clock and no chance gets into a text. Each entry is
one turn of the scratch, oldest first; a turn that the linter returns costs that entry alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Final

from hikidashi.config.settings import Settings
from hikidashi.errors import LintErrors
from hikidashi.records.finding import Finding
from hikidashi.records.record import SUMMARY, render_record
from hikidashi.staging.entry import Disposition, Entry
from hikidashi.times import Clock, now, parse_time
from hikidashi.worker.engine import CleanupMaterials, Materials
from hikidashi.worker.report import Operation
from hikidashi.worker.rules_cleanup import CleanUp
from hikidashi.worker.rules_decisions import plan_decision, plan_discussion
from hikidashi.worker.rules_plan import Plan, discarded
from hikidashi.worker.rules_requests import FAILURES, plan_attempt, plan_request, summary_line
from hikidashi.worker.rules_summary import Summary
from hikidashi.worker.rules_text import moment
from hikidashi.worker.scratch import Scratch
from hikidashi.worker.shelf import Shelf

__all__ = ["Integration", "RulesEngine"]

_PLANNERS: Final = {
    "decision": plan_decision,
    "discussion": plan_discussion,
    "attempt": plan_attempt,
    "request": plan_request,
}


class RulesEngine:
    """Consolidates by rules alone; implements `Engine`."""

    name = "rules"

    def __init__(self, settings: Settings, clock: Clock = now) -> None:
        self._settings = settings
        self._clock = clock

    def set_resident_knowledge_injection(self, on: bool) -> None:
        """Nothing to do: there is no system prompt."""

    def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
        """Work the entries into the scratch; one disposition for each, in the order of the materials.

        Raises `LintErrors` after `worker.max_lint_failures` returned turns without a clean one between, and
        what the scratch's check raises.
        """
        limit = self._settings.worker.max_lint_failures
        return Integration(scratch, materials.read_only, limit).run(materials.entries)

    def clean_up(self, scratch: Scratch, materials: CleanupMaterials) -> list[Operation]:
        """Tidy the scratch: only what the materials cite, one turn an operation; the operations in order."""
        return CleanUp(scratch, materials, self._settings).run()


class Integration:
    """One integration phase."""

    def __init__(self, scratch: Scratch, read_only: Collection[str], max_failures: int) -> None:
        self._scratch = scratch
        self._shelf = Shelf(scratch.tree, read_only)
        self._summary = Summary.read(scratch.tree)
        self._summary_shut = SUMMARY in read_only
        self._max_failures = max_failures
        self._failures = 0
        self._plans: dict[str, Plan] = {}
        #: IDs of entries whose dated line stands in the summary.
        self._lined: dict[str, None] = {}

    def run(self, entries: Collection[Entry]) -> list[Disposition]:
        """All entries, oldest first, then the summary's lists of records."""
        for entry in _in_order(entries):
            self._plans[entry.id] = self._take(entry)
        self._write_lists()
        return [self._settled(self._plans[entry.id]).disposition(entry) for entry in entries]

    def _take(self, entry: Entry) -> Plan:
        """Plan one entry and write it as one turn."""
        failure = Plan(kind="applied", line=summary_line(entry, FAILURES)) if entry.kind == "attempt" else None
        if failure is not None and not self._summary_shut:
            known = self._line_at_hand(failure)
            if known is not None:  # it came before its session's request did
                return known
        plan = _PLANNERS[entry.kind](entry, self._shelf)
        done = self._carry_out(entry, plan)
        while not isinstance(done, Plan):
            if plan.otherwise is None:
                return self._returned(done)
            plan = plan.otherwise
            done = self._carry_out(entry, plan)
        return done

    def _carry_out(self, entry: Entry, plan: Plan) -> Plan | list[Finding]:
        """Write a plan as one turn; gives it as it was carried out, or what the linter has against it."""
        line = plan.line
        if line is not None and not plan.takes:
            known = self._line_at_hand(plan)
            if known is not None:
                return known
        if not plan.writes and line is None:
            return plan
        draft = self._summary
        saved = draft.state()
        self._scratch.begin_turn()
        self._shelf.begin()
        for record in plan.writes:
            self._shelf.put(record)
            ids = (entry.id,) if record.path in plan.takes else ()
            self._scratch.write(record.path, render_record(record).decode("utf-8"), ids)
        stands = line is not None and not self._summary_shut and draft.add(line)
        draft.touch(moment(entry))
        if stands and not self._write_summary((entry.id,)):
            draft.restore(saved)
            stands = False
        findings = self._scratch.end_turn()
        if findings:
            self._shelf.take_back()
            draft.restore(saved)
            return findings
        self._failures = 0
        if stands:
            self._lined[entry.id] = None
        return self._placed(plan, stands)

    def _line_at_hand(self, plan: Plan) -> Plan | None:
        """What becomes of an entry that is a line of the summary only, when that cannot or need not be written."""
        line = plan.line
        assert line is not None
        if self._summary_shut:
            return discarded("memory/summary.md is read-only; mend it, then `hikidashi requeue` stages this again")
        if not self._summary.has(line):
            return None
        if SUMMARY in self._shelf.existed and self._summary.record and line.source in self._summary.record.sources:
            return Plan(kind="duplicate", record=SUMMARY, reason="this line and source stand there already")
        return Plan(kind="merged", record=SUMMARY, line=line)

    def _placed(self, plan: Plan, stands: bool) -> Plan:
        """The plan with the record that carries its entry."""
        if plan.takes or plan.line is None:
            return plan
        if stands:
            return replace(plan, record=SUMMARY)
        if plan.writes:
            return discarded(f"closed {', '.join(r.path for r in plan.writes)}; no room for its line in the summary")
        return discarded(f"newer lines fill “{plan.line.section}” of the summary")

    def _settled(self, plan: Plan) -> Plan:
        """The plan at the end of the phase: a line may have given way to newer ones since."""
        if plan.record == SUMMARY and plan.line is not None and not self._summary.stands(plan.line):
            return discarded(f"newer lines fill “{plan.line.section}” of the summary")
        return plan

    def _write_summary(self, entry_ids: Collection[str]) -> bool:
        """Write the summary if it says something new; False when it has no room or nothing to say."""
        text = self._summary.text(self._shelf.records.values())
        if text is None:
            return False
        if text.encode("utf-8") != self._scratch.tree.get(SUMMARY):
            self._scratch.write(SUMMARY, text, entry_ids)
        return True

    def _write_lists(self) -> None:
        """The last turn: what the summary says of the records."""
        if self._summary_shut:
            return
        self._scratch.begin_turn()
        self._write_summary(tuple(self._lined))
        findings = self._scratch.end_turn()
        if findings:  # every record in it passed the linter; this is a fault of ours, not of an entry
            raise LintErrors(f"the summary cannot be written: {_said(findings)}; report it with `hikidashi lint`")

    def _returned(self, findings: list[Finding]) -> Plan:
        self._failures += 1
        if self._failures >= self._max_failures:
            raise LintErrors(
                f"{self._failures} entries in a row were refused: {_said(findings)}; the next run takes fewer at once"
            )
        return discarded(f"the linter refused it: {_said(findings)}")


def _in_order(entries: Collection[Entry]) -> list[Entry]:
    """Oldest first; but an attempt comes after the open request of its session, which is written at its end."""
    opened: dict[tuple[str, str], datetime] = {}
    for entry in entries:
        if entry.kind == "request" and entry.status != "done":
            key, at = (entry.source.host, entry.source.session_id), parse_time(entry.source.at)
            opened[key] = min(at, opened.get(key, at))

    def moment_of(entry: Entry) -> tuple[datetime, bool, str]:
        at = parse_time(entry.source.at)
        if entry.kind == "attempt":
            at = max(at, opened.get((entry.source.host, entry.source.session_id), at))
        return at, entry.kind == "attempt", entry.id

    return sorted(entries, key=moment_of)


def _said(findings: list[Finding]) -> str:
    first = findings[0]
    return f"{first.code} {first.path}:{first.line} {first.message}"
