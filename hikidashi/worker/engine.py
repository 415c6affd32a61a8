"""What an engine offers to `run()`: the embedded rules, or a model (design section 6, "Engines")."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from hikidashi.staging.entry import Disposition, Entry
from hikidashi.worker.report import Operation
from hikidashi.worker.scratch import Scratch

__all__ = ["CleanupMaterials", "Engine", "Materials", "ReportRow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One row of the knowledge candidate report (empty until usage is measured)."""

    slug: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Materials:
    """What integration works from (design section 6, step 3)."""

    entries: tuple[Entry, ...]
    #: Paths given in full text, and those given as one index line each.
    full: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    report: tuple[ReportRow, ...] = ()
    #: Records that are broken, hold merge markers or a secret: read-only in this run.
    read_only: frozenset[str] = frozenset()
    #: What was left out, said in one line each.
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupMaterials:
    """What clean-up works from (design section 6, step 7), made anew after integration was published."""

    #: Path -> codes of the linter's warnings there.
    warnings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Replaced decisions, each with the slugs that follow it up to the one in force.
    replaced: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: Records with more sources than `cleanup.max_sources`.
    overfull: tuple[str, ...] = ()
    #: Records of one kind and status whose bodies are equal after normalisation, oldest first.
    twins: tuple[tuple[str, ...], ...] = ()
    #: Finished and untouched requests past their days (`cleanup.done_days`, `cleanup.withdrawn_days`), each with
    #: the evidence in words ("done since 2026-03-01, 62 days").
    aged: dict[str, str] = field(default_factory=dict)
    #: Paths that may lose nothing (design section 6, "Protection").
    protected: frozenset[str] = frozenset()
    read_only: frozenset[str] = frozenset()
    #: How many losing operations (drop, merge, split) this run may still do.
    losses_left: int = 0


class Engine(Protocol):
    """One engine, made anew for each run; both phases go through the same object."""

    name: str

    def set_resident_knowledge_injection(self, on: bool) -> None:
        """Whether descriptions of knowledge records are put into the system prompt; off in a worker."""

    def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
        """Work the entries into the scratch; one disposition for each entry."""

    def clean_up(self, scratch: Scratch, materials: CleanupMaterials) -> list[Operation]:
        """Tidy the scratch; the operations that were done, in order."""
