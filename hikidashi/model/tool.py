"""A tool of a pod, and what became of one call of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.model.messages import Answer, Block, ToolUse
from hikidashi.model.tool_input import misfit, unknown_keywords

__all__ = ["Call", "Tool", "ToolRefusal", "make_calls", "refused_calls"]

#: What is shown of an unreadable input, so that the model sees what it did.
_SHOWN_INPUT: Final = 200


class ToolRefusal(Exception):
    """A tool does not do what was asked. The message goes to the model: what is wrong, and how to call instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a pod's model can call."""

    name: str
    #: For the model: what it does, when to use it.
    description: str
    #: JSON schema of its input, an object.
    schema: dict[str, Any]
    #: Takes input that fits the schema and gives the text that the model reads.
    run: Callable[[dict[str, Any]], str]
    #: Exceptions of `run` whose message goes to the model, besides `ToolRefusal`. All others end the pod.
    errors: tuple[type[Exception], ...] = ()

    def __post_init__(self) -> None:
        if self.schema.get("type") != "object":
            raise ValueError(f"the schema of the tool {self.name} is not of an object")
        if unknown := unknown_keywords(self.schema):
            raise ValueError(f"the schema of the tool {self.name} has {unknown[0]}, which nothing would check")

    @property
    def block(self) -> Block:
        """The form that the Messages API takes."""
        return {"name": self.name, "description": self.description, "input_schema": self.schema}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a turn, done or refused."""

    use: ToolUse
    #: What the model is told.
    result: str
    is_error: bool = False
    #: Whether the tool itself was reached. One that raised was.
    was_run: bool = False

    @property
    def block(self) -> Block:
        """The form that the Messages API takes."""
        block: Block = {"type": "tool_result", "tool_use_id": self.use.id, "content": self.result or "(nothing)"}
        return {**block, "is_error": True} if self.is_error else block


def make_calls(answer: Answer, tools: Mapping[str, Tool]) -> tuple[Call, ...]:
    """Do the calls of an answer, one after the other; what cannot be done comes back as an error that says the mend.

    An exception that its tool does not declare is raised: then none of the later calls was done.
    """
    return tuple(_make_call(use, tools) for use in answer.tool_uses)


def refused_calls(uses: Sequence[ToolUse], why: str) -> tuple[Call, ...]:
    """The calls of an answer that are not done."""
    return tuple(Call(use=use, result=why, is_error=True) for use in uses)


def _make_call(use: ToolUse, tools: Mapping[str, Tool]) -> Call:
    tool = tools.get(use.name)
    if tool is None:
        known = ", ".join(tools) or "none"
        return _error(use, f"there is no tool {use.name[:_SHOWN_INPUT]!r}; the tools are: {known}")
    if use.input is None:
        sent = use.raw[:_SHOWN_INPUT]
        return _error(use, f"the input of {tool.name} was no JSON object, nothing was done; call again. Sent: {sent!r}")
    if wrong := misfit(tool.schema, use.input):
        return _error(use, f"{wrong}; nothing was done: call {tool.name} again with input that fits its schema")
    declared: tuple[type[Exception], ...] = (ToolRefusal, *tool.errors)
    try:
        return Call(use=use, result=tool.run(use.input), was_run=True)
    except declared as exc:
        return Call(use=use, result=str(exc) or type(exc).__name__, is_error=True, was_run=True)


def _error(use: ToolUse, text: str) -> Call:
    return Call(use=use, result=text, is_error=True)
