"""What waits in staging, what a sweep of it found, and how much of it one run takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hikidashi.staging.entry import Entry

if TYPE_CHECKING:  # pydantic takes a third of a second to load, and the settings come in ready
    from hikidashi.config.settings import Settings

__all__ = ["StagedEntry", "StagingTotals", "SweepReport", "next_batch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedEntry:
    """An entry that waits for a run."""

    entry: Entry
    #: Size of its file.
    bytes: int
    #: Runs that failed on content or lint while holding it, and of those the ones where it was alone.
    attempts: int
    lone_failures: int
    #: When it was captured, ISO 8601.
    added_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingTotals:
    """What waits, for the trigger and for `status`."""

    entries: int
    bytes: int
    #: Captured, but the file could not be written yet (the next start does it).
    pending: int
    #: Things lying in `staging/` that are no entries; the next sweep sets them aside.
    invalid: int
    #: Things in `staging/quarantine/`.
    quarantined: int
    #: When the one that waits longest was captured, ISO 8601; None when nothing waits.
    oldest_at: str | None


@dataclass(slots=True, kw_only=True)
class SweepReport:
    """What a sweep found and did; empty when folder and rows agreed."""

    #: IDs whose files were written: captured before, but the writer was killed.
    flushed: int = 0
    #: IDs of valid files that no row knew.
    adopted: list[str] = field(default_factory=list)
    #: IDs of staged rows whose file was missing or had been changed.
    rewritten: list[str] = field(default_factory=list)
    #: IDs of consumed rows whose file was still there.
    deleted: list[str] = field(default_factory=list)
    #: Names in quarantine -> why.
    quarantined: dict[str, str] = field(default_factory=dict)
    temporaries: int = 0

    def lines(self) -> list[str]:
        """What a person should know, one line each."""
        said = [f"quarantine/{' '.join(name.split())}: {reason}" for name, reason in sorted(self.quarantined.items())]
        if self.adopted:
            said.append(f"{len(self.adopted)} entries in staging/ that the database did not know were taken up")
        if self.rewritten:
            said.append(f"{len(self.rewritten)} entry files were missing or changed and were written again")
        return said


def next_batch(
    staged: Sequence[StagedEntry], settings: Settings, limit_override: int | None = None
) -> list[StagedEntry]:
    """The first of `staged` that fit one run's budget of entries and bytes; one always fits.

    `limit_override` lowers the number of entries (a batch that failed is halved); it never raises it.
    """
    limit = settings.worker.batch_entries
    if limit_override is not None:
        limit = max(1, min(limit, limit_override))
    batch: list[StagedEntry] = []
    size = 0
    for entry in staged[:limit]:
        size += entry.bytes
        if batch and size > settings.worker.batch_bytes:
            break
        batch.append(entry)
    return batch
