"""One process at a time has a model read; the others leave their sessions to it and wait for nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock

from hikidashi.capture.back_fill import expected_cost, model_since
from hikidashi.capture.run import extract
from hikidashi.config.settings import load_settings
from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.model.ledger import make_meter
from hikidashi.model.messages import Answer, Phase, Request, Usage
from hikidashi.model.prices import load_prices
from hikidashi.testing import FakeAsker, say
from tests.capture_sessions import finished_session, open_session
from tests.capture_workspace import LATE
from tests.model_reading import Nobody, Reading, hall, talk
from tests.transcripts import Session

NOTHING = '{"activities": [], "facts": []}'


def test_who_finds_the_lock_held_leaves_its_sessions_in_the_queue(tmp_path: Path) -> None:
    path = talk("one", 3, cwd="/home/ann/shop").write(tmp_path / "one.jsonl")
    reading = Reading()
    with hall(tmp_path / "shop") as here:
        with FileLock(here.desk.workspace.model_lock):
            assert here.read(path, by=reading).outcome == "busy"
            assert here.read(by=reading).outcome == "busy"
        assert reading.asked == []
        assert here.read(by=reading).outcome == "done"
        assert len(reading.shown) == 6
        assert here.rows("SELECT * FROM model_queue") == []


def test_the_rules_do_not_wait_for_a_model(tmp_path: Path) -> None:
    """Capabilities and lasting rules come before the gate while another process talks to a server."""
    session = finished_session()
    session.user("From now on, answer in French.")
    path = session.write(tmp_path / "one.jsonl")
    with hall(tmp_path / "shop") as here, FileLock(here.desk.workspace.model_lock):
        desk = here.desk
        report = extract(
            desk.workspace, here.settings, desk.connection, paths=[path], clock=lambda: LATE, asker=Nobody()
        )
        assert not report.queued
        assert report.model is not None
        assert report.model.outcome == "busy"
        assert [key for key in report.candidates.values() if key.startswith("rule:")]


def test_a_model_reads_while_the_rules_are_at_work_elsewhere(tmp_path: Path) -> None:
    path = talk("one", 3, cwd="/home/ann/shop").write(tmp_path / "one.jsonl")
    asker = FakeAsker(lambda body: say(NOTHING))
    with hall(tmp_path / "shop") as here, FileLock(here.desk.workspace.extract_lock):
        desk = here.desk
        report = extract(desk.workspace, here.settings, desk.connection, paths=[path], clock=lambda: LATE, asker=asker)
        assert report.queued
        assert report.model is not None
        assert (report.model.outcome, len(asker.requests)) == ("done", 1)


def test_what_is_queued_while_the_holder_reads_is_read_before_it_ends(tmp_path: Path) -> None:
    path = talk("one", 3, cwd="/home/ann/shop").write(tmp_path / "one.jsonl")
    late = talk("late", 3, cwd="/home/ann/shop").write(tmp_path / "late.jsonl")
    outcomes: list[str] = []
    reading = Reading()
    with hall(tmp_path / "shop") as here, hall(tmp_path / "shop") as other:

        def checkpoint(name: str) -> None:
            if name == "model:after-commit" and not outcomes:
                outcomes.append(other.read(late, by=Reading()).outcome)

        report = here.read(path, by=reading, checkpoint=checkpoint)
        assert outcomes == ["busy"]
        assert (report.outcome, len(reading.shown)) == ("done", 12)


def test_what_is_queued_in_the_last_moment_is_not_lost(tmp_path: Path) -> None:
    """Between the holder's last look at the queue and its letting go of the lock."""
    path = talk("one", 3, cwd="/home/ann/shop").write(tmp_path / "one.jsonl")
    late = talk("late", 3, cwd="/home/ann/shop").write(tmp_path / "late.jsonl")
    reading, once = Reading(), [late]
    with hall(tmp_path / "shop") as here:

        def checkpoint(name: str) -> None:
            if name == "model:unlocked" and once:
                values = (str(once.pop()), 1, "2026-03-02T00:00:00.000Z")
                here.desk.connection.execute("INSERT INTO model_queue VALUES (?, ?, ?)", values)

        here.read(path, by=reading, checkpoint=checkpoint)
        assert len(reading.shown) == 12


def test_a_queued_session_that_vanished_is_dropped(tmp_path: Path) -> None:
    path = talk("one", 3, cwd="/home/ann/shop").write(tmp_path / "one.jsonl")
    with hall(tmp_path / "shop") as here:
        here.read(path, by=Reading(fails=lambda chunk: ModelFailure("no", kind="content")))
        assert len(here.rows("SELECT * FROM model_queue")) == 1
        path.unlink()
        here.read(by=Reading())
        assert here.rows("SELECT * FROM model_queue") == []


def test_going_back_to_the_rules_ends_what_a_model_may_read_by_itself(tmp_path: Path) -> None:
    path = open_session().write(tmp_path / "one.jsonl")
    with hall(tmp_path / "shop") as here:
        here.read(path, by=Reading())
        assert model_since(here.desk.connection) is not None
        here.desk.extract(path)
        assert model_since(here.desk.connection) is None


class Metered:
    """An asker whose requests a ledger counts, as the client has it."""

    def __init__(self, asker: FakeAsker, meter: object) -> None:
        self._asker, self._meter = asker, meter

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """See `Asker`."""
        meter = self._meter
        ticket = meter.open(phase, request.model, 3_000, request.max_tokens)  # type: ignore[attr-defined]
        answer = self._asker.ask(request, phase=phase)
        meter.close(ticket, answer.usage, "ok", 0.1)  # type: ignore[attr-defined]
        return answer


@pytest.mark.parametrize("budget", ["WORKER_RUN_TOKENS", "WORKER_DAY_TOKENS", "MEMORY_DAY_TOKENS"])
def test_a_budget_ends_the_pass_before_it_is_passed_and_the_next_goes_on(tmp_path: Path, budget: str) -> None:
    path = talk("long", 200, cwd="/home/ann/shop").write(tmp_path / "long.jsonl")
    asker = FakeAsker(lambda body: say(NOTHING))
    with hall(tmp_path / "shop", **{f"HIKIDASHI_{budget}": "26000"}) as here:
        desk, ran = here.desk, []
        for run_id in ("01J00000000000000000000001", "01J00000000000000000000002"):
            meter = make_meter(desk.connection, here.settings, run_id, clock=lambda: LATE)
            report = extract(
                desk.workspace,
                here.settings,
                desk.connection,
                paths=[path],
                clock=lambda: LATE,
                asker=Metered(asker, meter),
                run_id=run_id,
            )
            assert report.model is not None
            ran.append(report.model)
        spent = [report.usage.total for report in ran]
        assert ran[0].outcome == "budget"
        assert 10_000 < spent[0] <= 26_000
        assert (spent[1] > 0) is (budget == "WORKER_RUN_TOKENS")  # a new run; the day is the same
        assert len(here.rows("SELECT run_id FROM extractions")) == 2
        texts = [str(request.body["messages"]) for request in asker.requests]
        assert len(set(texts)) == len(texts) == sum(report.requests for report in ran)


def test_what_is_expected_is_about_what_is_spent(tmp_path: Path) -> None:
    paths = [
        talk(f"s{number}", 150, cwd="/home/ann/shop", words="and some more words about it").write(
            tmp_path / "sessions" / f"{number}.jsonl"
        )
        for number in range(4)
    ]
    asker = FakeAsker(lambda body: say(NOTHING), cache_minimum=100_000)
    with hall(tmp_path / "shop", HIKIDASHI_CAPTURE_CHUNK_TOKENS="4000") as here:
        desk = here.desk
        expected = expected_cost(desk.workspace, here.settings, desk.connection, paths=[tmp_path / "sessions"])
        assert (expected.sessions, expected.model) == (4, "claude-haiku-5-5")
        assert expected.bytes == sum(path.stat().st_size for path in paths)
        report = extract(desk.workspace, here.settings, desk.connection, paths=paths, clock=lambda: LATE, asker=asker)
        assert report.model is not None
        assert report.model.requests <= expected.requests <= report.model.requests + 4
        assert report.model.usage.input_tokens <= expected.tokens <= 2 * report.model.usage.input_tokens
        spent = load_prices().cost("claude-haiku-5-5", report.model.usage)
        assert spent is not None
        assert expected.micro_usd is not None
        assert spent <= expected.micro_usd <= 3 * spent
        after = expected_cost(desk.workspace, here.settings, desk.connection, paths=[tmp_path / "sessions"])
        assert (after.sessions, after.tokens, after.micro_usd) == (0, 0, 0)


def test_a_model_without_a_price_is_expected_to_cost_nobody_knows_what(tmp_path: Path) -> None:
    path = talk("one", 3, cwd="/home/ann/shop").write(tmp_path / "one.jsonl")
    with hall(tmp_path / "shop", HIKIDASHI_MEMORY_EXTRACTION_MODEL="qwen9:2b") as here:
        desk = here.desk
        expected = expected_cost(desk.workspace, here.settings, desk.connection, paths=[path])
        assert expected.micro_usd is None
        assert expected.to_dict()["micro_usd"] is None
        assert (expected.sessions, expected.requests) == (1, 1)


def test_a_budget_smaller_than_a_chunk_makes_smaller_chunks(tmp_path: Path) -> None:
    """Else the first request of each day would be refused for ever."""
    path = talk("long", 400, cwd="/home/ann/shop", words="and some more words").write(tmp_path / "long.jsonl")
    reading = Reading()
    small = {"HIKIDASHI_CAPTURE_CHUNK_TOKENS": "24000", "HIKIDASHI_WORKER_RUN_TOKENS": "14000"}
    with hall(tmp_path / "shop", **small) as here:
        here.read(path, by=reading)
        assert max(sum(len(piece.text) for piece in chunk) for chunk in reading.asked) < 14_000
        assert len(reading.asked) > 3
        assert load_settings(here.desk.workspace, environ=small).worker.run_tokens == 14_000


def test_stopping_is_a_budget_too(tmp_path: Path) -> None:
    """With no tokens allowed at all nothing is sent, and what waits is kept."""
    path = Session(name="one", cwd="/home/ann/shop")
    path.user("hello")

    class Spent:
        def ask(self, request: Request, *, phase: Phase) -> Answer:
            raise BudgetSpent("worker.run_tokens is 0")

    with hall(tmp_path / "shop", HIKIDASHI_WORKER_RUN_TOKENS="0") as here:
        desk = here.desk
        report = extract(
            desk.workspace,
            here.settings,
            desk.connection,
            paths=[path.write(tmp_path / "one.jsonl")],
            clock=lambda: LATE,
            asker=Spent(),
        )
        assert report.model is not None
        assert (report.model.outcome, report.model.usage) == ("budget", Usage())


def test_what_is_said_after_the_holder_read_the_session_is_read_too(tmp_path: Path, home: Path) -> None:
    """The other process leaves its session to the holder, which has it behind itself already."""
    root = tmp_path / "shop"
    folder = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(root))
    session = talk("one", 2, cwd=str(root))
    session.write(folder / "one.jsonl")
    reading, outcomes = Reading(), list[str]()
    with hall(root) as here, hall(root) as other:

        def checkpoint(name: str) -> None:
            if name == "model:read-through" and not outcomes:
                session.user("one more thing")
                session.write(folder / "one.jsonl")
                outcomes.append(other.read(by=Reading()).outcome)

        here.read(by=reading, checkpoint=checkpoint)
        assert outcomes == ["busy"]
        assert reading.texts[-1] == "one more thing"
        assert len(reading.shown) == len(set(reading.shown)) == 5
