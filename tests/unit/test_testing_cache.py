"""The fake's prompt cache splits the input of a request as the real API does, so that a test can measure cost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.testing.cache import Accounted, PromptCache, minimum_tokens
from hikidashi.testing.counting import count_text

Block = dict[str, Any]

MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def block(text: str, mark: dict[str, str] | None = None) -> Block:
    return {"type": "text", "text": text} | ({"cache_control": mark} if mark else {})


def body(*messages: list[Block], system: list[Block] | None = None, **more: Any) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {
        "model": "claude-opus-5-5",
        "system": system or [],
        "messages": [{"role": roles[at % 2], "content": blocks} for at, blocks in enumerate(messages)],
        **more,
    }


def cache(minimum: int = 1) -> PromptCache:
    return PromptCache(minimum)


LONG = "The drawer holds a measuring tape, three keys and a letter. " * 40
TOKENS = count_text(LONG)


def test_a_prefix_is_written_once_and_read_while_it_lives() -> None:
    store = cache()
    ask = body([block("Hello.")], system=[block(LONG, MARK)])
    first = store.account(ask, "k", now=0)
    assert (first.read, first.written_5m, first.written_1h) == (0, TOKENS, 0)
    second = store.account(ask, "k", now=299)
    assert (second.read, second.written_5m) == (TOKENS, 0)
    assert second.uncached == first.uncached
    # The read at 299 refreshed it: it lives until 599.
    assert store.account(ask, "k", now=598).read == TOKENS
    assert store.account(ask, "k", now=898).read == 0


def test_an_hour_is_an_hour_and_is_counted_apart() -> None:
    store = cache()
    ask = body([block("Hello.", MARK)], system=[block(LONG, HOUR)])
    first = store.account(ask, "k", now=0)
    assert first.written_1h == TOKENS
    assert first.written_5m > 0
    later = store.account(ask, "k", now=3599)
    assert (later.read, later.written_1h) == (TOKENS, 0)
    assert later.written_5m == first.written_5m


@pytest.mark.parametrize(
    "change",
    [
        {"system": [block(LONG + "!", MARK)]},
        {"model": "claude-sonnet-5-5"},
        {"tools": [{"name": "look", "input_schema": {}}]},
        {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
    ],
    ids=lambda value: next(iter(value)),
)
def test_any_change_before_the_mark_is_another_prompt(change: dict[str, Any]) -> None:
    store = cache()
    ask = body([block("Hello.")], system=[block(LONG, MARK)])
    store.account(ask, "k", now=0)
    assert store.account({**ask, **change}, "k", now=1).read == 0


def test_the_mark_itself_and_what_follows_it_change_nothing() -> None:
    store = cache()
    store.account(body([block("Hello.")], system=[block(LONG, MARK)]), "k", now=0)
    # The mark has moved on; what was written is found behind it.
    moved = body([block("Good evening.", MARK)], system=[block(LONG)], tool_choice={"type": "none"})
    assert store.account(moved, "k", now=1).read == TOKENS


def test_another_key_has_another_cache() -> None:
    store = cache()
    ask = body([block("Hello.")], system=[block(LONG, MARK)])
    store.account(ask, "one", now=0)
    assert store.account(ask, "two", now=1).read == 0


def test_a_string_is_one_text_block() -> None:
    store = cache()
    store.account(body([block("Hello.")], system=[block(LONG, MARK)]), "k", now=0)
    ask = {**body(system=[block(LONG, MARK)]), "messages": [{"role": "user", "content": "Hello."}]}
    assert store.account(ask, "k", now=1).read == TOKENS
    assert store.count(ask) == store.count(body([block("Hello.")], system=[block(LONG, MARK)]))


@pytest.mark.parametrize(("added", "found"), [(1, True), (19, True), (20, False), (40, False)])
def test_a_mark_looks_back_over_twenty_places(added: int, found: bool) -> None:
    store = cache()
    store.account(body([block(LONG, MARK)]), "k", now=0)
    grown = [block(LONG), *[block(f"line {number}") for number in range(added - 1)], block("last", MARK)]
    assert (store.account(body(grown), "k", now=1).read > 0) is found


def test_an_entry_stands_only_where_a_mark_was() -> None:
    store = cache()
    store.account(body([block(LONG), block("and more", MARK)]), "k", now=0)
    # The first block alone was never marked.
    assert store.account(body([block(LONG, MARK)]), "k", now=1).read == 0


@pytest.mark.parametrize(
    ("model", "least"),
    [("claude-opus-5-5", 512), ("claude-sonnet-5-5", 1024), ("claude-haiku-4-5", 4096), ("another", 4096)],
)
def test_a_prefix_under_the_models_minimum_is_not_cached_and_no_error(model: str, least: int) -> None:
    assert minimum_tokens(model) == least
    store = PromptCache()
    for text, cached in (("a " * (least - 10), False), ("a " * (least + 10), True)):
        ask = body([block("Hello.")], system=[block(text, MARK)], model=model)
        store.account(ask, "k", now=0)
        assert (store.account(ask, "k", now=1).read > 0) is cached


def test_a_conversation_with_a_moving_mark_pays_only_for_what_is_new() -> None:
    store = cache()
    talk: list[list[Block]] = []
    seen: list[Accounted] = []
    for turn in range(40):
        talk.append([block(f"Question {turn}. " + "word " * 30)])
        marked = [*talk[:-1], [{**talk[-1][0], "cache_control": MARK}]]
        seen.append(store.account(body(*marked, system=[block(LONG, MARK)]), "k", now=turn))
        talk.append([block(f"Answer {turn}. " + "word " * 30)])
    assert {row.uncached for row in seen} == {3}
    assert max(row.written_5m for row in seen[1:]) < 100
    assert [row.read for row in seen[1:]] == sorted(row.read for row in seen[1:])


texts = st.text(alphabet="ab é漢\n1", min_size=1, max_size=30)
marks = st.sampled_from([None, MARK])


@given(st.lists(st.lists(st.tuples(texts, marks), min_size=1, max_size=4), min_size=1, max_size=6), st.integers(0, 60))
def test_the_parts_always_add_up_and_a_repeated_request_writes_nothing(
    talk: list[list[tuple[str, dict[str, str] | None]]], minimum: int
) -> None:
    store = cache(minimum)
    ask = body(*[[block(text, mark) for text, mark in message] for message in talk])
    for now in (0, 1):
        row = store.account(ask, "k", now)
        assert row.uncached + row.read + row.written_5m + row.written_1h == store.count(ask)
        assert min(row.uncached, row.read, row.written_5m, row.written_1h) >= 0
    assert row.written_5m == 0


def test_tokens_are_about_as_many_as_a_tokenizer_makes() -> None:
    english = "The deploy failed because the token had expired; we renewed it and ran the pipeline again. "
    assert 3.3 < len(english) / count_text(english) < 5.5
    japanese = "引き出しの中に鍵が三つある。"
    assert count_text(japanese) == len(japanese)
    assert count_text("") == 0
