"""An answer's events, put together: what the SDK's own accumulator does, without its trust in what a server sends.

It would raise for a tool's input that is no JSON (a model wrote it, and shall hear so), lose blocks of kinds that it
does not know, and take a stream that ends early for a whole answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final

from hikidashi.model.messages import Block, ToolUse, Usage

__all__ = ["AnswerReader", "BadEvent", "usage_of"]

#: Kinds of blocks that are sent back in the next turn; all others are counted.
_KEPT: Final = frozenset({"text", "tool_use", "thinking", "redacted_thinking"})

#: Kind of a delta -> the field of the block that it goes on.
_FIELD_OF_DELTA: Final = {
    "text_delta": "text",
    "input_json_delta": "partial_json",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
}

_USAGE_FIELDS: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}


#: No request has more tokens of a kind; a server that counts more counts wrong.
_MOST_TOKENS: Final = 100_000_000


class BadEvent(ValueError):
    """An event that no server of the Messages API sends."""


@dataclass(slots=True)
class _Block:
    start: Block
    parts: dict[str, list[str]] = field(default_factory=dict)

    def text(self, name: str) -> str:
        first = self.start.get(name)
        return _paired((first if isinstance(first, str) else "") + "".join(self.parts.get(name, ())))


class AnswerReader:
    """Takes the events of one answer and gives its parts."""

    def __init__(self) -> None:
        #: The server began to answer, so tokens were used.
        self.started = False
        #: The last event came.
        self.ended = False
        self.stop_reason = ""
        self.model = ""
        #: Fields of the usage as the server counted them; each count stands for the whole request up to then.
        self.counts: dict[str, int] = {}
        #: The server counted what cannot be: below nothing, no whole number, more than any request has.
        self.miscounted = False
        self._blocks: dict[int, _Block] = {}

    def take(self, event: Any) -> None:
        """Take one event. Raises `BadEvent` for one that cannot be understood; kinds that are not known are passed."""
        if not isinstance(event, dict):
            raise BadEvent("an event is no object")
        kind = event.get("type")
        if kind == "message_start":
            self._message(event.get("message"))
        elif kind == "content_block_start":
            self._blocks[_index(event)] = _Block(_object(event, "content_block"))
        elif kind == "content_block_delta":
            self._delta(_index(event), _object(event, "delta"))
        elif kind == "message_delta":
            self._stop(_object(event, "delta"))
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.ended = True

    def take_whole(self, message: Any) -> None:
        """Take an answer that a server sent in one piece, though it was asked for a stream. Raises `BadEvent`."""
        self._message(message)
        self._stop(message)
        content = message.get("content")
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            raise BadEvent("an answer without content")
        for index, block in enumerate(content):
            given = block.get("input")
            whole = {"partial_json": given if isinstance(given, str) else json.dumps(given)} if "input" in block else {}
            self._blocks[index] = _Block({**block, **whole})
        self.ended = True

    def _message(self, message: Any) -> None:
        if not isinstance(message, dict):
            raise BadEvent("a message is no object")
        self.started = True
        self.model = _text(message, "model")
        self._count(message.get("usage"))

    def _stop(self, delta: Block) -> None:
        self.stop_reason = _text(delta, "stop_reason") or self.stop_reason

    def _delta(self, index: int, delta: Block) -> None:
        name = _FIELD_OF_DELTA.get(str(delta.get("type")))
        block = self._blocks.get(index)
        if block is None:
            raise BadEvent("a part of a block that did not begin")
        text = delta.get(name) if name else None
        if name and isinstance(text, str):
            block.parts.setdefault(name, []).append(text)

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        for theirs, ours in _USAGE_FIELDS.items():
            value = usage.get(theirs)
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
                # Counts do not shrink: a nought at the end is of a server that does not repeat what it said before.
                self.counts[ours] = max(value, self.counts.get(ours, 0))
            elif value is not None:
                self.miscounted = True

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks to send back: of known kinds, without empty texts, which no server takes back."""
        found = []
        for _, block in sorted(self._blocks.items()):
            kind = block.start.get("type")
            if kind == "text" and block.text("text").strip():
                found.append({"type": "text", "text": block.text("text")})
            elif kind == "tool_use":
                found.append({"type": "tool_use", **self._call(block)})
            elif kind == "thinking":
                found.append(
                    {"type": "thinking", "thinking": block.text("thinking"), "signature": block.text("signature")}
                )
            elif kind == "redacted_thinking":
                found.append(_without_halves(block.start))
        return tuple(found)

    @property
    def text(self) -> str:
        """All text blocks, joined."""
        return "".join(block.text("text") for _, block in sorted(self._blocks.items()) if _is(block, "text"))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The calls, in their order."""
        calls = [block for _, block in sorted(self._blocks.items()) if _is(block, "tool_use")]
        return tuple(
            ToolUse(
                id=self._call(block)["id"],
                name=self._call(block)["name"],
                input=_input(block),
                raw=block.text("partial_json"),
            )
            for block in calls
        )

    @property
    def unknown(self) -> dict[str, int]:
        """Blocks of other kinds, counted by kind."""
        counted: dict[str, int] = {}
        for block in self._blocks.values():
            kind = _text(block.start, "type") or "?"
            if kind not in _KEPT:
                counted[kind] = counted.get(kind, 0) + 1
        return counted

    def _call(self, block: _Block) -> Block:
        place = next(index for index, other in self._blocks.items() if other is block)
        return {
            # Servers that leave the ID out take any, as long as the result names the same one.
            "id": _text(block.start, "id") or f"toolu_{place}",
            "name": _text(block.start, "name"),
            "input": _input(block) or {},
        }


def _paired(text: str) -> str:
    """`text` with halves of a character put together, and halves that stay alone replaced: no file takes those."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _without_halves(value: Any) -> Any:
    """A JSON value whose texts can all be written; `\\ud800` in JSON may stand for half a character."""
    if isinstance(value, str):
        return _paired(value)
    if isinstance(value, list):
        return [_without_halves(item) for item in value]
    if isinstance(value, dict):
        return {_paired(key): _without_halves(item) for key, item in value.items()}
    return value


def _text(holder: Block, name: str) -> str:
    """The text of that name; '' where there is none."""
    value = holder.get(name)
    return _paired(value) if isinstance(value, str) else ""


def _is(block: _Block, kind: str) -> bool:
    return block.start.get("type") == kind


def _input(block: _Block) -> dict[str, Any] | None:
    raw = block.text("partial_json")
    if not raw.strip():  # a call without arguments, or one whose arguments came with its first event
        given = block.start.get("input", {})
        return _without_halves(given) if isinstance(given, dict) else None
    try:
        read = json.loads(raw)
        return _without_halves(read) if isinstance(read, dict) else None
    except (ValueError, RecursionError):
        return None


def _index(event: Block) -> int:
    index = event.get("index")
    if not isinstance(index, int):
        raise BadEvent("a block without a place")
    return index


def _object(event: Block, name: str) -> Block:
    value = event.get(name)
    if not isinstance(value, dict):
        raise BadEvent(f"an event without {name}")
    return value


def usage_of(reader: AnswerReader) -> Usage | None:
    """What the request used; None when nobody knows: the server counted nothing (some answer with zeros), or what
    cannot be, as a request without any input or a text without any output.
    """
    usage = Usage(**reader.counts)
    believed = not reader.miscounted and usage.total > usage.output_tokens and (usage.output_tokens or not reader.text)
    return usage if believed else None
