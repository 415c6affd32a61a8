"""The client: requests to a server of the Messages API, by the official SDK.

Streaming, since only a stream shows that a server is alive while a long answer is written. The SDK's retries are off
and its own reading of the environment is kept out: where a request goes, with which key and how often is ours to say.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

from hikidashi.errors import HikidashiError, ModelFailure
from hikidashi.model.endpoint import Endpoint
from hikidashi.model.messages import Answer, Phase, Request, Usage
from hikidashi.model.meter import FAILURES, Meter, RequestOutcome
from hikidashi.model.policy import make_policy
from hikidashi.model.tokens import estimate_request
from hikidashi.times import Clock, now

if TYPE_CHECKING:
    import anthropic
    import httpx2

    from hikidashi.model.reading import AnswerReader

__all__ = ["Client"]

#: What the SDK would read from the environment; a user's settings for other programs are not for this one.
_AMBIENT: Final = "ANTHROPIC_"
_environment_lock: Final = threading.Lock()

_OUTCOMES: Final[dict[str, RequestOutcome]] = {kind: kind for kind in FAILURES}

#: (server, model) -> options that it refuses, so that each further request of this process leaves them out.
_refused: Final[dict[tuple[str, str], frozenset[str]]] = {}


class Client:
    """Answers requests at `endpoint`; `meter` counts every attempt and may refuse it.

    `clock` and `sleep` are for tests. `transport` takes the place of the network. One request at a time; usable as a
    context manager, which closes connections.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        meter: Meter,
        *,
        clock: Clock = now,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._meter = meter
        self._clock = clock
        self._sleep = sleep
        self._transport = transport
        self._sdk: anthropic.Anthropic | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def close(self) -> None:
        """Close connections; the next request opens new ones."""
        if self._sdk is not None:
            self._sdk.close()
            self._sdk = None

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """Send `request`, again where the policy says so, and give the whole answer.

        Raises `BudgetSpent` before a request that could pass a budget, `BadSettings` where the settings lead to a
        server that may not be asked, `ModelFailure` for all else.
        """
        ours: list[ModelFailure] = []
        policy = make_policy(self._endpoint.attempts, sleep=self._sleep)
        try:
            return policy(self._attempt, request, phase, ours)
        except ModelFailure as failure:
            if failure not in ours:
                raise  # the meter's: nothing was sent
            made = policy.statistics.get("attempt_number", 1)
            if made > 1:
                failure.args = (f"after {made} attempts: {failure}",)
            until = None if failure.wait is None else self._clock() + timedelta(seconds=failure.wait)
            self._meter.gave_up(failure, until=until)
            raise

    def _attempt(self, request: Request, phase: Phase, ours: list[ModelFailure]) -> Answer:
        """One attempt, and at once another one without the options that the server may have refused.

        Options that were left out when it worked are left out for the rest of the process.
        """
        key = (self._endpoint.base_url, request.model)
        left_out = _refused.get(key, frozenset())
        while True:
            answer = self._metered(request, phase, left_out, ours)
            if isinstance(answer, Answer):
                if left_out:
                    _refused[key] = left_out
                return answer
            more = _options_to_leave_out(answer, request, left_out)
            if not more:
                raise answer
            left_out |= more

    def _metered(
        self, request: Request, phase: Phase, left_out: frozenset[str], ours: list[ModelFailure]
    ) -> Answer | HikidashiError:
        """One request on the wire, counted by the meter however it ends. A failure is added to `ours` and returned."""
        ticket = self._meter.open(phase, request.model, estimate_request(request), request.max_tokens)
        outcome: RequestOutcome = "network"
        usage: Usage | None = None
        seconds = 0.0
        try:
            _load_sdk()
            started = time.monotonic()
            sent = self._send(request, left_out)
            seconds = time.monotonic() - started
            if isinstance(sent.failure, ModelFailure):
                outcome = _OUTCOMES[sent.failure.kind]
                ours.append(sent.failure)
            elif sent.failure is None:
                outcome = "ok"
            usage = sent.usage
            return sent.failure or sent.answer(request, seconds)
        finally:
            self._meter.close(ticket, usage, outcome, seconds)

    def _send(self, request: Request, left_out: frozenset[str]) -> _Sent:
        """Send once and read the whole answer.

        A failure is returned and not raised: while an exception of the SDK is handled, every new one would carry it
        along, and with it the request and its key.
        """
        import anthropic
        import httpcore2
        import httpx2

        from hikidashi.model.failures import failure_of, part_from, was_sent
        from hikidashi.model.reading import AnswerReader

        sent = _Sent(reader=AnswerReader())
        handled = sys.exc_info()[1]
        theirs = (
            *(anthropic.AnthropicError, httpx2.HTTPError, httpx2.StreamError),
            # The layer below httpx2; its errors reach us while an answer is read.
            *(httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError),
        )
        try:
            with self._opened(request, left_out) as response:
                sent.request_id = str(response.headers.get("request-id", ""))
                self._read(response, sent, request)
        except HikidashiError as exc:
            sent.failure = exc
        except theirs as exc:
            part_from(exc, handled)
            sent.failure = failure_of(
                exc, endpoint=self._endpoint, model=request.model, now=self._clock(), began=sent.arrived
            )
            sent.arrived = sent.arrived or was_sent(exc)
        if sent.failure is not None:
            sent.failure = sent.failure.with_traceback(None)
            sent.failure.args = tuple(map(self._endpoint.without_key, sent.failure.args))
            sent.failure.__cause__ = sent.failure.__context__ = None
        return sent

    @contextlib.contextmanager
    def _opened(self, request: Request, left_out: frozenset[str]) -> Iterator[httpx2.Response]:
        """The server's answer to `request`, as it begins to come in."""
        with contextlib.ExitStack() as stack:
            asked = self._opened_sdk().messages.with_streaming_response.create(**_body(request, left_out))
            with warnings.catch_warnings():  # a model that ends some day is the user's choice until then
                warnings.simplefilter("ignore", DeprecationWarning)
                answer = stack.enter_context(asked)
            yield answer.http_response

    def _read(self, response: httpx2.Response, sent: _Sent, request: Request) -> None:
        """Give all events of an answer to its reader. Raises `ModelFailure` for one that does not come whole."""
        import anthropic

        from hikidashi.model.failures import cut_off, no_answer, stream_failure
        from hikidashi.model.reading import BadEvent

        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if kind not in ("application/json", "text/event-stream"):
                raise no_answer(kind, endpoint=self._endpoint)
            reader, sent.arrived = sent.reader, True
            if kind == "application/json":
                response.read()
                reader.take_whole(response.json())
                return
            for event in anthropic.Stream.raw_events(response):
                if not event.data or event.event == "ping":
                    continue
                data = json.loads(event.data)
                if event.event == "error" or (isinstance(data, dict) and data.get("type") == "error"):
                    sent.arrived = False
                    raise stream_failure(data, endpoint=self._endpoint, model=request.model, now=self._clock())
                reader.take(data)
                if reader.ended:
                    return
        except BadEvent as exc:
            raise cut_off(str(exc), endpoint=self._endpoint) from None
        except (ValueError, RecursionError):  # no JSON, no UTF-8
            raise cut_off("garbage", endpoint=self._endpoint) from None
        raise cut_off("no end came", endpoint=self._endpoint)

    def _opened_sdk(self) -> anthropic.Anthropic:
        if self._sdk is None:
            self._sdk = _make_sdk(self._endpoint, self._transport)
        return self._sdk


@dataclass(slots=True)
class _Sent:
    """What became of one request."""

    reader: AnswerReader
    request_id: str = ""
    failure: HikidashiError | None = None
    #: The server may have the request, and may have worked for it.
    arrived: bool = False

    @property
    def usage(self) -> Usage | None:
        """What the meter is to count; None when nobody knows."""
        from hikidashi.model.reading import usage_of

        if self.failure is None:
            return usage_of(self.reader)
        return None if self.arrived or self.reader.started else Usage()

    def answer(self, request: Request, seconds: float) -> Answer:
        """The whole answer."""
        reader = self.reader
        return Answer(
            text=reader.text,
            tool_uses=reader.tool_uses,
            stop_reason=reader.stop_reason,
            usage=self.usage or Usage(),
            content=reader.content,
            model=reader.model or request.model,
            request_id=self.request_id,
            seconds=seconds,
            unknown=reader.unknown,
        )


def _load_sdk() -> None:
    """Load the SDK, which takes seconds, so that nobody takes them for the server's.

    As it loads, it reads from the environment whether to log all that it sends.
    """
    with _without_ambient():
        import anthropic.resources.messages  # noqa: F401

        import hikidashi.model.reading
        import hikidashi.model.route  # noqa: F401


def _make_sdk(endpoint: Endpoint, transport: httpx2.BaseTransport | None) -> anthropic.Anthropic:
    """The SDK's client. Raises `BadSettings` as `make_transport` does."""
    with _without_ambient():
        import anthropic
        import httpx2

        from hikidashi.model.route import make_transport, step_limits

        timeout = step_limits(endpoint)
        http_client = httpx2.Client(
            transport=transport or make_transport(endpoint), timeout=timeout, follow_redirects=False, trust_env=False
        )
        return anthropic.Anthropic(
            api_key=endpoint.key.get_secret_value(),
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=timeout,
            http_client=http_client,
            open_telemetry=False,
            default_headers={"Accept-Encoding": "identity"},
        )


@contextlib.contextmanager
def _without_ambient() -> Iterator[None]:
    """Hide `ANTHROPIC_*` while the SDK is loaded and made: it takes headers, logging and more from there, even when
    everything is given to it."""
    with _environment_lock:
        hidden = {name: value for name, value in os.environ.items() if name.startswith(_AMBIENT)}
        for name in hidden:
            del os.environ[name]
        try:
            yield
        finally:
            os.environ.update(hidden)


def _body(request: Request, refused: frozenset[str]) -> dict[str, Any]:
    """The SDK's arguments for a request, without what this server refuses."""
    output: dict[str, Any] = {}
    if request.effort is not None and "effort" not in refused:
        output["effort"] = request.effort
    if request.schema is not None and "format" not in refused:
        from anthropic import transform_schema

        # The API takes a part of JSON Schema only; what it does not know goes into descriptions.
        output["format"] = {"type": "json_schema", "schema": transform_schema(request.schema)}
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
    if output:
        body["output_config"] = output
    return body


def _options_to_leave_out(failure: HikidashiError, request: Request, left_out: frozenset[str]) -> frozenset[str]:
    """The options of `request` that the server may have refused; empty when it was something else.

    Not every server and model knows `output_config`. The effort goes alone where the server names only that.
    """
    if not isinstance(failure, ModelFailure) or failure.reason != "refused-request":
        return frozenset()
    used = {"effort"} if request.effort is not None else set()
    used |= {"format"} if request.schema is not None else set()
    words = str(failure).lower()
    only_effort = "effort" in words and not any(word in words for word in ("format", "schema"))
    left = frozenset(used) - left_out
    return left & {"effort"} or left if only_effort else left
