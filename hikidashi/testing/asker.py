"""An `Asker` whose model is a fake: neither the SDK nor HTTP, for tests of what asks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hikidashi.errors import ModelFailure
from hikidashi.model.messages import Answer, Phase, Request, Usage
from hikidashi.model.reading import AnswerReader, usage_of
from hikidashi.testing.api import FakeApi, Recorded
from hikidashi.testing.turns import Block, Model, Rule, TurnLike
from hikidashi.testing.wire import Reply

if TYPE_CHECKING:
    from hikidashi.model.endpoint import Endpoint

__all__ = ["FakeAsker"]

_HEADERS = {"anthropic-version": "2026-10-21", "authorization": "Bearer fake"}


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
        self._clock = clock
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
        data = b"" if reply.before_headers else b"".join(reply.pieces)
        failure = self._refusal(reply, data, request)
        if failure is not None:
            raise failure
        reader = AnswerReader()
        error = _read(data, reader)
        if error is not None or not reader.ended:
            raise self._broken(error, request)
        return Answer(
            text=reader.text,
            tool_uses=reader.tool_uses,
            stop_reason=reader.stop_reason,
            usage=usage_of(reader) or Usage(),
            content=reader.content,
            model=reader.model or request.model,
            request_id=reply.headers.get("request-id", ""),
            unknown=reader.unknown,
        )

    def _refusal(self, reply: Reply, data: bytes, request: Request) -> ModelFailure | None:
        """The failure that the reply's head tells of."""
        kind = reply.headers.get("content-type", "").partition(";")[0]
        if reply.before_headers:
            return self._broken(None, request)
        if reply.status == 200 and kind == "text/event-stream":
            return None
        from hikidashi.model.failures import no_answer, refused

        if reply.status == 200:
            return no_answer(kind, endpoint=_endpoint())
        body = _loaded(data)
        return refused(reply.status, body, reply.headers, endpoint=_endpoint(), model=request.model, now=self._now())

    def _broken(self, error: Block | None, request: Request) -> ModelFailure:
        from hikidashi.model.failures import cut_off, stream_failure

        if error is None:
            return cut_off("no end came", endpoint=_endpoint())
        return stream_failure(error, endpoint=_endpoint(), model=request.model, now=self._now())

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _read(data: bytes, reader: AnswerReader) -> Block | None:
    """Give the events of a stream to `reader`, up to an error event, which is returned, or an event cut short."""
    for event in data.split(b"\n\n")[:-1]:
        told = json.loads(event.partition(b"\ndata: ")[2])
        if told["type"] == "error":
            return dict(told)
        reader.take(told)
    return None


def _loaded(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace")


def _endpoint() -> Endpoint:
    """The server as messages name it."""
    from pydantic import SecretStr

    from hikidashi.model.endpoint import Endpoint

    return Endpoint(
        base_url="http://fake",
        key=SecretStr("the-key-of-the-fake"),
        key_origin="",
        local_only=True,
        idle_seconds=60.0,
        request_seconds=600.0,
        attempts=1,
    )


def _body(request: Request) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": list(request.messages),
        "stream": True,
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
