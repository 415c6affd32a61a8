"""A pod: what it sends, what it does with answers, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.model.messages import Answer, Block, Phase, Request, ToolUse, Usage
from hikidashi.model.pod import Hook, Pod, ResidentKnowledge, Ruling, Turn
from hikidashi.model.tool import Tool, ToolRefusal
from tests.secrets_samples import tokens

RESIDENT = (ResidentKnowledge(slug="release-steps", description="When a version\nis to be published."),)


def text(words: str, *, stop: str = "end_turn") -> Answer:
    content = ({"type": "text", "text": words},) if words else ()
    return Answer(text=words, tool_uses=(), stop_reason=stop, usage=Usage(output_tokens=1), content=content)


def calls(*uses: tuple[str, Any], stop: str = "tool_use", raw: str = "") -> Answer:
    made = tuple(ToolUse(id=f"id{n}", name=name, input=value, raw=raw) for n, (name, value) in enumerate(uses))
    content = tuple({"type": "tool_use", "id": use.id, "name": use.name, "input": use.input} for use in made)
    return Answer(text="", tool_uses=made, stop_reason=stop, usage=Usage(input_tokens=2), content=content)


class Scripted:
    """Answers in turn, and keeps what it was asked; an answer that is an exception is raised."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self._answers = list(answers)
        self.requests: list[Request] = []
        self.phases: list[str] = []

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        self.requests.append(request)
        self.phases.append(phase)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Notebook:
    """A tool that writes lines down."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, given: dict[str, Any]) -> str:
        if given["line"] == "refuse":
            raise ToolRefusal("that line is not wanted: write another")
        if given["line"] == "declared":
            raise KeyError("no such page: make it first")
        if given["line"] == "fault":
            raise RuntimeError("the program is broken")
        self.lines.append(given["line"])
        return f"line {len(self.lines)}"

    @property
    def tool(self) -> Tool:
        schema = {
            "type": "object",
            "properties": {
                "line": {"type": "string", "minLength": 2},
                "tags": {"type": "array", "items": {"type": "string"}},
                "mood": {"enum": ["calm", "loud"]},
            },
            "required": ["line"],
            "additionalProperties": False,
        }
        return Tool(name="write", description="Write a line.", schema=schema, run=self.write, errors=(KeyError,))


@pytest.fixture
def notebook() -> Notebook:
    return Notebook()


def results_of(request: Request) -> list[Block]:
    """The results of calls in the last message of a request."""
    return [block for block in request.messages[-1]["content"] if block["type"] == "tool_result"]


def texts_of(request: Request) -> list[str]:
    return [block["text"] for block in request.messages[-1]["content"] if block["type"] == "text"]


def test_resident_knowledge_stands_in_the_system_prompt_until_it_is_switched_off() -> None:
    asker = Scripted(text("a"), text("b"), text("c"))
    pod = Pod(asker, "m", "You are careful.", resident=RESIDENT)
    pod.say("one", phase="integration")
    pod.set_resident_knowledge_injection(False)
    pod.say("two", phase="integration")
    pod.set_resident_knowledge_injection(True)
    pod.say("three", phase="integration")
    shown = [json.dumps(request.system) for request in asker.requests]
    assert "- release-steps: When a version is to be published." in shown[0]
    assert "release-steps" not in shown[1]
    assert "You are careful." in shown[1]
    assert shown[2] == shown[0]


def test_calls_of_a_turn_are_done_in_order_and_each_gets_its_result(notebook: Notebook) -> None:
    asker = Scripted(calls(("write", {"line": "first"}), ("write", {"line": "second"})), text("Done."))
    ending = Pod(asker, "m", "", [notebook.tool]).say("Write.", phase="extraction")
    assert notebook.lines == ["first", "second"]
    assert [(block["tool_use_id"], block["content"]) for block in results_of(asker.requests[1])] == [
        ("id0", "line 1"),
        ("id1", "line 2"),
    ]
    assert (ending.reason, ending.text, ending.turns) == ("done", "Done.", 2)
    assert ending.usage == Usage(input_tokens=2, output_tokens=1)
    assert asker.phases == ["extraction", "extraction"]


@pytest.mark.parametrize(
    ("use", "raw", "said"),
    [
        (("paint", {}), "", "there is no tool 'paint'; the tools are: write"),
        (("write", None), '{"line": "half', 'no JSON object, nothing was done; call again. Sent: \'{"line": "half\''),
        (("write", {}), "", "line is missing; nothing was done"),
        (("write", {"line": 7}), "", "line must be string"),
        (("write", {"line": "x"}), "", "line must have at least 2 characters"),
        (("write", {"line": "two", "colour": 1}), "", "colour is not known: the keys are line, tags, mood"),
        (("write", {"line": "two", "tags": "a"}), "", "tags must be array"),
        (("write", {"line": "two", "tags": ["a", 2]}), "", "tags, number 2, must be string"),
        (("write", {"line": "two", "mood": "sad"}), "", "mood must be one of calm, loud"),
        (("write", {"line": "refuse"}), "", "that line is not wanted: write another"),
        (("write", {"line": "declared"}), "", "no such page: make it first"),
    ],
)
def test_a_call_that_cannot_be_done_comes_back_as_an_error_that_says_the_mend(
    notebook: Notebook, use: tuple[str, Any], raw: str, said: str
) -> None:
    asker = Scripted(calls(use, ("write", {"line": "after it"}), raw=raw), text("ok"))
    Pod(asker, "m", "", [notebook.tool]).say("Write.", phase="integration")
    wrong, right = results_of(asker.requests[1])
    assert wrong["is_error"]
    assert said in wrong["content"]
    assert "is_error" not in right
    assert notebook.lines == ["after it"]
    # What goes back is what the server takes: an object, whatever the model wrote.
    assert all(isinstance(b["input"], dict) for b in asker.requests[1].messages[1]["content"])


def test_an_exception_that_no_tool_declares_passes_through_and_the_conversation_stays_whole(notebook: Notebook) -> None:
    asker = Scripted(calls(("write", {"line": "fault"}), ("write", {"line": "next"})), text("again"))
    pod = Pod(asker, "m", "", [notebook.tool])
    with pytest.raises(RuntimeError, match="the program is broken"):
        pod.say("Write.", phase="integration")
    assert notebook.lines == []
    pod.say("Go on.", phase="integration")
    assert [block["is_error"] for block in results_of(asker.requests[1])] == [True, True]
    assert texts_of(asker.requests[1]) == ["Go on."]


@pytest.mark.parametrize("failure", [BudgetSpent("the day is spent"), ModelFailure("no route", kind="network")])
def test_what_the_asker_raises_passes_through_and_the_conversation_can_go_on(failure: Exception) -> None:
    asker = Scripted(failure, text("Here again."))
    pod = Pod(asker, "m", "")
    with pytest.raises(type(failure)):
        pod.say("One.", phase="integration")
    assert pod.say("Two.", phase="integration").text == "Here again."
    (message,) = asker.requests[1].messages
    assert [block["text"] for block in message["content"]] == ["One.", "Two."]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("max_tokens", "max_tokens"), ("refusal", "refusal"), ("model_context_window_exceeded", "context")],
)
def test_an_answer_that_is_cut_off_ends_with_its_reason_and_no_call_of_it_is_done(
    notebook: Notebook, stop: str, reason: str
) -> None:
    asker = Scripted(calls(("write", {"line": "half a li"}), stop=stop), text("ok"))
    pod = Pod(asker, "m", "", [notebook.tool])
    ending = pod.say("Write.", phase="integration")
    assert (ending.reason, ending.turns) == (reason, 1)
    assert ending.detail
    assert notebook.lines == []
    pod.say("Shorter.", phase="integration")
    roles = [message["role"] for message in asker.requests[1].messages]
    if stop == "refusal":  # what was refused is not shown again
        assert roles == ["user"]
        assert [block["type"] for block in asker.requests[1].messages[0]["content"]] == ["text", "text"]
    else:
        assert roles == ["user", "assistant", "user"]
        assert "cut off" in results_of(asker.requests[1])[0]["content"]


def test_turns_have_an_end_and_the_next_say_has_turns_of_its_own(notebook: Notebook) -> None:
    asker = Scripted(*(calls(("write", {"line": f"line {n}"})) for n in range(3)), text("ok"))
    pod = Pod(asker, "m", "", [notebook.tool], max_turns=3)
    ending = pod.say("Write.", phase="integration")
    assert (ending.reason, ending.turns, len(notebook.lines)) == ("max_turns", 3, 3)
    assert "3 turns" in ending.detail
    assert pod.say("Tidy.", phase="clean-up").reason == "done"
    assert texts_of(asker.requests[3]) == ["Tidy."]
    assert len(results_of(asker.requests[3])) == 1
    assert asker.phases == ["integration"] * 3 + ["clean-up"]
    assert pod.usage == Usage(input_tokens=6, output_tokens=1)


@pytest.mark.parametrize("period", [1, 2, 3])
def test_a_model_that_goes_round_in_circles_is_told_and_then_ended(period: int) -> None:
    ask = Tool(name="ask", description="", schema={"type": "object"}, run=lambda given: f"nothing about {given['q']}")
    asker = Scripted(*(calls(("ask", {"q": str(n % period)})) for n in range(40)))
    ending = Pod(asker, "m", "", [ask]).say("Find it.", phase="integration")
    assert ending.reason == "repeats"
    assert ending.turns == period + 4
    told = [n for n, request in enumerate(asker.requests) if texts_of(request)]
    assert told == [0, period + 2]


def test_the_same_call_with_another_result_is_no_circle(notebook: Notebook) -> None:
    asker = Scripted(*(calls(("write", {"line": "again"})) for _ in range(8)), text("ok"))
    assert Pod(asker, "m", "", [notebook.tool]).say("Write.", phase="integration").reason == "done"
    assert len(notebook.lines) == 8


class Watch(Hook):
    """A hook made of two functions."""

    def __init__(
        self,
        *,
        before: Callable[[int, Phase], Ruling | None] = lambda number, phase: None,
        after: Callable[[Turn], Ruling | None] = lambda turn: None,
    ) -> None:
        self._before, self._after = before, after

    def before_turn(self, number: int, phase: Phase) -> Ruling | None:
        return self._before(number, phase)

    def after_turn(self, turn: Turn) -> Ruling | None:
        return self._after(turn)


def test_a_hook_sees_the_calls_and_may_put_other_results_in_their_place(notebook: Notebook) -> None:
    from dataclasses import replace

    def findings(turn: Turn) -> Ruling | None:
        if not turn.calls:
            return None
        return Ruling(calls=tuple(replace(c, result=f"H101 in {c.use.input}", is_error=True) for c in turn.calls))

    seen: list[tuple[int, str, list[str]]] = []

    def look(turn: Turn) -> None:
        seen.append((turn.number, turn.phase, [call.result for call in turn.calls]))

    asker = Scripted(calls(("write", {"line": "first"})), text("ok"))
    pod = Pod(asker, "m", "", [notebook.tool], hooks=[Watch(after=findings), Watch(after=look)])
    pod.say("Write.", phase="integration")
    (block,) = results_of(asker.requests[1])
    assert block["content"] == "H101 in {'line': 'first'}"
    assert block["is_error"]
    assert seen == [(1, "integration", ["H101 in {'line': 'first'}"]), (2, "integration", [])]


def test_a_hook_stops_after_a_turn_and_the_results_are_kept_for_what_is_said_next(notebook: Notebook) -> None:
    asker = Scripted(calls(("write", {"line": "finish"})), text("ok"))
    pod = Pod(
        asker,
        "m",
        "",
        [notebook.tool],
        hooks=[Watch(after=lambda turn: Ruling(stop="finished") if turn.calls else None)],
    )
    ending = pod.say("Write.", phase="integration")
    assert (ending.reason, ending.detail, ending.turns) == ("stopped", "finished", 1)
    assert pod.say("Tidy.", phase="clean-up").reason == "done"
    assert [m["role"] for m in asker.requests[1].messages] == ["user", "assistant", "user"]
    assert len(results_of(asker.requests[1])) == 1


def test_a_hook_stops_before_a_turn_and_nothing_is_asked() -> None:
    asker = Scripted()
    pod = Pod(asker, "m", "", hooks=[Watch(before=lambda number, phase: Ruling(stop="out of time"))])
    ending = pod.say("Write.", phase="integration")
    assert (ending.reason, ending.detail, ending.turns, ending.text) == ("stopped", "out of time", 0, "")


def test_a_hook_sends_a_model_back_that_wants_nothing_more() -> None:
    def back(turn: Turn) -> Ruling | None:
        return Ruling(note="entry 7 has no disposition") if turn.number < 3 else None

    asker = Scripted(text("I am done."), text("Really."), text("Now."))
    ending = Pod(asker, "m", "", hooks=[Watch(after=back)]).say("Write.", phase="integration")
    assert (ending.reason, ending.text, ending.turns) == ("done", "Now.", 3)
    assert texts_of(asker.requests[1]) == ["entry 7 has no disposition"]


def test_a_note_before_a_turn_goes_with_its_request(notebook: Notebook) -> None:
    asker = Scripted(calls(("write", {"line": "first"})), text("ok"))
    left = Watch(before=lambda number, phase: Ruling(note=f"{3 - number} turns are left"))
    Pod(asker, "m", "", [notebook.tool], hooks=[left]).say("Write.", phase="integration")
    assert texts_of(asker.requests[0]) == ["Write.", "2 turns are left"]
    assert texts_of(asker.requests[1]) == ["1 turns are left"]
    assert asker.requests[1].messages[-1]["content"][0]["type"] == "tool_result"


def test_a_hook_that_answers_other_calls_is_a_fault_of_the_program(notebook: Notebook) -> None:
    asker = Scripted(calls(("write", {"line": "first"})))
    pod = Pod(asker, "m", "", [notebook.tool], hooks=[Watch(after=lambda turn: Ruling(calls=()))])
    with pytest.raises(ValueError, match="Watch gave results for other calls"):
        pod.say("Write.", phase="integration")


def test_what_a_hook_raises_passes_through_and_the_conversation_stays_whole(notebook: Notebook) -> None:
    def spent(turn: Turn) -> Ruling | None:
        raise BudgetSpent("no time is left")

    hooks: list[Hook] = [Watch(after=spent)]
    asker = Scripted(calls(("write", {"line": "first"})), text("again"))
    pod = Pod(asker, "m", "", [notebook.tool], hooks=hooks)
    with pytest.raises(BudgetSpent):
        pod.say("Write.", phase="integration")
    with pytest.raises(BudgetSpent):
        pod.say("Go on.", phase="integration")
    assert [block["content"] for block in results_of(asker.requests[1])] == ["line 1"]


def test_nothing_that_leaves_holds_a_secret(notebook: Notebook) -> None:
    secret = next(token for kind, token in tokens() if kind == "github-token")
    show = Tool(name="show", description="", schema={"type": "object"}, run=lambda given: f"export GH_TOKEN={secret}")
    asker = Scripted(calls(("show", {})), text("ok"))
    pod = Pod(
        asker,
        "m",
        f"system {secret}",
        [show],
        resident=[ResidentKnowledge(slug="a", description=f"when {secret}")],
        materials=[f"material {secret}"],
        hooks=[Watch(before=lambda number, phase: Ruling(note=f"note {secret}"))],
    )
    pod.say(f"say {secret}", phase="integration")
    sent = json.dumps([[request.system, request.messages] for request in asker.requests])
    assert secret not in sent
    assert sent.count("[redacted:") >= 6


def test_two_tools_of_one_name_and_schemas_that_nothing_would_check_are_refused(notebook: Notebook) -> None:
    with pytest.raises(ValueError, match="two tools have one name"):
        Pod(Scripted(), "m", "", [notebook.tool, notebook.tool])
    with pytest.raises(ValueError, match="has pattern, which nothing would check"):
        Tool(
            name="t",
            description="",
            schema={"type": "object", "properties": {"a": {"type": "string", "pattern": "^a"}}},
            run=str,
        )
    with pytest.raises(ValueError, match="not of an object"):
        Tool(name="t", description="", schema={"type": "string"}, run=str)
    with pytest.raises(ValueError, match="nothing to say"):
        Pod(Scripted(), "m", "").say(" \n", phase="integration")


def test_a_model_that_answers_nothing_at_all_ends_in_order() -> None:
    asker = Scripted(text(""), text("Here."))
    pod = Pod(asker, "m", "")
    assert (pod.say("One.", phase="integration").reason) == "done"
    pod.say("Two.", phase="integration")
    # The server takes no message without content.
    (message,) = asker.requests[1].messages
    assert [block["text"] for block in message["content"]] == ["One.", "Two."]
