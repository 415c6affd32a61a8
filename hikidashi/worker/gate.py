"""What binds one phase of a run to this workspace: its materials, and the linter with what may not be lost.

Between the database and history (who is protected, how much may still be lost) and the pure functions of
`materials` and `records.linter`.
"""

from __future__ import annotations

from collections.abc import Sequence

from hikidashi.config.settings import Settings
from hikidashi.errors import CorruptData
from hikidashi.records.library import Library
from hikidashi.records.linter import lint_tree
from hikidashi.records.record import Tree
from hikidashi.staging.entry import Entry
from hikidashi.worker.bench import Bench
from hikidashi.worker.edits import Edits
from hikidashi.worker.engine import CleanupMaterials, Materials
from hikidashi.worker.ledger import losses_left, protected_blobs, protected_times
from hikidashi.worker.materials import build_cleanup_materials, build_materials, make_lint
from hikidashi.worker.protection import protected_texts
from hikidashi.worker.scratch import Lint

__all__ = ["cleanup_phase", "integration_phase"]


def integration_phase(
    bench: Bench, settings: Settings, edits: Edits, entries: Sequence[Entry]
) -> tuple[Materials, Lint]:
    """What integration works from, and what judges it."""
    materials = build_materials(entries, edits.tree, settings, refused=edits.refused)
    lint = make_lint(
        "integration",
        now=bench.clock(),
        entries=entries,
        protected=_protected(bench, edits.tree),
        read_only=materials.read_only,
        report=materials.report,
    )
    return materials, lint


def cleanup_phase(bench: Bench, settings: Settings, edits: Edits) -> tuple[CleanupMaterials, Lint]:
    """What clean-up works from, and what judges it."""
    at, tree = bench.clock(), edits.tree
    protected = _protected(bench, tree)
    left = losses_left(bench.connection, len(Library(tree).records()), settings.cleanup.max_drop_fraction, at)
    findings = lint_tree(tree, now=at, max_sources=settings.cleanup.max_sources)
    materials = build_cleanup_materials(
        tree,
        findings,
        protected,
        left,
        settings,
        at,
        refused=edits.refused,
        touched=protected_times(bench.connection),
    )
    lint = make_lint(
        "cleanup", now=at, protected=protected, read_only=materials.read_only, losses_left=materials.losses_left
    )
    return materials, lint


def _protected(bench: Bench, tree: Tree) -> dict[str, bytes]:
    """Path -> the text that protection is measured against."""

    def read(blob: str) -> bytes | None:
        try:
            return bench.history.blob(blob)
        except CorruptData:  # history was made anew since; the text that stands there protects itself
            return None

    return protected_texts(protected_blobs(bench.connection), tree, read)
