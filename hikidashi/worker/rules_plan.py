"""What the rules engine means to do with one entry, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

from hikidashi.records.record import Record
from hikidashi.source import Source
from hikidashi.staging.entry import Disposition, DispositionKind, Entry

__all__ = ["Plan", "SummaryLine", "at_hand", "discarded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryLine:
    """A dated line for "Recent work" or "Known failures" of the summary."""

    section: str
    #: `- 2026-05-03 09:30: what, proof`.
    text: str
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One entry's disposition and the writes that make it true."""

    kind: DispositionKind
    record: str = ""
    reason: str = ""
    writes: tuple[Record, ...] = ()
    #: Paths of `writes` that take in the entry's content and source.
    takes: frozenset[str] = frozenset()
    line: SummaryLine | None = None
    #: What to do instead when the linter refuses the writes; None: then the entry is discarded with its reason.
    otherwise: Plan | None = None

    def disposition(self, entry: Entry) -> Disposition:
        """The disposition in the form of the run's report."""
        return Disposition(entry_id=entry.id, kind=self.kind, record=self.record, reason=self.reason)


def discarded(reason: str) -> Plan:
    """The entry goes; `reason` says why."""
    return Plan(kind="discarded", reason=reason)


def at_hand(kind: DispositionKind, record: Record, existed: frozenset[str], reason: str) -> Plan:
    """`duplicate` or `covered` by a record that stood there before this run.

    By a record that this run made, an entry is merged if that record has its source, else discarded: the two
    kinds are for records that existed.
    """
    if record.path in existed:
        return Plan(kind=kind, record=record.path, reason=reason)
    if kind == "duplicate":
        return Plan(kind="merged", record=record.path, reason=reason)
    return discarded(f"{reason} ({record.path})")
