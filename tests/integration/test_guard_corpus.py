"""What real agents say at work is no claim of inability (skipped where the sessions are not beside the checkout)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hikidashi.recall.guard import inability
from tests.unit.guard_desk import decide

#: A line of more is a tool's output.
MAX_LINE = 400_000


def _texts(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.jsonl")):
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if '"assistant"' in line and len(line) <= MAX_LINE:
                    yield from _said(line)


def _said(line: str) -> Iterator[str]:
    try:
        values: Any = json.loads(line)
    except ValueError:
        return
    message = values.get("message") or values.get("payload") if isinstance(values, dict) else None
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return
    content = message.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    for block in blocks:
        text = block.get("text") if isinstance(block, dict) else None
        if isinstance(text, str):
            yield text


def test_what_real_agents_say_is_hardly_ever_a_claim_and_never_sent_back(corpus: Path) -> None:
    texts = list(_texts(corpus))
    assert len(texts) > 3_000
    claiming = [text for text in texts if inability(text)]
    assert len(claiming) <= len(texts) / 1_000
    for text in claiming:
        for prompt in ("deploy it", "push", "run the tests", "go on"):
            assert decide({"message": text, "prompt": prompt, "facts": ["deploy:blyck", "test:blyck"]}) is None
