"""What errors of servers, of the SDK and of connections mean; when and how long to wait before asking again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anthropic
import httpcore2
import httpx2
import pytest
from pydantic import SecretStr

from hikidashi.errors import BadSettings, ModelFailure
from hikidashi.model.endpoint import ANTHROPIC_URL, Endpoint
from hikidashi.model.failures import failure_of, stream_failure
from hikidashi.model.policy import asked_wait, make_policy, wait_before

NOW = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)
KEY = "sk-ant-api03-" + "Zr5t" * 20
ENDPOINT = Endpoint(
    base_url="https://models.example.org",
    key=SecretStr(KEY),
    key_origin="config.toml, line 2",
    local_only=False,
    idle_seconds=120.0,
    request_seconds=600.0,
    attempts=5,
)


def understood(error: Exception, endpoint: Endpoint = ENDPOINT) -> ModelFailure:
    failure = failure_of(error, endpoint=endpoint, model="small", now=NOW)
    assert isinstance(failure, ModelFailure)
    return failure


def answered(
    status: int, body: Any, headers: dict[str, str] | None = None, kind: type[anthropic.APIStatusError] | None = None
) -> anthropic.APIStatusError:
    request = httpx2.Request("POST", "https://models.example.org/v1/messages", headers={"Authorization": KEY})
    response = httpx2.Response(status, headers=headers, request=request)
    return (kind or anthropic.APIStatusError)("error", response=response, body=body)


def said(message: str, kind: str = "invalid_request_error", **more: Any) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "kind", "reason", "again"),
    [
        (400, said("messages: roles must alternate"), "content", "refused-request", False),
        (400, said("Your credit balance is too low to access the API."), "billing", "", False),
        (400, said("[{'loc': ['system'], 'input': {'messages': [{'content': 'mend the billing page'}]}}]"),
         "content", "refused-request", False),
        (400, said("system: a text expected, and not " + "a long one " * 20 + "'Our credit balance is too low'"),
         "content", "refused-request", False),
        (400, said("prompt is too long: 210000 tokens > 200000 maximum"), "content", "too-long", False),
        (400, said("This model's maximum context length is 4096 tokens."), "content", "too-long", False),
        (400, {"error": {"code": 400, "message": "the request exceeds the available context size",
                         "type": "exceed_context_size_error"}}, "content", "too-long", False),
        (500, {"error": "input exceeds maximum context window"}, "content", "too-long", False),
        (401, said("invalid x-api-key", "authentication_error"), "auth", "", False),
        (401, {"detail": "Not authenticated"}, "auth", "", False),
        (402, said("Payment required", "billing_error"), "billing", "", False),
        (403, said("Your account may not use this model", "permission_error"), "auth", "", False),
        (403, said("Billing is not set up for this account", "permission_error"), "billing", "", False),
        (404, said("model: small", "not_found_error"), "auth", "not-found", False),
        (404, "404 page not found", "auth", "not-found", False),
        (405, None, "auth", "not-found", False),
        (408, None, "network", "", True),
        (409, said("conflict"), "overloaded", "", True),
        (413, said("Request exceeds the maximum size", "request_too_large"), "content", "too-long", False),
        (422, {"detail": [{"loc": ["system"], "msg": "a text expected"}]}, "content", "refused-request", False),
        (429, said("Rate limited", "rate_limit_error"), "overloaded", "", True),
        (429, said("You exceeded your current quota, please check your plan"), "billing", "", False),
        (429, said("Stop", "rate_limit_error", details={"error_code": "enforced_spend_limit_reached"}),
         "billing", "", False),
        (429, {"error": {"code": "insufficient_quota", "message": "no"}}, "billing", "", False),
        (500, said("Internal server error", "api_error"), "overloaded", "", True),
        (501, None, "auth", "not-found", False),
        (502, "<html>Bad gateway</html>", "overloaded", "", True),
        (503, None, "overloaded", "", True),
        (504, None, "overloaded", "", True),
        (529, said("Overloaded", "overloaded_error"), "overloaded", "", True),
        (307, None, "auth", "redirect", False),
    ],
)  # fmt: skip
def test_an_error_status_is_told_apart(status: int, body: Any, kind: str, reason: str, again: bool) -> None:
    failure = understood(answered(status, body))
    assert (failure.kind, failure.reason, failure.again) == (kind, reason, again)
    assert "\n" not in str(failure)


def test_a_server_that_says_that_asking_again_is_no_use_is_believed() -> None:
    assert not understood(answered(500, None, {"x-should-retry": "false"})).again


def test_the_mend_fits_whose_server_it_is() -> None:
    theirs = replace(ENDPOINT, base_url=ANTHROPIC_URL)
    for endpoint, has_address in ((ENDPOINT, True), (theirs, False)):
        unknown = str(understood(answered(404, said("model: small", "not_found_error")), endpoint))
        assert "correct" in unknown
        assert "memory.extraction_model" in unknown
        away = anthropic.APIConnectionError(request=httpx2.Request("POST", endpoint.base_url))
        away.__cause__ = httpx2.ConnectError("Connection refused")
        unreachable = str(understood(away, endpoint))
        assert "the network" in unreachable
        assert ("memory.base_url" in unknown, "start the server" in unreachable) == (has_address, has_address)


def test_a_refused_key_is_mended_where_it_stands() -> None:
    refused = answered(401, said("invalid x-api-key", "authentication_error"))
    assert "refused the key from config.toml, line 2 (401: invalid x-api-key): set a valid one there" in str(
        understood(refused)
    )
    missing = str(understood(refused, replace(ENDPOINT, key=SecretStr("none"), key_origin="")))
    assert "wants a key (401: invalid x-api-key; none is set): set it in memory.api_key" in missing


def test_a_redirect_names_its_host_and_nothing_else() -> None:
    location = {"location": "https://me:hunter2@evil.example.net/v1?token=hunter3"}
    text = str(understood(answered(308, None, location)))
    assert "evil.example.net" in text
    assert "hunter" not in text


@pytest.mark.parametrize(
    ("kind", "expected", "again"),
    [
        ("overloaded_error", "overloaded", True),
        ("api_error", "overloaded", True),
        ("rate_limit_error", "overloaded", True),
        ("authentication_error", "auth", False),
        ("billing_error", "billing", False),
        ("invalid_request_error", "content", False),
        ("something_new", "overloaded", True),
        ("", "overloaded", True),
    ],
)
def test_an_error_in_a_stream_means_what_it_means_before_it(kind: str, expected: str, again: bool) -> None:
    failure = stream_failure(said("Sorry", kind), endpoint=ENDPOINT, model="small", now=NOW)
    assert (failure.kind, failure.again) == (expected, again)


@pytest.mark.parametrize("body", [None, [], "text", 3, {"error": None}, {"type": "error"}, {"error": {"message": 3}}])
def test_any_body_can_be_read(body: Any) -> None:
    assert stream_failure(body, endpoint=ENDPOINT, model="small", now=NOW).kind == "overloaded"
    assert understood(answered(401, body)).kind == "auth"


def test_what_a_server_repeats_of_a_key_is_not_shown() -> None:
    other = "sk-proj-" + "Ab3d" * 16
    text = str(understood(answered(401, said(f"Incorrect key: {KEY} (not {other})\nask\x1b[31m again"))))
    assert KEY not in text
    assert other not in text
    assert text.isprintable()


def test_a_long_tale_is_shortened() -> None:
    assert len(str(understood(answered(500, said("word " * 10_000))))) < 500


def _all_errors(kind: type[BaseException]) -> Iterator[type[BaseException]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _all_errors(sub)


SDK_ERRORS = sorted(
    {kind for kind in _all_errors(anthropic.AnthropicError) if kind.__module__.startswith("anthropic")},
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", SDK_ERRORS, ids=lambda kind: kind.__name__)
def test_no_error_of_the_sdk_is_without_a_meaning(kind: type[Exception]) -> None:
    request = httpx2.Request("POST", "https://models.example.org/v1/messages")
    if issubclass(kind, anthropic.APIStatusError):
        error: Exception = answered(getattr(kind, "status_code", 500), said("Sorry"), kind=kind)
    elif issubclass(kind, anthropic.APIResponseValidationError):
        error = kind(httpx2.Response(200, request=request), None)
    elif issubclass(kind, anthropic.APIConnectionError):
        error = kind(request=request)
    else:
        error = kind.__new__(kind)  # errors of parts that we do not use; what they hold is their own
    failure = understood(error)
    assert failure.kind in ("auth", "billing", "overloaded", "network", "content")
    assert str(failure).isprintable()


def test_the_list_of_the_sdks_errors_is_no_empty_one() -> None:
    names = {kind.__name__ for kind in SDK_ERRORS}
    assert {"RateLimitError", "OverloadedError", "APITimeoutError", "CredentialsError"} <= names
    assert len(names) > 30


HTTP_ERRORS = [
    kind
    for module in (httpx2, httpcore2)
    for _, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, Exception)
    and kind.__module__.startswith(("httpx2", "httpcore2"))
    # Of addresses and of cookies that only a caller of httpx2 itself could get wrong.
    and kind.__name__ not in ("InvalidURL", "CookieConflict", "ConnectionNotAvailable")
    # Raised by `raise_for_status` alone, and bases of the others.
    and kind.__name__ not in ("HTTPStatusError", "StreamError")
]


@pytest.mark.parametrize("kind", HTTP_ERRORS, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
@pytest.mark.parametrize("wrapped", [True, False], ids=["wrapped", "bare"])
def test_no_error_of_a_connection_is_without_a_meaning(kind: type[Exception], wrapped: bool) -> None:
    try:
        error = kind("it broke")
    except TypeError:
        error = kind()
    if wrapped:  # as the SDK does before an answer begins
        outer = anthropic.APIConnectionError(request=httpx2.Request("POST", "https://models.example.org"))
        outer.__cause__, error = error, outer
    failure = understood(error)
    assert (failure.kind, failure.again) == ("network", True)
    assert "models.example.org" in str(failure)


def test_our_own_error_comes_through_the_sdks() -> None:
    ours = BadSettings("not on this machine")
    outer = anthropic.APIConnectionError(request=httpx2.Request("POST", "https://models.example.org"))
    outer.__cause__ = ours
    assert failure_of(outer, endpoint=ENDPOINT, model="small", now=NOW) is ours


def test_an_error_of_nobody_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        failure_of(ZeroDivisionError(), endpoint=ENDPOINT, model="small", now=NOW)


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Sun, 03 May 2026 09:31:00 GMT"}, 60.0),
        ({"retry-after": "Sun, 03 May 2026 09:29:00 GMT"}, 0.0),  # over already
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e300"}, 7 * 86_400.0),
        ({"retry-after": ""}, None),
        ({"retry-after": "Sun, 99 May 9999999 09:29:00 GMT"}, None),
    ],
)
def test_what_a_server_asks_to_wait(headers: dict[str, str], wait: float | None) -> None:
    assert asked_wait(headers, NOW) == wait


def test_waits_double_up_to_a_minute() -> None:
    assert [wait_before(attempt, None) for attempt in range(1, 9)] == [2, 4, 8, 16, 32, 60, 60, 60]
    assert wait_before(10**9, None) == 60
    assert wait_before(3, 0.25) == 0.25


def failing(*failures: ModelFailure) -> Callable[[], str]:
    left = list(failures)

    def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


PASSING = ModelFailure("later", kind="overloaded", again=True)


@pytest.mark.parametrize(
    ("failures", "waits", "result"),
    [
        ([], [], "done"),
        ([PASSING] * 2, [2, 4], "done"),
        ([PASSING] * 4, [2, 4, 8, 16], "done"),
        ([PASSING] * 5, [2, 4, 8, 16], PASSING),
        ([ModelFailure("no", kind="auth")], [], "auth"),
        ([ModelFailure("later", kind="overloaded", again=True, wait=90.0)], [90], "done"),
        ([ModelFailure("tomorrow", kind="overloaded", again=True, wait=9_000.0)], [], "overloaded"),
        ([ModelFailure("now", kind="network", again=True, wait=0.0), PASSING], [0, 4], "done"),
    ],
)
def test_the_policy(failures: list[ModelFailure], waits: list[float], result: object) -> None:
    slept: list[float] = []
    policy = make_policy(5, sleep=slept.append)
    if isinstance(result, str) and result == "done":
        assert policy(failing(*failures)) == "done"
    else:
        with pytest.raises(ModelFailure) as caught:
            policy(failing(*failures))
        assert caught.value is failures[-1]
    assert slept == waits


def test_another_error_ends_it_at_once() -> None:
    with pytest.raises(KeyError):
        make_policy(5, sleep=lambda seconds: None)({"a": 1}.__getitem__, "b")
