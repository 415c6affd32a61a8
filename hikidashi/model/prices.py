"""What models cost and how much they take: the table of `prices.toml`, and the user's own beside `config.toml`.

Money is counted in whole micro-dollars (millionths of a US dollar), rounded up once a request. A price in dollars a
million tokens is the same number in micro-dollars a token. A model without a price costs None, never 0.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from pathlib import Path
from typing import Any, Final

from hikidashi.config.folders import config_folder, shown
from hikidashi.config.settings import Settings
from hikidashi.errors import BadSettings
from hikidashi.model.messages import Usage

__all__ = [
    "UNKNOWN_OUTPUT",
    "UNKNOWN_WINDOW",
    "ModelFacts",
    "Prices",
    "Rates",
    "load_prices",
    "own_prices",
    "user_prices_file",
]

#: Tokens that a model takes which is in no table: what small local models have at least.
UNKNOWN_WINDOW: Final = 32_768

#: Tokens of an answer of such a model.
UNKNOWN_OUTPUT: Final = 4_096

_OWN: Final = Path(__file__).with_name("prices.toml")

#: A file of prices has a few kilobytes; a larger one is a mistake.
_MAX_BYTES: Final = 256 * 1024

#: `claude-haiku-4-5-20251001` is a snapshot of `claude-haiku-4-5`.
_SNAPSHOT: Final = re.compile(r"-20\d{6}$")

_RATES: Final = ("input", "output", "cache_write", "cache_read")
_LIMITS: Final = ("window", "max_output")
_HIGHEST_RATE: Final = 1_000_000
_HIGHEST_LIMIT: Final = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Prices in micro-dollars a token."""

    input: Decimal
    output: Decimal
    cache_write: Decimal
    cache_read: Decimal

    def cost(self, usage: Usage) -> int:
        """Micro-dollars of one request, rounded up."""
        total = (
            self.input * usage.input_tokens
            + self.output * usage.output_tokens
            + self.cache_write * usage.cache_write_tokens
            + self.cache_read * usage.cache_read_tokens
        )
        return int(total.to_integral_value(ROUND_CEILING))

    def most(self, prompt: int, answer: int) -> int:
        """The most that a request of so many tokens may cost, however the cache takes it."""
        dearest = max(self.input, self.cache_write, self.cache_read)
        return int((dearest * prompt + self.output * answer).to_integral_value(ROUND_CEILING))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What the table says of one model."""

    name: str
    #: None when only its limits are known.
    rates: Rates | None
    #: Tokens of input and answer together; None when the table does not say.
    window: int | None = None
    #: Tokens of an answer; None when the table does not say.
    max_output: int | None = None
    #: A longer prompt, cached tokens included, is charged by `long_rates` as a whole; 0: there is no such step.
    long_prompt: int = 0
    long_rates: Rates | None = None

    def cost(self, usage: Usage) -> int | None:
        """Micro-dollars of one request; None without a price."""
        rates = self._rates(usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens)
        return None if rates is None else rates.cost(usage)

    def most(self, prompt: int, answer: int) -> int | None:
        """The most that a request of so many tokens may cost; None without a price."""
        rates = self._rates(prompt)
        return None if rates is None else rates.most(prompt, answer)

    def _rates(self, prompt: int) -> Rates | None:
        return self.long_rates if self.long_prompt and prompt > self.long_prompt else self.rates


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The whole table."""

    #: When the program's own prices were read off, `2026-11-10`.
    date: str
    models: Mapping[str, ModelFacts]

    def of(self, model: str) -> ModelFacts | None:
        """What is known of a model, a dated snapshot included; None for one in no table."""
        return self.models.get(model) or self.models.get(_SNAPSHOT.sub("", model))

    def cost(self, model: str, usage: Usage) -> int | None:
        """Micro-dollars of one request; None for a model without a price."""
        facts = self.of(model)
        return None if facts is None else facts.cost(usage)

    def most(self, model: str, prompt: int, answer: int) -> int | None:
        """The most that a request of so many tokens may cost; None for a model without a price."""
        facts = self.of(model)
        return None if facts is None else facts.most(prompt, answer)

    def window(self, model: str, settings: Settings) -> int:
        """Tokens of input and answer together: `memory.context_tokens`, else the table, else 32,768."""
        facts = self.of(model)
        return settings.memory.context_tokens or (facts.window if facts and facts.window else UNKNOWN_WINDOW)

    def max_output(self, model: str, settings: Settings) -> int:
        """Tokens of an answer: the table's, else 4,096; never more than half the window."""
        facts = self.of(model)
        most = facts.max_output if facts and facts.max_output else UNKNOWN_OUTPUT
        return min(most, self.window(model, settings) // 2)


def user_prices_file() -> Path:
    """Where the user's own prices may stand."""
    return config_folder() / "prices.toml"


def own_prices() -> Prices:
    """The program's table."""
    return _parse(_OWN, tomllib.loads(_OWN.read_text(encoding="utf-8"), parse_float=Decimal))


def load_prices() -> Prices:
    """The program's table with the user's additions. Raises `BadSettings` for a user's file that is wrong."""
    own = own_prices()
    path = user_prices_file()
    data = _user_table(path)
    return own if data is None else Prices(date=own.date, models={**own.models, **_parse(path, data).models})


def _user_table(path: Path) -> dict[str, Any] | None:
    where = shown(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise BadSettings(f"{where} cannot be read ({exc.strerror}): give your user access or move it away") from exc
    if len(data) > _MAX_BYTES:
        raise BadSettings(f"{where} is larger than {_MAX_BYTES // 1024} KB: leave only prices in it")
    try:
        return tomllib.loads(data.decode("utf-8-sig"), parse_float=Decimal)
    except (ValueError, RecursionError) as exc:  # no UTF-8, no TOML, numbers with too many digits
        said = "nested too deeply" if isinstance(exc, RecursionError) else shown(str(exc))
        raise BadSettings(f"{where} is not valid TOML ({said}): correct it or delete the file") from exc


def _parse(path: Path, data: Mapping[str, Any]) -> Prices:
    where = shown(path)
    unknown = sorted(set(data) - {"date", "models"})
    if unknown:
        raise BadSettings(f'{where}: unknown key "{shown(unknown[0])}": write prices as [models.NAME]')
    models = data.get("models", {})
    if not isinstance(models, dict):
        raise BadSettings(f"{where}: models is no table: write prices as [models.NAME]")
    return Prices(
        date=str(data.get("date", "")),
        models={name: _facts(f"{where}: {shown(name)}", name, models[name]) for name in models},
    )


def _facts(where: str, name: str, table: Any) -> ModelFacts:
    if not isinstance(table, dict):
        raise BadSettings(f'{where} is no table: write [models."{shown(name)}"] and its prices below')
    unknown = sorted(set(table) - {*_RATES, *_LIMITS, "above"})
    if unknown:
        known = ", ".join((*_RATES, *_LIMITS, "above"))
        raise BadSettings(f'{where} has an unknown key "{shown(unknown[0])}": the keys are {known}')
    above = table.get("above", {})
    if not isinstance(above, dict) or (above and set(above) != {"prompt", *_RATES}):
        raise BadSettings(f"{where}: above must hold prompt, {', '.join(_RATES)}: add what is missing")
    return ModelFacts(
        name=name,
        rates=_rates(where, table) if any(key in table for key in _RATES) else None,
        **{key: _limit(where, key, table[key]) for key in _LIMITS if key in table},
        long_prompt=_limit(where, "above.prompt", above["prompt"]) if above else 0,
        long_rates=_rates(where, above) if above else None,
    )


def _limit(where: str, key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _HIGHEST_LIMIT:
        raise BadSettings(f"{where}: {key} must be a whole number from 1 to {_HIGHEST_LIMIT:,}: correct it")
    return value


def _rates(where: str, table: Mapping[str, Any]) -> Rates:
    """The four prices; without those of the cache, its tokens cost what others do."""
    found = {}
    for key in _RATES:
        value = table.get(key, table.get("input") if key.startswith("cache_") else None)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise BadSettings(f"{where}: {key} must be a price in US dollars a million tokens: add it")
        price = Decimal(value)
        if not price.is_finite() or not 0 <= price <= _HIGHEST_RATE:
            raise BadSettings(f"{where}: {key} must be from 0 to {_HIGHEST_RATE:,}: correct it")
        found[key] = price
    return Rates(**found)
