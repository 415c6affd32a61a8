"""A request as the model reads it: tools, system, messages, block after block, with the places marked for the cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from hikidashi.testing.counting import count_text

__all__ = ["Place", "input_tokens", "lay_out"]

#: Tokens that frame a request, and each message.
_FRAME: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The end of one block."""

    #: Tokens of all that stands before this end.
    tokens: int
    #: Of the same, and of the model and the settings that make it another prompt.
    digest: bytes
    #: Seconds that the cache should keep it; None where nothing is marked.
    lifetime: int | None = None


def lay_out(body: dict[str, Any], known: dict[bytes, int] | None = None) -> list[Place]:
    """The places of a request's blocks, in the order in which the model reads them.

    `known` holds tokens by a block's digest, so that a long conversation is counted once.
    """
    counts = {} if known is None else known
    running = hashlib.sha256(_dumps([body.get("model"), body.get("output_config")]))
    tokens, places = 0, []
    for position, text, mark, overhead in _blocks(body):
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(data).digest()
        if digest not in counts:
            counts[digest] = count_text(text)
        running.update(position.encode() + b"\0" + digest)
        tokens += counts[digest] + overhead
        places.append(Place(tokens=tokens, digest=running.copy().digest(), lifetime=mark))
    if "cache_control" in body and places:
        places[-1] = replace(places[-1], lifetime=_lifetime(body))
    return places


def input_tokens(places: list[Place]) -> int:
    """Tokens of a whole request."""
    return _FRAME + (places[-1].tokens if places else 0)


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, str, int | None, int]]:
    """What the place of a block says, its text, how long it is to be kept, and tokens around it."""
    for tool in body.get("tools") or ():
        yield "tool", _canonical(tool), _lifetime(tool), 0
    for block in _content(body.get("system")):
        yield "system", _canonical(block), _lifetime(block), 0
    # A change of these leaves what is cached of tools and system as it is.
    settings = json.dumps([body.get("tool_choice"), body.get("thinking")])
    for message in body.get("messages") or ():
        for at, block in enumerate(_content(message.get("content"))):
            role = f"{message.get('role')} {settings}" if at == 0 else "further"
            yield role, _canonical(block), _lifetime(block), 0 if at else _FRAME


def _content(content: object) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _lifetime(block: object) -> int | None:
    mark = block.get("cache_control") if isinstance(block, dict) else None
    if not isinstance(mark, dict):
        return None
    return 3600 if mark.get("ttl") == "1h" else 300


def _canonical(block: object) -> str:
    """The block's text; where it is marked is no part of it, the order of its keys is."""
    if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    if isinstance(block, dict):
        block = {name: value for name, value in block.items() if name != "cache_control"}
    return json.dumps(block, ensure_ascii=False)


def _dumps(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
