"""What is made of a model's answer that should be JSON, and what it is told when it is not."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from hikidashi.errors import ModelFailure
from hikidashi.model import structured
from hikidashi.model.messages import Answer, Phase, Request, Usage
from hikidashi.model.structured import ask_validated, json_values


class Plant(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    leaves: list[int] = []


class Saying:
    """Answers in turn, and keeps what it was asked."""

    def __init__(self, *texts: str, stop_reason: str = "end_turn") -> None:
        self._texts = list(texts)
        self._stop_reason = stop_reason
        self.asked: list[Request] = []

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        self.asked.append(request)
        text = self._texts.pop(0)
        return Answer(text=text, tool_uses=(), stop_reason=self._stop_reason, usage=Usage(), content=())


REQUEST = Request(model="small", max_tokens=100, messages=({"role": "user", "content": "Name a plant."},))
FERN = Plant(name="fern", leaves=[1, 2])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "fern", "leaves": [1, 2]}',
        '```json\n{"name": "fern", "leaves": [1, 2]}\n```',
        'Here it is:\n\n```\n{"name": "fern",\n "leaves": [1, 2]}\n```\nAnything else?',
        'Gladly [as asked]: {"name": "fern", "leaves": [1, 2]} - a fine one.',
        '{"name": "fern", "leaves": [1, 2,],}',
        '<think>{"name": "moss"} or rather</think>{"name": "fern", "leaves": [1, 2]}',
        'So: {"name": "moss"} or rather</think>{"name": "fern", "leaves": [1, 2]}',
        '<thinking>moss?</thinking><THINK>{"name": "palm"}</THINK> ```json\n{"name": "fern", "leaves": [1, 2]}\n```',
        'An object starts with { and so on: {"name": "fern", "leaves": [1, 2]}',
        '{"leaves": [3]}\n{"name": "fern", "leaves": [1, 2]}',
        '{"name": "fern", "leaves": [1, 2',
        '{"name": "fern", "leaves": [1, 2], "not',
        '```json\n{"name": "fern", "leaves": [1, 2], ',
    ],
)
def test_what_can_be_read_is_read(text: str) -> None:
    assert ask_validated(Saying(text), REQUEST, Plant, phase="extraction") == FERN


def test_line_breaks_and_brackets_in_strings_stay() -> None:
    text = '{"name": "a {b], \\"c\\",}\nd", "leaves": []}'
    assert ask_validated(Saying(text), REQUEST, Plant, phase="extraction").name == 'a {b], "c",}\nd'


@pytest.mark.parametrize("name", ["<think>a</think>", "a</think>b", "{<thinking>}"])
def test_marks_of_thoughts_in_an_answer_s_own_texts_stay(name: str) -> None:
    for text in (json.dumps({"name": name}), f"<think>moss</think>{json.dumps({'name': name})}"):
        assert ask_validated(Saying(text), REQUEST, Plant, phase="extraction").name == name


def test_thoughts_without_an_end_are_looked_for_once() -> None:
    began = time.process_time()
    assert list(json_values("<think>" * 20_000)) == []
    assert time.process_time() - began < 2


def test_a_wrong_answer_is_asked_for_again_with_what_was_wrong() -> None:
    asker = Saying("I would rather not say.", '{"leaves": ["x"]}', '{"name": "fern", "leaves": [1, 2]}')
    assert ask_validated(asker, REQUEST, Plant, phase="extraction") == FERN
    first, second, third = (request.messages for request in asker.asked)
    assert first == REQUEST.messages
    assert second[:1] == third[:1] == REQUEST.messages  # what the server has in its cache
    assert [message["role"] for message in second] == [message["role"] for message in third]
    assert "holds no JSON" in str(second[2])
    assert "I would rather" not in str(third)  # only the last answer is sent back
    assert "name: Field required" in str(third[2])
    assert "leaves.0" in str(third[2])


def test_an_empty_answer_can_be_sent_back() -> None:
    asker = Saying("  ", '{"name": "fern"}')
    ask_validated(asker, REQUEST, Plant, phase="extraction")
    assert asker.asked[1].messages[1] == {"role": "assistant", "content": [{"type": "text", "text": "(nothing)"}]}


def test_the_third_wrong_answer_is_the_last() -> None:
    asker = Saying("no", "no", "no", '{"name": "fern"}')
    with pytest.raises(ModelFailure, match="3 requests") as caught:
        ask_validated(asker, REQUEST, Plant, phase="extraction")
    assert (caught.value.kind, caught.value.reason, len(asker.asked)) == ("content", "unreadable", 3)


def test_the_callers_check_is_heard() -> None:
    def check(plant: Plant) -> Sequence[str]:
        return [] if plant.name == "fern" else [f"{plant.name} does not grow here"]

    asker = Saying('{"name": "palm"}', '{"name": "fern", "leaves": [1, 2]}')
    assert ask_validated(asker, REQUEST, Plant, phase="extraction", check=check) == FERN
    assert "palm does not grow here" in str(asker.asked[1].messages[-1])


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        ("max_tokens", "max-tokens"),
        ("model_context_window_exceeded", "context-window"),
        ("refusal", "refusal"),
    ],
)
def test_an_answer_that_was_stopped_is_not_asked_for_again(stop_reason: str, reason: str) -> None:
    asker = Saying('{"name": "fern", "leaves": [1', stop_reason=stop_reason)
    with pytest.raises(ModelFailure) as caught:
        ask_validated(asker, REQUEST, Plant, phase="extraction")
    assert (caught.value.kind, caught.value.reason, len(asker.asked)) == ("content", reason, 1)


def test_an_inner_object_is_never_taken_for_the_whole() -> None:
    class Loose(BaseModel):
        name: str = ""

    values = list(json_values('{"outer": {"name": "fern"}}'))
    assert values == [{"outer": {"name": "fern"}}]
    with pytest.raises(ModelFailure):
        ask_validated(Saying(*['[{"name": "fern"}]'] * 3), REQUEST, Loose, phase="extraction")


def test_half_a_character_is_no_text() -> None:
    asker = Saying('{"name": "\\ud800"}', '{"name": "fern", "leaves": [1, 2]}')
    assert ask_validated(asker, REQUEST, Plant, phase="extraction") == FERN


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), JSON, min_size=1, max_size=4), st.sampled_from(["", "So: ", "```json\n"]))
def test_every_object_is_found_whole(value: dict[str, Any], before: str) -> None:
    assert next(json_values(before + json.dumps(value))) == value


@given(st.text(alphabet='{}[]",:\\ab1 \n`', max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    list(json_values(text))


@pytest.mark.parametrize("text", ["[" * 400_000, '{"a":' * 200_000, "{ " * 300_000, "```json\n{\n" * 60_000])
def test_rubbish_is_not_looked_through_again_and_again(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a minute for a megabyte, of a server that nobody chose for its good will."""
    looked = 0
    real = structured._cleaned

    def counted(text: str, start: int) -> tuple[str, int]:
        nonlocal looked
        cleaned, end = real(text, start)
        looked += end - start
        return cleaned, end

    monkeypatch.setattr(structured, "_cleaned", counted)
    assert list(json_values(text)) in ([], [{}])
    assert looked < 5_500_000
