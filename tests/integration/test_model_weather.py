"""Chunk after chunk over real HTTP with the real SDK, while the server, the account and the budgets fail in between."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.model_reading import read_by_model
from hikidashi.capture.model_report import ModelReport
from hikidashi.capture.sessions import explicit_transcripts
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.ledger import make_meter
from hikidashi.testing import (
    FakeMessages,
    billing,
    cut,
    error_in_stream,
    overloaded,
    prompt_too_long,
    rate_limited,
    reset,
    say,
    server_error,
    turn,
    unauthorized,
)
from hikidashi.ulid import random_ulid
from tests.capture_workspace import LATE
from tests.model_reading import Hall, hall
from tests.transcripts import Session

SHOP = "/home/ann/shop"
#: What makes a prompt so long that a chunk of 500 tokens holds one.
MANY_WORDS = " and tell me how it went" * 35

#: Failures that stand until a person does something.
LASTING = (unauthorized, billing)
#: Failures of the way, of the server and of one request.
PASSING = (
    overloaded,
    server_error,
    reset,
    prompt_too_long,
    lambda: rate_limited(seconds=7),
    lambda: rate_limited(seconds=1_000),
    lambda: cut("Half an answer, which comes", after_events=3),
    lambda: error_in_stream("Half an answer, which comes", after_events=3),
    lambda: turn('{"activities": [], "fac', stop_reason="max_tokens"),
    lambda: turn("I would rather not.", stop_reason="refusal"),
    lambda: say("There is nothing to say."),
)


@dataclass
class Weather:
    """A model that tells of each prompt that it was shown, if nothing comes in between."""

    seed: int
    poison: frozenset[int]
    #: The prompts of each request that was answered as asked.
    told: list[list[int]] = field(default_factory=list)
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def __call__(self, body: dict[str, Any]) -> Any:
        text = body["messages"][0]["content"][0]["text"]
        found = re.findall(r"^=== \w+ (\d+) person[^\n]*\nPlease do number (\d+) ", text, re.MULTILINE)
        events = {int(number): int(event) for event, number in found}
        if self.poison & set(events):
            return turn("I would rather not.", stop_reason="refusal")
        drawn = self.chance.random()
        if drawn < 0.03:
            return self.chance.choice(LASTING)()
        if drawn < 0.25:
            return self.chance.choice(PASSING)()
        self.told.append(sorted(events))
        claims = [
            {
                "kind": "discussion", "title": f"Number {number} of the things", "body": "It was asked for.", "why": "",
                "event": event, "said_by": "person", "quote": f"Please do number {number} of the many", "since": 0,
                "status": "",
            }
            for number, event in events.items()
        ]  # fmt: skip
        return say(json.dumps({"activities": claims, "facts": []}))


@dataclass
class Attempts:
    """Passes over the sessions, each a run of its own, by a clock that every wait moves."""

    here: Hall
    folder: Path
    at: datetime = LATE

    def clock(self) -> datetime:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += timedelta(seconds=seconds)

    def read(self) -> ModelReport:
        run_id = random_ulid(self.at)
        settings, connection = self.here.settings, self.here.desk.connection
        meter = make_meter(connection, settings, run_id, clock=self.clock, environ={})
        endpoint = make_endpoint(settings, environ={})
        with Client(endpoint, meter, clock=self.clock, sleep=self.sleep) as client:
            return read_by_model(
                self.here.desk.workspace,
                settings,
                connection,
                asker=client,
                run_id=run_id,
                named=explicit_transcripts([self.folder]),
                clock=self.clock,
            )

    def mend(self) -> None:
        """What a person does about a refused key or an empty account: pays, and pings."""
        meter = make_meter(self.here.desk.connection, self.here.settings, "ping", clock=self.clock, environ={})
        ticket = meter.open("ping", self.here.settings.memory.extraction_model, 1, 1)
        meter.close(ticket, None, "ok", 0.0)

    def until_done(self) -> Counter[str]:
        """The outcomes of all passes, up to the first that comes to its end."""
        outcomes: Counter[str] = Counter()
        for _ in range(600):
            report = self.read()
            outcomes[report.outcome] += 1
            if report.outcome in ("done", "idle"):
                return outcomes
            if report.outcome in ("failed:auth", "failed:billing"):
                self.mend()
            self.at += timedelta(minutes=61)
        raise AssertionError(f"the queue cannot be drained: {outcomes}")


@pytest.mark.parametrize("prompts", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_chunks_with_failures_in_between_are_each_read_once(tmp_path: Path, home: Path, prompts: int) -> None:
    folder = tmp_path / "sessions"
    for number in range(3):
        session = Session(name=f"s{number}", cwd=SHOP, at=datetime(2026, 3, 1, 8 + number, tzinfo=LATE.tzinfo))
        for prompt in range(number, prompts, 3):
            session.user(f"Please do number {prompt} of the many things{MANY_WORDS}.")
        session.write(folder / f"{number}.jsonl")
    weather = Weather(seed=prompts, poison=frozenset({31, 32}))
    with (
        FakeMessages(weather) as fake,
        hall(
            tmp_path / "shop",
            HIKIDASHI_MEMORY_BASE_URL=fake.url,
            HIKIDASHI_MEMORY_ATTEMPTS="2",
            HIKIDASHI_WORKER_RUN_TOKENS="80000",
            HIKIDASHI_WORKER_DAY_TOKENS="2000000",
        ) as here,
    ):
        outcomes = Attempts(here, folder).until_done()
        entries = Counter(entry.title for entry in here.desk.entries())
        readable = set(range(prompts)) - weather.poison
        assert entries == Counter(f"Number {number} of the things" for number in readable)
        assert outcomes["budget"] > 0, outcomes
        assert len(outcomes) > 3, outcomes
        assert sum(map(len, weather.told)) == prompts - 2, "none was answered for twice"
        reports = [json.loads(text) for (text,) in here.rows("SELECT report FROM extractions")]
        assert sum(report["passed_over"] for report in reports) == 2
        assert here.rows("SELECT * FROM model_queue") == []
        rows = here.rows("SELECT state, outcome, count(*) FROM model_requests WHERE phase = 'extraction' GROUP BY 1, 2")
        assert {state for state, _, _ in rows} == {"closed"}
        asked = [call for call in fake.requests if "control" not in str(call.body["messages"])[:200]]
        assert sum(number for *_, number in rows) == len(asked)
        assert {outcome for _, outcome, _ in rows} >= {"ok", "content", "network", "overloaded"}
