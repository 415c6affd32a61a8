"""A pod beside a server that caches as the real one does: what every turn costs anew does not grow with the turns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hikidashi.model.pod import Pod, ResidentKnowledge
from hikidashi.model.tool import Tool
from hikidashi.testing import call, say, think, turn
from hikidashi.testing.asker import FakeAsker

MODEL = "claude-sonnet-5-5"

#: About 2,500 tokens, more than the smallest prefix that is cached.
MATERIALS = ["\n".join(f"Entry {n}: the kiln of hall {n} is fired at {900 + n} degrees." for n in range(150))]


def page(given: dict[str, Any]) -> str:
    return f"Page {given['number']}: " + "glaze and clay, " * 40


READ = Tool(
    name="read_page",
    description="Read a page.",
    schema={"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]},
    run=page,
)


class Clock:
    """Time that passes only when the test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def reader(turns: int, calls: int = 1, *, pause: float = 0.0, clock: Clock | None = None) -> Any:
    """A model that reads `calls` pages a turn, and is done after `turns`."""

    def answer(body: dict[str, Any]) -> Any:
        if clock is not None:
            clock.now += pause
        done = sum(message["role"] == "assistant" for message in body["messages"])
        if done >= turns - 1:
            return say("Read.")
        return turn(*(call("read_page", {"number": done * calls + n}) for n in range(calls)))

    return answer


def split(asker: FakeAsker) -> list[tuple[int, int, int]]:
    """Of each request: input that was neither read nor written, read, written."""
    rows = []
    for request in asker.requests:
        usage = request.usage
        rows.append((usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]))
    return rows


@pytest.mark.parametrize("calls", [1, 12, 30])
def test_what_is_read_anew_stays_flat_over_forty_turns(calls: int) -> None:
    asker = FakeAsker(reader(40, calls))
    pod = Pod(asker, MODEL, "You read pages.", [READ], materials=MATERIALS, max_turns=60)
    ending = pod.say("Read them all.", phase="integration")
    assert (ending.reason, ending.turns) == ("done", 40)
    rows = split(asker)
    new = [uncached + written for uncached, _, written in rows]
    assert max(new[1:]) - min(new[1:]) < 50 * calls, "one turn more costs what its own calls cost"
    assert max(uncached for uncached, _, _ in rows) < 10
    read = [read for _, read, _ in rows]
    assert read == sorted(read)
    # Each request reads all that the one before it had.
    assert all(rows[n + 1][1] == sum(rows[n]) - rows[n][0] for n in range(39))


def test_without_marks_every_turn_reads_the_whole_conversation_anew() -> None:
    asker = FakeAsker(reader(40))
    Pod(asker, MODEL, "You read pages.", [READ], materials=MATERIALS, caching=False).say("Read.", phase="integration")
    rows = split(asker)
    assert all(row[1:] == (0, 0) for row in rows)
    assert rows[39][0] > 2 * rows[0][0]


def test_slow_turns_and_a_second_phase_still_read_what_was_kept() -> None:
    clock = Clock()
    asker = FakeAsker(reader(12, 2, pause=200.0, clock=clock), clock=clock)
    pod = Pod(asker, MODEL, "You read pages.", [READ], materials=MATERIALS)
    pod.say("Read them all.", phase="integration")
    pod.say("Now tidy up.", phase="clean-up")
    rows = split(asker)
    assert len(rows) == 13
    assert clock.now - 1_800_000_000 > 2_000, "longer than anything is kept that nobody reads"
    assert all(read > 2_500 for _, read, _ in rows[1:])
    assert rows[-1][1] == sum(rows[-2]) - rows[-2][0]


def test_at_most_four_blocks_are_marked_and_what_was_sent_never_changes() -> None:
    asker = FakeAsker(reader(6, 3))
    pod = Pod(
        asker,
        MODEL,
        "You read pages.",
        [READ],
        materials=[*MATERIALS, "And one more."],
        resident=[ResidentKnowledge(slug="glazes", description="When a glaze is chosen.")],
    )
    pod.say("Read them all.", phase="integration")
    earlier = ""
    for request in asker.requests:
        body = json.dumps([request.body["tools"], request.body["system"], request.body["messages"]])
        assert body.count('"cache_control"') in (3, 4)
        plain = body.replace(', "cache_control": {"type": "ephemeral"}', "")
        assert plain.startswith(earlier.rstrip("]}"))
        earlier = plain


def test_resident_knowledge_is_in_what_the_server_gets_and_gone_after_the_switch() -> None:
    asker = FakeAsker([say("One."), say("Two.")])
    pod = Pod(asker, MODEL, "Work.", resident=[ResidentKnowledge(slug="glazes", description="When a glaze is chosen.")])
    pod.say("First.", phase="integration")
    pod.set_resident_knowledge_injection(False)
    pod.say("Second.", phase="integration")
    first, second = (json.dumps(request.body) for request in asker.requests)
    assert "When a glaze is chosen." in first
    assert "glaze" not in second


@pytest.mark.parametrize(
    "answer",
    [
        turn(call("read_page", raw='{"number": 1'), call("read_page", {"number": 2})),
        turn(call("no_such_tool", {})),
        turn(think("Which page?"), call("read_page", {"number": 4})),
        turn(call("read_page", {"number": 5}), stop_reason="end_turn"),
        turn(call("read_page", {"number": "one"})),
        turn("Half a call", call("read_page", {"number": 3}), stop_reason="max_tokens"),
        turn(stop_reason="end_turn"),
        turn(stop_reason="refusal"),
        turn("Half a call", call("read_page", {"number": 3}), stop_reason="refusal"),
        turn("Cut", stop_reason="model_context_window_exceeded"),
    ],
    ids=[
        "broken input",
        "unknown tool",
        "thinking",
        "a call after all",
        "misfit",
        "max_tokens",
        "nothing",
        "refusal",
        "refusal in the middle of a call",
        "window",
    ],
)
def test_whatever_the_model_did_the_server_takes_what_is_said_next(answer: Any) -> None:
    asker = FakeAsker([answer, say("Better."), say("Best.")])
    pod = Pod(asker, MODEL, "Read.", [READ], max_turns=1)
    pod.say("Go.", phase="integration")
    assert pod.say("Again.", phase="integration").text == "Better."
    assert pod.say("And again.", phase="integration").text == "Best."
