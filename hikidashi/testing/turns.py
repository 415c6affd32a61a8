"""What a scripted model answers: blocks, whole turns, errors, and answers that go wrong on their way.

A turn may be written in the shortest form that says it: a text, a block, a list of blocks, a `Turn`, or an `HttpError`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

__all__ = [
    "Block",
    "Delivery",
    "Ending",
    "HttpError",
    "Model",
    "Rule",
    "Turn",
    "TurnLike",
    "as_turn",
    "call",
    "cut",
    "error_in_stream",
    "refused",
    "reset",
    "say",
    "silent",
    "slow",
    "think",
    "turn",
    "unknown",
]

#: A content block of an answer, as the Messages API has it.
Block = dict[str, Any]

#: Under this name a `tool_use` block holds what goes over the wire when it is no JSON object.
RAW = "_raw"


def say(text: str) -> Block:
    """A text block."""
    return {"type": "text", "text": text}


def call(name: str, input: Mapping[str, Any] | None = None, *, raw: str | None = None, id: str = "") -> Block:
    """A call of a tool. `raw` is sent word for word in place of the input, broken JSON too; an ID is made up."""
    block: Block = {"type": "tool_use", "name": name, "input": dict(input or {})}
    if id:
        block["id"] = id
    if raw is not None:
        block[RAW] = raw
        try:
            block["input"] = json.loads(raw)
        except ValueError:
            block["input"] = raw  # what servers send that hand on what the model wrote
    return block


def think(text: str, *, signature: str = "c2lnbmF0dXJl") -> Block:
    """A block of thinking, with the signature that must come back unchanged."""
    return {"type": "thinking", "thinking": text, "signature": signature}


def unknown(kind: str = "hologram", **content: Any) -> Block:
    """A block of a kind that nobody has heard of."""
    return {"type": kind, **content}


#: What happens at the end or at the given place: all is sent (`whole`); the connection closes in the middle of the
#: message (`cut`); the transfer ends in good order, but too early (`short`); the connection is reset (`reset`);
#: nothing more comes (`silence`); the stream brings an error event and ends (`error`); nobody listens (`refused`).
Ending = Literal["whole", "cut", "short", "reset", "silence", "error", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """How the bytes of an answer go out. The default: all of them, at once."""

    ending: Ending = "whole"
    #: Bytes of the body that go out before the ending.
    after_bytes: int | None = None
    #: Events of a stream that go out before the ending; one body without streaming is one event.
    after_events: int | None = None
    #: The connection dies before the status line.
    before_headers: bool = False
    #: Seconds before each piece.
    pause: float = 0.0
    #: Bytes a piece; None is one event a piece.
    piece_bytes: int | None = None
    #: The error object of an error event.
    error: Block = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model."""

    blocks: tuple[Block, ...] = ()
    #: None: `tool_use` when a tool is called, else `end_turn`.
    stop_reason: str | None = None
    #: None: counted from the blocks.
    output_tokens: int | None = None
    #: Seconds before the first byte.
    wait: float = 0.0
    delivery: Delivery = field(default_factory=Delivery)
    #: What a refusal says of itself.
    stop_details: Block | None = None
    #: The model that the answer names; None is the one asked for.
    model: str | None = None
    #: Further response headers.
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def stop(self) -> str:
        """The stop reason that is sent."""
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(block.get("type") == "tool_use" for block in self.blocks) else "end_turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpError:
    """An answer that is no message: an error status, a redirect, or garbage."""

    status: int
    #: `error.type` of the body.
    kind: str = "api_error"
    message: str = "Something went wrong."
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Sent in place of the error's JSON.
    body: bytes | None = None
    content_type: str = "application/json"
    wait: float = 0.0
    delivery: Delivery = field(default_factory=Delivery)


TurnLike = str | Block | Sequence[Block | str] | Turn | HttpError

#: Makes a turn of a request's body.
Rule = Callable[[dict[str, Any]], TurnLike]

#: A scripted model is a sequence of turns (or of rules), each used once; a rule-driven one is one rule for all.
Model = Sequence[TurnLike | Rule] | Rule


def turn(*blocks: Block | str, stop_reason: str | None = None, **fields: Any) -> Turn:
    """A turn of several blocks; the keywords are fields of `Turn`."""
    made = tuple(say(block) if isinstance(block, str) else block for block in blocks)
    return Turn(blocks=made, stop_reason=stop_reason, **fields)


def as_turn(form: TurnLike) -> Turn | HttpError:
    """The turn that a short form stands for. Raises TypeError when it stands for none."""
    if isinstance(form, Turn | HttpError):
        return form
    if isinstance(form, str | dict):
        return turn(form)
    if isinstance(form, Sequence) and all(isinstance(block, str | dict) for block in form):
        return turn(*form)
    raise TypeError(f"not a turn: {form!r}")


def cut(
    form: TurnLike, *, after_bytes: int | None = None, after_events: int | None = None, clean: bool = False
) -> Turn | HttpError:
    """An answer whose connection closes after so many bytes or events of its body.

    `clean` ends the transfer in good order, as some proxies do: only the missing `message_stop` shows the cut.
    """
    if (after_bytes is None) == (after_events is None):
        raise TypeError("either after_bytes or after_events")
    return _delivered(form, ending="short" if clean else "cut", after_bytes=after_bytes, after_events=after_events)


def reset(form: TurnLike = "", *, after_events: int | None = None) -> Turn | HttpError:
    """The connection is reset: before anything is answered, or after so many events."""
    return _delivered(form, ending="reset", after_events=after_events, before_headers=after_events is None)


def refused() -> Turn | HttpError:
    """Nobody listens. Over HTTP the connection is reset at once, for somebody did: see also `nobody_url`."""
    return _delivered("", ending="refused", before_headers=True)


def silent(form: TurnLike = "", *, after_events: int | None = None) -> Turn | HttpError:
    """Nothing comes, and the connection stays open: from the start, or after so many events."""
    return _delivered(form, ending="silence", after_events=after_events, before_headers=after_events is None)


def slow(form: TurnLike, seconds: float, *, piece_bytes: int | None = None) -> Turn | HttpError:
    """An answer with so many seconds before each event, or before each piece of so many bytes."""
    return _delivered(form, pause=seconds, piece_bytes=piece_bytes)


def error_in_stream(
    form: TurnLike,
    *,
    after_events: int,
    kind: str = "overloaded_error",
    message: str = "Overloaded",
) -> Turn | HttpError:
    """An error event in the midst of a stream that began with status 200."""
    error = {"type": kind, "message": message}
    return _delivered(form, ending="error", after_events=after_events, error=error)


def _delivered(form: TurnLike, **changes: Any) -> Turn | HttpError:
    whole = as_turn(form)
    return replace(whole, delivery=replace(whole.delivery, **changes))
