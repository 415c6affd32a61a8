"""Servers that fail on one passage, are too slow for it, or fail on all: the queue drains, and nothing is skipped
for a fault that is not the passage's."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.chunks import Chunk
from hikidashi.capture.run import extract
from hikidashi.errors import ModelFailure
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.ledger import make_meter
from hikidashi.testing import FakeMessages, TurnLike, say, server_error, slow
from tests.capture_workspace import LATE
from tests.model_reading import Hall, Reading, hall, talk
from tests.transcripts import Session

NOTHING = '{"activities": [], "facts": []}'


@dataclass
class Control:
    """A model that answers an easy question, or does not."""

    failure: ModelFailure | None = None
    asked: int = 0

    def __call__(self) -> None:
        self.asked += 1
        if self.failure is not None:
            raise self.failure


def broken(chunk: Chunk) -> ModelFailure | None:
    """A server that breaks down over one passage."""
    bad = any("poisoned" in piece.text for piece in chunk.pieces)
    return ModelFailure("500", kind="overloaded", again=True, at_work=True) if bad else None


def poisoned(tmp_path: Path) -> Path:
    session = talk("first", 10, cwd="/home/ann/shop")
    session.user("the poisoned prompt")
    for turn in range(10):
        session.user(f"later prompt {turn}")
    return session.write(tmp_path / "first.jsonl")


def runs(here: Hall, path: Path, reading: Reading, control: Callable[[], None], most: int = 30) -> list[str]:
    """Outcomes of one pass after the other, until one is done."""
    outcomes = [here.read(path, by=reading, control=control).outcome]
    while outcomes[-1] not in ("done", "idle") and len(outcomes) < most:
        outcomes.append(here.read(by=reading, control=control).outcome)
    return outcomes


def test_a_passage_over_which_a_server_breaks_down_is_found_and_passed_over(tmp_path: Path) -> None:
    path, reading, control = poisoned(tmp_path), Reading(fails=broken), Control()
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="100000") as here:
        outcomes = runs(here, path, reading, control)
        assert outcomes[-1] == "done"
        assert set(outcomes[:-1]) == {"failed:overloaded"}
        assert len(outcomes) < 12  # a run asks once for what failed, and for half of it the next time
        assert len(reading.shown) == len(set(reading.shown)) == 30
        assert control.asked == 1
        report = json.loads(here.rows("SELECT report FROM extractions ORDER BY started_at DESC, rowid DESC")[0][0])
        assert (report["passed_over"], report["passages"][0]["why"]) == (1, "500")
        assert here.rows("SELECT * FROM model_queue") == []


@pytest.mark.parametrize("kind", ["overloaded", "network", "content"])
def test_a_server_that_answers_nothing_else_either_is_not_a_passage_s_fault(tmp_path: Path, kind: str) -> None:
    """It goes on failing for days; when it is back, all is read."""
    path = poisoned(tmp_path)
    reading = Reading(fails=broken)
    control = Control(ModelFailure("500", kind=kind, at_work=True))
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="100000") as here:
        here.read(talk("other", 1, cwd="/home/ann/shop").write(tmp_path / "other.jsonl"), by=Reading())
        outcomes = runs(here, path, reading, control)
        assert len(outcomes) == 30
        reading.fails = lambda chunk: None
        assert here.read(by=reading).outcome == "done"
        assert len(reading.shown) == len(set(reading.shown)) == 31
        assert max(len(chunk) for chunk in reading.answered[-3:]) > 5  # only what failed was asked for piecemeal


def test_a_server_that_is_dead_changes_nothing(tmp_path: Path) -> None:
    path, control = poisoned(tmp_path), Control()
    dead = Reading(fails=lambda chunk: ModelFailure("nobody there", kind="network", again=True))
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="100000") as here:
        assert set(runs(here, path, dead, control)) == {"failed:network"}
        assert {len(chunk) for chunk in dead.asked} == {31}
        assert control.asked == 0


def test_rubbish_from_a_model_that_once_worked_skips_nothing(tmp_path: Path) -> None:
    paths = [talk(f"talk {n}", 20, cwd="/home/ann/shop").write(tmp_path / f"{n}.jsonl") for n in range(4)]
    control = Control(ModelFailure("no JSON", kind="content"))
    with hall(tmp_path / "shop") as here:
        assert here.read(talk("other", 1, cwd="/home/ann/shop").write(tmp_path / "other.jsonl"), by=Reading()).chunks
        rubbish = Reading(fails=lambda chunk: ModelFailure("no JSON", kind="content"))
        report = here.read(*paths, by=rubbish, control=control)
        for _ in range(5):
            assert (report.outcome, report.passed_over) == ("failed:content", 0)
            report = here.read(by=rubbish, control=control)
        good = Reading()
        assert here.read(by=good).outcome == "done"
        assert len(good.shown) == len(set(good.shown)) == 160


def test_a_long_text_that_is_refused_as_a_whole_is_through_in_one_pass(tmp_path: Path) -> None:
    session = talk("first", 3, cwd="/home/ann/shop")
    session.user("".join(f"the {n}th sentence that no model will answer for. " for n in range(2_000)))
    session.says("That was long.")
    path, control = session.write(tmp_path / "first.jsonl"), Control()

    def refuses(chunk: Chunk) -> ModelFailure | None:
        bad = any("no model will" in piece.text for piece in chunk.pieces)
        return ModelFailure("refused", kind="content", reason="refusal") if bad else None

    reading = Reading(fails=refuses)
    with hall(tmp_path / "shop") as here:
        report = here.read(path, by=reading, control=control)
        assert (report.outcome, report.pieces) == ("done", 7)
        assert report.passed_over > 60
        assert 2 <= control.asked < report.failed_chunks / 15


def test_a_first_passage_that_cannot_be_read_is_passed_over_once_the_model_answers_something(tmp_path: Path) -> None:
    """Though it is the only session, so that no other shows that the model works."""
    session = Session(name="bad", cwd="/home/ann/shop")
    session.user("the poisoned prompt")
    path, control = session.write(tmp_path / "bad.jsonl"), Control()
    reading = Reading(fails=lambda chunk: ModelFailure("no", kind="content"))
    with hall(tmp_path / "shop") as here:
        report = here.read(path, by=reading, control=control)
        assert (report.outcome, report.passed_over, control.asked) == ("done", 1, 1)


# -- with a real client


def read(here: Hall, path: Path, url: str, **memory: str) -> Any:
    environ = {
        "HIKIDASHI_MEMORY_BASE_URL": url,
        "HIKIDASHI_CAPTURE_CHUNK_TOKENS": "6000",
        **{f"HIKIDASHI_MEMORY_{name.upper()}": value for name, value in memory.items()},
    }
    with hall(here.desk.workspace.root, **environ) as again:
        endpoint = make_endpoint(again.settings, environ={})
        meter = make_meter(again.desk.connection, again.settings, "", environ={})
        with Client(endpoint, meter, sleep=lambda seconds: None) as client:
            return extract(
                again.desk.workspace,
                again.settings,
                again.desk.connection,
                paths=[path],
                clock=lambda: LATE,
                asker=client,
            ).model


def test_a_slow_model_is_given_less_until_it_ends_in_time(tmp_path: Path) -> None:
    words = " ".join(f"word{n}" for n in range(60))
    path = talk("first", 16, cwd="/home/ann/shop", words=words).write(tmp_path / "first.jsonl")
    sizes: list[tuple[int, bool]] = []

    def model(body: dict[str, Any]) -> TurnLike:
        size = len(body["messages"][0]["content"][0]["text"])
        sizes.append((size, size > 2_500))
        return slow(NOTHING * 40, 0.05, piece_bytes=8) if size > 2_500 else say(NOTHING)

    with FakeMessages(model) as fake, hall(tmp_path / "shop") as here:
        report = read(here, path, fake.url, request_seconds="1.5")
        assert (report.outcome, report.passed_over, report.pieces) == ("done", 0, 32)
        assert report.failed_chunks == sum(late for _, late in sizes) >= 2  # none was asked for again as it was
        assert here.rows("SELECT DISTINCT outcome FROM model_requests ORDER BY 1") == [("content",), ("ok",)]


def test_one_passage_too_slow_by_itself_is_passed_over_and_named(tmp_path: Path) -> None:
    path = poisoned(tmp_path)

    def model(body: dict[str, Any]) -> TurnLike:
        bad = "\nthe poisoned prompt\n" in body["messages"][0]["content"][0]["text"]
        return slow(NOTHING * 40, 0.05, piece_bytes=8) if bad else say(NOTHING)

    with FakeMessages(model) as fake, hall(tmp_path / "shop") as here:
        report = read(here, path, fake.url, request_seconds="0.7")
        assert (report.outcome, report.passed_over) == ("done", 1)
        assert "did not end its answer within 0.7 seconds" in report.passages[0].why


def test_a_server_that_breaks_down_is_asked_an_easy_question_though_it_is_left_alone(tmp_path: Path) -> None:
    """The back-off that its failures set lets that question through, and the answer ends it."""
    session = Session(name="bad", cwd="/home/ann/shop")
    session.user("the poisoned prompt")
    path = session.write(tmp_path / "bad.jsonl")

    def model(body: dict[str, Any]) -> TurnLike:
        return server_error() if "poisoned" in json.dumps(body) else say(NOTHING)

    with FakeMessages(model) as fake, hall(tmp_path / "shop") as here:
        outcomes = []
        for _ in range(3):
            outcomes.append(read(here, path, fake.url, attempts="1").outcome)
            here.desk.connection.commit()
            forget_the_back_off(here)
        assert outcomes == ["failed:overloaded", "failed:overloaded", "done"]
        assert here.rows("SELECT phase, outcome FROM model_requests ORDER BY opened_at")[-1] == ("ping", "ok")


def forget_the_back_off(here: Hall) -> None:
    """As if its minutes were over."""
    from hikidashi.model.users_database import users_database

    with users_database() as users:
        users.execute("UPDATE model_standing SET until = since")
        users.commit()


def test_what_was_shown_before_a_pass_ended_is_not_shown_again_in_a_copy(tmp_path: Path) -> None:
    """The session was resumed in another file while the server could not be reached."""
    session = talk("first", 8, cwd="/home/ann/shop")
    path, copy = session.write(tmp_path / "first.jsonl"), tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    reading = Reading()

    def fails(chunk: Chunk) -> ModelFailure | None:
        if len(chunk.pieces) > 3:
            return ModelFailure("too much", kind="content")
        return ModelFailure("gone", kind="network") if len(reading.answered) == 3 else None

    reading.fails = fails
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="100000") as here:
        outcomes = [here.read(path, by=reading).outcome]
        reading.fails = lambda chunk: None if len(reading.answered) < 4 else ModelFailure("gone", kind="network")
        outcomes.append(here.read(path, by=reading).outcome)
        assert outcomes == ["failed:network", "failed:network"]
        reading.fails = lambda chunk: None
        path.unlink()
        assert here.read(copy, by=reading).outcome == "done"
        assert len(reading.shown) == len(set(reading.shown)) == 16
