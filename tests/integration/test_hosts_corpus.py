"""Real sessions of many versions are read whole (skipped where they are absent)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hikidashi.hosts.registry import transcripts_under
from hikidashi.hosts.transcript import Event, ReadReport
from tests.transcripts import read

Reading = tuple[list[Event], ReadReport]


@pytest.fixture(scope="module")
def labels(corpus: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((corpus / "labels.json").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def readings(corpus: Path) -> dict[str, Reading]:
    """Every file's events, each file read as if it were alone."""
    return {path.relative_to(corpus).as_posix(): read(path) for path in sorted(corpus.glob("*/*.jsonl"))}


def test_every_file_is_recognised_and_read_to_its_end(corpus: Path, readings: dict[str, Reading]) -> None:
    known = transcripts_under(corpus)
    assert len(known) == len(readings)
    for _, file in known:
        events, report = readings[file.path.relative_to(corpus).as_posix()]
        assert events, file.path
        assert report.position.offset == file.size


def test_every_line_is_taken_or_counted_as_skipped(corpus: Path, readings: dict[str, Reading]) -> None:
    for name, (events, report) in readings.items():
        raw = (corpus / name).read_bytes()
        count = raw.count(b"\n") + (not raw.endswith(b"\n"))
        assert report.line == report.lines == count
        spoken = {
            number for number, line in enumerate(raw.split(b"\n")) if line and holds_words_or_calls(json.loads(line))
        }
        told = {event.line for event in events}
        assert sum(report.skipped.values()) >= len(spoken - told), (name, sorted(spoken - told)[:5])


def holds_words_or_calls(line: dict[str, Any]) -> bool:
    """Whether a line must give an event: it has text, a call or a result."""
    content = (line.get("message") or {}).get("content") if line.get("type") in ("user", "assistant") else None
    if isinstance(content, str):
        return bool(content.strip())
    told = ("tool_use", "tool_result")
    return any(block.get("type") in told or str(block.get("text") or "").strip() for block in content or [])


def test_events_stand_in_the_order_of_their_lines_with_their_lines_uuid(
    corpus: Path, readings: dict[str, Reading]
) -> None:
    for name, (events, _) in readings.items():
        lines = [json.loads(line) for line in (corpus / name).read_bytes().split(b"\n") if line]
        numbers = [event.line for event in events]
        assert numbers == sorted(numbers)
        for event in events:
            assert event.uuid in ("", lines[event.line].get("uuid"))
            if event.kind == "tool_result" and event.call_line >= 0:
                assert lines[event.call_line]["uuid"] == event.call_uuid
                assert event.tool and event.call_id in json.dumps(lines[event.call_line])


@pytest.mark.parametrize("table", ["capabilities", "traps"])
def test_a_labelled_line_holds_a_call_or_a_result(
    table: str, labels: dict[str, Any], readings: dict[str, Reading]
) -> None:
    for label in labels[table]:
        events = readings[label["f"]][0]
        kinds = {event.kind for event in events if event.line == label["ln"]}
        assert kinds & {"tool_call", "tool_result"}, label


def test_a_labelled_rule_stands_in_words_of_the_user(labels: dict[str, Any], readings: dict[str, Reading]) -> None:
    for label in labels["rules"]:
        events = readings[label["f"]][0]
        assert "user" in {event.kind for event in events if event.line == label["ln"]}, label


def test_nearly_every_call_has_its_result(readings: dict[str, Reading]) -> None:
    count = Counter(event.kind for events, _ in readings.values() for event in events)
    joined = sum(
        event.kind == "tool_result" and event.call_line >= 0 for events, _ in readings.values() for event in events
    )
    assert count["tool_call"] > 9_000
    assert joined >= 0.995 * count["tool_result"]
    assert count["tool_result"] >= 0.99 * count["tool_call"]


def test_what_the_user_says_is_never_the_clients(readings: dict[str, Reading]) -> None:
    injected = ("<command-", "<local-command", "<bash-", "<system-reminder", "<task-notif", "<teammate", "Caveat: The")
    for events, _ in readings.values():
        for event in events:
            if event.kind == "user":
                assert event.role == "user" and not event.sidechain
                assert not event.text.startswith((*injected, "This session is being continued", "[Request interr"))
