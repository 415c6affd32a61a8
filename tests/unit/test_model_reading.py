"""An answer put together from its events, whatever a server sends."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.model.messages import Usage
from hikidashi.model.reading import AnswerReader, BadEvent, usage_of


def start(index: int = 0, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def read(*events: dict[str, Any]) -> AnswerReader:
    reader = AnswerReader()
    for event in events:
        reader.take(event)
    return reader


def test_parts_stand_in_the_order_of_their_places() -> None:
    reader = read(
        start(1, type="text", text=""),
        start(0, type="thinking", thinking="", signature=""),
        delta("thinking_delta", 0, thinking="so "),
        delta("text_delta", 1, text="Yes"),
        delta("signature_delta", 0, signature="abc"),
        delta("thinking_delta", 0, thinking="be it"),
        delta("text_delta", 1, text="."),
        {"type": "content_block_stop", "index": 1},
        {"type": "message_stop"},
    )
    assert reader.content == (
        {"type": "thinking", "thinking": "so be it", "signature": "abc"},
        {"type": "text", "text": "Yes."},
    )
    assert (reader.text, reader.ended) == ("Yes.", True)


def test_empty_texts_are_not_sent_back() -> None:
    assert read(start(0, type="text", text=" \n"), start(1, type="text", text="a")).content == (
        {"type": "text", "text": "a"},
    )


def test_what_was_redacted_goes_back_as_it_came() -> None:
    block = {"type": "redacted_thinking", "data": "xyz"}
    assert read(start(0, **block)).content == (block,)


def test_a_call_may_come_with_its_whole_input_and_without_an_id() -> None:
    reader = read(start(0, type="tool_use", name="look", input={"where": "desk"}), start(3, type="tool_use", name="f"))
    assert [(use.id, use.name, use.input) for use in reader.tool_uses] == [
        ("toolu_0", "look", {"where": "desk"}),
        ("toolu_3", "f", {}),
    ]
    assert [block["id"] for block in reader.content] == ["toolu_0", "toolu_3"]


def test_later_counts_take_the_place_of_earlier_ones() -> None:
    reader = read(
        {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 5, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": None, "cache_read_input_tokens": 7}},
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0}},
        {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 1, "output_tokens": 2}},
    )
    assert usage_of(reader) == Usage(input_tokens=5, output_tokens=9, cache_read_tokens=7)
    assert reader.stop_reason == "end_turn"


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": 0, "output_tokens": 0}, {"input_tokens": "many"}, [1]])
def test_a_server_that_counts_nothing_is_one_of_unknown_usage(usage: Any) -> None:
    assert usage_of(read({"type": "message_start", "message": {"usage": usage}})) is None


@pytest.mark.parametrize("value", [-3, True, 2.5, "7", [7], 10**30, 2**62, 100_000_001])
@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "cache_read_input_tokens"])
def test_a_count_that_cannot_be_makes_the_usage_unknown(name: str, value: Any) -> None:
    """No part of it is believed then, and no later count mends it: all that was reserved counts."""
    usage = {"input_tokens": 5, "output_tokens": 5, name: value}
    right = {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 5, "output_tokens": 5}}
    assert usage_of(read({"type": "message_start", "message": {"usage": usage}}, right)) is None


def test_no_request_is_without_input_and_no_text_without_output() -> None:
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 9}}}
    assert usage_of(read(begun)) is None
    begun = {"type": "message_start", "message": {"usage": {"input_tokens": 9, "output_tokens": 0}}}
    assert usage_of(read(begun)) == Usage(input_tokens=9)
    assert usage_of(read(begun, start(0, type="text", text="said"))) is None
    cached = {"type": "message_start", "message": {"usage": {"cache_read_input_tokens": 9, "output_tokens": 1}}}
    assert usage_of(read(cached)) == Usage(cache_read_tokens=9, output_tokens=1)


@pytest.mark.parametrize(
    "event",
    [
        "text",
        ["list"],
        None,
        {"type": "message_start"},
        {"type": "message_start", "message": []},
        {"type": "content_block_start", "content_block": {}},
        {"type": "content_block_start", "index": 0},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "x"}},
        {"type": "content_block_delta", "index": 0},
        {"type": "message_delta"},
    ],
)
def test_an_event_that_cannot_be_understood_is_said(event: Any) -> None:
    with pytest.raises(BadEvent):
        AnswerReader().take(event)


def test_new_kinds_of_events_and_deltas_are_passed() -> None:
    reader = read(
        {"type": "news"}, {}, start(0, type="text", text="a"), delta("glow_delta", glow=1), delta("text_delta")
    )
    assert reader.text == "a"


HALVES = st.text("\ud83d\ude00a{", max_size=3)
ANY = st.none() | st.integers(-2, 5) | HALVES | st.just({"a": ["\ud83d"]}) | st.just([1])
INDEX = st.integers(0, 2)
KINDS = st.sampled_from(["text", "tool_use", "thinking", "redacted_thinking"]) | HALVES
DELTAS = st.sampled_from(["text_delta", "input_json_delta", "thinking_delta", "signature_delta"]) | HALVES
FIELDS = st.sampled_from(
    ["text", "partial_json", "input", "id", "name", "data", "thinking", "signature", "stop_reason", "usage", "model"]
)
MORE = st.dictionaries(FIELDS, ANY, max_size=4)
EVENTS = st.one_of(
    st.builds(lambda message: {"type": "message_start", "message": message}, MORE | ANY),
    st.builds(lambda index, kind, more: start(index, **{**more, "type": kind}), INDEX, KINDS, MORE),
    st.builds(lambda index, kind, more: delta(kind, index, **more), INDEX, DELTAS, MORE),
    st.builds(lambda more: {"type": "message_delta", "delta": more, "usage": more}, MORE),
    st.builds(lambda blocks: {"content": blocks}, st.lists(MORE, max_size=2)),
    st.builds(lambda more: {**more, "type": "content_block_start"}, MORE),
    ANY,
)


@given(st.lists(EVENTS, max_size=10))
def test_whatever_comes_makes_an_answer_that_can_be_written_or_a_bad_event(events: list[Any]) -> None:
    streamed, whole = AnswerReader(), AnswerReader()
    for event in events:
        with contextlib.suppress(BadEvent):
            streamed.take(event)
        with contextlib.suppress(BadEvent):
            whole.take_whole(event)
    for reader in (streamed, whole):
        calls = [(use.id, use.name, use.input, use.raw) for use in reader.tool_uses]
        parts = [reader.content, reader.text, calls, reader.unknown, reader.stop_reason, reader.model]
        json.dumps(parts, ensure_ascii=False).encode("utf-8")
        usage_of(reader)
