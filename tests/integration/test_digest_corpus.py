"""Real sessions as a model is shown them: every word of a person is one, and no tool's output is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hikidashi.capture.chunks import Chunks
from hikidashi.capture.digest import Digest
from hikidashi.capture.pieces import Piece
from hikidashi.model.tokens import estimate_tokens
from hikidashi.redact import redact
from tests.transcripts import read


def _sessions(corpus: Path) -> Iterator[tuple[Path, list[Piece]]]:
    for path in sorted(corpus.rglob("*.jsonl")):
        events, _ = read(path)
        digest = Digest()
        yield path, [piece for event in events for piece in digest.feed(event)]


def _lines(path: Path) -> dict[int, dict[str, Any]]:
    found = {}
    for number, raw in enumerate(path.read_bytes().split(b"\n")):
        try:
            line = json.loads(raw)
        except ValueError:
            continue
        if isinstance(line, dict):
            found[number] = line
    return found


def _blocks(line: dict[str, Any], kind: str) -> list[Any]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _results(line: dict[str, Any]) -> list[Any]:
    """What tools gave back in a line; [] for nothing."""
    results = _blocks(line, "tool_result")
    return [*results, line.get("toolUseResult")] if results else []


def _is_in_typed_text(line: dict[str, Any], text: str) -> bool:
    """Whether a text block that stands beside the results in a line holds the text."""
    return any(text.strip() in str(block.get("text", "")) for block in _blocks(line, "text"))


def test_no_tools_output_is_shown_as_a_persons_words(corpus: Path) -> None:
    people = 0
    for path, pieces in _sessions(corpus):
        lines = _lines(path)
        for piece in pieces:
            if piece.role != "user" or not piece.text:
                continue
            people += 1
            line = lines.get(piece.line, {})
            told = json.dumps(_results(line), ensure_ascii=False)
            if told != "[]" and not _is_in_typed_text(line, piece.text):
                # Only a refusal or an answer has a person's words in a result.
                assert (piece.kind == "answer" and '"answers"' in told) or "the user said:" in told
            assert line.get("isMeta") is not True, f"{path}:{piece.line}"
            assert line.get("isSidechain") is not True, f"{path}:{piece.line}"
            assert line.get("isCompactSummary") is not True, f"{path}:{piece.line}"
            assert not piece.text.lstrip().startswith(("<system-reminder>", "<local-command", "<bash-", "Caveat:"))
    assert people > 500


def test_nothing_is_shown_that_redaction_would_still_change(corpus: Path) -> None:
    for path, pieces in _sessions(corpus):
        texts: list[str] = []
        for piece in pieces:  # the parts of one text, joined again
            if piece.part == 1:
                texts.append("")
            texts[-1] += piece.text
        for text in texts:
            if len(text) < 20_000:
                assert redact(text) == text, path


def test_a_session_costs_a_few_thousand_tokens(corpus: Path) -> None:
    sessions = size = shown = 0
    for path, pieces in _sessions(corpus):
        sessions += 1
        size += path.stat().st_size
        chunks = Chunks(host="claude-code", path=str(path), limit=24_000, estimate=estimate_tokens)
        made = [chunk for piece in pieces if (chunk := chunks.add(piece)) is not None]
        rest = chunks.rest()
        made += [rest] if rest else []
        assert [piece for chunk in made for piece in chunk.pieces] == pieces
        shown += sum(chunk.tokens for chunk in made)
    assert shown / sessions < 20_000
    assert shown * 3.5 < size / 4  # most of a transcript is what tools read and wrote
