"""The rows of `model_requests` in one database: reserving, closing, adding up (SQL: `db/sql/model.sql`)."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hikidashi.db.connection import database_errors, database_name, queries, transaction
from hikidashi.model.budget import DAY, Budget, Spent, refusal
from hikidashi.model.messages import Phase, Usage
from hikidashi.model.meter import RequestOutcome
from hikidashi.processes import OwnIdentity, Processes, same_start
from hikidashi.times import format_time, parse_time

__all__ = ["Part", "Reservation", "Totals", "close", "drop", "mark_lost", "reserve", "spent", "totals"]

_SQL: Final = queries("model")

#: No request may take longer (the highest `memory.request_seconds`, and a while): what is open then has no owner.
_LONGEST: Final = timedelta(seconds=7_200 + 600)

Part = Literal["", "run", "phase", "model", "workspace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """One request that is about to be made."""

    id: str
    workspace_id: str
    run_id: str
    phase: Phase
    model: str
    at: datetime
    tokens: int
    #: None for a model without a price.
    micros: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What several requests used together."""

    #: The run's ID, the phase or the model that they belong to; '' for all.
    part: str = ""
    requests: int = 0
    failed: int = 0
    #: On their way.
    running: int = 0
    #: Their process died: nobody knows what they used.
    lost: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    #: What budgets count: unknown usage as it was reserved.
    counted_tokens: int = 0
    #: Of those, what is reserved: for requests on their way, and where nobody knows the usage.
    reserved_tokens: int = 0
    #: Micro-dollars, as far as they are known; None when of no request.
    cost_micros: int | None = None
    #: Requests whose cost nobody knows.
    unknown_cost: int = 0
    seconds: float = 0.0
    first_at: str = ""
    last_at: str = ""

    def named(self, part: str) -> Totals:
        """The same under another name of the part."""
        return replace(self, part=part)

    def to_dict(self) -> dict[str, Any]:
        """The form of `cost --json`."""
        return {
            "requests": self.requests,
            "failed": self.failed,
            "running": self.running,
            "lost": self.lost,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "counted_tokens": self.counted_tokens,
            "reserved_tokens": self.reserved_tokens,
            "cost_micro_usd": self.cost_micros,
            "unknown_cost": self.unknown_cost,
            "seconds": round(self.seconds, 3),
            "first_at": self.first_at or None,
            "last_at": self.last_at or None,
        }


def reserve(
    connection: sqlite3.Connection, reservation: Reservation, limits: tuple[Budget, ...], own: OwnIdentity
) -> None:
    """Write the row of a request that is about to be made, if it fits into all of `limits`.

    One write transaction: two processes cannot pass a budget together. Raises `BudgetSpent`.
    """
    with transaction(connection):
        for limit in limits:
            wanted = reservation.tokens if limit.unit == "tokens" else reservation.micros
            if not wanted:  # a model that is free, or without a price: it counts by tokens alone
                continue
            used = spent(connection, limit, reservation.run_id, reservation.at)
            if used.used + wanted > limit.limit:
                rows = () if limit.scope == "run" else connection.execute(_SQL["counted_between"], _day(reservation.at))
                refused = refusal(used, wanted, ((row["opened_at"], row[limit.unit]) for row in rows))
                assert refused is not None
                raise refused
        connection.execute(
            _SQL["open_request"],
            {
                "id": reservation.id,
                "workspace_id": reservation.workspace_id,
                "run_id": reservation.run_id,
                "phase": reservation.phase,
                "model": reservation.model,
                "opened_at": format_time(reservation.at),
                "counted_tokens": reservation.tokens,
                "counted_micros": reservation.micros,
                "pid": own.pid,
                "start_id": own.start_id,
                "boot_id": own.boot_id,
                "pid_ns": own.pid_ns,
                "host": own.host,
            },
        )


def drop(connection: sqlite3.Connection, request_id: str) -> None:
    """Take a reservation back: nothing was sent."""
    with transaction(connection):
        connection.execute(_SQL["drop_request"], {"id": request_id})


def close(
    connection: sqlite3.Connection,
    request_id: str,
    usage: Usage | None,
    outcome: RequestOutcome,
    *,
    cost: int | None,
    seconds: float,
) -> None:
    """Write how a request ended; one that is closed already stays as it is."""
    values = {
        "id": request_id,
        "outcome": outcome,
        "seconds": seconds,
        "input_tokens": usage.input_tokens if usage else None,
        "output_tokens": usage.output_tokens if usage else None,
        "cache_read_tokens": usage.cache_read_tokens if usage else None,
        "cache_write_tokens": usage.cache_write_tokens if usage else None,
        "counted_tokens": usage.counted if usage else None,
        "cost_micros": cost if usage else None,
    }
    with transaction(connection):
        connection.execute(_SQL["close_request"], values)


def spent(connection: sqlite3.Connection, budget: Budget, run_id: str, at: datetime) -> Spent:
    """What `budget` has seen used or reserved, by the rows of this database."""
    with database_errors(database_name(connection)):
        if budget.scope == "run":
            row = connection.execute(_SQL["used_by_run"], {"run_id": run_id}).fetchone()
        else:
            row = connection.execute(_SQL["used_between"], _day(at)).fetchone()
    return Spent(budget=budget, used=row[budget.unit])


def _day(at: datetime) -> dict[str, str]:
    return {"since": format_time(at - DAY), "until": format_time(at + DAY)}


def totals(connection: sqlite3.Connection, since: datetime, part: Part = "") -> list[Totals]:
    """What was used since then, added up by `part`, the latest first; by '' one row at most."""
    with database_errors(database_name(connection)):
        rows = connection.execute(_SQL["totals_since"], {"since": format_time(since), "part": part}).fetchall()
    return [Totals(**dict(row)) for row in rows]


def mark_lost(connection: sqlite3.Connection, at: datetime, processes: Processes) -> int:
    """Mark open requests whose process is dead as lost, and give their number. Writes only where there are some."""
    with database_errors(database_name(connection)):
        rows = connection.execute(_SQL["open_requests"]).fetchall()
    own = processes.own()
    lost = [row["id"] for row in rows if not _may_run(row, own, at, processes)]
    if lost:
        with transaction(connection):
            for request_id in lost:
                connection.execute(_SQL["lose_request"], {"id": request_id})
    return len(lost)


def _may_run(row: sqlite3.Row, own: OwnIdentity, at: datetime, processes: Processes) -> bool:
    """Whether the process of an open request may yet be at work. One that we cannot see has two hours."""
    if not abs(at - parse_time(row["opened_at"])) < _LONGEST:
        return False
    same_machine = row["boot_id"] == own.boot_id if own.boot_id else row["host"] == own.host
    if same_machine and row["pid_ns"] == own.pid_ns:
        sighting = processes.look(row["pid"])
        if sighting.state == "running":
            return same_start(sighting.start_id, row["start_id"])
        return sighting.state == "hidden"
    return not (row["host"] == own.host and row["boot_id"] != own.boot_id)
