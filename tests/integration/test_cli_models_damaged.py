"""A model whose settings, prices or books are damaged: the rules read all the same, and what is not known is said."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.config.folders import config_folder, data_folder
from hikidashi.testing import FakeMessages, say, turn
from tests.support.command import hikidashi, put_demo_sessions
from tests.support.readers import use_model

EMPTY = turn(say('{"activities": [], "facts": []}'))
READ = ("extract", "--no-consolidate", "--yes", "--json")


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Iterator[Path]:
    folder = tmp_path / "shop"
    folder.mkdir()
    put_demo_sessions(home, folder)
    with FakeMessages([], then=EMPTY) as fake:
        use_model(fake)
        assert hikidashi("init", cwd=folder).code == 0
        yield folder


def marks(project: Path) -> int:
    """Transcripts that the rules have read."""
    with sqlite3.connect(project / ".hikidashi" / "workspace.sqlite") as database:
        return int(database.execute("SELECT count(*) FROM watermarks").fetchone()[0])


def change(project: Path, statement: str) -> None:
    with sqlite3.connect(project / ".hikidashi" / "workspace.sqlite") as database:
        database.execute(statement)
    database.close()


def test_a_damaged_table_of_prices_does_not_keep_the_rules_from_reading(project: Path) -> None:
    prices = config_folder() / "prices.toml"
    prices.write_text("[models")
    ran = hikidashi(*READ, cwd=project)
    assert (ran.code, ran.json["model"]["outcome"]) == (6, "failed:settings")
    assert "prices.toml is not valid TOML" in ran.json["model"]["message"]
    assert marks(project) > 0
    again = hikidashi("extract", "--no-consolidate", cwd=project)
    assert again.code == 6  # though there is nothing new: it is as wrong as before
    prices.unlink()
    assert hikidashi(*READ, cwd=project).json["model"]["outcome"] == "done"


def test_a_damaged_user_s_database_does_not_keep_the_rules_from_reading(project: Path) -> None:
    users = data_folder() / "global.sqlite"
    users.write_bytes(b"not a database at all" * 300)
    ran = hikidashi(*READ, cwd=project)
    assert (ran.code, ran.json["error"]["kind"]) == (8, "CorruptData")
    assert marks(project) > 0
    users.unlink()
    assert hikidashi(*READ, cwd=project).json["model"]["outcome"] == "done"


def test_a_folder_where_the_user_s_database_belongs_is_no_budget_without_a_request(project: Path) -> None:
    users = data_folder() / "global.sqlite"
    users.unlink()
    users.mkdir()
    ran = hikidashi("cost", "--json", cwd=project)
    assert (ran.code, "is a folder where the database belongs" in ran.json["error"]["message"]) == (8, True)
    assert "is a folder where the database belongs" in hikidashi("status", cwd=project).out


@pytest.mark.parametrize("report", ["{", "[]", "7"])
def test_a_damaged_report_is_named_and_status_tells_the_rest(project: Path, report: str) -> None:
    assert hikidashi(*READ, cwd=project).code == 0
    change(project, f"UPDATE extractions SET report = '{report}'")
    for words in (("show", "extraction"), ("show", "extraction", "--json")):
        ran = hikidashi(*words, cwd=project)
        assert ran.code == 8
        assert "is damaged" in ran.err + ran.out
    status = hikidashi("status", "--json", cwd=project).json
    assert status["extraction"]["last"] is None
    assert "is damaged" in status["extraction"]["damaged"]
    shown = hikidashi("status", cwd=project)
    assert (shown.code, "is damaged" in shown.out) == (0, True)


def test_the_report_of_an_earlier_version_is_shown_as_far_as_it_goes(project: Path) -> None:
    assert hikidashi(*READ, cwd=project).code == 0
    change(project, "UPDATE extractions SET report = '{\"chunks\": 3}'")
    assert "in 3 chunks" in hikidashi("show", "extraction", cwd=project).out


@pytest.mark.parametrize("plan", ["x", "[0]", "[-1, 2]", '["a"]', "{}", "[1e9]"])
def test_a_damaged_plan_is_none(project: Path, plan: str) -> None:
    assert hikidashi(*READ, cwd=project).code == 0
    change(project, f"UPDATE model_marks SET plan = '{plan}', byte_offset = 0, settled = 0, size = -1, tail_hash = ''")
    assert hikidashi(*READ, cwd=project).code == 0


@pytest.mark.parametrize("number", [None, 15])
def test_a_stop_while_the_sdk_is_loaded_is_a_stop(
    project: Path, monkeypatch: pytest.MonkeyPatch, number: int | None
) -> None:
    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            if number is not None:
                signal.raise_signal(number)
            raise KeyboardInterrupt

    def loading() -> None:
        type("Loaded", (), {"part": Interrupted()})

    monkeypatch.setattr("hikidashi.model.client._load_sdk", loading)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        ran = hikidashi("ping", "--json", cwd=project)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ran.code, ran.json["error"]["kind"]) == (130 if number is None else 128 + number, "Stopped")
