"""A model reads sessions: all of them, each piece once, whatever fails in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hikidashi.capture.chunks import Chunk
from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.staging.pause import set_paused
from tests.capture_workspace import LATE, SOON
from tests.model_reading import Hall, Reading, hall, identity, talk
from tests.transcripts import Session


def whole(tmp_path: Path, *paths: Path) -> list[tuple[str, int, int, int]]:
    """The pieces of the sessions, read at once without a failure."""
    reading = Reading()
    with hall(tmp_path / "undisturbed", HIKIDASHI_CAPTURE_CHUNK_TOKENS="1000000") as here:
        assert here.read(*paths, by=reading).outcome == "done"
    return reading.shown


def own(here: Hall, session: Session, home: Path) -> Path:
    """Write a session where the host keeps those of the workspace."""
    folder = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in session.cwd)
    return session.write(folder / f"{session.session_id}.jsonl")


def test_a_session_is_read_in_chunks_each_piece_once(tmp_path: Path) -> None:
    path = talk("long", 60, cwd="/home/ann/shop", words="with some words more").write(tmp_path / "long.jsonl")
    reading = Reading()
    with hall(tmp_path / "shop") as here:
        report = here.read(path, by=reading)
        assert report.outcome == "done"
        assert report.chunks == len(reading.answered) > 4
        assert reading.shown == whole(tmp_path, path)
        assert len(set(reading.shown)) == len(reading.shown) == 120
        assert report.pieces == 120
        assert report.entries == {"discussion": 120}
        assert len(here.desk.staged_files()) == 120
        again = Reading()
        assert here.read(path, by=again).outcome == "idle"
        assert again.asked == []
        assert here.rows("SELECT outcome, answered FROM extractions") == [("done", report.chunks)]


def test_no_request_a_turn(tmp_path: Path, home: Path) -> None:
    """Only full chunks are read while a session goes on; the tail once it rests."""
    root = tmp_path / "shop"
    session = Session(name="growing", cwd=str(root))
    reading = Reading()
    with hall(root) as here:
        for turn in range(30):
            session.user(f"prompt {turn} with a good number of words, so that some of them fill a chunk")
            session.says(f"answer {turn} with a good number of words, so that some of them fill a chunk")
            own(here, session, home)
            here.read(by=reading, at=SOON)
        assert 1 < len(reading.asked) < 10
        assert all(len(chunk) > 5 for chunk in reading.asked)
        before = len(reading.shown)
        assert before < 60
        here.read(by=reading, at=LATE)
        assert len(reading.shown) == len(set(reading.shown)) == 60
        here.read(by=reading, at=LATE)
        assert len(reading.asked) == len(reading.answered)
        assert len(reading.shown) == 60


def test_copies_of_a_session_are_shown_once(tmp_path: Path) -> None:
    session = talk("first", 20, cwd="/home/ann/shop")
    path = session.write(tmp_path / "first.jsonl")
    session.user("and in the copy this is new")
    copy = session.write(tmp_path / "resumed.jsonl")
    reading = Reading()
    with hall(tmp_path / "shop") as here:
        here.read(path, by=reading)
        here.read(copy, by=reading)
        assert len(reading.shown) == len(set(reading.shown)) == 41
        assert reading.texts[-1] == "and in the copy this is new"


STOPS = {
    "failed:auth": ModelFailure("no", kind="auth"),
    "failed:billing": ModelFailure("no", kind="billing"),
    "failed:overloaded": ModelFailure("no", kind="overloaded"),
    "failed:network": ModelFailure("no", kind="network"),
    "budget": BudgetSpent("no"),
}


@pytest.mark.parametrize("outcome", STOPS)
def test_what_is_not_the_sessions_fault_ends_the_pass_and_loses_nothing(tmp_path: Path, outcome: str) -> None:
    path = talk("long", 60, cwd="/home/ann/shop").write(tmp_path / "long.jsonl")
    reading = Reading()

    def third(chunk: Chunk) -> ModelFailure | None:
        if len(reading.asked) % 3 == 0:
            raise STOPS[outcome]
        return None

    reading.fails = third
    with hall(tmp_path / "shop") as here:
        report = here.read(path, by=reading)
        assert (report.outcome, report.message, report.chunks, report.passed_over) == (outcome, "no", 2, 0)
        assert here.rows("SELECT outcome FROM extractions") == [(outcome,)]
        assert here.rows("SELECT named FROM model_queue") == [(1,)]
        for _ in range(20):
            if here.read(by=reading).outcome in ("done", "idle"):  # what was named is gone on with by itself
                break
        assert reading.shown == whole(tmp_path, path)
        assert here.rows("SELECT * FROM model_queue") == []


def test_a_pause_ends_a_reading_that_is_under_way(tmp_path: Path) -> None:
    path = talk("long", 60, cwd="/home/ann/shop").write(tmp_path / "long.jsonl")
    reading = Reading()
    with hall(tmp_path / "shop") as here:

        def second(chunk: Chunk) -> None:
            if len(reading.asked) == 2:
                set_paused(here.desk.connection, True)

        reading.fails = second
        report = here.read(path, by=reading)
        assert (report.outcome, len(reading.asked), report.chunks) == ("paused", 2, 2)
        assert "hikidashi resume" in report.message
        assert here.rows("SELECT outcome FROM extractions") == [("paused",)]
        set_paused(here.desk.connection, False)
        assert here.read(by=reading).outcome == "done"
        assert reading.shown == whole(tmp_path, path)


def test_a_piece_that_no_model_can_read_is_passed_over_and_named(tmp_path: Path) -> None:
    session = talk("first", 10, cwd="/home/ann/shop")
    session.user("the poisoned prompt")
    for turn in range(10):
        session.user(f"later prompt {turn}")
    path = session.write(tmp_path / "first.jsonl")

    def poisoned(chunk: Chunk) -> ModelFailure | None:
        if any("poisoned" in piece.text for piece in chunk.pieces):
            return ModelFailure("it cannot", kind="content")
        return None

    reading = Reading(fails=poisoned)
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="100000") as here:
        report = here.read(path, by=reading)
        assert report.outcome == "done"
        assert report.passed_over == 1
        (passage,) = report.passages
        assert (passage.path, passage.line, passage.part, passage.why) == (str(path), 20, 1, "it cannot")
        left = [one for one in whole(tmp_path, path) if one not in reading.shown]
        assert len(left) == 1
        assert len(reading.shown) == len(set(reading.shown)) == 30
        lone = [chunk for chunk in reading.asked if len(chunk) == 1 and "poisoned" in chunk[0].text]
        assert len(lone) == 3
        assert report.failed_chunks < 12
        assert here.rows("SELECT report FROM extractions")[0][0].count("it cannot") == 1


def test_a_model_that_never_answers_passes_nothing_over(tmp_path: Path) -> None:
    """It is the model's fault then: with a better one, all of it is read."""
    paths = [talk(f"talk {n}", 12, cwd="/home/ann/shop").write(tmp_path / f"{n}.jsonl") for n in range(4)]
    reading = Reading(fails=lambda chunk: ModelFailure("it writes no JSON", kind="content"))
    with hall(tmp_path / "shop") as here:
        report = here.read(*paths, by=reading)
        assert (report.outcome, report.passed_over, report.chunks) == ("failed:content", 0, 0)
        assert len(reading.asked) <= 20
        good = Reading()
        assert here.read(by=good).outcome == "done"
        assert sorted(good.shown) == sorted(whole(tmp_path, *paths))


def test_a_first_piece_that_cannot_be_read_waits_until_the_model_is_known_to_answer(tmp_path: Path) -> None:
    bad = Session(name="bad", cwd="/home/ann/shop")
    bad.user("the poisoned prompt")
    paths = [bad.write(tmp_path / "bad.jsonl"), talk("good", 3, cwd="/home/ann/shop").write(tmp_path / "good.jsonl")]

    def poisoned(chunk: Chunk) -> ModelFailure | None:
        return ModelFailure("no", kind="content") if "poisoned" in chunk.pieces[0].text else None

    with hall(tmp_path / "shop") as here:
        report = here.read(*paths, by=Reading(fails=poisoned))
        assert (report.outcome, report.passed_over, report.pieces) == ("done", 1, 6)
        assert here.rows("SELECT * FROM model_queue") == []


def test_a_halved_chunk_is_gone_on_with_where_it_was(tmp_path: Path) -> None:
    """A budget that ends in the middle of the search does not begin it anew the next day."""
    path = talk("long", 16, cwd="/home/ann/shop").write(tmp_path / "long.jsonl")
    reading = Reading()

    def fails(chunk: Chunk) -> ModelFailure | None:
        if len(reading.asked) % 2 == 0:
            raise BudgetSpent("spent")
        return ModelFailure("no", kind="content") if any("prompt 9" in piece.text for piece in chunk.pieces) else None

    reading.fails = fails
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="100000") as here:
        good = Reading()
        here.read(talk("other", 1, cwd="/home/ann/shop").write(tmp_path / "other.jsonl"), by=good)
        reports = [here.read(path, by=reading)]
        while reports[-1].outcome == "budget":
            reports.append(here.read(by=reading))
            assert len(reports) < 30
        assert sum(report.passed_over for report in reports) == 1
        assert len(reading.shown) == len(set(reading.shown)) == 31
        sizes = [len(chunk) for chunk in reading.asked]
        assert max(sizes[2:]) < 32  # the whole chunk was asked for once, and once more after the first budget ended
        assert len(sizes) <= 2 * (5 + 3 + 5)


def test_a_prompt_of_two_megabytes_is_read_whole(tmp_path: Path) -> None:
    session = Session(name="huge", cwd="/home/ann/shop")
    session.user("look at this before the big one")
    session.user("".join(f"the {n}th sentence of a very long story. " for n in range(50_000)))
    session.says("That was long.")
    path = session.write(tmp_path / "huge.jsonl")
    assert path.stat().st_size > 2_000_000
    reading, runs = Reading(), 0

    def fails(chunk: Chunk) -> ModelFailure | None:
        if len(reading.asked) % 7 == 0:
            raise ModelFailure("no", kind="overloaded")
        return None

    reading.fails = fails
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="24000") as here:
        report = here.read(path, by=reading)
        while report.outcome == "failed:overloaded":
            runs += 1
            report = here.read(by=reading)
        assert runs >= 3
        assert "".join(reading.texts[1:-1]) == session.lines[1]["message"]["content"].strip()
        assert len(set(reading.shown)) == len(reading.shown)
        assert all(len("".join(piece.text for piece in chunk)) < 90_000 for chunk in reading.asked)


def test_only_sessions_written_to_since_the_model_came_are_read_by_themselves(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "shop"
    old, new = Session(name="old", cwd=str(root)), Session(name="new", cwd=str(root))
    old.user("from long ago")
    new.user("from today")
    with hall(root) as here:
        path = own(here, old, home)
        os.utime(path, (LATE.timestamp() - 900_000, LATE.timestamp() - 900_000))
        own(here, new, home)
        reading = Reading()
        report = here.read(by=reading, at=LATE)
        assert reading.texts == ["from today"]
        assert report.older == 1
        report = here.read(by=reading, at=LATE, back_fill=True)
        assert reading.texts == ["from today", "from long ago"]
        assert report.older == 0
        assert here.read(by=reading, at=LATE).older == 0


def test_events_of_other_folders_are_read_only_when_they_are_named(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "shop"
    session = Session(name="both", cwd=str(root))
    session.user("in the shop")
    session.cwd = "/home/ann/elsewhere"
    session.user("in another folder")
    session.cwd = str(root)
    session.user("in the shop again")
    with hall(root) as here:
        path = own(here, session, home)
        reading = Reading()
        here.read(by=reading)
        assert reading.texts == ["in the shop", "in the shop again"]
        here.read(path, by=reading)
        assert reading.texts[2:] == ["in another folder"]


def test_a_changed_file_is_read_from_the_start_and_nothing_is_shown_twice(tmp_path: Path) -> None:
    session = talk("long", 30, cwd="/home/ann/shop")
    path = session.write(tmp_path / "long.jsonl")
    reading = Reading()
    with hall(tmp_path / "shop") as here:
        here.read(path, by=reading)
        session.lines[0]["message"]["content"] = "another beginning, of another length"
        session.user("the end")
        session.write(path)
        here.read(path, by=reading)
        assert [identity(piece) for piece in reading.asked[-1]][-1] not in reading.shown[:-1]
        assert len(reading.shown) == len(set(reading.shown)) == 61


def test_progress_comes_to_all_bytes(tmp_path: Path) -> None:
    paths = [talk(f"t{n}", 30, cwd="/home/ann/shop").write(tmp_path / f"{n}.jsonl") for n in range(3)]
    told: list[tuple[int, int, int]] = []
    with hall(tmp_path / "shop") as here:
        here.read(*paths, by=Reading(), progress=lambda one: told.append((one.chunks, one.bytes, one.total)))
    total = sum(path.stat().st_size for path in paths)
    assert told == sorted(told)
    assert {one[2] for one in told} == {total}
    assert [one[0] for one in told] == list(range(len(told)))


def test_many_that_cannot_be_read_among_many_that_can(tmp_path: Path) -> None:
    """Each is passed over: as long as the model answers in between, it is not the model that fails."""
    session = Session(name="first", cwd="/home/ann/shop")
    for turn in range(120):
        session.user(f"the poisoned prompt {turn}" if turn % 10 == 9 else f"prompt {turn}")
    path = session.write(tmp_path / "first.jsonl")

    def poisoned(chunk: Chunk) -> ModelFailure | None:
        bad = any("poisoned" in piece.text for piece in chunk.pieces)
        return ModelFailure("no", kind="content") if bad else None

    reading = Reading(fails=poisoned)
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="100000") as here:
        report = here.read(path, by=reading)
        assert (report.outcome, report.passed_over, report.pieces) == ("done", 12, 108)
        assert report.failed_chunks > 20


def test_many_events_of_one_line_are_parted_between_chunks(tmp_path: Path) -> None:
    """A line of many calls' results: a reading that ends in the middle of it goes on in the middle of it."""
    session = Session(name="parallel", cwd="/home/ann/shop")
    calls = [session.bash(f"make part-{number}") for number in range(150)]
    session.user([{"type": "tool_result", "tool_use_id": call, "content": f"made {call}" * 20} for call in calls])
    session.user("thanks")
    path = session.write(tmp_path / "parallel.jsonl")
    reading = Reading()

    def fails(chunk: Chunk) -> ModelFailure | None:
        if len(reading.asked) % 2 == 0:
            raise BudgetSpent("spent")
        return None

    reading.fails = fails
    with hall(tmp_path / "shop") as here:
        reports = [here.read(path, by=reading)]
        while reports[-1].outcome == "budget":
            reports.append(here.read(by=reading))
        assert len(reports) > 4
        assert reading.shown == whole(tmp_path, path)
        assert len(set(reading.shown)) == len(reading.shown) == 151


def test_a_copy_that_comes_before_the_rest_of_its_session(tmp_path: Path) -> None:
    session = talk("first", 60, cwd="/home/ann/shop", words="with some words more")
    path = session.write(tmp_path / "first.jsonl")
    session.user("and in the copy this is new")
    copy = session.write(tmp_path / "resumed.jsonl")
    reading = Reading()

    def fails(chunk: Chunk) -> ModelFailure | None:
        if len(reading.asked) == 3:
            raise BudgetSpent("spent")
        return None

    reading.fails = fails
    with hall(tmp_path / "shop") as here:
        assert here.read(path, by=reading).outcome == "budget"
        assert 0 < len(reading.shown) < 120
        assert here.read(copy, by=reading).outcome == "done"
        assert len(reading.shown) == len(set(reading.shown)) == 121
