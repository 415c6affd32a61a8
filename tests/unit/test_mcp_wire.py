"""Lines and messages of the MCP server: whatever comes in, the next line is read."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.serve.mcp_tools import TOOLS
from hikidashi.serve.mcp_wire import Writer, read_lines
from tests.support.mcp_clients import Client, modern


def lines_of(*pieces: bytes, limit: int = 100) -> list[bytes | None]:
    source, target = os.pipe()

    def write() -> None:
        for piece in pieces:
            os.write(target, piece)
        os.close(target)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return list(read_lines(source, limit=limit))
    finally:
        writer.join()
        os.close(source)


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        ([], []),
        ([b"a\n"], [b"a"]),
        ([b"a"], [b"a"]),
        ([b"a\nb", b"c\n\nd\n"], [b"a", b"bc", b"", b"d"]),
        ([b"x" * 101 + b"\n", b"a\n"], [None, b"a"]),
        ([b"x" * 200, b"x" * 200 + b"\na\n"], [None, b"a"]),
        ([b"x" * 70_000 + b"\na"], [None, b"a"]),
        ([b"a\n", b"x" * 500], [b"a", None]),
        ([b"y" * 100 + b"\n"], [b"y" * 100]),
    ],
)
def test_lines_come_whole_and_those_without_end_are_passed_over(pieces: list[bytes], found: list[object]) -> None:
    assert lines_of(*pieces) == found


def test_a_client_that_does_not_listen_is_no_error() -> None:
    source, target = os.pipe()
    os.close(source)
    writer = Writer(target)
    writer({"jsonrpc": "2.0"})
    assert writer.closed
    writer({"jsonrpc": "2.0"})
    os.close(target)


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"{", -32700, None),
        (b"hello", -32700, None),
        (b"\xff\xfe", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700, None),
        (b'{"jsonrpc": "2.0", "id": 1' + b"0" * 5000 + b', "method": "ping"}', -32700, None),
        (b"1", -32600, None),
        (b'"ping"', -32600, None),
        (b"null", -32600, None),
        (b"[]", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, 1),
        (b'{"jsonrpc": "2.0", "id": 1}', -32600, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600, 1),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": [1]}', -32602, "a"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nonsense"}', -32601, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "prompts/list"}', -32601, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}', -32602, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 3}}', -32602, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "server/discover"}', -32602, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}', -32602, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": ["x"]}}', -32602, 1),
    ],
)
def test_what_is_no_request_gets_an_error_and_the_next_one_an_answer(
    tmp_path: Path, line: bytes, code: int, number: object
) -> None:
    client = Client(tmp_path)
    (answer,) = client.say(line)
    assert (answer["error"]["code"], answer["id"], answer["jsonrpc"]) == (code, number, "2.0")
    assert client.request("ping")["result"] == {}


def test_a_byte_order_mark_and_empty_lines_do_no_harm(tmp_path: Path) -> None:
    client = Client(tmp_path)
    assert client.say(b"") == client.say(b"  \r") == []
    assert client.say(b'\xef\xbb\xbf{"jsonrpc": "2.0", "id": 1, "method": "ping"}\r')[0]["result"] == {}


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/nonsense", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]},
        {"jsonrpc": "2.0", "method": "notifications/cancelled"},
        {"jsonrpc": "2.0", "id": "hikidashi-7", "result": {"action": "accept"}},
        {"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "x"}},
    ],
)
def test_notifications_and_answers_that_nobody_waits_for_get_no_answer(tmp_path: Path, message: object) -> None:
    assert Client(tmp_path).say(message) == []


def test_a_batch_is_answered_one_by_one(tmp_path: Path) -> None:
    one = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    found = Client(tmp_path).say([one, {"jsonrpc": "2.0", "method": "notifications/initialized"}, one | {"id": 2}, 7])
    assert [answer["id"] for answer in found] == [1, 2, None]


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
def test_a_handshake_keeps_a_known_version_and_offers_the_newest_for_another(tmp_path: Path, version: str) -> None:
    assert Client(tmp_path).start(version)["protocolVersion"] == version
    assert Client(tmp_path).start("1999-01-01")["protocolVersion"] == "2025-11-25"
    assert Client(tmp_path).start("2026-07-28")["protocolVersion"] == "2025-11-25"  # it has no handshake


def test_requests_of_the_second_era_say_their_version_and_need_no_handshake(tmp_path: Path) -> None:
    client = Client(tmp_path)
    found = client.request("server/discover", modern())["result"]
    assert found["resultType"] == "complete"
    assert found["supportedVersions"][0] == "2026-07-28"
    assert (found["cacheScope"], found["ttlMs"] > 0) == ("private", True)
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "hikidashi"
    assert client.request("tools/list", modern())["result"]["resultType"] == "complete"
    assert "resultType" not in client.request("tools/list")["result"]
    refused = client.request("tools/list", modern(version="2031-01-01"))["error"]
    assert (refused["code"], refused["data"]["requested"]) == (-32022, "2031-01-01")
    assert "2026-07-28" in refused["data"]["supported"]
    for gone in ("ping", "initialize"):
        assert client.request(gone, modern())["error"]["code"] == -32601
    for wrong in (
        {"io.modelcontextprotocol/protocolVersion": 3},
        {"io.modelcontextprotocol/protocolVersion": "2026-07-28"},
    ):
        assert client.request("tools/list", {"_meta": wrong})["error"]["code"] == -32602


def test_outside_a_workspace_nothing_is_offered_and_a_call_says_why(tmp_path: Path) -> None:
    client = Client(tmp_path)
    assert "instructions" not in client.start()
    assert client.request("tools/list")["result"]["tools"] == []
    assert client.request("resources/list")["result"]["resources"] == []
    assert client.request("resources/templates/list")["result"]["resourceTemplates"] == []
    result = client.call("memory_read", key="deploy:shop")
    assert result["isError"]
    assert "hikidashi init" in result["content"][0]["text"]
    assert client.request("resources/read", {"uri": "hikidashi:///memory/summary.md"})["error"]["code"] == -32603


def test_what_nobody_foresaw_is_answered_and_the_server_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hikidashi.serve import mcp_session

    def broken(name: object) -> Any:
        raise KeyError("a secret text")

    client = Client(tmp_path, later=True)
    with monkeypatch.context() as patch:
        patch.setattr(mcp_session, "tool_named", broken)
        client.say({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "memory_read"}})
        with pytest.raises(KeyError):
            client.work()
    (answer,) = client.sent
    assert (answer["id"], answer["error"]["code"]) == (5, -32603)
    assert "secret" not in answer["error"]["message"]
    assert client.request("ping")["result"] == {}


def test_every_tool_says_what_it_takes_gives_and_does() -> None:
    for tool in TOOLS:
        assert len(tool["description"]) < 200
        assert set(tool["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] != "memory_write")
        for schema in (tool["inputSchema"], tool["outputSchema"]):
            assert schema["type"] == "object"
            assert schema["additionalProperties"] is False
            assert set(schema["required"]) <= set(schema["properties"])
    assert len(str(TOOLS)) < 9_000, "hosts put this into prompts"


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = (
    *("initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list", "resources/read"),
    *("resources/templates/list", "notifications/cancelled", "subscriptions/listen"),
)
PARAMS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from([tool["name"] for tool in TOOLS]) | JSON,
        "arguments": st.fixed_dictionaries({}, optional={"key": JSON, "query": JSON, "scope": JSON, "limit": JSON})
        | JSON,
        "uri": st.just("hikidashi:///memory/summary.md") | JSON,
        "cursor": JSON,
        "protocolVersion": st.just("2025-11-25") | JSON,
        "capabilities": st.just({"elicitation": {}}) | JSON,
        "requestState": JSON,
        "inputResponses": JSON,
        "requestId": st.integers(0, 3) | JSON,
        "_meta": st.just(modern()["_meta"]) | JSON,
    },
)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "id": st.integers(0, 3) | st.text(max_size=3), "method": st.sampled_from(METHODS)},
    optional={"params": PARAMS | JSON},
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(MESSAGES, max_size=4), noise=JSON)
def test_every_request_gets_one_answer_of_its_id_whatever_it_holds(
    tmp_path: Path, messages: list[dict[str, Any]], noise: object
) -> None:
    client = Client(tmp_path)
    client.say(noise)
    for message in messages:
        (answer,) = client.say(message)
        assert answer["id"] == message["id"]
        assert ("result" in answer) != ("error" in answer)
    assert client.request("ping")["result"] == {}
