"""The client with the ledger behind it: what a server counted is kept, and budgets stop before they are passed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Request
from hikidashi.model.tokens import estimate_request
from hikidashi.testing import FakeMessages, billing, cut, overloaded, rate_limited, say, turn, unauthorized
from tests.support.ledgers import Books, books, make_settings

MODEL = "claude-haiku-4-5"
SETTINGS = {"memory__base_url": "http://127.0.0.1:9", "memory__api_key": "key-of-the-fake"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Books]:
    with books(tmp_path / "shop", **SETTINGS) as found:
        yield found


def client(desk: Books, fake: FakeMessages, run_id: str = "RUN") -> Client:
    """A client of a new process."""

    def sleep(seconds: float) -> None:
        desk.later(seconds=seconds)

    environ = {
        "HIKIDASHI_MEMORY_BASE_URL": SETTINGS["memory__base_url"],
        "HIKIDASHI_MEMORY_API_KEY": SETTINGS["memory__api_key"],
    }
    endpoint = make_endpoint(desk.settings, environ=environ)
    return Client(endpoint, desk.meter(run_id), clock=desk.clock, sleep=sleep, transport=fake.transport())


def request(text: str = "What is in the drawer?", **fields: Any) -> Request:
    return Request(model=MODEL, max_tokens=200, messages=({"role": "user", "content": text},), **fields)


def outcomes(desk: Books) -> list[str]:
    return [row["outcome"] for row in desk.rows()]


def test_what_the_server_counted_is_what_is_kept(desk: Books) -> None:
    system = ({"type": "text", "text": "Be brief. " * 4_000, "cache_control": {"type": "ephemeral"}},)
    fake = FakeMessages(["a pen", "a pen"])
    asker = client(desk, fake)
    answers = [asker.ask(request(system=system), phase="extraction") for _ in range(2)]
    assert answers[0].usage.cache_write_tokens == answers[1].usage.cache_read_tokens > 5_000
    for row, answer in zip(desk.rows(), answers, strict=True):
        usage = answer.usage
        assert (row["input_tokens"], row["output_tokens"]) == (usage.input_tokens, usage.output_tokens)
        assert row["cache_read_tokens"] == usage.cache_read_tokens
        assert row["cache_write_tokens"] == usage.cache_write_tokens
        assert row["cost_micros"] == asker._meter.prices.cost(MODEL, usage)  # type: ignore[attr-defined]
    assert desk.rows()[0]["cost_micros"] > 10 * desk.rows()[1]["cost_micros"]


def test_the_days_budget_stops_before_it_is_passed(desk: Books) -> None:
    budget = 3_000
    desk.settings = make_settings(**SETTINGS, worker__day_tokens=budget)
    fake = FakeMessages(lambda body: turn(say("word " * 150)))
    made = 0
    with pytest.raises(BudgetSpent, match=r"worker\.day_tokens"):
        for made in range(100):
            client(desk, fake, f"RUN{made}").ask(request("Tell me. " * 30), phase="extraction")
    used = sum(row["counted_tokens"] for row in desk.rows())
    assert 3 < made == len(fake.requests) == len(desk.rows())
    assert budget / 2 < used <= budget


def test_each_attempt_has_a_row_and_a_refused_one_costs_nothing(desk: Books) -> None:
    fake = FakeMessages([overloaded(), rate_limited(seconds=7), "a pen"])
    client(desk, fake).ask(request(), phase="extraction")
    assert outcomes(desk) == ["overloaded", "overloaded", "ok"]
    assert [row["counted_tokens"] > 0 for row in desk.rows()] == [False, False, True]


def test_an_answer_that_was_cut_off_counts_as_reserved(desk: Books) -> None:
    fake = FakeMessages([cut("a long answer " * 20, after_events=4), "a pen"])
    client(desk, fake).ask(request(), phase="extraction")
    broken, whole = desk.rows()
    assert (broken["outcome"], broken["cost_micros"]) == ("network", None)
    assert broken["counted_tokens"] > 200 > whole["counted_tokens"]
    assert broken["counted_micros"] >= 200 * 5


@pytest.mark.parametrize(("fault", "kind"), [(unauthorized, "auth"), (billing, "billing")])
def test_a_refused_key_is_asked_once_and_never_again(desk: Books, fault: Any, kind: str) -> None:
    fake = FakeMessages(lambda body: fault())
    for number in range(4):  # new arrivals, new processes, later days
        with pytest.raises(ModelFailure) as raised:
            client(desk, fake, f"RUN{number}").ask(request(), phase="extraction")
        assert (raised.value.kind, raised.value.reason == "standing") == (kind, number > 0)
        desk.later(days=1)
    assert len(fake.requests) == 1
    assert outcomes(desk) == [kind]


def test_an_overloaded_server_is_left_alone_for_longer_each_time(desk: Books) -> None:
    fake = FakeMessages(lambda body: overloaded())
    desk.settings = make_settings(**SETTINGS, memory__attempts=2)
    for minutes in (1, 2, 4):
        asked = len(fake.requests)
        for _ in range(3):
            with pytest.raises(ModelFailure, match="overloaded"):
                client(desk, fake).ask(request(), phase="extraction")
        assert len(fake.requests) == asked + 2
        desk.later(minutes=minutes)
    good = FakeMessages(["a pen", "a pen"])
    client(desk, good).ask(request(), phase="extraction")
    with pytest.raises(ModelFailure):
        client(desk, fake).ask(request(), phase="extraction")
    desk.later(minutes=1)
    client(desk, good).ask(request(), phase="extraction")


def test_a_wait_that_a_server_asked_for_outlives_the_process(desk: Books) -> None:
    fake = FakeMessages([rate_limited(seconds=3 * 3600), "a pen"])
    with pytest.raises(ModelFailure, match="wants no request before 2026-03-01 15:00 UTC"):
        client(desk, fake).ask(request(), phase="extraction")
    desk.later(hours=2, minutes=59)
    with pytest.raises(ModelFailure, match="no request before 2026-03-01 15:00 UTC"):
        client(desk, fake).ask(request(), phase="extraction")
    desk.later(minutes=1)
    assert client(desk, fake).ask(request(), phase="extraction").text == "a pen"


TEXTS = {
    "prose": "A drawer that sticks is opened by lifting it a little and pulling it slowly. " * 60,
    "japanese": "引き出しの中身は何ですか。" * 80,
    "json": '{"a": [1, 2, {"b": "c/d/e.py"}]}\n' * 60,
    "hashes": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 " * 30,
    "code": "def f(x: int) -> int:\n    return (x << 2) ^ 0xff if x else -1\n" * 50,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_reserved_is_at_least_what_is_used_and_not_much_more(desk: Books, text: str) -> None:
    tool = {"name": "look", "description": "Look into it.", "input_schema": {"type": "object", "properties": {}}}
    asked = request(text, tools=(tool,))
    answer = client(desk, FakeMessages(["ok"])).ask(asked, phase="extraction")
    used = answer.usage.total - answer.usage.output_tokens
    assert used <= estimate_request(asked) <= 3 * used + 600
