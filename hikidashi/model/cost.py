"""What was spent on models, and what may yet be: for `hikidashi cost` and `hikidashi status`."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from hikidashi.config.registry import registrations
from hikidashi.config.settings import Settings
from hikidashi.errors import Busy, CorruptData, StorageFailure
from hikidashi.model.budget import DAY, Budget, Spent, budgets
from hikidashi.model.requests import Part, Totals, mark_lost, spent, totals
from hikidashi.model.standing import Standing, standings
from hikidashi.model.users_database import existing_users_database, users_database_if_there
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.times import Clock, format_time, now

__all__ = ["MONTH", "CostReport", "Spend", "cost_report", "recent_spend"]

#: How far back `hikidashi cost` looks.
MONTH: Final = timedelta(days=30)

#: Runs that are listed one by one, the latest ones.
_RUNS_LISTED: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """The last 24 hours: what was used, what the day's budgets have left, and which models may not be asked."""

    #: Of this workspace; of the user outside any.
    day: Totals
    budgets: tuple[Spent, ...]
    blocked: tuple[Standing, ...]
    #: Why the user's database could not be read; then nothing is known of it.
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The form of `status --json`."""
        return {
            "problem": self.problem or None,
            "requests": self.day.requests,
            "counted_tokens": self.day.counted_tokens,
            "cost_micro_usd": self.day.cost_micros,
            "unknown_cost": self.day.unknown_cost,
            "budgets": [one.to_dict() for one in self.budgets],
            "blocked": [one.to_dict() | {"line": one.line()} for one in self.blocked],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class CostReport:
    """What `hikidashi cost` shows."""

    at: str
    #: Of this workspace, the last 24 hours and 30 days; None outside any.
    workspace: tuple[Totals, Totals] | None
    #: Of all workspaces of this user.
    user: tuple[Totals, Totals]
    #: 30 days of this workspace (of the user outside any).
    by_phase: tuple[Totals, ...]
    by_model: tuple[Totals, ...]
    #: The latest runs, and how many more there were.
    by_run: tuple[Totals, ...]
    more_runs: int
    #: 30 days of the user; the part is the workspace's folder.
    by_workspace: tuple[Totals, ...]
    budgets: tuple[Spent, ...]
    blocked: tuple[Standing, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""

        def spans(pair: tuple[Totals, Totals]) -> dict[str, Any]:
            return {"day": pair[0].to_dict(), "days_30": pair[1].to_dict()}

        def parts(name: str, found: tuple[Totals, ...]) -> list[dict[str, Any]]:
            return [{name: one.part, **one.to_dict()} for one in found]

        return {
            "at": self.at,
            "workspace": None if self.workspace is None else spans(self.workspace),
            "user": spans(self.user),
            "by_phase": parts("phase", self.by_phase),
            "by_model": parts("model", self.by_model),
            "by_run": parts("run_id", self.by_run),
            "more_runs": self.more_runs,
            "by_workspace": parts("workspace", self.by_workspace),
            "budgets": [one.to_dict() for one in self.budgets],
            "blocked": [one.to_dict() | {"line": one.line()} for one in self.blocked],
        }


def recent_spend(
    connection: sqlite3.Connection | None,
    settings: Settings,
    at: datetime,
    *,
    environ: Mapping[str, str] = os.environ,
) -> Spend:
    """The last 24 hours. Reads only; the user's database is not made for it.

    One that cannot be read is a `problem` and no error: `status` has more to say than that.
    """
    try:
        with existing_users_database() as users:
            return _spend(connection, users, settings, at, environ)
    except (CorruptData, StorageFailure, Busy) as exc:
        return replace(_spend(connection, None, settings, at, environ), problem=str(exc))


def _spend(
    connection: sqlite3.Connection | None,
    users: sqlite3.Connection | None,
    settings: Settings,
    at: datetime,
    environ: Mapping[str, str],
) -> Spend:
    blocked = standings(users, settings, at, environ=environ) if users is not None else []
    return Spend(
        day=_total(connection if connection is not None else users, at - DAY),
        budgets=tuple(_budgets(connection, users, settings, at)),
        blocked=tuple(blocked),
    )


def cost_report(
    connection: sqlite3.Connection | None,
    settings: Settings,
    *,
    clock: Clock = now,
    processes: Processes = SYSTEM_PROCESSES,
    environ: Mapping[str, str] = os.environ,
) -> CostReport:
    """All of it; requests whose process died are marked as lost first. Raises as `transaction` does."""
    at = clock()
    places = {found.id: str(found.root) for found in registrations()}
    with users_database_if_there() as users:
        for database in (connection, users):
            if database is not None:
                mark_lost(database, at, processes)
        near = connection if connection is not None else users
        runs = _parts(near, at, "run")
        spend = _spend(connection, users, settings, at, environ)
        return CostReport(
            at=format_time(at),
            workspace=None if connection is None else _spans(connection, at),
            user=_spans(users, at),
            by_phase=tuple(_parts(near, at, "phase")),
            by_model=tuple(_parts(near, at, "model")),
            by_run=tuple(runs[:_RUNS_LISTED]),
            more_runs=max(0, len(runs) - _RUNS_LISTED),
            by_workspace=tuple(one.named(places.get(one.part, one.part)) for one in _parts(users, at, "workspace")),
            budgets=spend.budgets,
            blocked=spend.blocked,
        )


def _parts(connection: sqlite3.Connection | None, at: datetime, part: Part) -> list[Totals]:
    return [] if connection is None else totals(connection, at - MONTH, part)


def _spans(connection: sqlite3.Connection | None, at: datetime) -> tuple[Totals, Totals]:
    return _total(connection, at - DAY), _total(connection, at - MONTH)


def _total(connection: sqlite3.Connection | None, since: datetime) -> Totals:
    return next(iter(totals(connection, since)), Totals()) if connection is not None else Totals()


def _budgets(
    workspace: sqlite3.Connection | None, users: sqlite3.Connection | None, settings: Settings, at: datetime
) -> list[Spent]:
    """The day's budgets. A run's is its own and stands at nothing between runs."""

    def now_spent(budget: Budget) -> Spent:
        database = workspace if budget.scope == "workspace" else users
        return Spent(budget=budget, used=0) if database is None else spent(database, budget, "", at)

    days = [budget for budget in budgets(settings) if budget.scope != "run"]
    return [now_spent(budget) for budget in days if workspace is not None or budget.scope == "user"]
