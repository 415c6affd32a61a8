"""Placeholder until the linter is merged."""

from __future__ import annotations

from hikidashi.records.library import Library
from hikidashi.worker.engine import CleanupMaterials, Materials


def unwritable(tree):
    return [f for fs in Library(tree).broken.values() for f in fs]


def integration_materials(bench, settings, tree, entries):
    return Materials(entries=tuple(entries))


def cleanup_materials(bench, settings, tree):
    from hikidashi.worker.ledger import losses_left, protected_blobs

    n = len(Library(tree).records())
    return CleanupMaterials(
        protected=frozenset(protected_blobs(bench.connection)),
        losses_left=losses_left(bench.connection, n, settings.cleanup.max_drop_fraction, bench.clock()),
    )


def integration_gate(bench, settings, tree, entries, materials):
    return lambda b, a, n: []


def cleanup_gate(bench, settings, tree, materials):
    return lambda b, a, n: []
