"""What the fake API makes of a request, whatever brought it: checks, the model's turn, usage, and a record of it."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hikidashi.testing import faults
from hikidashi.testing.cache import PromptCache
from hikidashi.testing.checks import check
from hikidashi.testing.counting import count_output, fit
from hikidashi.testing.turns import Block, HttpError, Model, Rule, Turn, TurnLike, as_turn
from hikidashi.testing.wire import Reply, error_reply, json_reply, message_reply, stream_reply

__all__ = ["FakeApi", "Recorded"]

_MODELS: Final = ("claude-haiku-5-5", "claude-sonnet-5-5", "claude-opus-5-5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One request as the server saw it, and what became of it."""

    #: Unix time by the fake's clock.
    at: float
    method: str
    path: str
    #: Names in small letters; of a key, only a hash.
    headers: dict[str, str]
    body: dict[str, Any]
    #: The key as it came, without `Bearer`; "" for none.
    key: str = field(default="", repr=False)
    #: What the answer was meant to be billed with; empty for an error.
    usage: Block = field(default_factory=dict)
    #: `ok`, `cut`, `short`, `reset`, `silence`, `error`, or the status and the kind: `429 rate_limit_error`.
    outcome: str = "ok"


class FakeApi:
    """The API itself, without a network. Safe to use from several threads."""

    def __init__(
        self,
        model: Model,
        *,
        then: TurnLike | Rule | None = None,
        key: str | None = None,
        clock: Callable[[], float] = time.time,
        models: tuple[str, ...] = _MODELS,
        strict: bool = True,
        refuses: tuple[str, ...] = (),
        window: int = 1_000_000,
        cache_minimum: int | None = None,
    ) -> None:
        self._turns: list[TurnLike | Rule] = [] if callable(model) else list(model)
        self._then: TurnLike | Rule | None = model if callable(model) else then
        self._key = key
        self._clock = clock
        self._models = models
        self._strict = strict
        self._refuses = refuses
        self._window = window
        self._cache = PromptCache(cache_minimum)
        self._lock = threading.RLock()
        self._count = 0
        #: All requests, in the order of their arrival.
        self.calls: list[Recorded] = []

    def handle(self, method: str, target: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        """The reply to one request; `target` is the path with its query."""
        path = target.partition("?")[0]
        names = {name.lower(): value for name, value in headers.items()}
        with self._lock:
            self._count += 1
            key = names.get("x-api-key") or names.get("authorization", "").removeprefix("Bearer ")
            body = _body(raw)
            reply, usage, outcome = self._answer(method, path, names, body, key)
            self.calls.append(
                Recorded(
                    at=self._clock(),
                    method=method,
                    path=path,
                    headers={name: _shown(name, value) for name, value in names.items()},
                    body=body if body is not None else {},
                    key=key,
                    usage=usage,
                    outcome=outcome,
                )
            )
        return reply

    def _answer(
        self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any] | None, key: str
    ) -> tuple[Reply, Block, str]:
        if self._key is not None and key != self._key:
            return self._error(faults.unauthorized())
        if method == "GET" and path.startswith("/v1/models"):
            return self._model_list(path.removeprefix("/v1/models").strip("/"))
        if method != "POST" or path not in ("/v1/messages", "/v1/messages/count_tokens"):
            return self._error(faults.http_error(404, "not_found_error", f"Not found: {method} {path}"))
        if body is None:
            return self._error(faults.http_error(400, "invalid_request_error", "The body is not a JSON object."))
        counting = path.endswith("count_tokens")
        wrong = self._wrong(body, headers, counting)
        if wrong is not None:
            return self._error(wrong)
        if counting:
            return json_reply({"input_tokens": self._cache.count(body)}), {}, "ok"
        turn = self._turn(body)
        if isinstance(turn, HttpError):
            return self._error(turn)
        return self._message(turn, body, key)

    def _wrong(self, body: dict[str, Any], headers: Mapping[str, str], counting: bool) -> HttpError | None:
        for name in self._refuses:
            if name in body:
                message = f"{name}: Extra inputs are not permitted"
                return faults.http_error(400, "invalid_request_error", message)
        wrong = check(body, headers, counting=counting) if self._strict else None
        tokens = 0 if wrong is not None or counting else self._cache.count(body)
        return faults.prompt_too_long(tokens, self._window) if tokens > self._window else wrong

    def _turn(self, body: dict[str, Any]) -> Turn | HttpError:
        form = self._turns.pop(0) if self._turns else self._then
        if form is None:
            message = f"The script has no turn for request {self._count}: write one more, or give `then`."
            return faults.http_error(400, "invalid_request_error", message)
        return as_turn(form(body) if callable(form) else form)

    def _message(self, turn: Turn, body: dict[str, Any], key: str) -> tuple[Reply, Block, str]:
        limit = body.get("max_tokens")
        if isinstance(limit, int):
            turn = fit(turn, limit)
        split = self._cache.account(body, key, self._clock())
        usage: Block = {
            "input_tokens": split.uncached,
            "cache_creation_input_tokens": split.written_5m + split.written_1h,
            "cache_read_input_tokens": split.read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": split.written_5m,
                "ephemeral_1h_input_tokens": split.written_1h,
            },
            "output_tokens": turn.output_tokens if turn.output_tokens is not None else count_output(turn.blocks),
        }
        make = stream_reply if body.get("stream") else message_reply
        reply = make(turn, f"msg_{self._count:06d}", str(body.get("model", "")), usage, self._request_id())
        ending = turn.delivery.ending
        return reply, usage, "ok" if ending == "whole" else ending

    def _model_list(self, name: str) -> tuple[Reply, Block, str]:
        rows = [
            {
                "type": "model",
                "id": model,
                "display_name": model,
                "created_at": "2026-01-01T00:00:00Z",
                "lifecycle": "active",
            }
            for model in self._models
        ]
        if not name:
            ends = {"first_id": self._models[0], "last_id": self._models[-1]} if rows else {}
            return json_reply({"data": rows, "has_more": False, **ends}), {}, "ok"
        for row in rows:
            if row["id"] == name:
                return json_reply(row), {}, "ok"
        return self._error(faults.http_error(404, "not_found_error", f"model: {name}"))

    def _error(self, error: HttpError) -> tuple[Reply, Block, str]:
        outcome = str(error.status) if error.body is not None else f"{error.status} {error.kind}"
        return error_reply(error, self._request_id()), {}, outcome

    def _request_id(self) -> str:
        return f"req_{self._count:06d}"


def _body(raw: bytes) -> dict[str, Any] | None:
    try:
        data = json.loads(raw or b"{}")
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def _shown(name: str, value: str) -> str:
    if name not in ("x-api-key", "authorization", "proxy-authorization", "cookie"):
        return value
    return "sha256:" + hashlib.sha256(value.removeprefix("Bearer ").encode()).hexdigest()[:16]
