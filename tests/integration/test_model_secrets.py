"""No secret of a session is sent to a model, and none comes to rest through what a model answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.run import extract
from hikidashi.testing import FakeAsker, TurnLike, say, unauthorized
from tests.capture_workspace import LATE
from tests.integration.test_capture_secrets import planted_session
from tests.model_reading import Hall, hall
from tests.secrets_samples import Sample, samples


def forms(needle: str) -> set[bytes]:
    """The needle as it stands, and as JSON has it once and twice."""
    once = json.dumps(needle, ensure_ascii=False)[1:-1]
    twice = json.dumps(once, ensure_ascii=False)[1:-1]
    return {text.encode() for text in (needle, once, twice)}


def held(planted: list[Sample], everything: bytes) -> list[tuple[str, str]]:
    """The secrets that stand in it."""
    return [
        (sample.kind, needle)
        for sample in planted
        for needle in sample.needles
        if any(form in everything for form in forms(needle))
    ]


def parrot(planted: list[Sample]) -> Any:
    """A model that claims each secret of the world, in every field that it has."""

    def answer(body: dict[str, Any]) -> TurnLike:
        activities, facts = [], []
        for sample in planted:
            text = sample.text
            claim = {"event": 1, "said_by": "person", "quote": text}
            activities.append(
                {
                    "kind": "decision",
                    "title": f"Use {text}",
                    "body": text,
                    "why": text,
                    "since": 1,
                    "status": text,
                    **claim,
                }
            )
            facts.append({"type": "fact", "key": f"fact:{text}", "body": text, "aliases": [text], **claim})
        return say(json.dumps({"activities": activities, "facts": facts}))

    return answer


@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.slow)])
def test_no_planted_secret_is_sent_or_kept(tmp_path: Path, every: int) -> None:
    planted = samples()[::every]
    for number in range(0, len(planted), 8):
        planted_session(number, planted[number : number + 8]).write(tmp_path / "sessions" / f"{number}.jsonl")
    asker = FakeAsker(parrot(planted[:6]))
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="6000") as here:
        desk = here.desk
        report = extract(
            desk.workspace,
            here.settings,
            desk.connection,
            paths=[tmp_path / "sessions"],
            clock=lambda: LATE,
            asker=asker,
        )
        assert report.model is not None
        assert report.model.outcome == "done"
        assert sum(report.model.dropped.values()) >= 12
        sent = b"".join(json.dumps(request.body, ensure_ascii=False).encode() for request in asker.requests)
        assert b"[redacted:" in sent
        assert held(planted, sent) == []
        assert held(planted, kept(here)) == []


def test_what_waits_in_the_middle_of_a_reading_holds_no_secret_either(tmp_path: Path) -> None:
    planted = samples()[2::12]
    for number in range(0, len(planted), 8):
        planted_session(number, planted[number : number + 8]).write(tmp_path / "sessions" / f"{number}.jsonl")
    asked: list[int] = []

    def once(body: dict[str, Any]) -> TurnLike:
        asked.append(1)
        return say('{"activities": [], "facts": []}') if len(asked) < 4 else unauthorized()

    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="2000") as here:
        desk = here.desk
        report = extract(
            desk.workspace,
            here.settings,
            desk.connection,
            paths=[tmp_path / "sessions"],
            clock=lambda: LATE,
            asker=FakeAsker(once),
        )
        assert report.model is not None
        assert (report.model.outcome, report.model.chunks) == ("failed:auth", 3)
        assert report.withheld > 10
        assert here.rows("SELECT context FROM model_marks WHERE context <> ''")
        assert held(planted, kept(here)) == []


def kept(here: Hall) -> bytes:
    """All that stands under `.hikidashi/`."""
    here.desk.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    everything = b"".join(path.read_bytes() for path in here.desk.workspace.home.rglob("*") if path.is_file())
    assert b"redacted:" in everything
    return everything
