"""What a run, a workspace and a user may use at a model (design section 6, "Budgets"). Pure.

Checked before each request, against what was used and what others have reserved, at the request's estimated input and
the longest answer that it allows: a budget stops before it is passed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hikidashi.config.settings import Settings
from hikidashi.errors import BudgetSpent
from hikidashi.times import format_time, parse_time

__all__ = ["DAY", "Budget", "Spent", "budgets", "dollars", "refusal"]

#: How far back a day's budget looks.
DAY: Final = timedelta(hours=24)

Unit = Literal["tokens", "micros"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One limit."""

    #: The setting that it comes from.
    name: str
    scope: Literal["run", "workspace", "user"]
    unit: Unit
    #: Tokens, or micro-dollars.
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a budget has seen used or reserved."""

    budget: Budget
    used: int

    @property
    def left(self) -> int:
        """Never below 0."""
        return max(0, self.budget.limit - self.used)

    def to_dict(self) -> dict[str, Any]:
        """The form of `cost --json` and `status --json`; money in micro-dollars."""
        return {
            "setting": self.budget.name,
            "scope": self.budget.scope,
            "unit": "tokens" if self.budget.unit == "tokens" else "micro_usd",
            "limit": self.budget.limit,
            "used": self.used,
            "left": self.left,
        }


def budgets(settings: Settings) -> tuple[Budget, ...]:
    """All of them, the narrowest first."""
    worker, memory = settings.worker, settings.memory
    return (
        Budget(name="worker.run_tokens", scope="run", unit="tokens", limit=worker.run_tokens),
        Budget(name="worker.day_tokens", scope="workspace", unit="tokens", limit=worker.day_tokens),
        Budget(name="memory.day_tokens", scope="user", unit="tokens", limit=memory.day_tokens),
        Budget(name="memory.day_usd", scope="user", unit="micros", limit=round(memory.day_usd * 1_000_000)),
    )


def refusal(spent: Spent, wanted: int, rows: Iterable[tuple[str, int]] = ()) -> BudgetSpent | None:
    """Why a request that may take `wanted` is not made; None when it fits.

    `rows`: time and amount of what a day's budget counted, oldest first, to say when there is room again.
    """
    if spent.used + wanted <= spent.budget.limit:
        return None
    unit, name = spent.budget.unit, spent.budget.name
    who = {"run": "this run", "workspace": "this workspace", "user": "you"}[spent.budget.scope]
    have = "has" if spent.budget.scope != "user" else "have"
    span = "" if spent.budget.scope == "run" else " in 24 hours"
    limit, used = _shown(spent.budget.limit, unit), _shown(spent.used, unit)
    said = f"{who} {have} used or reserved {used} of the {limit} of {name}{span}, and the next request may take "
    said += _shown(wanted, unit)
    if wanted > spent.budget.limit:
        return BudgetSpent(f"{said}: raise {name}")
    if spent.budget.scope == "run":
        return BudgetSpent(f"{said}: raise {name}, or let the next run go on")
    room = _room_at(spent, wanted, rows)
    when = f"wait until {format_time(room)[:16].replace('T', ' ')} UTC" if room else "wait"
    return BudgetSpent(f"{said}: {when}, or raise {name}")


def _room_at(spent: Spent, wanted: int, rows: Iterable[tuple[str, int]]) -> datetime | None:
    """When enough of the day's requests are older than a day."""
    used = spent.used
    for at, amount in rows:
        used -= amount
        if used + wanted <= spent.budget.limit:
            return parse_time(at) + DAY
    return None


def _shown(number: int, unit: Unit) -> str:
    return f"{number:,} tokens" if unit == "tokens" else dollars(number)


def dollars(micros: int, *, down: bool = False) -> str:
    """`$0.0123` for micro-dollars: the smaller, the more places. Rounded up: a cost is never shown below what it is.

    `down`: rounded down, for what is left.
    """
    places = 2 if micros >= 1_000_000 or not micros else 4 if micros >= 10_000 else 6
    step = 10 ** (6 - places)
    units = micros // step if down else -(-micros // step)
    return f"${units / 10**places:,.{places}f}"
