"""Which engine a name means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hikidashi.errors import ModelFailure
from hikidashi.times import Clock, now
from hikidashi.worker.rules import RulesEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from hikidashi.config.settings import Settings
    from hikidashi.worker.engine import Engine

__all__ = ["engine_factory"]


def engine_factory(name: str, settings: Settings, *, clock: Clock = now) -> Callable[[], Engine]:
    """What makes the engine of a run. Raises `ModelFailure` for one that this version does not have.

    A model is never silently replaced by `rules`: who asked for one gets an error that says so.
    """
    if name != "rules":
        raise ModelFailure(
            f'consolidation by the engine "{name}" is not part of this version: set memory.engine = "auto" in your '
            "settings (a model reads sessions, rules consolidate), or run `hikidashi consolidate --engine rules`"
        )
    return lambda: RulesEngine(settings, clock=clock)
