"""Running the probes of facts and noting how they end (`hikidashi verify`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hikidashi.config.machine import Machine
from hikidashi.drawer.fact import Fact, is_elsewhere
from hikidashi.drawer.probe import ProbeResult, run_probe
from hikidashi.drawer.store import Drawer
from hikidashi.times import Clock, format_time, now

__all__ = ["Checked", "check_fact", "reason_to_skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check of one fact found.

    `skipped`: there was nothing to run. `changed`: somebody wrote or forgot the fact while its probe ran, so that
    the result is nobody's.
    """

    #: As it is after the check.
    fact: Fact
    outcome: Literal["passed", "failed", "not-run", "skipped", "changed"]
    #: In one line, redacted.
    said: str
    exit_code: int | None = None
    seconds: float = 0.0


def reason_to_skip(fact: Fact, machine: Machine) -> str:
    """Why a fact is not checked here; '' when it is."""
    if fact.status == "retired":
        return "it is retired: `hikidashi write` brings it back"
    if not fact.probe:
        return "it has no check: `hikidashi write` with --probe gives it one"
    if is_elsewhere(fact, machine.id):
        return f"it was proven on {fact.machine_name or 'another machine'}: check it there"
    return ""


def check_fact(
    drawer: Drawer,
    fact: Fact,
    machine: Machine,
    *,
    seconds: float,
    run: Callable[..., ProbeResult] = run_probe,
    clock: Clock = now,
) -> Checked:
    """Run the probe of a fact for at most `seconds` and note how it ended.

    A pass makes confidence 1.0, the command its proof, and a stale fact active; a fail keeps the proof, takes
    confidence away and notes what it said; a probe that could not run changes nothing.
    """
    why = reason_to_skip(fact, machine)
    if why:
        return Checked(fact=fact, outcome="skipped", said=why)
    result = run(fact.probe, seconds=seconds)
    after: Fact | None = fact
    if result.outcome != "not-run":
        after = drawer.verified(fact, result.outcome == "passed", result.said, format_time(clock()))
    return Checked(
        fact=after or drawer.find(fact.key) or fact,
        outcome="changed" if after is None else result.outcome,
        said=result.said,
        exit_code=result.exit_code,
        seconds=result.seconds,
    )
