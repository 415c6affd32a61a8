"""The meter that keeps all in memory: what it promises is what every meter promises."""

from __future__ import annotations

import pytest

from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.model.messages import Usage
from hikidashi.model.meter import MemoryMeter, Meter


def test_a_reservation_counts_until_the_request_ends() -> None:
    meter: Meter = MemoryMeter(limit=1_000)
    first = meter.open("extraction", "small", 500, 300)
    with pytest.raises(BudgetSpent, match="201 tokens and 200 are left"):
        meter.open("extraction", "small", 200, 1)
    meter.close(first, Usage(input_tokens=400, output_tokens=50), "ok", 1.0)
    meter.open("extraction", "small", 250, 300)
    with pytest.raises(BudgetSpent):
        meter.open("extraction", "small", 1, 0)


def test_a_request_of_unknown_usage_counts_as_reserved_and_a_refused_one_as_nothing() -> None:
    meter = MemoryMeter()
    meter.close(meter.open("extraction", "small", 500, 300), None, "network", 2.0)
    meter.close(meter.open("extraction", "small", 500, 300), Usage(), "overloaded", 0.1)
    assert meter.tokens == 800
    assert [request.outcome for request in meter.closed] == ["network", "overloaded"]


def test_closing_twice_changes_nothing() -> None:
    meter = MemoryMeter()
    ticket = meter.open("integration", "large", 10, 10)
    meter.close(ticket, Usage(output_tokens=5), "ok", 1.0)
    meter.close(ticket, None, "network", 1.0)
    assert meter.tokens == 5
    assert len(meter.closed) == 1


def test_a_block_stops_all_but_a_ping_and_its_success_ends_it() -> None:
    block = ModelFailure("the key was refused", kind="auth")
    meter = MemoryMeter(block=block)
    with pytest.raises(ModelFailure, match="the key was refused"):
        meter.open("extraction", "small", 1, 1)
    meter.close(meter.open("ping", "small", 1, 1), Usage(input_tokens=1), "ok", 0.2)
    meter.open("extraction", "small", 1, 1)
