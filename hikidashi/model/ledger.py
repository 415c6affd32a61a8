"""The meter that keeps what it counts: a row a request in `workspace.sqlite` and in the user's own database.

Each budget is checked and the request reserved in one write transaction of the database that holds the budget's rows:
first the user's (with what stands against the model), then the workspace's. A request that the second refuses is taken
back from the first. A process that dies in between has reserved too much, never too little.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from hikidashi.config.settings import Settings
from hikidashi.db.connection import database_errors, database_name, queries
from hikidashi.errors import ModelFailure
from hikidashi.model.budget import Budget, budgets
from hikidashi.model.messages import Phase, Usage
from hikidashi.model.meter import RequestOutcome, Ticket
from hikidashi.model.prices import Prices, load_prices
from hikidashi.model.requests import Reservation, close, drop, mark_lost, reserve
from hikidashi.model.standing import clear, note_failure, standing_failure
from hikidashi.model.users_database import users_database
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.times import Clock, now
from hikidashi.ulid import random_ulid

__all__ = ["LedgerMeter", "make_meter"]

_META: Final = queries("meta")


@dataclass(slots=True, kw_only=True)
class LedgerMeter:
    """A `Meter` on disk; see there for what its methods promise. Made by `make_meter`.

    Its database errors are those of `transaction`: `Busy`, `StorageFailure`, `CorruptData`. No transaction of the
    workspace's connection may be open while one of its methods runs.
    """

    #: The workspace's database; None outside any.
    connection: sqlite3.Connection | None
    settings: Settings
    run_id: str
    workspace_id: str
    prices: Prices
    clock: Clock
    processes: Processes
    #: Holds keys: never shown.
    environ: Mapping[str, str] = field(repr=False)
    #: The model of the last request: the one that `gave_up` is about.
    _model: str = ""

    def open(self, phase: Phase, model: str, input_estimate: int, max_tokens: int) -> Ticket:
        """Reserve one request. Raises `BudgetSpent`, or the `ModelFailure` that stands against the model."""
        self._model = model
        at = self.clock()
        reservation = Reservation(
            id=random_ulid(at),
            workspace_id=self.workspace_id,
            run_id=self.run_id,
            phase=phase,
            model=model,
            at=at,
            tokens=input_estimate + max_tokens,
            micros=self.prices.most(model, input_estimate, max_tokens),
        )
        own = self.processes.own()
        with users_database() as users:
            if phase != "ping":
                standing = standing_failure(users, self.settings, model, at, environ=self.environ)
                if standing is not None:
                    raise standing
            reserve(users, reservation, self._limits("user", *(() if self.connection else ("run",))), own)
            if self.connection is not None:
                try:
                    reserve(self.connection, reservation, self._limits("run", "workspace"), own)
                except BaseException:
                    drop(users, reservation.id)
                    raise
        return Ticket(id=reservation.id, phase=phase, model=model, reserved_tokens=reservation.tokens)

    def close(self, ticket: Ticket, usage: Usage | None, outcome: RequestOutcome, seconds: float) -> None:
        """Note how the request ended. An answer without any usage is one of unknown usage."""
        if outcome == "ok" and usage is not None and not usage.total:
            usage = None
        nothing = usage is not None and not usage.total
        cost = 0 if nothing else self.prices.cost(ticket.model, usage) if usage is not None else None
        with users_database() as users:
            close(users, ticket.id, usage, outcome, cost=cost, seconds=seconds)
            if outcome == "ok":
                clear(users, self.settings, ticket.model, environ=self.environ)
        if self.connection is not None:
            close(self.connection, ticket.id, usage, outcome, cost=cost, seconds=seconds)

    def gave_up(self, failure: ModelFailure, *, until: datetime | None = None) -> None:
        """Remember `failure` of the last request's model; without a request there is nothing to remember."""
        if not self._model:
            return
        with users_database() as users:
            note_failure(users, self.settings, self._model, failure, self.clock(), until=until, environ=self.environ)

    def _limits(self, *scopes: str) -> tuple[Budget, ...]:
        return tuple(budget for budget in budgets(self.settings) if budget.scope in scopes)


def make_meter(
    connection: sqlite3.Connection | None,
    settings: Settings,
    run_id: str,
    *,
    clock: Clock = now,
    processes: Processes = SYSTEM_PROCESSES,
    environ: Mapping[str, str] = os.environ,
) -> LedgerMeter:
    """The meter of one run; `connection`: the workspace's migrated database, None outside any.

    `run_id` is the caller's: the run of `worker.run_tokens`. Requests whose process died are marked as lost. Raises
    `BadSettings` for a wrong `prices.toml` of the user, and as `transaction` does.
    """
    prices = load_prices()
    with users_database() as users:
        mark_lost(users, clock(), processes)
    if connection is not None:
        mark_lost(connection, clock(), processes)
    return LedgerMeter(
        connection=connection,
        settings=settings,
        run_id=run_id,
        workspace_id=_workspace_id(connection),
        prices=prices,
        clock=clock,
        processes=processes,
        environ=environ,
    )


def _workspace_id(connection: sqlite3.Connection | None) -> str:
    if connection is None:
        return ""
    with database_errors(database_name(connection)):
        row = connection.execute(_META["get_meta"], {"key": "workspace_id"}).fetchone()
    return str(row["value"]) if row is not None else ""
