"""A turn as bytes: the events of a stream, or one JSON body, and how they go out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hikidashi.testing.turns import RAW, Block, Delivery, Ending, HttpError, Turn

__all__ = ["Reply", "error_reply", "json_reply", "message_reply", "stream_reply"]

#: Characters a delta brings.
_DELTA: Final = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One HTTP response, in the pieces in which it goes out."""

    status: int
    headers: dict[str, str]
    pieces: tuple[bytes, ...]
    #: Length of the whole body when it was never meant to be streamed; None goes out in chunks.
    length: int | None
    ending: Ending = "whole"
    before_headers: bool = False
    #: Seconds before the first byte.
    wait: float = 0.0
    #: Seconds before each piece.
    pause: float = 0.0


def json_reply(data: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Reply:
    """A plain JSON answer."""
    body = _dumps(data)
    return Reply(
        status=status,
        headers={"content-type": "application/json", **(headers or {})},
        pieces=(body,),
        length=len(body),
    )


def error_reply(error: HttpError, request_id: str) -> Reply:
    """An error status with the body that the API gives it."""
    body = error.body
    if body is None:
        inner = {"type": error.kind, "message": error.message}
        body = _dumps({"type": "error", "error": inner, "request_id": request_id})
    headers = {"content-type": error.content_type, "request-id": request_id, **error.headers}
    return _delivered([body], headers, error.delivery, status=error.status, length=len(body), wait=error.wait)


def message_reply(turn: Turn, message_id: str, model: str, usage: Block, request_id: str) -> Reply:
    """The answer to a request that did not ask for a stream."""
    blocks = [_whole(block, message_id, index) for index, block in enumerate(turn.blocks)]
    message = _message(turn, message_id, model, blocks, turn.stop, usage)
    if turn.stop_details is not None:
        message["stop_details"] = turn.stop_details
    body = _dumps(message)
    headers = {"content-type": "application/json", "request-id": request_id, **turn.headers}
    return _delivered([body], headers, turn.delivery, length=len(body), wait=turn.wait)


def stream_reply(turn: Turn, message_id: str, model: str, usage: Block, request_id: str) -> Reply:
    """The answer to a request that asked for a stream: server-sent events."""
    events = [_event(data) for data in _stream(turn, message_id, model, usage)]
    headers = {"content-type": "text/event-stream; charset=utf-8", "request-id": request_id, **turn.headers}
    return _delivered(events, headers, turn.delivery, length=None, wait=turn.wait)


def _stream(turn: Turn, message_id: str, model: str, usage: Block) -> Iterator[Block]:
    first = {**usage, "output_tokens": min(1, int(usage["output_tokens"]))}
    yield {"type": "message_start", "message": _message(turn, message_id, model, [], None, first)}
    for index, block in enumerate(turn.blocks):
        whole = _whole(block, message_id, index)
        start, deltas = _deltas(whole, block.get(RAW))
        yield {"type": "content_block_start", "index": index, "content_block": start}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    end: Block = {"stop_reason": turn.stop, "stop_sequence": None}
    if turn.stop_details is not None:
        end["stop_details"] = turn.stop_details
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}


def _message(
    turn: Turn, message_id: str, model: str, content: list[Block], stop: str | None, usage: Block
) -> dict[str, Any]:
    return {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": turn.model or model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": usage,
    }


def _whole(block: Block, message_id: str, index: int) -> Block:
    whole = {name: value for name, value in block.items() if name != RAW}
    if whole.get("type") == "tool_use":
        whole = {"type": "tool_use", "id": f"toolu_{message_id.removeprefix('msg_')}_{index}", **whole}
    return whole


def _deltas(block: Block, raw: str | None) -> tuple[Block, list[Block]]:
    """The block as it starts, and what is added to it."""
    kind = block.get("type")
    if kind == "text":
        pieces = [{"type": "text_delta", "text": piece} for piece in _cut(block["text"])]
        return {**block, "text": ""}, pieces
    if kind == "tool_use":
        text = json.dumps(block["input"], ensure_ascii=False) if raw is None else raw
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *_cut(text))]
        return {**block, "input": {}}, pieces
    if kind == "thinking":
        pieces = [{"type": "thinking_delta", "thinking": piece} for piece in _cut(block["thinking"])]
        pieces.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, pieces
    return block, []


def _cut(text: str) -> list[str]:
    return [text[at : at + _DELTA] for at in range(0, len(text), _DELTA)]


def _event(data: Block) -> bytes:
    return b"event: " + str(data["type"]).encode() + b"\ndata: " + _dumps(data) + b"\n\n"


def _dumps(data: object) -> bytes:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def _delivered(
    events: Sequence[bytes],
    headers: dict[str, str],
    delivery: Delivery,
    *,
    length: int | None,
    status: int = 200,
    wait: float,
) -> Reply:
    kept = list(events)
    if delivery.after_events is not None:
        kept = kept[: delivery.after_events]
    if delivery.after_bytes is not None:
        kept = [b"".join(kept)[: delivery.after_bytes]]
    ending = delivery.ending
    if ending == "error":
        kept.append(_event({"type": "error", "error": delivery.error}))
    if delivery.piece_bytes is not None:
        body, size = b"".join(kept), delivery.piece_bytes
        kept = [body[at : at + size] for at in range(0, len(body), size)]
    return Reply(
        status=status,
        headers=headers,
        pieces=tuple(piece for piece in kept if piece),
        length=sum(map(len, kept)) if length is not None and ending in ("short", "error") else length,
        ending="whole" if ending in ("short", "error") else ending,
        before_headers=delivery.before_headers,
        wait=wait,
        pause=delivery.pause,
    )
