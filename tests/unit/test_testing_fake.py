"""What a test may rely on in the fake Messages API: the real SDK meets in it what it meets in the real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import pytest

from hikidashi import testing
from hikidashi.testing import FakeMessages, call, cut, say, turn
from tests.support.sdk import KEY, request, sdk, streamed


@pytest.fixture(params=[True, False], ids=["http", "in process"])
def ask(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Answer of the SDK to one streamed request against a fake."""

    def asked(fake: FakeMessages, **more: Any) -> anthropic.types.Message:
        with sdk(fake, over_http=request.param) as client:
            return streamed(client, **more)

    return asked


@pytest.mark.parametrize("stream", [True, False])
def test_scripted_turns_come_in_their_order(stream: bool) -> None:
    script: list[testing.TurnLike] = [[say("I look."), call("look", {"where": "左の引き出し"})], "Three keys."]
    with FakeMessages(script) as fake, sdk(fake, over_http=True) as client:
        first = streamed(client) if stream else client.messages.create(**request())
        second = streamed(client) if stream else client.messages.create(**request())
        assert [block.type for block in first.content] == ["text", "tool_use"]
        assert first.content[1].input == {"where": "左の引き出し"}  # type: ignore[union-attr]
        assert (first.stop_reason, second.stop_reason) == ("tool_use", "end_turn")
        assert second.content[0].text == "Three keys."  # type: ignore[union-attr]
        assert [row.outcome for row in fake.requests] == ["ok", "ok"]
        assert fake.requests[0].usage["input_tokens"] == first.usage.input_tokens > 0
        assert fake.requests[0].usage["output_tokens"] == first.usage.output_tokens > 0


def test_a_rule_driven_model_sees_the_request() -> None:
    fake = FakeMessages(lambda body: body["messages"][-1]["content"].upper())
    with sdk(fake, over_http=False) as client:
        assert streamed(client).content[0].text == "WHAT IS IN THE DRAWER?"  # type: ignore[union-attr]


ERRORS = [
    (testing.unauthorized(), anthropic.AuthenticationError, 401),
    (testing.forbidden(), anthropic.PermissionDeniedError, 403),
    (testing.billing(), anthropic.PaymentRequiredError, 402),
    (testing.credit_too_low(), anthropic.BadRequestError, 400),
    (testing.rate_limited(seconds=7), anthropic.RateLimitError, 429),
    (testing.server_error(), anthropic.InternalServerError, 500),
    (testing.overloaded(), anthropic.OverloadedError, 529),
    (testing.prompt_too_long(), anthropic.BadRequestError, 400),
    (testing.too_large(), anthropic.ContentTooLargeError, 413),
]


@pytest.mark.parametrize(("error", "kind", "status"), ERRORS, ids=lambda value: getattr(value, "__name__", None))
def test_an_error_reaches_the_sdk_as_its_own_class(
    ask: Callable[..., Any], error: testing.HttpError, kind: type[anthropic.APIStatusError], status: int
) -> None:
    with FakeMessages([error]) as fake:
        with pytest.raises(kind) as caught:
            ask(fake)
        assert caught.value.status_code == status
        assert error.message in str(caught.value)
        assert fake.requests[0].outcome == f"{status} {error.kind}"
        assert fake.requests[0].usage == {}


@pytest.mark.parametrize(
    ("error", "header", "value"),
    [
        (testing.rate_limited(seconds=7), "retry-after", "7"),
        (testing.rate_limited(until=0), "retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"),
        (testing.rate_limited(milliseconds=1500), "retry-after-ms", "1500"),
    ],
)
def test_a_rate_limit_says_when_to_come_back(
    ask: Callable[..., Any], error: testing.HttpError, header: str, value: str
) -> None:
    with FakeMessages([error]) as fake, pytest.raises(anthropic.RateLimitError) as caught:
        ask(fake)
    assert caught.value.response.headers[header] == value


WHOLE = turn(say("A sentence of some length, in more than one event."), call("look", {"where": "there"}))


@pytest.mark.parametrize("events", range(12))
def test_a_stream_cut_after_any_event_is_never_taken_for_an_answer(ask: Callable[..., Any], events: int) -> None:
    with FakeMessages([cut(WHOLE, after_events=events)]) as fake:
        with pytest.raises((anthropic.APIError, httpx2.HTTPError)):
            ask(fake)
        assert fake.requests[0].outcome == "cut"


@pytest.mark.parametrize("count", [0, 1, 50, 400, 900])
def test_a_stream_cut_after_any_byte_is_never_taken_for_an_answer(ask: Callable[..., Any], count: int) -> None:
    with FakeMessages([cut(WHOLE, after_bytes=count)]) as fake, pytest.raises((anthropic.APIError, httpx2.HTTPError)):
        ask(fake)


def test_one_request_more_than_the_script_has_is_an_error_that_says_so(ask: Callable[..., Any]) -> None:
    with FakeMessages([]) as fake, pytest.raises(anthropic.BadRequestError, match="no turn for request 1"):
        ask(fake)


def test_a_key_is_compared_and_never_shown(ask: Callable[..., Any]) -> None:
    with FakeMessages(["In."], key=KEY) as fake:
        ask(fake)
        assert fake.requests[0].key == KEY
        assert KEY not in repr(fake.requests)
    with FakeMessages(["In."], key="another") as fake, pytest.raises(anthropic.AuthenticationError):
        ask(fake)


def test_the_sdk_counts_tokens_and_lists_models(ask: Callable[..., Any]) -> None:
    with FakeMessages(["Keys."]) as fake, sdk(fake, over_http=True) as client:
        asked = request()
        del asked["max_tokens"]
        counted = client.messages.count_tokens(**asked).input_tokens
        assert streamed(client).usage.input_tokens == counted > 5
        names = [model.id for model in client.models.list()]
        assert client.models.retrieve(names[0]).id == names[0]
        with pytest.raises(anthropic.NotFoundError):
            client.models.retrieve("none")
        assert [call.path for call in fake.calls][:3] == ["/v1/messages/count_tokens", "/v1/messages", "/v1/models"]


@pytest.mark.parametrize(
    "headers", [{"x-api-key": KEY}, {"authorization": f"Bearer {KEY}"}], ids=["x-api-key", "bearer"]
)
def test_a_key_is_taken_in_both_forms(headers: dict[str, str]) -> None:
    with FakeMessages(["Keys."], key=KEY) as fake, httpx2.Client() as client:
        version = {"anthropic-version": "2026-10-21"}
        answer = client.post(f"{fake.url}/v1/messages", headers={**version, **headers}, json=request())
        assert answer.status_code == 200
        assert fake.requests[0].key == KEY
        assert KEY not in str(fake.requests[0].headers)
        assert fake.requests[0].headers[next(iter(headers))].startswith("sha256:")


def test_the_same_requests_get_the_same_bytes() -> None:
    script: list[testing.TurnLike] = [testing.think("Hm."), [say("I look."), call("look", {"b": 1, "a": 2})], "Done."]
    seen = []
    for _ in range(2):
        with FakeMessages(script, clock=lambda: 0.0) as fake, httpx2.Client() as client:
            headers = {"anthropic-version": "2026-10-21"}
            posts = [client.post(f"{fake.url}/v1/messages", headers=headers, json=request(stream=True)) for _ in script]
            seen.append([post.content for post in posts])
    assert seen[0] == seen[1]
    assert len({*seen[0]}) == 3


def test_requests_are_timed_by_the_clock_that_was_given(ask: Callable[..., Any]) -> None:
    hands = [100.0]
    with FakeMessages([], then="Keys.", clock=lambda: hands[0]) as fake:
        ask(fake)
        hands[0] = 250.0
        ask(fake)
        assert [row.at for row in fake.requests] == [100.0, 250.0]
