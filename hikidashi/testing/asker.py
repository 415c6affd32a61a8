"""An `Asker` whose model is a fake: neither the SDK nor HTTP, for tests of what asks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from hikidashi.errors import ModelFailure
from hikidashi.model.messages import Answer, Phase, Request, ToolUse, Usage
from hikidashi.testing.api import FakeApi, Recorded
from hikidashi.testing.turns import Model, Rule, TurnLike
from hikidashi.testing.wire import Reply

__all__ = ["FakeAsker"]

_HEADERS = {"anthropic-version": "2026-10-21", "authorization": "Bearer fake"}
_KNOWN = ("text", "tool_use", "thinking", "redacted_thinking")


class FakeAsker:
    """Answers from the same models and with the same checks and cache as `FakeMessages`.

    An error or a broken delivery is the `ModelFailure` that the client makes of it after its last attempt; nothing is
    asked twice.
    """

    def __init__(
        self,
        model: Model,
        *,
        then: TurnLike | Rule | None = None,
        clock: Callable[[], float] = time.time,
        strict: bool = True,
        window: int = 1_000_000,
        cache_minimum: int | None = None,
    ) -> None:
        self._api = FakeApi(model, then=then, clock=clock, strict=strict, window=window, cache_minimum=cache_minimum)
        #: What each request was for, in their order.
        self.phases: list[Phase] = []

    @property
    def requests(self) -> list[Recorded]:
        """The requests, in their order."""
        return list(self._api.calls)

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """The model's next answer. Raises ModelFailure where the script has an error."""
        self.phases.append(phase)
        raw = json.dumps(_body(request), ensure_ascii=False).encode("utf-8", "surrogatepass")
        reply = self._api.handle("POST", "/v1/messages", _HEADERS, raw)
        if reply.ending != "whole" or self._api.calls[-1].outcome in ("short", "error"):
            raise ModelFailure("The answer broke off on its way. Try again.", kind="network")
        data = b"".join(reply.pieces)
        if reply.status != 200:
            raise _failure(reply, data)
        try:
            message = json.loads(data)
        except ValueError as exc:
            raise ModelFailure("What answered is no Messages API. Check memory.base_url.", kind="network") from exc
        return _answer(message, reply.headers.get("request-id", ""))


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": list(request.messages),
    }
    if request.system:
        body["system"] = list(request.system)
    if request.tools:
        body["tools"] = list(request.tools)
    output: dict[str, Any] = {}
    if request.schema is not None:
        output["format"] = {"type": "json_schema", "schema": request.schema}
    if request.effort is not None:
        output["effort"] = request.effort
    if output:
        body["output_config"] = output
    return body


def _failure(reply: Reply, data: bytes) -> ModelFailure:
    try:
        message = str(json.loads(data)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = data.decode("utf-8", "replace")
    kind = "content"
    if reply.status in (401, 403):
        kind = "auth"
    elif reply.status == 402 or "credit balance" in message:
        kind = "billing"
    elif reply.status == 429 or reply.status >= 500:
        kind = "overloaded"
    elif reply.status < 400:
        kind = "network"
    return ModelFailure(f"{reply.status}: {message}", kind=kind)


def _answer(message: dict[str, Any], request_id: str) -> Answer:
    content = message["content"]
    usage = message["usage"]
    unknown: dict[str, int] = {}
    for block in content:
        if block["type"] not in _KNOWN:
            unknown[block["type"]] = unknown.get(block["type"], 0) + 1
    return Answer(
        text="".join(block["text"] for block in content if block["type"] == "text"),
        tool_uses=tuple(_tool_use(block) for block in content if block["type"] == "tool_use"),
        stop_reason=message["stop_reason"],
        usage=Usage(
            input_tokens=usage["input_tokens"],
            output_tokens=usage["output_tokens"],
            cache_read_tokens=usage["cache_read_input_tokens"],
            cache_write_tokens=usage["cache_creation_input_tokens"],
        ),
        content=tuple(_to_send_back(block) for block in content if block["type"] in _KNOWN),
        model=message["model"],
        request_id=request_id,
        unknown=unknown,
    )


def _tool_use(block: dict[str, Any]) -> ToolUse:
    given = block["input"]
    if isinstance(given, dict):
        return ToolUse(id=block["id"], name=block["name"], input=given, raw=json.dumps(given, ensure_ascii=False))
    return ToolUse(id=block["id"], name=block["name"], input=None, raw=given if isinstance(given, str) else str(given))


def _to_send_back(block: dict[str, Any]) -> dict[str, Any]:
    """A call whose input is no object goes back with an empty one: the API takes nothing else."""
    if block["type"] == "tool_use" and not isinstance(block["input"], dict):
        return {**block, "input": {}}
    return block
