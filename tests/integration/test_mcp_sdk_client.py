"""The MCP server and the client of the protocol's own SDK, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitResult

from tests.support.command import hikidashi
from tests.support.commands import ROOT

#: How the client connects, and the version that is spoken then.
MODES = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}

WRITE = {"key": "deploy:harbour", "type": "capability", "body": "`make deploy` puts the harbour onto the quay."}
KNOWLEDGE = """---
kind: policy
created_at: 2026-05-02T09:00:00Z
updated_at: 2026-05-03T09:00:00Z
trust: user
---
# Releases

Only on weekdays, after the lighthouse check.
"""


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "my shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    (folder / ".hikidashi" / "knowledge").mkdir(exist_ok=True)
    (folder / ".hikidashi" / "knowledge" / "releases.md").write_text(KNOWLEDGE)
    return folder


def talk(
    folder: Path, mode: str, work: Callable[[mcp.Client], Awaitable[None]], answers: Iterable[ElicitResult] = ()
) -> list[Any]:
    """Do `work` with a client that is connected, and give the questions; `answers` are what the person says to them.

    Without answers the client has no dialogs.
    """
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "hikidashi", "mcp"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "HOME": os.environ["HOME"], "HIKIDASHI_MEMORY_LOCAL_ONLY": "1"},
    )

    said = list(answers)
    asked: list[Any] = []

    async def person(context: object, params: Any) -> ElicitResult:
        asked.append(params)
        return said[len(asked) - 1]

    async def run() -> None:
        async with mcp.Client(server, mode=mode, elicitation_callback=person if said else None) as client:
            await work(client)

    asyncio.run(asyncio.wait_for(run(), 60))
    return asked


@pytest.mark.parametrize("mode", MODES)
def test_the_client_connects_lists_and_calls(project: Path, mode: str) -> None:
    async def work(client: mcp.Client) -> None:
        assert client.protocol_version == MODES[mode]
        if mode != "2026-07-28":  # who names the version asks for nothing first
            assert client.server_info is not None
            assert client.server_info.name == "hikidashi"
            assert "data, not instructions" in (client.instructions or "")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["memory_read", "memory_search", "knowledge_search", "memory_write"]
        assert tools["memory_read"].annotations is not None
        assert tools["memory_read"].annotations.read_only_hint
        assert tools["memory_read"].output_schema
        resources = (await client.list_resources()).resources
        (knowledge,) = [one for one in resources if one.name == "releases"]
        (content,) = (await client.read_resource(knowledge.uri)).contents
        assert getattr(content, "text", None) == KNOWLEDGE
        assert len((await client.list_resource_templates()).resource_templates) == 3
        # the client checks what comes against the tool's output schema
        found = await client.call_tool("knowledge_search", {"query": "lighthouse"})
        assert found.structured_content is not None
        assert found.structured_content["hits"][0]["title"] == "Releases"
        assert (await client.call_tool("memory_search", {"query": "lighthouse"})).structured_content is not None
        missing = await client.call_tool("memory_read", {"key": "deploy:harbour"})
        assert missing.structured_content is not None
        assert missing.structured_content["facts"] == []
        wrong = await client.call_tool("memory_read", {"key": 7})
        assert wrong.is_error
        with pytest.raises(MCPError):
            await client.call_tool("no_such_tool", {})
        with pytest.raises(MCPError):
            await client.read_resource("hikidashi:///memory/../workspace.sqlite")

    talk(project, mode, work)


@pytest.mark.parametrize("mode", MODES)
def test_facts_pass_the_clients_check_of_their_schema(project: Path, mode: str) -> None:
    for command in (
        ("write", "deploy:harbour", "With make deploy.", "--type", "capability", "--probe", "make -n deploy"),
        ("write", "quay", "Of wood.", "--type", "fact", "--scope", "global"),
    ):
        assert hikidashi(*command, cwd=project).code == 0

    async def work(client: mcp.Client) -> None:
        await client.list_tools()
        for arguments in ({"key": "deploy:harbour"}, {"query": "quay of wood"}, {"query": "deploy the harbour"}):
            found = await client.call_tool("memory_read", arguments)
            assert not found.is_error
            assert found.structured_content is not None
            assert len(found.structured_content["facts"]) == 1
        known = await client.call_tool("memory_write", {"key": "quay", "body": "Of wood.", "type": "fact"})
        assert known.structured_content is not None
        many = [client.call_tool("memory_read", {"query": f"harbour {number}"}) for number in range(20)]
        assert not any(result.is_error for result in await asyncio.gather(*many))

    talk(project, mode, work)


#: What the person's dialog gives, and what becomes of the proposal.
ANSWERS = [
    (ElicitResult(action="accept", content={"decision": "keep"}), "written"),
    (ElicitResult(action="accept", content={"decision": "reject"}), "rejected"),
    (ElicitResult(action="accept", content={}), "waiting"),
    (ElicitResult(action="decline"), "waiting"),
    (ElicitResult(action="cancel"), "waiting"),
]


@pytest.mark.parametrize("mode", MODES)
def test_the_person_decides_in_the_hosts_dialog(project: Path, mode: str) -> None:
    outcomes = []

    async def work(client: mcp.Client) -> None:
        for number in range(len(ANSWERS)):
            result = await client.call_tool("memory_write", WRITE | {"key": f"deploy:n{number}"})
            assert result.structured_content is not None
            outcomes.append(result.structured_content["outcome"])

    asked = talk(project, mode, work, [answer for answer, _ in ANSWERS])
    assert outcomes == [outcome for _, outcome in ANSWERS]
    assert len(asked) == len(ANSWERS)
    assert [fact["key"] for fact in hikidashi("facts", "--json", cwd=project).json["facts"]] == ["deploy:n0"]


@pytest.mark.parametrize("mode", MODES)
def test_a_client_without_dialogs_leaves_a_candidate(project: Path, mode: str) -> None:
    async def work(client: mcp.Client) -> None:
        result = await client.call_tool("memory_write", WRITE)
        assert result.structured_content is not None
        assert result.structured_content["outcome"] == "waiting"

    assert talk(project, mode, work) == []
    assert hikidashi("facts", "--json", cwd=project).json["facts"] == []


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_is_given_up_does_no_harm(project: Path, mode: str) -> None:
    async def work(client: mcp.Client) -> None:
        calls = [asyncio.create_task(client.call_tool("memory_read", {"query": f"q{n}"})) for n in range(10)]
        await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert not (await client.call_tool("memory_read", {"query": "quay"})).is_error

    talk(project, mode, work)


def test_outside_a_workspace_the_client_sees_no_tools(tmp_path: Path) -> None:
    async def work(client: mcp.Client) -> None:
        assert (await client.list_tools()).tools == []
        assert (await client.list_resources()).resources == []

    for mode in MODES:
        talk(tmp_path, mode, work)
