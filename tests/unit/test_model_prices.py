"""What a request costs, to the micro-dollar; no price is never no cost."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.config.defaults import SETTINGS
from hikidashi.errors import BadSettings
from hikidashi.model.budget import dollars
from hikidashi.model.messages import Request, Usage
from hikidashi.model.prices import Rates, load_prices, user_prices_file
from hikidashi.model.tokens import estimate_request
from tests.support.ledgers import make_settings

MILLION = 1_000_000


def use(text: str) -> Path:
    """The user's own table."""
    path = user_prices_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("model", "usage", "micros"),
    [
        ("claude-sonnet-5-5", Usage(input_tokens=MILLION), 2 * MILLION),
        ("claude-sonnet-5-5", Usage(output_tokens=MILLION), 10 * MILLION),
        ("claude-sonnet-5-5", Usage(cache_read_tokens=MILLION), MILLION // 10),
        ("claude-sonnet-5-5", Usage(cache_write_tokens=MILLION), 5 * MILLION // 2),
        ("claude-haiku-5-5", Usage(input_tokens=100_000, output_tokens=1_000), 10_500),
        ("claude-haiku-5-5", Usage(input_tokens=100_001, output_tokens=1_000), 52_501),
        ("claude-haiku-5-5", Usage(input_tokens=1, cache_read_tokens=60_000, cache_write_tokens=40_000), 28_001),
        ("claude-haiku-5-5", Usage(input_tokens=1), 1),  # a tenth of one: rounded up
        ("claude-haiku-4-5-20251001", Usage(input_tokens=3), 3),
        ("claude-haiku-5-5", Usage(), 0),
        ("qwen3:8b", Usage(input_tokens=1), None),
        ("claude-haiku", Usage(input_tokens=1), None),
        ("", Usage(input_tokens=1), None),
    ],
)
def test_the_cost_of_a_request(model: str, usage: Usage, micros: int | None) -> None:
    assert load_prices().cost(model, usage) == micros


COUNTS = st.integers(0, 400_000)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_no_request_costs_more_than_was_reserved(fresh: int, read: int, written: int, answer: int) -> None:
    prices = load_prices()
    usage = Usage(input_tokens=fresh, output_tokens=answer, cache_read_tokens=read, cache_write_tokens=written)
    for name in prices.models:
        most, cost = prices.most(name, fresh + read + written, answer), prices.cost(name, usage)
        assert most is not None and cost is not None
        assert 0 <= cost <= most


def test_the_table_is_dated_and_knows_the_default_models() -> None:
    prices = load_prices()
    assert date.fromisoformat(prices.date) <= date(2100, 1, 1)
    defaults = {setting.name: setting.default for setting in SETTINGS}
    for name in ("memory.extraction_model", "memory.consolidation_model"):
        facts = prices.of(str(defaults[name]))
        assert facts is not None and facts.rates is not None and facts.window and facts.max_output
    for facts in prices.models.values():
        assert facts.rates is not None
        assert facts.rates.cache_read < facts.rates.input < facts.rates.cache_write < facts.rates.output


def test_limits_come_from_the_setting_then_the_table_then_caution() -> None:
    prices, plain = load_prices(), make_settings()
    assert prices.window("claude-haiku-5-5", plain) == MILLION
    assert prices.max_output("claude-haiku-4-5", plain) == 64_000
    assert prices.window("qwen3:8b", plain) == 32_768
    assert prices.max_output("qwen3:8b", plain) == 4_096
    narrow = make_settings(memory__context_tokens=2_048)
    assert prices.window("claude-haiku-5-5", narrow) == 2_048
    assert prices.max_output("claude-haiku-5-5", narrow) == 1_024


def test_a_users_own_prices_add_and_replace() -> None:
    use(
        '[models."qwen3:8b"]\ninput = 0\noutput = 0\nwindow = 40_960\n[models.claude-opus-5]\ninput = 1\noutput = 2.5\n'
    )
    prices = load_prices()
    assert prices.cost("qwen3:8b", Usage(input_tokens=MILLION)) == 0
    assert prices.window("qwen3:8b", make_settings()) == 40_960
    assert prices.cost("claude-opus-5", Usage(cache_read_tokens=2, output_tokens=2)) == 7  # no cache prices: as input
    assert prices.cost("claude-sonnet-5-5", Usage(input_tokens=1)) == 2
    assert prices.date


def test_limits_without_a_price_cost_unknown() -> None:
    use('[models."local"]\nwindow = 8_192\nmax_output = 1_000\n')
    prices = load_prices()
    assert (prices.window("local", make_settings()), prices.max_output("local", make_settings())) == (8_192, 1_000)
    assert prices.cost("local", Usage(input_tokens=1)) is None
    assert prices.most("local", 1, 1) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models.a]\ninput = 1\n", "output must be a price in US dollars a million tokens: add it"),
        ('[models.a]\ninput = "1"\noutput = 1\n', "input must be a price"),
        ("[models.a]\ninput = true\noutput = 1\n", "input must be a price"),
        ("[models.a]\ninput = -1\noutput = 1\n", "input must be from 0 to 1,000,000: correct it"),
        ("[models.a]\ninput = nan\noutput = 1\n", "input must be from 0"),
        ("[models.a]\ninput = inf\noutput = 1\n", "input must be from 0"),
        ("[models.a]\ninput = 1\noutput = 1\nprice = 3\n", 'unknown key "price": the keys are input, output'),
        ("[models.a]\ninput = 1\noutput = 1\nwindow = 0\n", "window must be a whole number from 1"),
        ("[models.a]\ninput = 1\noutput = 1\nwindow = 1.5\n", "window must be a whole number"),
        ("[models.a]\ninput = 1\noutput = 1\nabove = { prompt = 5 }\n", "above must hold prompt, input"),
        ("[models.a]\ninput = 1\noutput = 1\nabove = 3\n", "above must hold"),
        ("[models]\na = 3\n", 'write [models."a"]'),
        ("models = 3\n", "write prices as [models.NAME]"),
        ("[model.a]\ninput = 1\n", 'unknown key "model": write prices as [models.NAME]'),
        ("[models.a\n", "is not valid TOML"),
        ("a = 1\n" * 60_000, "is larger than 256 KB"),
        ("x = " + "[" * 5_000, "correct it or delete the file"),
    ],
)
def test_a_wrong_table_of_the_user_is_one_line_that_names_the_file(text: str, said: str) -> None:
    path = use(text)
    with pytest.raises(BadSettings) as raised:
        load_prices()
    assert str(path) in str(raised.value)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_in_the_tables_place_is_one_line() -> None:
    user_prices_file().mkdir(parents=True)
    with pytest.raises(BadSettings, match="cannot be read"):
        load_prices()


@pytest.mark.parametrize(
    ("micros", "shown"),
    [
        (0, "$0.00"), (1, "$0.000001"), (9_999, "$0.009999"), (10_000, "$0.0100"), (10_001, "$0.0101"),
        (999_999, "$1.0000"), (MILLION, "$1.00"), (1_000_001, "$1.01"), (1_234 * MILLION, "$1,234.00"),
    ],
)  # fmt: skip
def test_money_is_never_shown_lower_than_it_is(micros: int, shown: str) -> None:
    assert dollars(micros) == shown


def test_what_is_left_is_never_shown_higher_than_it_is() -> None:
    assert [dollars(micros, down=True) for micros in (0, 10_099, 799_999, 1_009_999)] == [
        "$0.00", "$0.0100", "$0.7999", "$1.00",
    ]  # fmt: skip


def test_rates_round_a_whole_request_once() -> None:
    rates = Rates(input=Decimal("0.1"), output=Decimal("0.5"), cache_write=Decimal("0.125"), cache_read=Decimal("0.01"))
    assert rates.cost(Usage(input_tokens=1, output_tokens=1, cache_read_tokens=1, cache_write_tokens=1)) == 1


def test_a_request_is_estimated_with_all_that_is_sent() -> None:
    def request(**values: Any) -> Request:
        given: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": ({"role": "user", "content": "x" * 3_500},)}
        return Request(**(given | values))

    plain = estimate_request(request())
    assert 1_300 <= plain < 1_500
    text = {"type": "text", "text": "y" * 3_500}
    tool = {"name": "t", "description": "z" * 3_500, "input_schema": {"type": "object"}}
    assert estimate_request(request(system=(text,))) >= plain + 1_300
    assert estimate_request(request(tools=(tool,))) >= plain + 1_300
    assert estimate_request(request(schema={"title": "w" * 3_500})) >= plain + 1_300
    wide = request(messages=({"role": "user", "content": "引" * 1_000},))
    assert 1_300 <= estimate_request(wide) < 1_500  # not the six characters of an escape
    assert estimate_request(request()) > len(json.dumps(request().messages)) / 3.5
