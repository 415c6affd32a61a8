"""The fake asker: what a pod or an extraction may rely on without the SDK."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from hikidashi import testing
from hikidashi.errors import ModelFailure
from hikidashi.model.messages import Request
from hikidashi.testing import FakeAsker, call, cut, say, think, turn, unknown


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


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        (testing.unauthorized(), "auth"),
        (testing.forbidden(), "auth"),
        (testing.billing(), "billing"),
        (testing.credit_too_low(), "billing"),
        (testing.rate_limited(seconds=3), "overloaded"),
        (testing.server_error(), "overloaded"),
        (testing.overloaded(), "overloaded"),
        (testing.prompt_too_long(), "content"),
        (testing.too_large(), "content"),
        (testing.garbage(), "network"),
        (testing.redirect("http://127.0.0.1:1/"), "network"),
        (cut("Keys.", after_bytes=10), "network"),
        (cut("Keys.", after_bytes=10, clean=True), "network"),
        (testing.reset(), "network"),
        (testing.refused(), "network"),
        (testing.silent(), "network"),
    ],
)
def test_an_error_of_the_script_is_a_failure_of_its_kind(form: testing.TurnLike, kind: str) -> None:
    with pytest.raises(ModelFailure) as caught:
        FakeAsker([form]).ask(request(), phase="ping")
    assert caught.value.kind == kind


def test_it_loads_neither_the_sdk_nor_http() -> None:
    code = (
        "import sys, hikidashi.testing as t; t.FakeMessages([]); t.FakeAsker([]); "
        "print(sorted({'anthropic', 'httpx2', 'pydantic', 'pytest'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_say_is_a_turn_of_its_own() -> None:
    assert FakeAsker([say("Keys.")]).ask(request(), phase="ping").text == "Keys."
