"""Tokens as the fake counts them: about as many as a real tokenizer makes, and the same for the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from hikidashi.testing.turns import RAW, Block

__all__ = ["count_input", "count_output", "count_text"]

#: A run of letters of at most six, a run of at most three digits, a run of blanks, or one other character.
_PIECES: Final = re.compile(r"[A-Za-z]{1,6}|[0-9]{1,3}|[ \t]+(?=\S)|\s+|[^A-Za-z0-9\s]")
#: A blank before a word belongs to the word.
_BLANK: Final = re.compile(r"[ \t]+(?=[A-Za-z0-9])")


def count_text(text: str) -> int:
    """Tokens of a text: about one for 3.5 characters of English, one for each character of Japanese; 0 for none."""
    return len(_PIECES.findall(_BLANK.sub("", text)))


def count_block(block: object) -> int:
    """Tokens of a block, a tool or a message; what marks a place in the cache is no part of it."""
    if isinstance(block, str):
        return count_text(block)
    return count_text(json.dumps(_plain(block), ensure_ascii=False, sort_keys=True))


def count_input(body: dict[str, Any]) -> int:
    """Tokens of a request's tools, system and messages."""
    total = 3
    for tool in body.get("tools") or ():
        total += count_block(tool)
    system = body.get("system") or ()
    for block in [system] if isinstance(system, str) else system:
        total += count_block(block)
    for message in body.get("messages") or ():
        content = message.get("content") if isinstance(message, dict) else message
        total += 3
        for block in [content] if isinstance(content, str) else content or ():
            total += count_block(block)
    return total


def count_output(blocks: Iterable[Block]) -> int:
    """Tokens of an answer; at least one."""
    total = 0
    for block in blocks:
        if block.get("type") == "text":
            total += count_text(block["text"])
        else:
            total += count_text(block[RAW]) + 5 if RAW in block else count_block(block)
    return max(1, total)


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items() if name not in ("cache_control", RAW)}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value
