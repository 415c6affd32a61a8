"""A real llama.cpp server answers our own client: the wire, not what a model of 135 million weights makes of it.

It needs two packages (see `tests.support.llama_server`) and is skipped where they are absent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import anthropic
import pytest
from pydantic import BaseModel

from hikidashi.config.settings import load_settings
from hikidashi.errors import ModelFailure
from hikidashi.model.client import Client
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.messages import Block, Request
from hikidashi.model.meter import MemoryMeter
from hikidashi.model.pod import Pod
from hikidashi.model.structured import ask_validated
from hikidashi.model.tool import Tool
from tests.support.command import hikidashi, put_demo_sessions
from tests.support.llama_server import WINDOW, installed_for, llama_server

pytestmark = [pytest.mark.slow, pytest.mark.acceptance, pytest.mark.timeout(300)]

MODEL = "smollm2"


def said(text: str, role: str = "user") -> Block:
    return {"role": role, "content": [{"type": "text", "text": text}]}


ASKED = Request(model=MODEL, max_tokens=12, messages=(said("Say hello to Ann."),))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    found = installed_for()
    if isinstance(found, str):
        pytest.skip(found)
    with llama_server(*found) as address:
        yield address


@pytest.fixture
def meter() -> MemoryMeter:
    return MemoryMeter()


@pytest.fixture
def client(server: str, meter: MemoryMeter) -> Iterator[Client]:
    settings = load_settings(None, environ={"HIKIDASHI_MEMORY_BASE_URL": server, "HIKIDASHI_MEMORY_LOCAL_ONLY": "1"})
    with Client(make_endpoint(settings, environ={}), meter) as made:
        yield made


def test_a_streamed_answer_with_its_usage(client: Client, meter: MemoryMeter) -> None:
    answer = client.ask(ASKED, phase="extraction")
    assert answer.text.strip()
    assert answer.stop_reason in ("end_turn", "max_tokens")
    assert 0 < answer.usage.output_tokens <= ASKED.max_tokens
    assert answer.usage.input_tokens + answer.usage.cache_read_tokens > 0
    assert answer.unknown == {}
    [closed] = meter.closed
    assert (closed.outcome, closed.usage) == ("ok", answer.usage)


def test_our_estimate_is_no_less_than_what_the_server_counts(client: Client, meter: MemoryMeter) -> None:
    text = "We keep the invoices in /srv/bills because the old disk filled up twice in March. " * 12
    answer = client.ask(replace(ASKED, messages=(said(text),), max_tokens=1), phase="extraction")
    [closed] = meter.closed
    assert closed.ticket.reserved_tokens >= answer.usage.total > 100


def test_create_and_count_tokens(server: str) -> None:
    with anthropic.Anthropic(api_key="any", base_url=server, max_retries=0, timeout=120) as sdk:
        messages: Any = [{"role": "user", "content": "Say hello to Ann."}]
        message = sdk.messages.create(model=MODEL, max_tokens=8, messages=messages)
        counted = sdk.messages.count_tokens(model=MODEL, messages=messages)
    assert [block.type for block in message.content] == ["text"]
    assert message.usage.output_tokens <= 8
    assert 0 < counted.input_tokens < 100


def test_options_of_the_newer_api_stop_nothing(client: Client) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    marked = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    answer = client.ask(replace(ASKED, system=(marked,), schema=schema, effort="low"), phase="extraction")
    assert answer.usage.output_tokens > 0


def test_results_of_tools_are_taken(client: Client) -> None:
    look = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"where": "left"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Three keys."}
    schema = {"type": "object", "properties": {"where": {"type": "string"}}}
    request = replace(
        ASKED,
        tools=({"name": "look", "description": "Look into a drawer.", "input_schema": schema},),
        messages=(
            said("What is in the left drawer?"),
            {"role": "assistant", "content": [look]},
            {"role": "user", "content": [result]},
        ),
    )
    assert client.ask(request, phase="integration").usage.output_tokens > 0


def test_a_pod_whose_model_never_calls_a_tool_ends(client: Client) -> None:
    looked: list[object] = []

    def look(given: dict[str, Any]) -> str:
        looked.append(given)
        return "Three keys."

    schema = {"type": "object", "properties": {"where": {"type": "string"}}}
    tool = Tool(name="look", description="Look into a drawer.", schema=schema, run=look)
    pod = Pod(client, MODEL, "You tidy drawers.", [tool], materials=["A drawer."], max_turns=4, max_tokens=16)
    ending = pod.say("What is in the left drawer?", phase="integration")
    assert ending.reason in ("done", "max_tokens", "max_turns", "repeats")
    assert 1 <= ending.turns <= 4
    assert ending.usage.output_tokens > 0


class Choice(BaseModel):
    title: str
    why: str


def test_an_answer_of_a_given_form_or_a_clean_failure(client: Client) -> None:
    asked = said('Answer with JSON only, as {"title": "…", "why": "…"}: we chose SQLite, since it is one file.')
    request = replace(ASKED, messages=(asked,), max_tokens=60, schema=Choice.model_json_schema())
    try:
        found = ask_validated(client, request, Choice, phase="extraction")
    except ModelFailure as failure:
        assert failure.kind == "content"
        assert failure.reason in ("unreadable", "max-tokens", "context-window")
    else:
        assert isinstance(found, Choice)


def test_more_than_the_window_is_known_as_that(client: Client, meter: MemoryMeter) -> None:
    with pytest.raises(ModelFailure, match="too long") as raised:
        client.ask(replace(ASKED, messages=(said("one two three four five " * WINDOW),)), phase="extraction")
    assert (raised.value.kind, raised.value.reason, raised.value.again) == ("content", "too-long", False)
    assert [closed.outcome for closed in meter.closed] == ["content"]


def test_ping_from_the_command_line(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIKIDASHI_MEMORY_BASE_URL", server)
    monkeypatch.setenv("HIKIDASHI_MEMORY_EXTRACTION_MODEL", MODEL)
    monkeypatch.setenv("HIKIDASHI_MEMORY_CONSOLIDATION_MODEL", MODEL)
    ran = hikidashi("ping", "--json", cwd=tmp_path)
    assert ran.code == 0, ran
    [pinged] = ran.json["models"]
    assert pinged["works"] and pinged["tokens"]["output"] > 0
    assert pinged["cost_micro_usd"] is None, "a model without a price costs what nobody knows, not nothing"


def test_sessions_that_a_small_window_cannot_hold_are_left_to_the_rules(
    server: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    put_demo_sessions(home, project)
    monkeypatch.setenv("HIKIDASHI_MEMORY_BASE_URL", server)
    monkeypatch.setenv("HIKIDASHI_MEMORY_EXTRACTION_MODEL", MODEL)
    assert hikidashi("init", cwd=project).code == 0
    ran = hikidashi("extract", "--engine", "anthropic", "--yes", "--no-consolidate", cwd=project)
    assert ran.code == ModelFailure.exit_code
    assert "is too long for 127.0.0.1" in ran.out
    assert "0 new entries staged" in ran.out
    taken_up = hikidashi("extract", "--engine", "rules", "--no-consolidate", "--json", cwd=project)
    assert (taken_up.code, len(taken_up.json["entries"])) == (0, 9)
