"""The client and the real SDK against a fake server in process: what goes out and what is made of what comes back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hikidashi.config.settings import load_settings
from hikidashi.errors import BudgetSpent, ModelFailure, NoWorkspace
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Request
from hikidashi.model.meter import MemoryMeter
from hikidashi.testing import FakeMessages, HttpError, Turn, call, overloaded, refused, say, think, turn, unknown

KEY = "key-of-the-fake"


def make_client(
    fake: FakeMessages,
    meter: MemoryMeter | None = None,
    *,
    sleep: Callable[[float], None] | None = None,
    **settings: str,
) -> Client:
    environ = {
        "HIKIDASHI_MEMORY_BASE_URL": "http://127.0.0.1:9",
        "HIKIDASHI_MEMORY_API_KEY": KEY,
        **{f"HIKIDASHI_MEMORY_{name.upper()}": value for name, value in settings.items()},
    }
    endpoint = make_endpoint(load_settings(None, environ=environ), environ=environ)
    return Client(endpoint, meter or MemoryMeter(), sleep=sleep or (lambda seconds: None), transport=fake.transport())


def request(text: str = "Hello.", *, model: str = "small", **fields: Any) -> Request:
    return Request(model=model, max_tokens=50, messages=({"role": "user", "content": text},), **fields)


def test_an_answer_has_its_parts() -> None:
    blocks = [think("hm"), say("Here. "), call("look", {"where": "desk"}), unknown("hologram"), say("Done.")]
    fake = FakeMessages([turn(*blocks)])
    answer = make_client(fake).ask(request(), phase="ping")
    assert (answer.text, answer.stop_reason, answer.model) == ("Here. Done.", "tool_use", "small")
    assert [(use.name, use.input) for use in answer.tool_uses] == [("look", {"where": "desk"})]
    assert [block["type"] for block in answer.content] == ["thinking", "text", "tool_use", "text"]
    assert answer.content[0]["signature"]
    assert answer.unknown == {"hologram": 1}
    assert answer.usage.input_tokens > 0
    assert answer.request_id == "req_000001"


def test_what_comes_back_can_be_sent_again() -> None:
    fake = FakeMessages([[think("hm"), say("Look:"), call("look", {"where": "desk"})], "Thanks."])
    client = make_client(fake)
    answer = client.ask(request(), phase="ping")
    result = {"type": "tool_result", "tool_use_id": answer.tool_uses[0].id, "content": "a pen"}
    messages = (
        *request().messages,
        {"role": "assistant", "content": list(answer.content)},
        {"role": "user", "content": [result]},
    )
    client.ask(Request(model="small", max_tokens=50, messages=messages), phase="ping")
    assert fake.requests[1].body is not None
    assert fake.requests[1].body["messages"] == list(messages)


@pytest.mark.parametrize("raw", ["{bad", '["a", "list"]', '"text"', "{", "null"])
def test_an_input_that_is_no_object_is_none_and_kept_word_for_word(raw: str) -> None:
    answer = make_client(FakeMessages([[call("look", raw=raw)]])).ask(request(), phase="ping")
    assert (answer.tool_uses[0].input, answer.tool_uses[0].raw) == (None, raw)
    assert answer.content[0]["input"] == {}  # the API takes nothing but an object back


def test_a_call_without_arguments_has_an_empty_input() -> None:
    answer = make_client(FakeMessages([[call("look", raw="")]])).ask(request(), phase="ping")
    assert answer.tool_uses[0].input == {}


def test_halves_of_characters_are_put_together_or_replaced() -> None:
    fake = FakeMessages([[say("x"), call("look", raw='{"a": "\\ud83d\\ude00", "b": "\\ud83d"}')]])
    assert make_client(fake).ask(request(), phase="ping").tool_uses[0].input == {"a": "\U0001f600", "b": "\ufffd"}


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {
        "type": "message", "id": "m", "role": "assistant", "model": "small", "stop_reason": "tool_use",
        "content": [{"type": "text", "text": "Hi."}, {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}],
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }  # fmt: skip
    fake = FakeMessages([HttpError(status=200, body=json.dumps(message).encode(), content_type="application/json")])
    answer = make_client(fake).ask(request(), phase="ping")
    assert (answer.text, answer.tool_uses[0].input, answer.usage.total) == ("Hi.", {"a": 1}, 5)


@pytest.mark.parametrize("stop", ["max_tokens", "refusal", "model_context_window_exceeded", "something_new"])
def test_the_reason_to_stop_is_kept(stop: str) -> None:
    fake = FakeMessages([Turn(blocks=(say("Half of"),), stop_reason=stop)])
    assert make_client(fake).ask(request(), phase="ping").stop_reason == stop


SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}


def refusing(*options: str) -> Callable[[dict[str, Any]], Any]:
    """A server that refuses options by name, as the one for small models does with the effort."""

    def model(body: dict[str, Any]) -> Any:
        for option in options:
            if option in body.get("output_config", {}):
                message = f"output_config.{option}: this model does not support it"
                return HttpError(status=400, kind="invalid_request_error", message=message)
        return "ok"

    return model


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ((), [{"effort", "format"}, {"effort", "format"}]),
        (("effort",), [{"effort", "format"}, {"format"}, {"format"}]),
        (("format",), [{"effort", "format"}, set(), set()]),
        (("effort", "format"), [{"effort", "format"}, {"format"}, set(), set()]),
    ],
)
def test_refused_options_are_left_out_from_then_on(options: tuple[str, ...], sent: list[set[str]]) -> None:
    fake = FakeMessages(refusing(*options))
    meter = MemoryMeter()
    asked = request(model=f"model-{'-'.join(options)}", schema=SCHEMA, effort="low")
    for _ in range(2):  # the second time by a client of its own: it is remembered for the process
        assert make_client(fake, meter).ask(asked, phase="ping").text == "ok"
    assert [set((call.body or {}).get("output_config", {})) for call in fake.requests] == sent
    assert [row.outcome for row in meter.closed].count("ok") == 2
    assert len(meter.closed) == len(sent)
    assert meter.given_up == []


def test_a_refusal_for_another_reason_takes_no_option_away_for_good() -> None:
    fake = FakeMessages([HttpError(status=400, message="no"), HttpError(status=400, message="no"), "ok"])
    asked = request(model="strict", schema=SCHEMA)
    with pytest.raises(ModelFailure) as caught:
        make_client(fake).ask(asked, phase="ping")
    assert caught.value.reason == "refused-request"
    make_client(fake).ask(asked, phase="ping")
    assert "format" in (fake.requests[2].body or {})["output_config"]


def test_every_attempt_is_metered_and_the_budget_holds_between_attempts() -> None:
    fake = FakeMessages([overloaded(), "ok"])
    meter = MemoryMeter(limit=400)

    def spend(seconds: float) -> None:
        meter.limit = 0  # another process took the rest meanwhile

    with pytest.raises(BudgetSpent):
        make_client(fake, meter, sleep=spend).ask(request(), phase="ping")
    assert [row.outcome for row in meter.closed] == ["overloaded"]
    assert meter.running == {}


def test_the_meters_own_refusal_is_not_given_up_again() -> None:
    block = ModelFailure("the key was refused", kind="auth")
    meter = MemoryMeter(block=block)
    fake = FakeMessages(["ok"])
    with pytest.raises(ModelFailure) as caught:
        make_client(fake, meter).ask(request(), phase="extraction")
    assert caught.value is block
    assert (fake.requests, meter.given_up, meter.closed) == ([], [], [])


def test_an_error_that_a_caller_handles_is_no_part_of_what_went_wrong_here() -> None:
    client = make_client(FakeMessages([], then=refused()), attempts="1")
    try:
        raise NoWorkspace("no folder: run `hikidashi init`")
    except NoWorkspace:
        with pytest.raises(ModelFailure, match="cannot be reached") as caught:
            client.ask(request(), phase="ping")
    assert caught.value.kind == "network"


def test_a_schema_is_sent_in_the_part_of_json_schema_that_the_api_knows() -> None:
    from hikidashi.capture.answers import answer_schema

    fake = FakeMessages(["ok", "ok"])
    client = make_client(fake)
    schema = answer_schema()
    for _ in range(2):
        client.ask(request(schema=schema), phase="extraction")
    sent = [(call.body or {})["output_config"]["format"] for call in fake.requests]
    assert sent[0] == sent[1]  # the same bytes: they stand in the server's cache
    assert schema == answer_schema()  # and the caller's own stays as it is
    assert sent[0]["type"] == "json_schema"
    known = {"type", "properties", "items", "required", "enum", "const", "anyOf", "$ref", "$defs", "description",
             "additionalProperties", "title", "format", "minItems"}  # fmt: skip
    for holder in _schemas(sent[0]["schema"]):
        assert set(holder) <= known
        assert holder.get("type") != "object" or holder["additionalProperties"] is False


def _schemas(schema: Any) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    inner += [schema["items"]] if "items" in schema else []
    for one in inner:
        yield from _schemas(one)
