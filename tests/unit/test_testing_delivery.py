"""Answers that go wrong on their way, as the real SDK meets them, over HTTP and in process."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx2
import pytest

from hikidashi import testing
from hikidashi.testing import FakeMessages, Turn, call, say, think, turn, unknown
from tests.support.sdk import request, sdk, streamed

LONG = turn(say("A sentence of some length, in more than one event, and then one more."))
Ask = Callable[..., Any]


@pytest.fixture(params=[True, False], ids=["http", "in process"])
def ask(request: pytest.FixtureRequest) -> Ask:
    """The message that the SDK makes of one streamed request against a fake."""

    def asked(fake: FakeMessages, *, timeout: float = 5.0, stream: bool = True) -> anthropic.types.Message:
        with sdk(fake, over_http=request.param, timeout=timeout) as client:
            return streamed(client) if stream else client.messages.create(**_request())

    return asked


_request = request


@pytest.mark.parametrize(
    ("form", "kinds", "outcome"),
    [
        (testing.reset(), (anthropic.APIConnectionError, httpx2.TransportError), "reset"),
        (testing.reset(LONG, after_events=3), (anthropic.APIConnectionError, httpx2.TransportError), "reset"),
        (testing.refused(), (anthropic.APIConnectionError, httpx2.TransportError), "refused"),
        (testing.silent(), (anthropic.APITimeoutError, httpx2.TimeoutException), "silence"),
        (testing.silent(LONG, after_events=3), (anthropic.APITimeoutError, httpx2.TimeoutException), "silence"),
        (testing.slow(LONG, 60), (anthropic.APITimeoutError, httpx2.TimeoutException), "ok"),
        (Turn(blocks=LONG.blocks, wait=60), (anthropic.APITimeoutError, httpx2.TimeoutException), "ok"),
    ],
)
def test_a_broken_connection_is_the_error_that_a_real_one_gives(
    ask: Ask, form: testing.TurnLike, kinds: tuple[type[Exception], ...], outcome: str
) -> None:
    began = time.monotonic()
    with FakeMessages([form]) as fake:
        with pytest.raises(kinds):
            ask(fake, timeout=0.25)
        assert fake.requests[0].outcome == outcome
    assert time.monotonic() - began < 5  # the server's end waits for nobody


def test_where_nobody_listens_a_connection_is_refused() -> None:
    with anthropic.Anthropic(api_key="k", base_url=testing.nobody_url(), max_retries=0) as client:
        with pytest.raises(anthropic.APIConnectionError) as caught:
            client.messages.create(**request())
        assert isinstance(caught.value.__cause__, httpx2.ConnectError)


@pytest.mark.parametrize("events", [1, 3, 5])
def test_an_error_event_in_a_stream_is_an_error(ask: Ask, events: int) -> None:
    with FakeMessages([testing.error_in_stream(LONG, after_events=events)]) as fake:
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            ask(fake)
        assert fake.requests[0].outcome == "error"


def test_a_stream_that_ends_too_early_in_good_order_lacks_its_end(ask: Ask) -> None:
    """Proxies do this: no error of the connection tells it, only that `message_stop` never came."""
    with FakeMessages([testing.cut(LONG, after_events=4, clean=True)]) as fake:
        message = ask(fake)
    assert message.stop_reason is None


def test_slow_bytes_arrive_whole_and_each_pause_is_told_to_the_clock() -> None:
    pauses: list[float] = []
    fake = FakeMessages([testing.slow("Keys.", 2.5, piece_bytes=100)], sleep=pauses.append)
    with sdk(fake, over_http=False) as client:
        assert streamed(client).content[0].text == "Keys."  # type: ignore[union-attr]
    assert set(pauses) == {2.5}
    assert len(pauses) > 8
    with FakeMessages([testing.slow("Keys.", 0.001, piece_bytes=7)]) as over, sdk(over, over_http=True) as client:
        assert streamed(client).content[0].text == "Keys."  # type: ignore[union-attr]


def test_something_else_that_answers_is_no_message(ask: Ask) -> None:
    with FakeMessages([testing.garbage(), testing.garbage(b"\xff\x00", status=502)]) as fake:
        with pytest.raises((anthropic.AnthropicError, AssertionError)):
            ask(fake)
        with pytest.raises(anthropic.InternalServerError):
            ask(fake)
        assert [row.outcome for row in fake.requests] == ["200", "502"]


def test_a_redirect_says_where_to() -> None:
    reply = FakeMessages([testing.redirect("http://127.0.0.1:9/v1/messages")]).api.handle(
        "POST",
        "/v1/messages",
        {"anthropic-version": "x"},
        b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}',
    )
    assert (reply.status, reply.headers["location"]) == (307, "http://127.0.0.1:9/v1/messages")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("reason", ["max_tokens", "refusal", "model_context_window_exceeded", "pause_turn", "odd"])
def test_a_stop_reason_is_sent_as_it_is(ask: Ask, reason: str, stream: bool) -> None:
    details = {"type": "refusal", "category": None, "explanation": "No."} if reason == "refusal" else None
    with FakeMessages([turn("So far", stop_reason=reason, stop_details=details)]) as fake:
        message = ask(fake, stream=stream)
    assert message.stop_reason == reason
    assert message.content[0].text == "So far"


@pytest.mark.parametrize("stream", [True, False])
def test_thinking_and_blocks_of_unknown_kinds_arrive(ask: Ask, stream: bool) -> None:
    with FakeMessages([turn(think("Hm, the drawer.", signature="c2ln"), unknown(hue=3), "Keys.")]) as fake:
        message = ask(fake, stream=stream)
    assert [block.type for block in message.content] == ["thinking", "hologram", "text"]
    assert (message.content[0].thinking, message.content[0].signature) == ("Hm, the drawer.", "c2ln")


def test_malformed_input_of_a_call_goes_over_the_wire_word_for_word() -> None:
    fake = FakeMessages([[call("look", raw='{"where": "le')]], strict=False)
    with sdk(fake, over_http=False) as client:
        events = list(client.messages.create(**request(), stream=True))
    parts = [event.delta.partial_json for event in events if getattr(event, "delta", None) and _is_json(event)]
    assert "".join(parts) == '{"where": "le'


def _is_json(event: Any) -> bool:
    return getattr(event.delta, "type", "") == "input_json_delta"


def test_requests_of_many_threads_each_get_a_turn_of_their_own() -> None:
    script = [str(number) for number in range(24)]
    with FakeMessages(script) as fake, sdk(fake, over_http=True) as client, ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(streamed, client) for _ in script]
        said: list[Any] = [answer.result().content[0] for answer in asked]
    assert sorted((block.text for block in said), key=int) == script
    assert len(fake.requests) == len(script)
