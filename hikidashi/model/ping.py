"""One tiny request to each configured model: whether it works, how fast, for how many tokens and what money."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from hikidashi.config.settings import Settings
from hikidashi.errors import ModelFailure
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Request, Usage
from hikidashi.times import Clock, now
from hikidashi.ulid import random_ulid

if TYPE_CHECKING:
    import httpx2

    from hikidashi.model.client import Client

__all__ = ["Pinged", "Pings", "ping_models"]

#: Settings that name a model, the one that is asked most often first.
_MODELS: Final = ("memory.extraction_model", "memory.consolidation_model")

#: Enough for models that think before they answer; an answer that is cut there has shown what it should.
_MAX_TOKENS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinged:
    """What became of the request to one model."""

    model: str
    #: The settings that name it.
    settings: tuple[str, ...]
    #: None when it works.
    failure: ModelFailure | None
    seconds: float = 0.0
    usage: Usage | None = None
    #: Micro-dollars; None when the model has no price or the server did not count.
    cost: int | None = None
    #: The model that answered, as the server names it.
    answered: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The form of `ping --json`."""
        usage = self.usage
        return {
            "model": self.model,
            "settings": list(self.settings),
            "works": self.failure is None,
            "answered": self.answered or None,
            "seconds": round(self.seconds, 3),
            "tokens": None
            if usage is None
            else {"input": usage.total - usage.output_tokens, "output": usage.output_tokens},
            "cost_micro_usd": self.cost,
            "error": None
            if self.failure is None
            else {"kind": self.failure.kind, "reason": self.failure.reason, "message": str(self.failure)},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Pings:
    """All of them."""

    #: The server, without a key.
    base_url: str
    pinged: tuple[Pinged, ...]
    #: Settings that name Anthropic's model by default while another server is set: not asked.
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The form of `ping --json`."""
        return {
            "base_url": self.base_url,
            "models": [one.to_dict() for one in self.pinged],
            "left_out": list(self.left_out),
        }


def ping_models(
    settings: Settings,
    connection: sqlite3.Connection | None,
    *,
    environ: Mapping[str, str] = os.environ,
    clock: Clock = now,
    transport: httpx2.BaseTransport | None = None,
) -> Pings:
    """Ask each model once, without a second attempt; one that works is asked again by itself from now on.

    `connection`: the workspace's database, None outside any. Raises `BadSettings`, `ModelFailure` when there is no key,
    `BudgetSpent`, and as the ledger does.
    """
    endpoint = replace(make_endpoint(settings, environ=environ), attempts=1)
    models, left_out = _models(settings)

    # Only here, so that wrong settings are told at once: the SDK takes two seconds to load.
    from hikidashi.model.client import Client
    from hikidashi.model.ledger import make_meter
    from hikidashi.model.prices import load_prices

    meter = make_meter(connection, settings, random_ulid(clock()), clock=clock, environ=environ)
    prices = load_prices()
    pinged = []
    with Client(endpoint, meter, clock=clock, transport=transport) as client:
        for model, names in models.items():
            one = _pinged(client, model, names)
            cost = prices.cost(model, one.usage) if one.usage is not None else None
            pinged.append(replace(one, cost=cost))
    return Pings(base_url=endpoint.base_url, pinged=tuple(pinged), left_out=left_out)


def _models(settings: Settings) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Model -> the settings that name it; and the settings that are left out.

    Another server may have none of Anthropic's models: there, only the model that is in use is asked by its default.
    """
    models: dict[str, tuple[str, ...]] = {}
    left_out = []
    for name in _MODELS:
        if name != _MODELS[0] and settings.get("memory.base_url") and settings.origin(name) == "default":
            left_out.append(name)
        else:
            models[settings.get(name)] = (*models.get(settings.get(name), ()), name)
    return models, tuple(left_out)


def _pinged(client: Client, model: str, names: tuple[str, ...]) -> Pinged:
    request = Request(
        model=model,
        max_tokens=_MAX_TOKENS,
        messages=({"role": "user", "content": "Answer with the word: ready"},),
    )
    try:
        answer = client.ask(request, phase="ping")
    except ModelFailure as failure:
        return Pinged(model=model, settings=names, failure=failure)
    return Pinged(
        model=model,
        settings=names,
        failure=None,
        seconds=answer.seconds,
        usage=answer.usage if answer.usage.total else None,
        answered=answer.model,
    )
