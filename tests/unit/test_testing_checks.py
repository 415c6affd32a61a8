"""The fake refuses what the real API refuses, so that no test passes with a request that would fail in earnest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hikidashi.testing import FakeMessages, call, say, think
from hikidashi.testing.wire import Reply

HEADERS = {"anthropic-version": "2026-10-21", "authorization": "Bearer k"}
MARK = {"type": "ephemeral"}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str, mark: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": words} | ({"cache_control": mark} if mark else {})


def result(id: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": "three keys"}


def request(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "model": "claude-opus-5-5",
        "max_tokens": 100,
        "messages": list(messages) or [{"role": "user", "content": "What is in it?"}],
        **more,
    }


def send(body: dict[str, Any], *, fake: FakeMessages | None = None, path: str = "/v1/messages") -> tuple[int, Any]:
    server = fake or FakeMessages(["Keys."])
    reply: Reply = server.api.handle("POST", path, HEADERS, json.dumps(body).encode())
    return reply.status, json.loads(b"".join(reply.pieces))


ONE, TWO = call("look", id="toolu_1"), call("look", id="toolu_2")

SOUND = [
    request(),
    request(user(text("Go.")), assistant(ONE), user(result("toolu_1"))),
    request(user(text("Go.")), assistant(text("I look."), ONE, TWO), user(result("toolu_2"), result("toolu_1"))),
    request(user(*[text(str(at), MARK) for at in range(4)])),
    request(user(text("Go.", {"type": "ephemeral"})), system=[text("Be brief.", {"type": "ephemeral", "ttl": "1h"})]),
]

REFUSED = [
    (request(model=""), "model"),
    (request(max_tokens=None), "max_tokens"),
    (request(max_tokens=-1), "max_tokens"),
    (request(temperature=0.5), "temperature"),
    (request(response_format={}), "Extra inputs"),
    (request(tools=[{"name": "a b"}]), "pattern"),
    (request(tools=[{"name": "a"}, {"name": "a"}]), "unique"),
    (request(tools=[{"name": "a"}], tool_choice={"type": "any"}), "tool_choice"),
    (request(messages=[]), "at least one message"),
    (request({"role": "tool", "content": "x"}), "role"),
    (request(user()), "non-empty content"),
    (request(user(text(""))), "non-empty"),
    (request(assistant(text("I begin."))), "first message"),
    (request(user(text("Go.")), assistant(text("I begin"))), "prefill"),
    (request(user(text("Go.")), assistant(ONE), user(text("And?"))), "without `tool_result`"),
    (request(user(text("Go.")), assistant(ONE, TWO), user(result("toolu_1"))), "toolu_2"),
    (request(user(result("toolu_9"))), "unexpected `tool_use_id`"),
    (request(user(text("Go.")), assistant(ONE), user(result("toolu_1"), result("toolu_1"))), "single result"),
    (request(user(text("Go.")), assistant(ONE, ONE), user(result("toolu_1"))), "unique"),
    (request(user(*[text(str(at), MARK) for at in range(5)])), "Found 5"),
    (request(user(*[text(str(at), MARK) for at in range(4)]), cache_control=MARK), "Found 5"),
    (request(user(text("Go.", {"type": "for ever"}))), "ephemeral"),
    (request(user(text("Go.", {"type": "ephemeral", "ttl": "1h"})), system=[text("Be brief.", MARK)]), "must not come"),
    (request(user(text("Go.")), assistant({**think("Hm."), "cache_control": MARK}), user(text("And?"))), "thinking"),
]


@pytest.mark.parametrize("body", SOUND)
def test_what_the_api_takes_is_taken(body: dict[str, Any]) -> None:
    assert send(body)[0] == 200


@pytest.mark.parametrize(("body", "part"), REFUSED, ids=[part for _, part in REFUSED])
def test_what_the_api_refuses_is_refused_and_uses_no_turn(body: dict[str, Any], part: str) -> None:
    fake = FakeMessages(["Keys."])
    status, answer = send(body, fake=fake)
    assert status == 400
    assert answer["error"]["type"] == "invalid_request_error"
    assert part in answer["error"]["message"]
    assert fake.requests[0].outcome == "400 invalid_request_error"
    assert send(request(), fake=fake)[0] == 200


def test_a_lenient_server_takes_them_all() -> None:
    for body, _ in REFUSED:
        assert send(body, fake=FakeMessages(["Keys."], strict=False))[0] == 200, body


def test_a_server_that_does_not_know_a_field_refuses_it_by_name() -> None:
    fake = FakeMessages(["Keys."], refuses=("output_config",))
    status, answer = send(request(output_config={"effort": "low"}), fake=fake)
    assert (status, answer["error"]["message"]) == (400, "output_config: Extra inputs are not permitted")
    assert send(request(), fake=fake)[0] == 200


def test_more_than_the_window_holds_is_too_long() -> None:
    fake = FakeMessages([], then="Keys.", window=500)
    assert send(request(user(text("word " * 400))), fake=fake)[0] == 200
    status, answer = send(request(user(text("word " * 600))), fake=fake)
    assert status == 400
    assert answer["error"]["message"].startswith("prompt is too long: 6")


def test_count_tokens_counts_what_the_request_would_be_billed() -> None:
    fake = FakeMessages(["Keys."])
    body = request(user(text("word " * 50)), system=[text("Be brief.")])
    counted = send({name: body[name] for name in ("model", "messages", "system")}, fake=fake, path=COUNT)[1]
    assert send(body, fake=fake)[1]["usage"]["input_tokens"] == counted["input_tokens"] > 50
    assert len(fake.requests) == 1
    assert len(fake.calls) == 2


COUNT = "/v1/messages/count_tokens"


def test_an_answer_longer_than_max_tokens_is_cut_there() -> None:
    long = [say("One two three four five six seven. " * 10), call("look", {"where": "there"})]
    status, answer = send(request(max_tokens=20), fake=FakeMessages([long]))
    assert status == 200
    assert answer["stop_reason"] == "max_tokens"
    assert answer["usage"]["output_tokens"] == 20
    assert [part["type"] for part in answer["content"]] == ["text"]


def test_models_are_listed_and_a_wrong_path_is_not_found() -> None:
    api = FakeMessages([]).api
    listed = json.loads(b"".join(api.handle("GET", "/v1/models?limit=20", HEADERS, b"").pieces))
    name = listed["data"][0]["id"]
    assert json.loads(b"".join(api.handle("GET", f"/v1/models/{name}", HEADERS, b"").pieces))["id"] == name
    assert api.handle("GET", "/v1/models/none", HEADERS, b"").status == 404
    assert api.handle("POST", "/v1/v1/messages", HEADERS, b"{}").status == 404
    assert api.handle("POST", "/v1/messages", HEADERS, b"{broken").status == 400
