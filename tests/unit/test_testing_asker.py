"""The fake asker: what a pod or an extraction may rely on without the SDK."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import SecretStr

from hikidashi import testing
from hikidashi.errors import ModelFailure
from hikidashi.model.client import Client
from hikidashi.model.endpoint import Endpoint
from hikidashi.model.messages import Asker, Request
from hikidashi.model.meter import MemoryMeter
from hikidashi.testing import FakeAsker, FakeMessages, call, cut, say, think, turn, unknown


def request(**more: Any) -> Request:
    messages = ({"role": "user", "content": "What is in the drawer?"},)
    return Request(**{"model": "claude-haiku-5-5", "max_tokens": 500, "messages": messages, **more})


def test_an_answer_has_text_calls_usage_and_what_goes_back() -> None:
    fake = FakeAsker([turn(think("Hm."), "I ", "look.", call("look", {"where": "in"}), unknown("hologram", hue=3))])
    answer = fake.ask(request(schema={"type": "object"}, effort="low"), phase="extraction")
    assert answer.text == "I look."
    assert [(use.name, use.input) for use in answer.tool_uses] == [("look", {"where": "in"})]
    assert answer.stop_reason == "tool_use"
    assert answer.unknown == {"hologram": 1}
    assert [block["type"] for block in answer.content] == ["thinking", "text", "text", "tool_use"]
    recorded = fake.requests[0]
    assert recorded.body["output_config"] == {
        "format": {"type": "json_schema", "schema": {"type": "object"}},
        "effort": "low",
    }
    assert answer.usage.input_tokens == recorded.usage["input_tokens"] > 0
    assert fake.phases == ["extraction"]
    back = ({"role": "user", "content": "Go."}, {"role": "assistant", "content": list(answer.content)})
    result = {"type": "tool_result", "tool_use_id": answer.tool_uses[0].id, "content": "keys"}
    with pytest.raises(ModelFailure, match="no turn for request 2"):  # sound, but the script is at its end
        fake.ask(request(messages=(*back, {"role": "user", "content": [result]})), phase="extraction")


def test_malformed_input_of_a_call_is_none_and_the_words_are_kept() -> None:
    answer = FakeAsker([[call("look", raw='{"where": ')]]).ask(request(), phase="integration")
    assert answer.tool_uses[0].input is None
    assert answer.tool_uses[0].raw == '{"where": '
    assert answer.content[0]["input"] == {}


def by_the_client(fake: FakeMessages) -> Asker:
    """The real client, which asks once, with the real SDK, in process."""
    endpoint = Endpoint(
        base_url="http://127.0.0.1:9",
        key=SecretStr("k"),
        key_origin="",
        local_only=True,
        idle_seconds=60,
        request_seconds=600,
        attempts=1,
    )
    return Client(endpoint, MemoryMeter(), clock=lambda: NOON, transport=fake.transport())


NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)

ANSWERS: list[testing.TurnLike] = [
    "Keys.",
    turn(think("Hm.", signature="c2ln"), "I ", "look.", call("look", {"where": "左"}), unknown("hologram", hue=3)),
    call("look", raw='{"where": '),
    call("look", raw="[1]"),
    turn("So far", stop_reason="max_tokens"),
    turn("No.", stop_reason="refusal"),
    turn(stop_reason="end_turn"),
]


@pytest.mark.parametrize("form", ANSWERS, ids=range(len(ANSWERS)))
def test_its_answer_is_the_one_that_the_client_gives(form: testing.TurnLike) -> None:
    light = FakeAsker([form]).ask(request(), phase="ping")
    real = by_the_client(FakeMessages([form])).ask(request(), phase="ping")
    assert light == replace(real, seconds=0.0)


FAILURES = [
    (testing.unauthorized(), "auth"),
    (testing.forbidden(), "auth"),
    (testing.billing(), "billing"),
    (testing.credit_too_low(), "billing"),
    (testing.rate_limited(seconds=3), "overloaded"),
    (testing.rate_limited(milliseconds=2500), "overloaded"),
    (testing.rate_limited(until=NOON.timestamp() + 90), "overloaded"),
    (testing.server_error(), "overloaded"),
    (testing.overloaded(), "overloaded"),
    (testing.prompt_too_long(), "content"),
    (testing.too_large(), "content"),
    (testing.http_error(404, "not_found_error", "model: small"), "auth"),
    (testing.garbage(), "network"),
    (testing.garbage(status=502), "overloaded"),
    (testing.redirect("http://127.0.0.1:1/"), "auth"),
    (cut("Keys.", after_bytes=400), "network"),
    (cut("Keys.", after_bytes=400, clean=True), "network"),
    (testing.error_in_stream("Keys.", after_events=2), "overloaded"),
    (testing.reset(), "network"),
    (testing.refused(), "network"),
    (testing.silent("Keys.", after_events=3), "network"),
]


@pytest.mark.parametrize(("form", "kind"), FAILURES, ids=range(len(FAILURES)))
def test_its_failure_is_the_one_that_the_client_gives(form: testing.TurnLike, kind: str) -> None:
    with pytest.raises(ModelFailure) as light:
        FakeAsker([form], clock=NOON.timestamp).ask(request(), phase="ping")
    with pytest.raises(ModelFailure) as real:
        by_the_client(FakeMessages([form])).ask(request(), phase="ping")
    assert light.value.kind == kind
    for name in ("kind", "reason", "again", "wait"):
        assert getattr(light.value, name) == getattr(real.value, name), name


def test_it_loads_neither_the_sdk_nor_http() -> None:
    code = (
        "import sys, hikidashi.testing as t; t.FakeMessages([]); "
        "from hikidashi.model.messages import Request; "
        "t.FakeAsker(['Keys.']).ask(Request(model='m', max_tokens=9, messages=({'role': 'user', 'content': 'x'},)), "
        "phase='ping'); "
        "print(sorted({'anthropic', 'httpx2', 'pydantic', 'pytest'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_say_is_a_turn_of_its_own() -> None:
    assert FakeAsker([say("Keys.")]).ask(request(), phase="ping").text == "Keys."
