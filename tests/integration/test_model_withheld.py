"""Two readers, one memory: what a model reads is not staged by the rules, and what it did not read is not lost."""

from __future__ import annotations

import os
from pathlib import Path

from hikidashi.capture.report import ExtractReport
from hikidashi.capture.run import extract
from hikidashi.errors import ModelFailure
from hikidashi.model.messages import Answer, Asker, Phase, Request
from hikidashi.testing import FakeAsker, say
from tests.capture_sessions import busy_session
from tests.capture_workspace import LATE
from tests.model_reading import Hall, hall
from tests.transcripts import Session

NOTHING = '{"activities": [], "facts": []}'


class Refusing:
    """Every request fails."""

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """See `Asker`."""
        raise ModelFailure("the key was refused", kind="auth")


def read(here: Hall, path: Path, asker: Asker | None) -> ExtractReport:
    """One extraction of the path."""
    desk = here.desk
    return extract(desk.workspace, here.settings, desk.connection, paths=[path], clock=lambda: LATE, asker=asker)


def kinds(here: Hall) -> list[str]:
    """The kinds of all entries."""
    return sorted(entry.kind for entry in here.desk.entries())


def by_rules(tmp_path: Path, path: Path) -> list[str]:
    """The kinds of entries that the rules make of the path."""
    with hall(tmp_path / "rules") as here:
        read(here, path, None)
        return kinds(here)


def test_with_a_model_the_rules_stage_nothing_of_main_sessions_but_still_propose(tmp_path: Path) -> None:
    session = busy_session()
    session.user("From now on, answer in French.")
    path = session.write(tmp_path / "busy.jsonl")
    assert by_rules(tmp_path, path)
    with hall(tmp_path / "shop") as here:
        report = read(here, path, FakeAsker(lambda body: say(NOTHING)))
        assert report.model is not None
        assert (report.model.outcome, report.new, report.withheld) == ("done", [], 0)
        assert report.model.usage.total > 0
        assert [key for key in report.candidates.values() if key.startswith("rule:")]
        assert here.rows("SELECT * FROM withheld") == []
        read(here, path, None)
        assert kinds(here) == []  # the model read it and found nothing: the rules do not have the last word


def test_a_failing_model_does_not_become_rules_until_somebody_chooses_them(tmp_path: Path) -> None:
    path = busy_session().write(tmp_path / "busy.jsonl")
    expected = by_rules(tmp_path, path)
    with hall(tmp_path / "shop") as here:
        for _ in range(2):
            report = read(here, path, Refusing())
            assert report.model is not None
            assert (report.model.outcome, report.new) == ("failed:auth", [])
            assert report.withheld == len(expected)
        assert here.desk.staged_files() == {}
        report = read(here, path, None)
        assert sorted(entry.kind for entry in report.new) == expected
        assert kinds(here) == expected
        assert len(here.desk.staged_files()) == len(expected)
        assert here.rows("SELECT * FROM withheld") == []


def test_the_rules_take_up_what_stands_behind_the_models_mark(tmp_path: Path) -> None:
    first = Session(name="long", cwd="/home/ann/shop")
    first.asks("Where should retries be stored?", ["Postgres", "Redis"], "Postgres")
    path = first.write(tmp_path / "long.jsonl")
    with hall(tmp_path / "shop") as here:
        read(here, path, FakeAsker(lambda body: say(NOTHING)))
        first.asks("Which log format is used?", ["JSON", "Text"], "JSON")
        first.write(path)
        read(here, path, Refusing())
        read(here, path, None)
        assert ["JSON" in entry.title + entry.body for entry in here.desk.entries() if entry.kind == "decision"] == [
            True
        ]


def test_sub_agents_stay_with_the_rules(tmp_path: Path) -> None:
    helper = Session(name="helper", cwd="/home/ann/shop", sidechain=True)
    helper.user("look for the billing code")
    helper.says("It is in src/billing.py.")
    path = helper.write(tmp_path / "subagents" / "agent-1.jsonl")
    with hall(tmp_path / "shop") as here:
        report = read(here, path, Refusing())
        assert report.model is not None
        assert report.model.outcome == "idle"


def test_older_sessions_stay_with_the_rules_until_somebody_says_yes(tmp_path: Path, home: Path) -> None:
    """A model does not read them by itself: without the rules nobody would."""
    root = tmp_path / "shop"
    old = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(root))
    path = busy_session(cwd=str(root)).write(old / "busy.jsonl")
    os.utime(path, (LATE.timestamp() - 900_000, LATE.timestamp() - 900_000))
    expected = by_rules(tmp_path, path)
    asker = FakeAsker(lambda body: say(NOTHING))
    with hall(root) as here:
        desk = here.desk
        report = extract(desk.workspace, here.settings, desk.connection, clock=lambda: LATE, asker=asker)
        assert report.model is not None
        assert (report.model.outcome, report.model.older, report.withheld) == ("idle", 1, 0)
        assert kinds(here) == expected
    root = tmp_path / "agreed"
    agreed = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(root))
    path = busy_session(cwd=str(root)).write(agreed / "busy.jsonl")
    os.utime(path, (LATE.timestamp() - 900_000, LATE.timestamp() - 900_000))
    with hall(root) as here:
        desk = here.desk
        for _ in range(2):  # the yes is kept while the model fails
            report = extract(
                desk.workspace, here.settings, desk.connection, clock=lambda: LATE, asker=Refusing(), back_fill=_ == 0
            )
            assert report.model is not None
            assert (report.model.outcome, report.withheld, kinds(here)) == ("failed:auth", len(expected), [])
        report = extract(desk.workspace, here.settings, desk.connection, clock=lambda: LATE, asker=asker)
        assert report.model is not None
        assert (report.model.outcome, report.withheld, kinds(here)) == ("done", 0, [])
