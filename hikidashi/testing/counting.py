"""Tokens as the fake counts them: about as many as a real tokenizer makes, and the same for the same text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hikidashi.testing.turns import RAW, Block, Turn

__all__ = ["count_output", "count_text", "fit"]

#: A run of letters of at most six with the blank before it, a run of at most three digits, blanks, or one character.
_PIECES: Final = re.compile(r" ?[A-Za-z]{1,6}| ?[0-9]{1,3}|\s+|[^A-Za-z0-9\s]")


def count_text(text: str) -> int:
    """Tokens of a text: about one for 4 characters of English, one for each character of Japanese; 0 for none."""
    return sum(1 for _ in _PIECES.finditer(text))


def count_output(blocks: Iterable[Block]) -> int:
    """Tokens of an answer; at least one."""
    return max(1, sum(count_text(_written(block)) for block in blocks))


def fit(turn: Turn, max_tokens: int) -> Turn:
    """The turn as far as `max_tokens` let the model write it; one that says its own stop reason stays as it is."""
    if turn.stop_reason is not None or turn.output_tokens is not None or count_output(turn.blocks) <= max_tokens:
        return turn
    left, kept = max_tokens, []
    for block in turn.blocks:
        if left <= 0:
            break
        text = _written(block)
        ends = [piece.end() for piece in _PIECES.finditer(text)]
        kept.append(block if len(ends) <= left else _shortened(block, text[: ends[left - 1]]))
        left -= len(ends)
    return replace(turn, blocks=tuple(kept), stop_reason="max_tokens")


def _written(block: Block) -> str:
    """What the model writes for a block."""
    if block.get("type") == "text":
        return str(block["text"])
    if block.get("type") == "thinking":
        return str(block["thinking"])
    if block.get("type") == "tool_use":
        return str(block[RAW]) if RAW in block else json.dumps(block["input"], ensure_ascii=False)
    return json.dumps(block, ensure_ascii=False)


def _shortened(block: Block, text: str) -> Block:
    if block.get("type") == "text":
        return {**block, "text": text}
    if block.get("type") == "thinking":
        return {**block, "thinking": text}
    if block.get("type") == "tool_use":
        return {**block, RAW: text}
    return block
