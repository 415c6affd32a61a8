"""`hikidashi ping`: what works, what does not and why, over real HTTP on loopback."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.testing import FakeMessages, HttpError, TurnLike, say, unauthorized
from tests.integration.test_cli_contract import PING, PINGED
from tests.support.command import hikidashi

KEY = "sk-ant-api03-" + "K4w9" * 20


def ready(body: dict[str, object]) -> TurnLike:
    return say("ready")


@pytest.fixture
def configure(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def configured(fake: FakeMessages, **settings: str) -> None:
        for name, value in {"base_url": fake.url, "api_key": KEY, **settings}.items():
            monkeypatch.setenv(f"HIKIDASHI_MEMORY_{name.upper()}", value)

    return configured


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


def test_both_models_work(project: Path, configure: Callable[..., None]) -> None:
    with FakeMessages(ready, key=KEY) as fake:
        configure(fake, extraction_model="claude-haiku-5-5", consolidation_model="my-own-model")
        ran = hikidashi("ping", "--json", cwd=project)
        said = hikidashi("ping", cwd=project)
    assert (ran.code, ran.err, set(ran.json)) == (0, "", PING)
    priced, unpriced = ran.json["models"]
    assert set(priced) == set(unpriced) == PINGED
    assert (priced["works"], unpriced["works"]) == (True, True)
    assert priced["cost_micro_usd"] > 0
    assert unpriced["cost_micro_usd"] is None  # never 0: nobody knows
    assert priced["tokens"]["input"] > 0
    assert said.code == 0
    assert "cost unknown" in said.out
    assert [request.body["max_tokens"] for request in fake.requests if request.body] == [64] * 4


def test_it_works_outside_a_workspace(tmp_path: Path, configure: Callable[..., None]) -> None:
    with FakeMessages(ready) as fake:
        configure(fake, extraction_model="small")
        ran = hikidashi("ping", "--json", cwd=tmp_path)
    assert ran.code == 0
    assert ran.json["left_out"] == ["memory.consolidation_model"]
    assert [one["model"] for one in ran.json["models"]] == ["small"]


def test_one_model_named_twice_is_asked_once(tmp_path: Path, configure: Callable[..., None]) -> None:
    with FakeMessages(ready) as fake:
        configure(fake, extraction_model="one", consolidation_model="one")
        ran = hikidashi("ping", "--json", cwd=tmp_path)
    assert [one["settings"] for one in ran.json["models"]] == [
        ["memory.extraction_model", "memory.consolidation_model"]
    ]
    assert len(fake.requests) == 1


def test_what_is_wrong_is_said_once_for_each_and_the_key_never(project: Path, configure: Callable[..., None]) -> None:
    def model(body: dict[str, object]) -> TurnLike:
        if body["model"] == "gone":
            return HttpError(status=404, kind="not_found_error", message="model: gone")
        return unauthorized(f"no such key: {KEY}")

    with FakeMessages(model) as fake:
        configure(fake, extraction_model="gone", consolidation_model="other")
        ran = hikidashi("ping", "--json", cwd=project)
        said = hikidashi("ping", cwd=project)
    assert ran.code == said.code == 11
    assert [(one["works"], one["error"]["kind"], one["error"]["reason"]) for one in ran.json["models"]] == [
        (False, "auth", "not-found"),
        (False, "auth", ""),
    ]
    assert len(fake.requests) == 4  # nothing is tried twice, and a standing block does not hold a ping back
    assert "hikidashi ping" in said.out
    assert not [text for text in (ran.out, ran.err, said.out, said.err) if KEY in text or "K4w9K4w9" in text]


def test_success_ends_a_block(project: Path, configure: Callable[..., None], home: Path) -> None:
    def standing() -> int:
        (found,) = home.rglob("global.sqlite")
        with contextlib.closing(sqlite3.connect(found)) as connection:
            return int(connection.execute("SELECT count(*) FROM model_standing").fetchone()[0])

    with FakeMessages([unauthorized(), "ready"]) as fake:
        configure(fake, extraction_model="small")
        assert hikidashi("ping", cwd=project).code == 11
        assert standing() == 1
        assert hikidashi("ping", cwd=project).code == 0
        assert standing() == 0


def test_without_a_key_nothing_is_sent_and_the_mend_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIKIDASHI_MEMORY_LOCAL_ONLY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)  # another program's: no consent
    ran = hikidashi("ping", cwd=tmp_path)
    assert (ran.code, ran.out) == (11, "")
    assert "memory.api_key" in ran.err
    assert KEY not in ran.err


def test_a_process_of_its_own_writes_nothing_but_its_answer(tmp_path: Path, home: Path) -> None:
    """`ANTHROPIC_LOG` would have the SDK write requests to standard error, and the rest change where they go."""
    ambient = {
        "ANTHROPIC_LOG": "debug",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_AUTH_TOKEN": "ambient",
        "ANTHROPIC_CUSTOM_HEADERS": "x-ambient: yes",
        "http_proxy": "http://127.0.0.1:9",
    }
    with FakeMessages(ready, key=KEY) as fake:
        ours = {"HIKIDASHI_MEMORY_BASE_URL": fake.url, "HIKIDASHI_MEMORY_API_KEY": KEY}
        ran = subprocess.run(
            [sys.executable, "-m", "hikidashi", "ping", "--json"],
            cwd=tmp_path,
            env={**ambient, **ours, "HOME": str(home), "PYTHONPATH": str(Path(__file__).parents[2])},
            capture_output=True,
            text=True,
        )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert [one["works"] for one in json.loads(ran.stdout)["models"]] == [True]
    assert "x-ambient" not in fake.requests[0].headers
