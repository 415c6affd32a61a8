"""A pod, the client, the real SDK and a server on loopback: what a conversation looks like where it arrives."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hikidashi.config.settings import load_settings
from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.meter import MemoryMeter
from hikidashi.model.pod import Hook, Pod, ResidentKnowledge, Ruling, Turn
from hikidashi.model.tool import Tool, ToolRefusal
from hikidashi.testing import FakeMessages, call, cut, overloaded, say, think, turn, unauthorized

MODEL = "claude-sonnet-5-5"
RESIDENT = [ResidentKnowledge(slug="glazes", description="When a glaze is chosen.")]


def make_client(fake: FakeMessages, meter: MemoryMeter) -> Client:
    environ = {"HIKIDASHI_MEMORY_BASE_URL": fake.url, "HIKIDASHI_MEMORY_API_KEY": "key-of-the-fake"}
    endpoint = make_endpoint(load_settings(None, environ=environ), environ=environ)
    return Client(endpoint, meter, sleep=lambda seconds: None)


class Shelf:
    """Two tools over a few texts."""

    def __init__(self) -> None:
        self.texts = {"glaze": "Celadon, fired at 1,280 degrees."}

    def read(self, given: dict[str, Any]) -> str:
        try:
            return self.texts[given["name"]]
        except KeyError:
            raise ToolRefusal(f"there is no {given['name']}: the names are {', '.join(self.texts)}") from None

    def write(self, given: dict[str, Any]) -> str:
        self.texts[given["name"]] = given["text"]
        return "written"

    @property
    def tools(self) -> list[Tool]:
        def schema(*names: str) -> dict[str, Any]:
            return {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": [*names]}

        return [
            Tool(name="read", description="Read a text.", schema=schema("name"), run=self.read),
            Tool(name="write", description="Write a text.", schema=schema("name", "text"), run=self.write),
        ]


class TwoTurns(Hook):
    """Ends the first phase once something was written, as a linter or a finishing tool does."""

    def after_turn(self, turn: Turn) -> Ruling | None:
        return Ruling(stop="written") if any(c.use.name == "write" and not c.is_error for c in turn.calls) else None


def test_two_phases_of_one_conversation_as_the_server_gets_them() -> None:
    script: list[Any] = [
        turn(think("Where is it?"), say("I look."), call("read", {"name": "glace"}), call("read", raw='{"name": "gl')),
        turn(call("read", {"name": "glaze"})),
        turn(call("write", {"name": "note", "text": "Celadon needs 1,280 degrees."})),
        say("Nothing to tidy."),
    ]
    shelf, meter = Shelf(), MemoryMeter()
    with FakeMessages(script) as fake, make_client(fake, meter) as client:
        pod = Pod(
            client,
            MODEL,
            "You write notes.",
            shelf.tools,
            resident=RESIDENT,
            materials=["One entry."],
            hooks=[TwoTurns()],
        )
        pod.set_resident_knowledge_injection(False)
        first = pod.say("Work it in.", phase="integration")
        second = pod.say("Now tidy up.", phase="clean-up")
    assert (first.reason, first.detail, first.turns) == ("stopped", "written", 3)
    assert (second.reason, second.text) == ("done", "Nothing to tidy.")
    assert shelf.texts["note"] == "Celadon needs 1,280 degrees."
    bodies = [request.body for request in fake.requests]
    assert [request.outcome for request in fake.requests] == ["ok"] * 4
    assert all("glazes" not in json.dumps(body) for body in bodies)
    assert all(body["tools"] == bodies[0]["tools"] and body["system"] == bodies[0]["system"] for body in bodies)
    wrong, broken = bodies[1]["messages"][-1]["content"]
    assert wrong["is_error"]
    assert wrong["content"] == "there is no glace: the names are glaze"
    assert broken["is_error"]
    assert "no JSON object" in broken["content"]
    assert bodies[1]["messages"][1]["content"][0]["signature"], "thinking goes back as it came"
    assert [block["type"] for block in bodies[3]["messages"][-1]["content"]] == ["tool_result", "text"]
    assert [closed.ticket.phase for closed in meter.closed] == ["integration"] * 3 + ["clean-up"]
    assert sum(closed.tokens for closed in meter.closed) == pod.usage.total == (first.usage + second.usage).total


def test_resident_knowledge_is_there_in_a_pod_that_nobody_told_otherwise() -> None:
    with FakeMessages([say("Hello."), say("Bye.")]) as fake, make_client(fake, MemoryMeter()) as client:
        pod = Pod(client, MODEL, "You help.", resident=RESIDENT)
        pod.say("Hello.", phase="integration")
        pod.set_resident_knowledge_injection(False)
        pod.say("Bye.", phase="integration")
        first, second = (request.body for request in fake.requests)
    assert "glazes: When a glaze is chosen." in first["system"][-1]["text"]
    assert "glaze" not in json.dumps(second)


def forty_turns(body: dict[str, Any]) -> Any:
    """A model that asks for one text after the other."""
    done = sum(message["role"] == "assistant" for message in body["messages"])
    return say("Read.") if done == 39 else call("read", {"name": f"page {done}"})


def test_input_that_is_read_anew_is_flat_over_forty_turns_as_the_ledger_counts_it() -> None:
    shelf, meter = Shelf(), MemoryMeter()
    shelf.texts = {f"page {number}": f"Page {number}: " + "glaze and clay, " * 40 for number in range(40)}
    materials = ["\n".join(f"Entry {n}: the kiln of hall {n} is fired at {900 + n} degrees." for n in range(150))]
    with FakeMessages(forty_turns) as fake, make_client(fake, meter) as client:
        pod = Pod(client, MODEL, "You read.", shelf.tools, resident=RESIDENT, materials=materials)
        assert pod.say("Read all.", phase="integration").turns == 40
    used = [closed.usage for closed in meter.closed]
    assert all(usage is not None for usage in used)
    anew = [usage.input_tokens for usage in used if usage is not None]
    written = [usage.cache_write_tokens for usage in used if usage is not None]
    read = [usage.cache_read_tokens for usage in used if usage is not None]
    assert len(anew) == 40
    assert max(anew) < 10
    assert max(written[1:]) - min(written[1:]) < 50, "one turn more costs what its own call costs"
    assert written[0] > 5 * max(written[1:])
    assert all(later == before + wrote for later, before, wrote in zip(read[1:], read, written, strict=False))


@pytest.mark.parametrize(
    "fault", [lambda: overloaded(), lambda: cut(say("Half an ans"), after_events=3)], ids=["overloaded", "cut"]
)
def test_an_attempt_that_failed_leaves_nothing_in_the_conversation(fault: Callable[[], Any]) -> None:
    with FakeMessages([fault(), say("Whole.")]) as fake, make_client(fake, MemoryMeter()) as client:
        ending = Pod(client, MODEL, "You help.").say("Hello.", phase="integration")
        first, second = (request.body for request in fake.requests)
    assert (ending.text, ending.turns) == ("Whole.", 1)
    assert len(fake.requests) == 2
    assert first == second


def test_a_server_that_refuses_and_a_budget_that_is_spent_pass_through_and_cost_no_entry() -> None:
    shelf = Shelf()
    meter = MemoryMeter()
    script: list[Any] = [turn(call("write", {"name": "a", "text": "One."})), unauthorized(), say("Back.")]
    with FakeMessages(script) as fake, make_client(fake, meter) as client:
        pod = Pod(client, MODEL, "You write.", shelf.tools)
        with pytest.raises(ModelFailure) as refused:
            pod.say("Write.", phase="integration")
        assert refused.value.kind == "auth"
        assert shelf.texts["a"] == "One."
        meter.limit = sum(closed.tokens for closed in meter.closed) + 10
        with pytest.raises(BudgetSpent):
            pod.say("Go on.", phase="integration")
        meter.limit = None
        assert pod.say("And now?", phase="integration").text == "Back."
        texts = [block.get("text") for block in fake.requests[-1].body["messages"][-1]["content"]]
    assert texts == [None, "Go on.", "And now?"]
    assert len(fake.requests) == 3, "the budget stopped the request before it was made"
