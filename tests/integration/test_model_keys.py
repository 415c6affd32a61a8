"""Where a key may not turn up, and where sessions may not go, whoever chooses the words and the environment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hikidashi.config.settings import user_file
from hikidashi.errors import ModelFailure
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Request
from hikidashi.model.meter import MemoryMeter
from hikidashi.testing import FakeMessages, HttpError, TurnLike, garbage, http_error, redirect, say, turn
from tests.support.command import hikidashi, put_demo_sessions
from tests.support.ledgers import make_settings

#: Of no shape that is known.
KEY = "plain-key-of-a-server-in-the-cellar"

ECHOES: dict[str, TurnLike] = {
    "words": http_error(401, "authentication_error", f"{'no such key ' * 14}{KEY}"),
    "the end of what is shown": http_error(500, "api_error", "x" * 180 + KEY),
    "kind of content": garbage(content_type=f"text/{KEY}"),
    "address": redirect(f"http://{KEY}.example/"),
    "a header that is none": HttpError(status=200, headers={f"bad {KEY}": "x"}, body=b""),
    "garbage in a stream": HttpError(status=200, content_type="text/event-stream", body=f"data: {KEY}\n\n".encode()),
}


@pytest.mark.parametrize("echo", ECHOES)
def test_a_server_that_repeats_the_key_does_not_bring_it_into_a_message(echo: str) -> None:
    request = Request(model="small", max_tokens=10, messages=({"role": "user", "content": "Hello."},))
    with FakeMessages([ECHOES[echo]]) as fake:
        endpoint = make_endpoint(make_settings(memory__base_url=fake.url, memory__api_key=KEY), environ={})
        with Client(replace(endpoint, attempts=1), MemoryMeter()) as client, pytest.raises(ModelFailure) as caught:
            client.ask(request, phase="extraction")
    assert "plain-key" not in str(caught.value)


def test_without_a_key_no_word_of_a_server_is_taken_for_one() -> None:
    with FakeMessages([http_error(400, "invalid_request_error", "none of these models is here")]) as fake:
        endpoint = make_endpoint(make_settings(memory__base_url=fake.url), environ={})
        request = Request(model="small", max_tokens=10, messages=({"role": "user", "content": "Hello."},))
        with Client(endpoint, MemoryMeter()) as client, pytest.raises(ModelFailure, match="none of these"):
            client.ask(request, phase="extraction")


def test_a_key_in_quotes_is_still_one_of_anthropic_s() -> None:
    settings = make_settings(memory__base_url="http://models.example", memory__api_key='"sk-ant-' + "a" * 40 + '"')
    assert make_endpoint(settings, environ={}).must_be_loopback


@pytest.mark.parametrize("sign", ["CLAUDECODE", "HIKIDASHI_WORKER"])
def test_an_agent_s_environment_sends_no_session_anywhere(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, sign: str
) -> None:
    """A host takes variables from a project's own files; what the hook starts inherits them."""
    project = tmp_path / "shop"
    project.mkdir()
    put_demo_sessions(home, project)
    assert hikidashi("init", "--yes", cwd=project).code == 0
    empty = say('{"activities": [], "facts": []}')
    with FakeMessages([], then=turn(empty)) as fake:
        monkeypatch.setenv("HIKIDASHI_MEMORY_BASE_URL", fake.url)
        monkeypatch.setenv(sign, "1")
        ran = hikidashi("extract", "--no-consolidate", "--json", cwd=project)
        assert "no session is sent to a server that the environment names" in ran.json["model"]["message"]
        assert fake.calls == []
        monkeypatch.delenv("HIKIDASHI_MEMORY_BASE_URL")
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text(f'[memory]\nbase_url = "{fake.url}"\n')
        assert hikidashi("extract", "--no-consolidate", "--json", cwd=project).json["model"]["message"] == ""
        assert fake.calls


LOOSER = {
    "MEMORY_API_KEY": ("", "a-key-of-theirs"),
    "MEMORY_EXTRACTION_MODEL": ("", "claude-fable-5-1"),
    "MEMORY_DAY_USD": ("", "1000"),
    "MEMORY_DAY_TOKENS": ("", "900000000"),
    "WORKER_RUN_TOKENS": ("", "900000000"),
    "WORKER_DAY_TOKENS": ("", "900000000"),
    "MEMORY_ENGINE": ('engine = "rules"', "auto"),
    "MEMORY_LOCAL_ONLY": ("local_only = true", "0"),
}


@pytest.mark.parametrize("variable", LOOSER)
def test_an_agent_s_environment_loosens_nothing_of_a_model(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Nor has it sessions read in the name of others, by a dearer model, or past the budgets of the user's own file."""
    line, value = LOOSER[variable]
    project = tmp_path / "shop"
    project.mkdir()
    put_demo_sessions(home, project)
    assert hikidashi("init", "--yes", cwd=project).code == 0
    with FakeMessages([], then=turn(say('{"activities": [], "facts": []}'))) as fake:
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text(f'[memory]\nbase_url = "{fake.url}"\n{line}\n')
        monkeypatch.setenv(f"HIKIDASHI_{variable}", value)
        with monkeypatch.context() as agent:
            agent.setenv("CLAUDECODE", "1")
            ran = hikidashi("extract", "--no-consolidate", "--json", cwd=project)
            assert f"$HIKIDASHI_{variable}" in ran.json["model"]["message"]
            assert fake.calls == []
        ran = hikidashi("extract", "--no-consolidate", "--json", cwd=project)  # a person's own environment
        assert f"$HIKIDASHI_{variable}" not in ran.json["model"]["message"]


def test_an_agent_s_environment_may_forbid_and_lower(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    put_demo_sessions(home, project)
    assert hikidashi("init", "--yes", cwd=project).code == 0
    with FakeMessages([], then=turn(say('{"activities": [], "facts": []}'))) as fake:
        user_file().parent.mkdir(parents=True, exist_ok=True)
        user_file().write_text(f'[memory]\nbase_url = "{fake.url}"\nday_usd = 5.0\n')
        for name, value in {"DAY_USD": "4.0", "LOCAL_ONLY": "1", "ENGINE": "anthropic", "ATTEMPTS": "1"}.items():
            monkeypatch.setenv(f"HIKIDASHI_MEMORY_{name}", value)
        monkeypatch.setenv("CLAUDECODE", "1")
        assert hikidashi("extract", "--no-consolidate", "--json", cwd=project).json["model"]["message"] == ""
        assert fake.calls
