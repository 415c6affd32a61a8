"""What the Messages API refuses before a model sees it, with the error 400 that it answers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from hikidashi.testing.faults import http_error
from hikidashi.testing.turns import HttpError

__all__ = ["check"]

#: Most blocks that a request may mark for the cache.
_MARKS: Final = 4

_REQUEST: Final = ("model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "output_config")
_FURTHER: Final = ("cache_control", "thinking", "metadata", "stop_sequences", "service_tier", "speed", "inference_geo")
_SAMPLING: Final = ("temperature", "top_p", "top_k")
_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,128}\Z")


def check(body: Mapping[str, Any], headers: Mapping[str, str], *, counting: bool = False) -> HttpError | None:
    """The first thing that is wrong with a request, as the error that answers it. `counting`: for count_tokens."""
    message = next(_wrong(body, headers, counting), None)
    return None if message is None else http_error(400, "invalid_request_error", message)


def _wrong(body: Mapping[str, Any], headers: Mapping[str, str], counting: bool) -> Iterator[str]:
    if "anthropic-version" not in headers:
        yield "anthropic-version: header is required"
    if not isinstance(body.get("model"), str) or not body["model"]:
        yield "model: Field required"
    limit = body.get("max_tokens")
    if not counting and (not isinstance(limit, int) or isinstance(limit, bool)):
        yield "max_tokens: Field required"
    elif not counting and isinstance(limit, int) and limit < 0:
        yield "max_tokens: Input should be greater than or equal to 0"
    for name in body:
        if name in _SAMPLING:
            yield f"{name}: this model does not take it"
        elif name not in _REQUEST + _FURTHER and "anthropic-beta" not in headers:
            yield f"{name}: Extra inputs are not permitted"
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        yield "messages: at least one message is required"
        return
    yield from _tools(body)
    yield from _messages(messages)
    yield from _calls(messages)
    yield from _marks(body)


def _tools(body: Mapping[str, Any]) -> Iterator[str]:
    names = [str(tool.get("name", "")) for tool in body.get("tools") or ()]
    for at, name in enumerate(names):
        if not _TOOL_NAME.match(name):
            yield f"tools.{at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
    if len(set(names)) < len(names):
        yield "tools: Tool names must be unique."
    choice = (body.get("tool_choice") or {}).get("type")
    if choice in ("any", "tool") and "-5-5" in str(body.get("model")):
        yield "tool_choice: this model can not be forced to use a tool"


def _messages(messages: list[Any]) -> Iterator[str]:
    for at, message in enumerate(messages):
        if message.get("role") not in ("user", "assistant", "system"):
            yield f"messages.{at}.role: Input should be 'user' or 'assistant'"
        content = message.get("content")
        if not content or not isinstance(content, str | list):
            yield f"messages.{at}: all messages must have non-empty content"
        for block in _blocks(message):
            if block.get("type") == "text" and not block.get("text"):
                yield "messages: text content blocks must be non-empty"
    if messages[0].get("role") != "user":
        yield 'messages: first message must use the "user" role'
    if messages[-1].get("role") == "assistant":
        yield "This model does not support assistant message prefill. The conversation must end with a user message."


def _calls(messages: list[Any]) -> Iterator[str]:
    """Each call has its result in the next message, and each result a call in the one before."""
    before: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        results = [str(block.get("tool_use_id")) for block in _blocks(message) if block.get("type") == "tool_result"]
        missing = [call for call in before if call not in results]
        if missing:
            yield (
                f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` block in the "
                "next message."
            )
        for result in results:
            if result not in before:
                yield (
                    f"messages.{at}.content: unexpected `tool_use_id` found in `tool_result` blocks: {result}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
        if len(set(results)) < len(results):
            yield f"messages.{at}.content: each tool_use must have a single result"
        before = [str(block.get("id")) for block in _blocks(message) if block.get("type") == "tool_use"]
        for call in before:
            if call in seen:
                yield f"messages.{at}: `tool_use` ids must be unique"
            seen.add(call)
    if before:
        yield f"messages.{len(messages) - 1}: `tool_use` ids were found without `tool_result` blocks immediately after"


def _marks(body: Mapping[str, Any]) -> Iterator[str]:
    blocks = [*(body.get("tools") or ()), *_blocks({"content": body.get("system")})]
    for message in body["messages"]:
        blocks += _blocks(message)
    marked = [block for block in blocks if block.get("cache_control")]
    count = len(marked) + bool(body.get("cache_control"))
    if count > _MARKS:
        yield f"A maximum of {_MARKS} blocks with cache_control may be provided. Found {count}."
    short = False
    for block in marked:
        mark = block["cache_control"]
        if mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
            yield "cache_control: Input should be {'type': 'ephemeral'} with a ttl of '5m' or '1h'"
        if block.get("type") in ("thinking", "redacted_thinking") or block.get("text") == "":
            yield "cache_control cannot be set for empty text blocks or thinking blocks"
        if mark.get("ttl") == "1h" and short:
            yield "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
        short = short or mark.get("ttl", "5m") == "5m"


def _blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
