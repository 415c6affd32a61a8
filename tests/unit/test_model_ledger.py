"""The ledger: what is counted, what is refused before it is sent, and what a dead process leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from hikidashi.db.connection import transaction
from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.model.ledger import make_meter
from hikidashi.model.messages import Usage
from hikidashi.model.meter import FAILURES, MemoryMeter, Meter, Ticket
from tests.support.ledgers import Books, books, make_settings

SMALL = "claude-haiku-4-5"  # 1 dollar in, 5 out, 1.25 and 0.10 by the cache


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Books]:
    with books(tmp_path / "shop") as found:
        yield found


def test_a_request_has_a_row_in_both_databases(desk: Books) -> None:
    meter: Meter = desk.meter("RUN1")
    ticket = meter.open("extraction", SMALL, 10_000, 2_000)
    assert ticket.reserved_tokens == 12_000
    for row in (*desk.rows(), *desk.rows(users=True)):
        assert (row["id"], row["workspace_id"], row["run_id"], row["phase"], row["model"]) == (
            ticket.id, "shop", "RUN1", "extraction", SMALL,
        )  # fmt: skip
        assert (row["state"], row["outcome"], row["counted_tokens"]) == ("open", "", 12_000)
        assert row["counted_micros"] == 10_000 * 1.25 + 2_000 * 5
        assert (row["input_tokens"], row["cost_micros"]) == (None, None)
    desk.later(seconds=3)
    usage = Usage(input_tokens=1_000, output_tokens=100, cache_read_tokens=5_000, cache_write_tokens=400)
    meter.close(ticket, usage, "ok", 2.5)
    for row in (*desk.rows(), *desk.rows(users=True)):
        assert (row["state"], row["outcome"], row["seconds"]) == ("closed", "ok", 2.5)
        assert (row["input_tokens"], row["output_tokens"]) == (1_000, 100)
        assert (row["cache_read_tokens"], row["cache_write_tokens"]) == (5_000, 400)
        assert row["counted_tokens"] == 1_000 + 100 + 5_000 // 10 + 400
        assert row["cost_micros"] == row["counted_micros"] == 1_000 + 500 + 500 + 500


@pytest.mark.parametrize("outcome", FAILURES)
def test_a_refused_request_costs_nothing_and_stands_in_the_ledger(desk: Books, outcome: str) -> None:
    meter = desk.meter()
    meter.close(meter.open("ping", SMALL, 1_000, 10), Usage(), outcome, 0.5)  # type: ignore[arg-type]
    (row,) = desk.rows()
    assert (row["outcome"], row["counted_tokens"], row["counted_micros"], row["cost_micros"]) == (outcome, 0, 0, 0)


def test_what_nobody_knows_counts_as_reserved_and_its_cost_is_unknown(desk: Books) -> None:
    meter = desk.meter()
    meter.close(meter.open("extraction", SMALL, 1_000, 100), None, "network", 0.5)
    meter.close(meter.open("extraction", SMALL, 1_000, 100), Usage(), "ok", 0.5)  # a server that counts nothing
    for row in desk.rows():
        assert (row["counted_tokens"], row["counted_micros"]) == (1_100, 1_750)
        assert (row["input_tokens"], row["cost_micros"]) == (None, None)


def test_a_model_without_a_price_costs_unknown_and_counts_by_tokens(desk: Books) -> None:
    desk.settings = make_settings(memory__day_usd=0, worker__run_tokens=2_000)
    meter = desk.meter()
    meter.close(meter.open("extraction", "local", 1_000, 100), Usage(input_tokens=900, output_tokens=5), "ok", 1)
    (row,) = desk.rows()
    assert (row["counted_tokens"], row["counted_micros"], row["cost_micros"]) == (905, None, None)
    with pytest.raises(BudgetSpent, match=r"worker\.run_tokens"):
        meter.open("extraction", "local", 1_000, 100)
    with pytest.raises(BudgetSpent, match=r"memory\.day_usd"):
        meter.open("extraction", SMALL, 1, 1)


def test_closing_twice_changes_nothing(desk: Books) -> None:
    meter = desk.meter()
    ticket = meter.open("extraction", SMALL, 1_000, 100)
    meter.close(ticket, Usage(input_tokens=10), "ok", 1.0)
    meter.close(ticket, None, "network", 9.0)
    for row in (*desk.rows(), *desk.rows(users=True)):
        assert (row["outcome"], row["counted_tokens"], row["seconds"]) == ("ok", 10, 1.0)


def test_a_runs_budget_is_its_own(desk: Books) -> None:
    desk.settings = make_settings(worker__run_tokens=1_000)
    one, other = desk.meter("ONE"), desk.meter("OTHER")
    ticket = one.open("extraction", SMALL, 700, 200)
    with pytest.raises(BudgetSpent, match=r"used or reserved 900 tokens of the 1,000 tokens of worker\.run_tokens"):
        one.open("extraction", SMALL, 100, 1)
    other.open("extraction", SMALL, 700, 300)
    one.close(ticket, Usage(input_tokens=600), "ok", 1.0)
    one.open("extraction", SMALL, 300, 100)


def test_a_days_budget_lets_go_after_24_hours_and_says_when(desk: Books) -> None:
    desk.settings = make_settings(worker__day_tokens=1_000)
    for _ in range(2):
        meter = desk.meter()
        meter.close(meter.open("extraction", SMALL, 300, 100), Usage(input_tokens=400), "ok", 1.0)
        desk.later(hours=2)
    with pytest.raises(BudgetSpent, match=r"worker\.day_tokens in 24 hours.*wait until 2026-03-02 12:00 UTC, or raise"):
        desk.meter("LATER").open("extraction", SMALL, 300, 1)
    with pytest.raises(BudgetSpent, match=r"wait until 2026-03-02 14:00 UTC"):
        desk.meter("LATER").open("extraction", SMALL, 900, 1)
    with pytest.raises(BudgetSpent, match=r"1,001 tokens: raise worker\.day_tokens$"):
        desk.meter("LATER").open("extraction", SMALL, 1_000, 1)
    desk.later(hours=20)
    desk.meter("LATER").open("extraction", SMALL, 300, 1)


def test_a_users_budget_holds_over_all_workspaces(desk: Books, tmp_path: Path) -> None:
    desk.settings = make_settings(memory__day_tokens=1_000)
    with books(tmp_path / "garden", memory__day_tokens=1_000) as other:
        desk.meter().open("extraction", SMALL, 500, 100)
        with pytest.raises(BudgetSpent, match=r"you have used or reserved 600 tokens.*memory\.day_tokens"):
            other.meter().open("extraction", SMALL, 500, 100)
        assert other.rows() == []
        other.meter().open("extraction", SMALL, 300, 100)
        assert [row["workspace_id"] for row in other.rows(users=True)] == ["shop", "garden"]


def test_money_is_refused_before_it_is_spent(desk: Books) -> None:
    desk.settings = make_settings(memory__day_usd=0.01)
    meter = desk.meter()
    meter.close(meter.open("extraction", SMALL, 1_000, 1_000), Usage(input_tokens=4_000, output_tokens=200), "ok", 1)
    with pytest.raises(BudgetSpent, match=r"\$0\.005000 of the \$0\.0100 of memory\.day_usd.*may take \$0\.006250"):
        meter.open("extraction", SMALL, 1_000, 1_000)
    meter.open("extraction", SMALL, 1_000, 750)


def test_a_budget_of_nothing_is_a_switch(desk: Books) -> None:
    desk.settings = make_settings(memory__day_tokens=0)
    with pytest.raises(BudgetSpent):
        desk.meter().open("ping", "local", 1, 1)


def test_what_one_budget_refuses_the_other_does_not_count(desk: Books) -> None:
    desk.settings = make_settings(worker__day_tokens=100)
    with pytest.raises(BudgetSpent):
        desk.meter().open("extraction", SMALL, 100, 100)
    assert desk.rows() == desk.rows(users=True) == []


def test_a_dead_process_leaves_its_reservation(desk: Books) -> None:
    desk.meter("ONE").open("extraction", SMALL, 500, 100)
    desk.processes.pid = 200
    desk.processes.alive = {100: "100"}
    desk.meter("TWO")
    assert [row["state"] for row in desk.rows()] == ["open"]
    desk.processes.alive = {100: "another start"}
    desk.settings = make_settings(worker__day_tokens=700)
    meter = desk.meter("TWO")
    assert [row["state"] for row in (*desk.rows(), *desk.rows(users=True))] == ["lost", "lost"]
    with pytest.raises(BudgetSpent, match="600 tokens"):
        meter.open("extraction", SMALL, 100, 1)


def test_a_process_that_was_taken_for_dead_may_yet_close(desk: Books) -> None:
    first = desk.meter("ONE")
    ticket = first.open("extraction", SMALL, 500, 100)
    desk.processes.pid = 200
    desk.meter("TWO")
    first.close(ticket, Usage(input_tokens=7), "ok", 1.0)
    assert [(row["state"], row["counted_tokens"]) for row in desk.rows()] == [("closed", 7)]


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"boot_id": "boot-2"}, "lost"),  # the machine was restarted
        ({"pid_ns": "pid:[2]"}, "open"),  # a container: not to be seen
        ({"host": "laptop", "boot_id": "boot-9"}, "open"),  # another machine
    ],
)
def test_what_cannot_be_seen_has_two_hours(desk: Books, change: dict[str, str], state: str) -> None:
    desk.meter("ONE").open("extraction", SMALL, 500, 100)
    for name, value in change.items():
        setattr(desk.processes, name, value)
    desk.processes.pid = 200
    desk.meter("TWO")
    assert [row["state"] for row in desk.rows()] == [state]
    desk.later(hours=3)
    desk.meter("TWO")
    assert [row["state"] for row in desk.rows()] == ["lost"]


def test_outside_a_workspace_the_users_database_counts_alone(desk: Books) -> None:
    settings = make_settings(worker__run_tokens=500)
    meter = make_meter(None, settings, "PING", clock=desk.clock, processes=desk.processes, environ={})
    meter.close(meter.open("ping", SMALL, 100, 100), Usage(input_tokens=400), "ok", 1.0)
    with pytest.raises(BudgetSpent, match=r"worker\.run_tokens"):
        meter.open("ping", SMALL, 100, 100)
    assert [row["workspace_id"] for row in desk.rows(users=True)] == [""]
    assert desk.rows() == []


def test_nobody_asks_a_model_inside_a_transaction(desk: Books) -> None:
    meter = desk.meter()
    with transaction(desk.connection), pytest.raises(RuntimeError, match="a transaction is open already"):
        meter.open("extraction", SMALL, 1, 1)
    assert desk.rows(users=True) == []


def test_a_block_is_met_before_anything_is_reserved(desk: Books) -> None:
    meter = desk.meter()
    meter.close(meter.open("extraction", SMALL, 1, 1), Usage(), "auth", 0.1)
    meter.gave_up(ModelFailure("the server refused the key", kind="auth"))
    with pytest.raises(ModelFailure, match="refused the key") as raised:
        desk.meter("NEXT").open("extraction", SMALL, 1, 1)
    assert raised.value.kind == "auth"
    assert len(desk.rows()) == len(desk.rows(users=True)) == 1
    again = desk.meter("PING")
    again.close(again.open("ping", SMALL, 1, 1), Usage(input_tokens=3), "ok", 0.1)
    desk.meter("NEXT").open("extraction", SMALL, 1, 1)


def test_the_key_is_in_no_repr(desk: Books) -> None:
    key = "mk-ledger-0123456789-never-shown"
    settings = make_settings(memory__api_key=key)
    meter = make_meter(desk.connection, settings, "RUN", environ={"MY_KEY": key})
    assert key not in repr((meter, meter.open("ping", SMALL, 1, 1)))


def test_a_clock_of_another_year_does_not_spend_this_years_budget(desk: Books) -> None:
    desk.settings = make_settings(worker__day_tokens=1_000)
    desk.later(days=400)
    desk.meter().open("extraction", SMALL, 900, 100)
    desk.later(days=-400)
    desk.meter("NEXT").open("extraction", SMALL, 900, 100)
    desk.later(hours=-2)
    with pytest.raises(BudgetSpent):
        desk.meter("LAST").open("extraction", SMALL, 900, 100)


def test_it_counts_as_the_meter_in_memory_does(desk: Books) -> None:
    random = Random(7)
    desk.settings = make_settings(worker__run_tokens=5_000)
    disk, memory = desk.meter(), MemoryMeter(limit=5_000)
    running: list[tuple[Ticket, Ticket]] = []
    refused = 0
    for _ in range(120):
        estimate, most = random.randrange(400), random.randrange(400)
        tickets = []
        for meter in (disk, memory):
            try:
                tickets.append(meter.open("ping", SMALL, estimate, most))
            except BudgetSpent:
                refused += 1
        assert len(tickets) != 1
        running += [(tickets[0], tickets[1])] if tickets else []
        while running and random.random() < 0.6:
            one, other = running.pop(random.randrange(len(running)))
            usage = random.choice([None, Usage(), Usage(input_tokens=random.randrange(99))])
            outcome = random.choice(["ok", *FAILURES])
            disk.close(one, usage, outcome, 0.1)  # type: ignore[arg-type]
            memory.close(other, usage, outcome, 0.1)  # type: ignore[arg-type]
        assert sum(row["counted_tokens"] for row in desk.rows()) == memory.tokens <= 5_000
    assert refused > 10


def test_giving_up_without_a_request_stops_nobody(desk: Books) -> None:
    desk.meter().gave_up(ModelFailure("no way there"))
    desk.meter().open("extraction", SMALL, 1, 1)
