"""The tools and resources of the MCP server: what a model gets, and who decides what is kept."""

from __future__ import annotations

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.settings import user_file
from tests.secrets_samples import tokens
from tests.support.candidates import seen
from tests.support.command import hikidashi
from tests.support.mcp_clients import Client, modern

SECRET = next(token for kind, token in tokens() if kind == "github-token")

DECISION = """---
created_at: 2026-05-02T09:00:00Z
updated_at: 2026-05-03T09:00:00Z
status: {status}
{more}trust: user
---
# {title}

{body}
"""
KNOWLEDGE = """---
kind: policy
description: Who may release, and when.
created_at: 2026-05-02T09:00:00Z
updated_at: 2026-05-03T09:00:00Z
trust: user
---
# Releases

Only on weekdays, after the lighthouse check.
"""
WRITE: dict[str, Any] = {
    "key": "deploy:harbour",
    "type": "capability",
    "body": "`make deploy` puts the harbour onto the quay.",
}


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "港 'shop'"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


def put(project: Path, path: str, text: str) -> None:
    file = project / ".hikidashi" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def write(project: Path, key: str, body: str, *more: str, type: str = "fact") -> None:
    assert hikidashi("write", key, body, "--type", type, *more, cwd=project).code == 0


def facts(project: Path) -> dict[str, Any]:
    return {fact["key"]: fact for fact in hikidashi("facts", "--json", cwd=project).json["facts"]}


def waiting(project: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = hikidashi("candidates", "--json", cwd=project).json["candidates"]
    return found


def uses(project: Path, key: str) -> list[tuple[str, str, str, int]]:
    why = hikidashi("why", key, "--json", cwd=project).json
    return [(use["kind"], use["via"], use["session_id"], use["uses"]) for use in why["uses"]]


# -- reading facts


def test_a_fact_is_read_by_its_key_and_that_counts_as_a_use(project: Path) -> None:
    write(project, "deploy:harbour", "With make deploy.", "--probe", "make -n deploy", type="capability")
    found = Client(project).read("memory_read", key=" deploy:harbour ")
    (fact,) = found["facts"]
    assert (fact["body"], fact["probe"], fact["status"]) == ("With make deploy.", "make -n deploy", "active")
    assert (fact["elsewhere"], found["near"], found["note"]) == ("", [], "")
    assert uses(project, "deploy:harbour") == [("explicit", "memory_read", "session-of-the-test", 1)]


def test_a_key_that_is_not_there_gets_those_like_it(project: Path) -> None:
    client = Client(project)
    assert "holds none yet" in client.read("memory_read", key="deploy:harbour")["note"]
    write(project, "deploy:harbour", "With make deploy.")
    found = client.read("memory_read", key="deploy:harbor")
    assert (found["facts"], found["near"]) == ([], ["deploy:harbour"])
    assert "deploy:harbour" in found["note"]
    assert client.read("memory_read", key="zzz")["near"] == []


def test_words_find_facts_in_both_scopes_and_only_those_asked_for(project: Path) -> None:
    write(project, "lighthouse", "The lighthouse blinks at dusk.")
    write(project, "ferry", "The ferry waits for the lighthouse.", "--scope", "global")
    write(project, "crane", "The crane is yellow.")
    client = Client(project)
    found = client.read("memory_read", query="lighthouse?")
    assert {fact["key"] for fact in found["facts"]} == {"lighthouse", "ferry"}
    assert [f["key"] for f in client.read("memory_read", query="lighthouse", scope="global")["facts"]] == ["ferry"]
    assert len(client.read("memory_read", query="lighthouse", limit=1)["facts"]) == 1
    assert client.read("memory_read", query="submarine")["note"] == "No fact meets that."
    assert ("exposure", "memory_read", "session-of-the-test", 1) in uses(project, "ferry") or uses(project, "ferry")


def test_a_retired_fact_is_read_by_its_key_and_stays_retired(project: Path) -> None:
    write(project, "crane", "The crane is yellow.")
    assert hikidashi("retire", "crane", cwd=project).code == 0
    client = Client(project)
    found = client.read("memory_read", key="crane")
    assert (found["facts"][0]["status"], "out of use" in found["note"]) == ("retired", True)
    assert client.read("memory_read", query="crane yellow")["facts"] == []
    assert facts(project)["crane"]["status"] == "retired"


def test_a_capability_of_another_machine_says_so(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hikidashi.config.machine import Machine
    from hikidashi.serve import mcp_read

    write(project, "deploy:harbour", "With make deploy.", type="capability")
    monkeypatch.setattr(mcp_read, "this_machine", lambda: Machine(id="0" * 32, name="raft"))
    assert Client(project).read("memory_read", key="deploy:harbour")["facts"][0]["elsewhere"]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("memory_read", {}, "give a key"),
        ("memory_read", {"key": "a", "query": "b"}, "not both"),
        ("memory_read", {"key": "", "query": None}, "give a key"),
        ("memory_read", {"key": 7}, "key is no text"),
        ("memory_read", {"key": "x" * 300}, "at most 200"),
        ("memory_read", {"query": "x" * 500}, "at most 400"),
        ("memory_read", {"key": "a\0b"}, "no text"),
        ("memory_read", {"query": "\ud800"}, "no text"),
        ("memory_read", {"query": "a", "limit": 0}, "from 1 to 50"),
        ("memory_read", {"query": "a", "limit": True}, "no whole number"),
        ("memory_read", {"query": "a", "limit": "3"}, "no whole number"),
        ("memory_read", {"query": "a", "scope": "galaxy"}, "workspace, global"),
        ("memory_read", {"name": "a"}, "no argument 'name'"),
        ("memory_search", {}, "query is missing"),
        ("knowledge_search", {"query": ["a"]}, "query is no text"),
        ("memory_write", {"key": "a", "body": "b"}, "type is missing"),
        ("memory_write", {"key": "a", "body": "", "type": "fact"}, "body is missing"),
        ("memory_write", {"key": "a", "body": "b", "type": "wish"}, "capability, decision"),
        ("memory_write", {"key": "a\nb", "body": "b", "type": "fact"}, "does not print"),
        ("memory_write", {"key": "a", "body": "b" * 5000, "type": "fact"}, "at most 4,000"),
    ],
)
def test_a_wrong_argument_is_told_to_the_model(project: Path, tool: str, arguments: dict[str, Any], said: str) -> None:
    result = Client(project).call(tool, **arguments)
    assert result["isError"]
    assert said in result["content"][0]["text"]
    assert waiting(project) == []


def test_arguments_that_are_no_object_are_told(project: Path) -> None:
    answer = Client(project).request("tools/call", {"name": "memory_read", "arguments": ["a"]})
    assert answer["result"]["isError"]


# -- records


def test_the_searches_look_into_their_own_records_and_say_what_holds(project: Path) -> None:
    put(
        project,
        "memory/decisions/old-quay.md",
        DECISION.format(status="replaced", more="replaced_by: new-quay\n", title="The old quay", body="Stone."),
    )
    put(
        project,
        "memory/decisions/new-quay.md",
        DECISION.format(status="open", more="", title="The new quay", body="Wood, for the lighthouse."),
    )
    put(project, "knowledge/releases.md", KNOWLEDGE)
    client = Client(project)
    found = client.read("memory_search", query="quay")["hits"]
    assert {(hit["uri"], hit["status"], hit["replaced_by"]) for hit in found} == {
        ("hikidashi:///memory/decisions/old-quay.md", "replaced", "new-quay"),
        ("hikidashi:///memory/decisions/new-quay.md", "open", ""),
    }
    assert (project / found[0]["file"]).is_file()
    (hit,) = client.read("knowledge_search", query="lighthouse")["hits"]
    assert (hit["kind"], hit["title"], "lighthouse" in hit["snippet"]) == ("policy", "Releases", True)
    assert client.read("knowledge_search", query="quay") == {"hits": [], "note": "Nothing meets that among 1 records."}


def test_records_are_resources(project: Path) -> None:
    put(project, "knowledge/releases.md", KNOWLEDGE)
    client = Client(project)
    listed = client.request("resources/list")["result"]
    assert "nextCursor" not in listed
    (one,) = [found for found in listed["resources"] if found["name"] == "releases"]
    assert (one["title"], one["mimeType"]) == ("Releases", "text/markdown")
    assert "Who may release" in one["description"]
    (content,) = client.request("resources/read", {"uri": one["uri"]})["result"]["contents"]
    assert content["text"] == KNOWLEDGE
    assert len(client.request("resources/templates/list")["result"]["resourceTemplates"]) == 3


def test_resources_come_in_pages(project: Path) -> None:
    for number in range(205):
        put(project, f"knowledge/n{number:03}.md", KNOWLEDGE)
    client = Client(project)
    first = client.request("resources/list")["result"]
    second = client.request("resources/list", {"cursor": first["nextCursor"]})["result"]
    names = [one["name"] for page in (first, second) for one in page["resources"] if one["name"] != "summary"]
    assert names == [f"n{number:03}" for number in range(205)]
    assert "nextCursor" not in second
    for wrong in ("x", "-1", 3, "٣", "9" * 30):
        assert client.request("resources/list", {"cursor": wrong})["error"]["code"] == -32602


@pytest.mark.parametrize(
    "uri",
    [
        "hikidashi:///memory/decisions/none.md",
        "hikidashi:///memory/../workspace.sqlite",
        "hikidashi:///workspace.sqlite",
        "hikidashi:///memory/cleanup-log.md",
        "hikidashi:///memory/decisions/..%2F..%2Fconfig.toml",
        "hikidashi:////etc/passwd",
        "file:///etc/passwd",
        "knowledge/releases.md",
        "",
    ],
)
def test_no_other_file_is_a_resource(project: Path, uri: str) -> None:
    put(project, "knowledge/releases.md", KNOWLEDGE)
    client = Client(project)
    assert client.request("resources/read", {"uri": uri})["error"]["code"] == -32002
    assert client.request("resources/read", modern({"uri": uri}))["error"]["code"] == -32602
    assert client.request("resources/read", {})["error"]["code"] == -32602


def test_a_secret_in_a_record_does_not_go_out(project: Path) -> None:
    put(project, "knowledge/releases.md", KNOWLEDGE + f"\nThe lighthouse key is {SECRET}\n")
    client = Client(project)
    said = [
        client.request("resources/list"),
        client.request("resources/read", {"uri": "hikidashi:///knowledge/releases.md"}),
        client.call("knowledge_search", query="lighthouse key"),
    ]
    assert SECRET not in json.dumps(said)
    assert "[redacted:" in json.dumps(said)


def test_a_link_out_of_the_workspace_is_not_read(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text(KNOWLEDGE)
    (project / ".hikidashi" / "knowledge").mkdir(exist_ok=True)
    (project / ".hikidashi" / "knowledge" / "link.md").symlink_to(tmp_path / "outside.md")
    client = Client(project)
    assert client.request("resources/read", {"uri": "hikidashi:///knowledge/link.md"})["error"]["code"] == -32002


# -- writing


def test_what_an_agent_writes_waits_for_a_person_and_names_the_command(project: Path) -> None:
    client = Client(project)
    client.start()
    found = client.read("memory_write", **WRITE)
    (one,) = waiting(project)
    assert (found["outcome"], found["candidate"]) == ("waiting", one["id"])
    assert f"approve {one['id']}" in found["message"]
    assert str(project).replace("'", "'\"'\"'") in found["message"]
    assert (one["trust"], one["origin"], one["confidence"], one["probe"]) == ("assistant", "memory_write", 0.7, [])
    assert facts(project) == {}
    assert client.read("memory_write", **WRITE)["outcome"] == "waiting"
    assert len(waiting(project)) == 1


def test_a_secret_is_refused_with_its_place_and_not_repeated(project: Path) -> None:
    result = Client(project).call("memory_write", key="token", type="fact", body=f"The token\nis {SECRET}")
    assert result["isError"]
    text = result["content"][0]["text"]
    assert "line 2" in text
    assert SECRET not in text
    assert waiting(project) == []


def test_what_is_known_outweighed_or_turned_down_is_told(project: Path) -> None:
    client = Client(project)
    write(project, "crane", "The crane is yellow.")
    assert client.read("memory_write", key="crane", type="fact", body="The crane is  yellow.")["outcome"] == "known"
    seen(project, "deploy:harbour")
    found = client.read("memory_write", **WRITE)
    assert (found["outcome"], bool(found["candidate"])) == ("outweighed", True)
    client.read("memory_write", key="ferry", type="fact", body="It sinks.")
    (ferry,) = [one for one in waiting(project) if one["key"] == "ferry"]
    assert hikidashi("reject", ferry["id"], cwd=project).code == 0
    assert client.read("memory_write", key="ferry", type="fact", body="It sinks.")["outcome"] == "rejected"


def test_a_setting_of_the_person_lets_agents_write(project: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("[gate]\nallow_agent = true\n")
    client = Client(project, asks=True)
    client.start()
    assert client.read("memory_write", **WRITE)["outcome"] == "written"
    fact = facts(project)["deploy:harbour"]
    assert (fact["trust"], fact["confidence"], fact["machine"] != "") == ("assistant", 0.7, True)


# -- the dialog, in both eras


class Asked:
    """A call of `memory_write` that asked, and how to answer it."""

    def __init__(self, client: Client, modern_era: bool, **arguments: Any) -> None:
        self.client, self.modern, self.arguments = client, modern_era, arguments or WRITE
        params = modern(asks=True) if modern_era else {}
        self.first = client.call("memory_write", params=params, **self.arguments)

    @property
    def form(self) -> dict[str, Any]:
        if not self.modern:
            assert self.first["method"] == "elicitation/create", self.first
            form: dict[str, Any] = self.first["params"]
            return form
        assert self.first["resultType"] == "input_required", self.first
        (question,) = self.first["inputRequests"].values()
        assert question["method"] == "elicitation/create"
        found: dict[str, Any] = question["params"]
        return found

    def answer(self, action: str, **content: Any) -> dict[str, Any]:
        answer = {"action": action, "content": content} if action == "accept" else {"action": action}
        if self.modern:
            (name,) = self.first["inputRequests"]
            params = modern(asks=True) | {"inputResponses": {name: answer}, "requestState": self.first["requestState"]}
            result = self.client.call("memory_write", params=params, **self.arguments)
        else:
            (message,) = self.client.say({"jsonrpc": "2.0", "id": self.first["id"], "result": answer})
            result = message["result"]
        found: dict[str, Any] = result["structuredContent"]
        return found


@pytest.fixture(params=[False, True], ids=["handshake", "per request"])
def asked(request: pytest.FixtureRequest, project: Path) -> Any:
    client = Client(project, asks=True)
    if not request.param:
        client.start()
    return lambda **arguments: Asked(client, request.param, **arguments)


def test_a_yes_in_the_dialog_is_the_persons(asked: Any, project: Path) -> None:
    question = asked()
    form = question.form
    assert WRITE["body"] in form["message"]
    assert "deploy:harbour (capability, for this project)" in form["message"]
    assert form["requestedSchema"]["required"] == ["decision"]
    assert facts(project) == {}
    assert question.answer("accept", decision="keep")["outcome"] == "written"
    fact = facts(project)["deploy:harbour"]
    assert (fact["trust"], fact["origin"], fact["body"]) == ("user", "memory_write", WRITE["body"])
    assert waiting(project) == []


def test_a_no_in_the_dialog_rejects(asked: Any, project: Path) -> None:
    assert asked().answer("accept", decision="reject")["outcome"] == "rejected"
    assert (facts(project), waiting(project)) == ({}, [])
    assert Client(project).read("memory_write", **WRITE)["outcome"] == "rejected"


@pytest.mark.parametrize(
    ("action", "content"),
    [
        ("decline", {}),
        ("cancel", {}),
        ("accept", {"decision": "later"}),
        ("accept", {}),
        ("accept", {"decision": True}),
        ("accept", {"decision": ["keep"]}),
        ("accept", {"other": "keep"}),
        ("nonsense", {}),
    ],
)
def test_all_else_is_no_decision_and_it_goes_on_waiting(
    asked: Any, project: Path, action: str, content: dict[str, Any]
) -> None:
    found = asked().answer(action, **content)
    (one,) = waiting(project)
    assert (found["outcome"], found["candidate"]) == ("waiting", one["id"])
    assert "approve" in found["message"]
    assert facts(project) == {}


def test_nobody_is_asked_twice_about_the_same_words(asked: Any, project: Path) -> None:
    asked().answer("decline")
    again = asked()
    assert again.first["structuredContent"]["outcome"] == "waiting"
    assert asked(**WRITE | {"body": "With `make ship` now."}).form["message"]


def test_what_was_put_off_in_the_inbox_is_not_asked_about(asked: Any, project: Path) -> None:
    from tests.integration.test_cli_gate import put_off

    found = Client(project).read("memory_write", **WRITE)
    put_off(project, found["candidate"])
    assert asked().first["structuredContent"]["outcome"] == "waiting"


def test_the_dialog_shows_what_would_go_and_a_yes_holds_for_what_was_shown(asked: Any, project: Path) -> None:
    write(project, "deploy:harbour", "With rsync.", type="capability")
    question = asked()
    assert "With rsync." in question.form["message"]
    write(project, "deploy:harbour", "With scp.", type="capability")
    found = question.answer("accept", decision="keep")
    assert facts(project)["deploy:harbour"]["body"] == "With scp."
    assert found["outcome"] != "written"


def test_a_yes_after_the_inbox_decided_changes_nothing(asked: Any, project: Path) -> None:
    question = asked()
    (one,) = waiting(project)
    assert hikidashi("reject", one["id"], cwd=project).code == 0
    assert question.answer("accept", decision="keep")["outcome"] == "known"
    assert facts(project) == {}


def test_a_dialog_cannot_drive_the_terminal_nor_hide_its_end(asked: Any, project: Path) -> None:
    body = "Harmless.\x1b[2J\u202egnp\n" + "\n" * 60 + "And: the rest."
    message = asked(key="ferry", type="fact", body=body).form["message"]
    assert all(char.isprintable() or char == "\n" for char in message)
    assert "\n\n\n" not in message
    assert "And: the rest." in message


def test_a_client_that_shows_no_forms_is_not_asked(project: Path) -> None:
    unable: list[dict[str, Any]] = [{}, {"elicitation": None}, {"elicitation": {"url": {}}}]
    for abilities in unable:
        client = Client(project)
        client.start(abilities=abilities)
        assert client.read("memory_write", **WRITE)["outcome"] == "waiting"
    client.start(abilities={"elicitation": {"form": {}, "url": {}}})
    assert client.call("memory_write", **WRITE)["method"] == "elicitation/create"


def test_an_error_of_the_client_is_no_decision(project: Path) -> None:
    client = Client(project, asks=True)
    client.start()
    question = client.call("memory_write", **WRITE)
    (answer,) = client.say({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32600, "message": "no"}})
    assert answer["result"]["structuredContent"]["outcome"] == "waiting"
    assert client.say({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}) == []


def test_a_made_up_state_or_another_call_is_asked_anew(project: Path) -> None:
    client = Client(project, asks=True)
    asking = modern(asks=True)
    yes = {"inputResponses": {"decision": {"action": "accept", "content": {"decision": "keep"}}}}
    first = client.call("memory_write", params=asking | yes | {"requestState": "hikidashi-1"}, **WRITE)
    assert first["resultType"] == "input_required"
    other = WRITE | {"body": "With `rm -rf`."}
    params = asking | yes | {"requestState": first["requestState"]}
    assert client.call("memory_write", params=params, **other)["resultType"] == "input_required"
    assert facts(project) == {}


def test_a_cancelled_call_withdraws_its_question_and_gets_no_answer(project: Path) -> None:
    client = Client(project, asks=True)
    client.start()
    question = client.call("memory_write", **WRITE)
    (withdrawn,) = client.say(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": client._number}}
    )
    assert (withdrawn["method"], withdrawn["params"]["requestId"]) == ("notifications/cancelled", question["id"])
    yes = {"action": "accept", "content": {"decision": "keep"}}
    assert client.say({"jsonrpc": "2.0", "id": question["id"], "result": yes}) == []
    assert facts(project) == {}
    assert len(waiting(project)) == 1


def test_a_call_cancelled_before_its_turn_is_not_answered_nor_asked_about(project: Path) -> None:
    client = Client(project, asks=True)
    client.start()
    client.later = True
    client.sent.clear()
    for number, tool, arguments in ((91, "memory_read", {"key": "a"}), (92, "memory_write", WRITE)):
        params = {"name": tool, "arguments": arguments}
        client.say({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        client.say({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    client.work()
    assert client.sent == []


def test_more_open_questions_than_anybody_answers_are_given_up_oldest_first(project: Path) -> None:
    client = Client(project, asks=True)
    client.start()
    for number in range(33):
        found = client.say(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": "memory_write", "arguments": WRITE | {"key": f"deploy:n{number}"}},
            }
        )
    assert [message.get("method") for message in found] == ["notifications/cancelled", None, "elicitation/create"]
    assert found[1]["id"] == 0
    assert found[1]["result"]["structuredContent"]["outcome"] == "waiting"


# -- trouble


def test_a_locked_database_is_told_and_a_newer_one_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    from hikidashi.serve import mcp_place

    monkeypatch.setattr(mcp_place, "_BUSY_SECONDS", 0.05)
    database = project / ".hikidashi" / "workspace.sqlite"
    writer = sqlite3.connect(database, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    result = Client(project).call("memory_write", **WRITE)
    assert (result["isError"], "try again" in result["content"][0]["text"]) == (True, True)
    writer.execute("ROLLBACK")
    writer.execute("PRAGMA user_version = 999")
    writer.close()
    result = Client(project).call("memory_read", key="a")
    assert "upgrade" in result["content"][0]["text"]


def test_wrong_settings_are_told(project: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("[gate]\nallow_agent = 3\n")
    result = Client(project).call("memory_write", **WRITE)
    assert (result["isError"], "allow_agent" in result["content"][0]["text"]) == (True, True)


def test_an_untrusted_folder_offers_nothing(project: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(project, clone)
    client = Client(clone)
    assert client.request("tools/list")["result"]["tools"] == []
    result = client.call("memory_read", key="a")
    assert (result["isError"], "hikidashi trust" in result["content"][0]["text"]) == (True, True)


def test_a_session_that_is_not_to_be_remembered_leaves_nothing(project: Path) -> None:
    write(project, "crane", "The crane is yellow.")
    assert hikidashi("pause", "--session", "session-of-the-test", cwd=project).code == 0
    client = Client(project, asks=True)
    client.start()
    assert client.read("memory_read", key="crane")["facts"]
    assert client.read("memory_read", query="yellow crane")["facts"]
    assert uses(project, "crane") == []
    result = client.call("memory_write", **WRITE)
    assert (result["isError"], waiting(project)) == (True, [])
    assert hikidashi("resume", "--session", "session-of-the-test", cwd=project).code == 0
    assert client.call("memory_write", **WRITE)["method"] == "elicitation/create"


@pytest.mark.parametrize("variable", ["HIKIDASHI_DISABLE", "HIKIDASHI_WORKER"])
def test_switched_off_it_offers_nothing(project: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "1")
    client = Client(project)
    assert client.request("tools/list")["result"]["tools"] == []
    assert client.call("memory_write", **WRITE)["isError"]
    monkeypatch.delenv(variable)
    assert waiting(project) == []


def test_calls_at_the_same_time_do_not_mix(project: Path) -> None:
    clients = [Client(project) for _ in range(8)]
    arguments = [{"key": f"deploy:n{number}", "type": "fact", "body": f"Number {number}."} for number in range(8)]
    threads = [
        threading.Thread(target=client.call, args=("memory_write",), kwargs=given)
        for client, given in zip(clients, arguments, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [client.sent[0]["result"]["structuredContent"] for client in clients]
    assert [(one["outcome"], one["key"]) for one in found] == [("waiting", given["key"]) for given in arguments]
    assert len(waiting(project)) == 8
