"""Rollouts of Codex in the form of each version, read into events."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.hosts.codex_results import read_output, was_aborted
from hikidashi.hosts.codex_speech import PLAN_PREFIX, hear
from hikidashi.hosts.codex_tools import made
from hikidashi.hosts.registry import recognise
from hikidashi.hosts.transcript import Event
from tests.rollouts import VERSIONS, Rollout, read

versions = pytest.mark.parametrize("version", VERSIONS)


def told(rollout: Rollout, tmp_path: Path) -> list[Event]:
    """Its events without injected ones."""
    events, report = read(rollout.write(tmp_path / "rollout-x.jsonl"))
    assert report.skipped == {}
    assert report.versions == {rollout.version}
    return [event for event in events if event.kind != "context"]


def result_of(rollout: Rollout, tmp_path: Path) -> Event:
    """The last result."""
    return [event for event in told(rollout, tmp_path) if event.kind == "tool_result"][-1]


# -- each version's form


@versions
def test_a_prompt_is_told_once_and_nothing_injected_is_a_persons(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    rollout.user("deploy the shop")
    rollout.thinks()
    rollout.says("I deploy it.")
    rollout.user("and the docs")
    events, _ = read(rollout.write(tmp_path / "r.jsonl"))
    assert [(e.kind, e.role, e.text) for e in events if e.kind in ("user", "assistant")] == [
        ("user", "user", "deploy the shop"),
        ("assistant", "assistant", "I deploy it."),
        ("user", "user", "and the docs"),
    ]
    assert {e.role for e in events if "tabs" in e.text or "environment" in e.text} == {"tool"}
    assert {(e.session_id, e.cwd, e.branch) for e in events} == {(rollout.session_id, "/home/ann/shop", "main")}
    assert not any(e.sidechain or e.repeat for e in events)


@versions
@pytest.mark.parametrize(("exit_code", "outcome"), [(0, "ok"), (3, "failed")])
def test_a_command_is_one_call_and_one_result(version: str, exit_code: int, outcome: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    rollout.user("go")
    call_id = rollout.runs("make test && echo 'all \"fine\"'", "12 passed\n", exit_code)
    _, call, result = told(rollout, tmp_path)
    assert (call.kind, call.call_id, call.role) == ("tool_call", call_id, "assistant")
    assert (result.kind, result.call_id, result.role) == ("tool_result", call_id, "tool")
    assert call.tool == result.tool
    assert result.tool in ("shell", "shell_command", "exec_command")
    assert result.input["command"] == "make test && echo 'all \"fine\"'"
    assert (result.text, result.exit_code, result.outcome) == ("12 passed\n", exit_code, outcome)
    assert result.call_line == call.line < result.line


@versions
def test_calls_answered_in_another_order_are_joined_by_their_ids(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    first, second = rollout.bash("make a"), rollout.bash("make b", workdir="web")
    rollout.result(second, rollout.printed("b", 1))
    rollout.result(first, rollout.printed("a", 0))
    results = [e for e in told(rollout, tmp_path) if e.kind == "tool_result"]
    assert [(e.input["command"], e.text, e.exit_code) for e in results] == [("make b", "b", 1), ("make a", "a", 0)]
    assert [e.cwd for e in results] == ["/home/ann/shop/web", "/home/ann/shop"]


@versions
def test_plans_patches_and_questions_have_the_names_that_capture_knows(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    rollout.todo(("write it", "completed"), ("test it", "pending"))
    rollout.patches("src/shop.py", "docs/shop.md")
    rollout.patches("src/gone.py", failed=True)
    rollout.asks("Which database?", ["SQLite", "Postgres"], "SQLite")
    todo, patch, failed, question = [e for e in told(rollout, tmp_path) if e.kind == "tool_result"]
    assert todo.tool == "TodoWrite"
    assert todo.input["todos"] == [
        {"content": "write it", "status": "completed"},
        {"content": "test it", "status": "pending"},
    ]
    assert (patch.tool, patch.input["file_path"], patch.outcome) == ("Edit", "src/shop.py", "ok")
    assert patch.input["files"] == ["src/shop.py", "docs/shop.md"]
    assert (failed.tool, failed.outcome) == ("Edit", "failed")
    assert question.tool == "AskUserQuestion"
    assert question.result is not None
    assert question.result["answers"] == {"Which database?": "SQLite"}


@versions
def test_compaction_interruption_and_a_new_folder(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    rollout.user("go")
    rollout.interrupt()
    rollout.turn("/home/ann/shop/web")
    rollout.compacts("we did a lot")
    rollout.user("on")
    kinds = [(e.kind, e.cwd) for e in told(rollout, tmp_path)]
    assert kinds == [
        ("user", "/home/ann/shop"),
        ("interrupt", "/home/ann/shop"),
        ("compaction", "/home/ann/shop/web"),
        ("user", "/home/ann/shop/web"),
    ]


@versions
def test_tokens_are_counted_once_an_answer(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    rollout.says("one")
    rollout.tokens(1_000, 400, 20, again=True)
    rollout.says("two")
    rollout.says("three")
    answers = [e for e in told(rollout, tmp_path) if e.kind == "assistant"]
    assert [e.tokens for e in answers] == [
        {},
        {"input": 600, "output": 20, "cache_creation": 0, "cache_read": 400},
        {"input": 600, "output": 20, "cache_creation": 0, "cache_read": 400},
    ]
    assert {e.model for e in answers} == {"gpt-5.1-codex"}


# -- commands that run on


@pytest.mark.parametrize("version", ["0.104.0", "0.130.0", "0.171.0"])
def test_a_command_that_runs_on_is_told_again_at_its_end(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    call_id = rollout.starts("make deploy", 4711, "building\n")
    rollout.polls(4711, "pushing\n")
    rollout.polls(4711, "deployed\n", 0)
    started, _, _, end = [e for e in told(rollout, tmp_path) if e.kind == "tool_result"]
    assert (started.background, started.outcome, started.exit_code) == (True, "unknown", None)
    assert (end.call_id, end.input["command"], end.tool) == (call_id, "make deploy", "exec_command")
    assert (end.text, end.exit_code, end.outcome) == ("building\npushing\ndeployed\n", 0, "ok")
    assert not end.background


def test_the_clients_own_event_ends_a_command_that_nobody_looked_at(tmp_path: Path) -> None:
    rollout = Rollout(version="0.171.0")
    served, built = rollout.starts("make serve", 1), rollout.starts("make build", 2)
    rollout.ends(built, "built\n", 2)
    rollout.ends(served, "", -1)
    rollout.polls(2, "built\n", 2)
    results = [e for e in told(rollout, tmp_path) if e.kind == "tool_result"]
    ends = [(e.call_id, e.outcome, e.exit_code, e.interrupted) for e in results if not e.background]
    assert ends[:2] == [(built, "failed", 2, False), (served, "unknown", None, True)]
    assert len(results) == 5  # two starts, two ends, one look


@pytest.mark.parametrize("version", ["0.130.0", "0.171.0"])
def test_what_a_script_of_the_model_ran_is_told_though_no_call_says_it(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    call_id = rollout.call("exec", "await tools.exec_command({cmd: 'make deploy'})")
    rollout.ends("exec-0123456789abcdef0123", "deployed\n", 0, "make deploy")
    rollout.result(call_id, [{"type": "input_text", "text": "Script completed\nOutput:\n"}], custom=True)
    rollout.ends("user-0123456789abcdef0123", "x", 0, "ls")
    rollout.lines[-1]["payload"].get("item", rollout.lines[-1]["payload"])["source"] = "user_shell"
    results = [e for e in told(rollout, tmp_path) if e.kind == "tool_result"]
    assert [(e.tool, e.outcome) for e in results] == [("shell", "ok"), ("exec", "ok")]
    assert (results[0].input["command"], results[0].exit_code, results[0].text) == ("make deploy", 0, "deployed\n")


# -- results of every kind


SAID: list[tuple[str, dict[str, Any]]] = [
    ("aborted by user after 7.4s", {"interrupted": True, "outcome": "unknown"}),
    ("Wall time: 393.5 seconds\naborted by user", {"interrupted": True, "outcome": "unknown"}),
    ("exec command rejected by user", {"refused_by": "person", "outcome": "unknown"}),
    ('exec_command failed: CreateProcess { message: "Sandbox(Denied { .. })" }', {"refused_by": "host"}),
    (
        "failed in sandbox LinuxSeccomp with execution error: Denied { exit code: 1, stdout: , stderr: no }",
        {"refused_by": "host", "exit_code": 1},
    ),
    ("execution error: Io(Os { code: 2, kind: NotFound })", {"outcome": "failed", "exit_code": None}),
    ("unsupported call: shell", {"outcome": "failed"}),
    ("failed to parse function arguments: missing field `cmd`", {"outcome": "failed"}),
    (
        "Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 milliseconds\nhalf",
        {"outcome": "failed", "exit_code": 124},
    ),
    ("nothing that is known", {"outcome": "unknown", "exit_code": None, "refused_by": ""}),
    ("Chunk ID: 1\nWall time: 1 seconds\nOutput:\nerror: from the program", {"outcome": "unknown"}),
    (
        "Exit code: 0\nWall time: 1 seconds\nTotal output lines: 900\nOutput:\nexec command rejected by user",
        {"outcome": "ok", "exit_code": 0, "refused_by": ""},
    ),
]


@pytest.mark.parametrize(("output", "expected"), SAID, ids=[said[:30] for said, _ in SAID])
def test_how_a_call_ended_is_read_from_its_output(output: str, expected: dict[str, Any], tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.result(rollout.bash("make test"), output)
    result = result_of(rollout, tmp_path)
    assert {name: getattr(result, name) for name in expected} == expected
    assert result.refused == bool(result.refused_by)


def test_an_event_tells_an_exit_code_that_the_output_does_not(tmp_path: Path) -> None:
    rollout = Rollout(version="0.130.0")
    call_id = rollout.bash("make test")
    rollout.ends(call_id, "failed", 2)
    rollout.result(call_id, "failed")
    assert (result_of(rollout, tmp_path).exit_code, result_of(rollout, tmp_path).outcome) == (2, "failed")


def test_an_event_may_tell_the_end_after_an_output_that_does_not(tmp_path: Path) -> None:
    rollout = Rollout(version="0.130.0")
    call_id = rollout.bash("make test")
    rollout.result(call_id, "3 passed")
    rollout.ends(call_id, "3 passed", 0)
    rollout.ends(call_id, "3 passed", 0)
    results = [e for e in told(rollout, tmp_path) if e.kind == "tool_result"]
    assert [(e.call_id, e.outcome, e.exit_code) for e in results] == [(call_id, "unknown", None), (call_id, "ok", 0)]


@pytest.mark.parametrize(
    ("output", "outcome"), [({"content": "x", "success": False}, "failed"), (["x"], "ok"), (7, "ok")]
)
def test_results_of_other_types(output: Any, outcome: str, tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.result(rollout.call("view_image", {"path": "a.png"}), output)
    assert result_of(rollout, tmp_path).outcome == outcome


def test_outputs_are_cut_and_cleaned(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.runs("make", "\x1b[31mred\x1b[0m\n10 %\r20 %\r100 %\n" + "x" * 200_000)
    result = result_of(rollout, tmp_path)
    assert result.truncated
    assert result.text.startswith("red\n100 %\n")
    assert len(result.text) < 70_000


def test_a_call_without_result_and_a_result_without_call(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.bash("make deploy")
    rollout.result("call_0123456789abcdef01234567", "Exit code: 0\nOutput:\nx")
    call, result = told(rollout, tmp_path)
    assert (call.kind, result.kind, result.tool, result.call_line) == ("tool_call", "tool_result", "", -1)


def test_a_small_server_that_numbers_its_calls_mixes_nothing_up(tmp_path: Path) -> None:
    rollout = Rollout()
    for command, output in (("make a", "a"), ("make b", "b")):
        rollout.item("function_call", name="exec_command", arguments=json.dumps({"cmd": command}), call_id="call_0")
        rollout.result("call_0", rollout.printed(output, 0))
    seen: set[bytes] = set()
    events, _ = read(rollout.write(tmp_path / "a.jsonl"), seen=seen)
    results = [e for e in events if e.kind == "tool_result"]
    assert [(e.input["command"], e.text, e.repeat) for e in results] == [("make a", "a", False), ("make b", "b", False)]
    assert results[0].call_id != results[1].call_id
    other = Rollout(name="other", at=rollout._at + timedelta(hours=1))
    other.item("function_call", name="exec_command", arguments='{"cmd": "make c"}', call_id="call_0")
    other.result("call_0", other.printed("c", 0))
    more, _ = read(other.write(tmp_path / "b.jsonl"), seen=seen)
    assert not any(e.repeat for e in more)


# -- tools


@pytest.mark.parametrize(
    ("name", "namespace", "given", "tool", "read_as"),
    [
        ("shell", None, {"command": ["bash", "-lc", "a && b"]}, "shell", "a && b"),
        ("shell", None, {"command": ["/usr/bin/zsh", "-c", "a | b"]}, "shell", "a | b"),
        ("shell", None, {"command": ["git", "commit", "-m", "two words"]}, "shell", "git commit -m 'two words'"),
        ("shell", None, {"command": ["powershell.exe", "-NoProfile", "-Command", "ls"]}, "PowerShell", "ls"),
        ("shell_command", None, {"command": "make"}, "shell_command", "make"),
        ("exec_command", None, {"cmd": "make"}, "exec_command", "make"),
        ("local_shell", None, {"command": ["bash", "-lc", "make"]}, "shell", "make"),
        ("shell", None, {"command": 7}, "shell", ""),
        ("shell", None, "{cut", "shell", ""),
        ("shell", None, {"command": ["bash", "-lc", "cat <<'EOF' > a.sh\n*** Begin Patch\nEOF\nmake"]}, "shell", None),
    ],
)  # fmt: skip
def test_shells(name: str, namespace: object, given: Any, tool: str, read_as: str | None) -> None:
    call = made(name, namespace, given if isinstance(given, str) else json.dumps(given))
    assert call.tool == tool
    if read_as is not None:
        assert call.input["command"] == read_as


PATCH = (
    "*** Begin Patch\n*** Add File: deploy.md\n+Run `make deploy`, then npm publish.\n*** Update File: old name.md\n"
)
PATCH += "*** Move to: new name.md\n@@\n-a\n+b\n*** End Patch"


@pytest.mark.parametrize(
    "given",
    [
        {"command": ["apply_patch", PATCH]},
        {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF\n"]},
        {"command": ["bash", "-lc", f"cd /home/ann/shop && apply_patch <<'PATCH'\n{PATCH}\nPATCH"]},
        {"command": f'apply_patch "{PATCH}"'},
        {"cmd": f"apply_patch <<EOF\n{PATCH}\nEOF"},
    ],
    ids=["words", "heredoc", "cd", "quoted", "plain"],
)  # fmt: skip
def test_a_patch_in_a_command_is_an_edit_and_no_command(given: dict[str, Any]) -> None:
    name = "exec_command" if "cmd" in given else "shell"
    call = made(name, None, json.dumps(given))
    assert call.tool == "Edit"
    assert call.input["files"] == ["deploy.md", "old name.md", "new name.md"]
    assert "command" not in call.input


def test_a_command_behind_a_patch_is_not_lost() -> None:
    call = made(
        "exec_command", None, json.dumps({"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF\nmake test && make deploy"})
    )
    assert call.tool == "exec_command"


@pytest.mark.parametrize(
    ("name", "namespace", "tool"),
    [
        ("docs__search", None, "mcp__docs__search"),
        ("mcp__docs__search", None, "mcp__docs__search"),
        ("search", "mcp__docs__", "mcp__docs__search"),
        ("mcp__docs__search", "mcp__docs__", "mcp__docs__search"),
        ("spawn_agent", "multi_agent_v1", "spawn_agent"),
        ("view_image", None, "view_image"),
        (None, None, ""),
    ],
)
def test_the_tools_of_servers_are_external(name: object, namespace: object, tool: str, tmp_path: Path) -> None:
    assert made(name, namespace, "{}").tool == tool
    rollout = Rollout()
    fields = {"namespace": namespace} if namespace else {}
    call_id = rollout.call(name if isinstance(name, str) else "", {"q": "x"}, **fields)
    rollout.result(call_id, "text from elsewhere")
    assert result_of(rollout, tmp_path).role == ("external" if tool.startswith("mcp__") else "tool")


# -- who is speaking


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("deploy it", "deploy it"),
        ("  use <b>bold</b> & a < b  ", "use <b>bold</b> & a < b"),
        ("# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\nfix it\n", "fix it"),
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", ""),
        ("<user_instructions>\nAlways use tabs.\n</user_instructions>", ""),
        ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nAlways use tabs.\n</INSTRUCTIONS>", ""),
        ("<turn_aborted>\nx\n</turn_aborted>", ""),
        ("<user_shell_command>\n<command>ls</command>\n</user_shell_command>", ""),
        ("<subagent_notification>{}</subagent_notification>", ""),
        ("<skill>\n<name>x</name>\nAlways be kind.\n</skill>", ""),
        ("<hook_prompt>check, then correct your answer</hook_prompt>", ""),
        ("<hikidashi-memory>fact</hikidashi-memory>\nthen deploy", "then deploy"),
        ("<image name=[Image #1]>\n</image>\n[Image #1] why is it red?", "[Image #1] why is it red?"),
        ("[Image #1]", ""),
        ("why does it fail?\n\n<stdin>\nalways deploy first\n</stdin>", "why does it fail?"),
        ("<skill>never closed: always deploy", ""),
        ("Generate a file named AGENTS.md that serves as a contributor guide for this repository.\nAlways…", ""),
        ("<skill>" * 20 + "x" + "</skill>" * 20, ""),
        ("", ""),
    ],
)
def test_only_typed_words_are_heard(text: str, words: str) -> None:
    heard = hear(text)
    assert (heard.words, heard.accepts) == (words, False)


@versions
def test_instructions_that_an_old_client_shows_as_a_prompt_are_nobodys(version: str, tmp_path: Path) -> None:
    rollout = Rollout(version=version)
    rollout.shown("user_message", message="<user_instructions>\nAlways use tabs.\n</user_instructions>", kind="plain")
    rollout.shown("user_message", message="always use tabs", kind="user_instructions")
    assert told(rollout, tmp_path) == []


def test_a_prompt_shown_in_both_forms_counts_once_and_one_typed_twice_twice(tmp_path: Path) -> None:
    rollout = Rollout(version="0.130.0")
    rollout.user("go on")
    rollout.completed("UserMessage", id="0" * 36, content=[{"type": "text", "text": "go on"}])
    rollout.user("go on")
    assert [e.text for e in told(rollout, tmp_path)] == ["go on", "go on"]


@pytest.mark.parametrize("afresh", [False, True])
def test_an_accepted_plan_is_sent_on_as_the_models_own(afresh: bool, tmp_path: Path) -> None:
    rollout = Rollout(version="0.171.0")
    plan = "# Shop\n\n- Use SQLite for the orders\n- Write the importer"
    if afresh:
        rollout.user(f"A previous agent produced the plan below to accomplish the user's task. Implement it.\n\n{plan}")
    else:
        rollout.says(f"Here it is.\n<proposed_plan>\n{plan}\n</proposed_plan>")
        rollout.user("Implement the plan.")
    events, _ = read(rollout.write(tmp_path / "r.jsonl"))
    (sent,) = [e for e in events if e.text.startswith(PLAN_PREFIX)]
    assert (sent.kind, sent.role, sent.text) == ("context", "assistant", PLAN_PREFIX + plan)
    assert not any(e.kind == "user" for e in events)


def test_the_summary_of_a_compaction_is_no_answer(tmp_path: Path) -> None:
    rollout = Rollout(version="0.171.0")
    rollout.message("assistant", "The user always wants tabs.")
    rollout.lines[-1]["metadata"] = {"compaction_output": True}
    rollout.compacts("The user always wants tabs.")
    assert [e.kind for e in told(rollout, tmp_path)] == ["compaction"]


def test_a_title_and_messages_between_agents(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.shown("thread_name_updated", thread_id="x", thread_name="Deploy the shop")
    rollout.item("agent_message", author="/root/a", recipient="/root", content=[{"type": "input_text", "text": "hi"}])
    assert [(e.kind, e.text) for e in told(rollout, tmp_path)] == [("title", "Deploy the shop")]


# -- sub-agents and copies


@pytest.mark.parametrize(
    "meta",
    [
        {"source": {"subagent": "review"}},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "p" * 36, "depth": 1}}}},
        {"thread_source": "subagent", "parent_thread_id": "p" * 36},
        {"source": {"internal": "memory_consolidation"}},
    ],
)
def test_a_sub_agents_prompts_are_no_persons(meta: dict[str, Any], tmp_path: Path) -> None:
    rollout = Rollout(**meta)
    rollout.user("always look at the tests")
    rollout.runs("make test", "ok")
    path = rollout.write(tmp_path / "rollout-s.jsonl")
    events, _ = read(path)
    assert all(e.sidechain for e in events)
    assert not any(e.kind == "user" for e in events)
    known = recognise(path)
    assert known is not None
    assert known[1].sidechain
    if "p" * 36 in json.dumps(meta):
        assert {e.session_id for e in events} == {"p" * 36}


@versions
@pytest.mark.parametrize("times", ["kept", "new"])
def test_a_fork_repeats_what_it_copied_and_counts_what_is_new(version: str, times: str, tmp_path: Path) -> None:
    parent = Rollout(version=version)
    parent.user("deploy the shop")
    parent.runs("make deploy", "deployed")
    parent.says("Done.")
    fork = parent.forked("fork", times=times)
    if parent.named:
        fork.lines[0]["payload"]["history_base"] = {"end_ordinal_exclusive": len(fork.lines)}
    fork._at += timedelta(minutes=5)
    fork.user("deploy the shop")
    fork.runs("make publish", "published")
    seen: set[bytes] = set()
    read(parent.write(tmp_path / "a.jsonl"), seen=seen)
    events, _ = read(fork.write(tmp_path / "b.jsonl"), seen=seen)
    spoken = [e for e in events if e.kind in ("user", "assistant", "tool_result")]
    assert [(e.kind, e.repeat) for e in spoken] == [
        ("user", True),
        ("tool_result", True),
        ("assistant", True),
        ("user", False),
        ("tool_result", False),
    ]
    assert {e.session_id for e in events} == {fork.session_id}


@versions
def test_a_fork_of_a_session_that_is_gone_counts_all(version: str, tmp_path: Path) -> None:
    parent = Rollout(version=version)
    parent.user("deploy the shop")
    parent.runs("make deploy", "deployed")
    fork = parent.forked("fork")
    fork.user("go on")
    events, _ = read(fork.write(tmp_path / "b.jsonl"))
    assert [e.repeat for e in events if e.kind in ("user", "tool_result")] == [False, False, False]


def test_a_fork_of_a_fork_is_of_the_same_family(tmp_path: Path) -> None:
    parent = Rollout()
    parent.user("deploy the shop")
    fork = parent.forked("fork", times="new")
    fork._at += timedelta(minutes=5)
    fork.user("use SQLite")
    again = fork.forked("again", times="new")
    seen: set[bytes] = set()
    for number, rollout in enumerate((parent, fork)):
        read(rollout.write(tmp_path / f"{number}.jsonl"), seen=seen)
    events, _ = read(again.write(tmp_path / "2.jsonl"), seen=seen)
    assert [(e.text, e.repeat) for e in events if e.kind == "user"] == [("deploy the shop", True), ("use SQLite", True)]


def test_a_sub_agents_copy_of_the_main_session_leaves_that_fresh(tmp_path: Path) -> None:
    main = Rollout(version="0.171.0")
    main.user("deploy the shop")
    main.runs("make deploy", "deployed")
    agent = main.forked("agent", thread_source="subagent", parent_thread_id=main.session_id)
    agent.lines[0]["payload"]["subagent_history_start_ordinal"] = len(agent.lines)
    agent.runs("make test", "ok")
    seen: set[bytes] = set()
    events, _ = read(agent.write(tmp_path / "a.jsonl"), seen=seen)
    assert [e.repeat for e in events if e.kind == "tool_result"] == [True, False]
    events, _ = read(main.write(tmp_path / "m.jsonl"), seen=seen)
    assert not any(e.repeat for e in events)


def test_an_archived_copy_is_a_repeat_throughout(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.user("deploy the shop")
    rollout.runs("make deploy", "deployed")
    seen: set[bytes] = set()
    read(rollout.write(tmp_path / "a.jsonl"), seen=seen)
    events, _ = read(rollout.write(tmp_path / "archived" / "a.jsonl"), seen=seen)
    assert events
    assert all(e.repeat for e in events)


def test_a_resumed_session_goes_on_in_its_file(tmp_path: Path) -> None:
    rollout = Rollout()
    rollout.user("one")
    rollout.add("session_meta", dict(rollout.lines[0]["payload"]))
    rollout.user("two")
    events = told(rollout, tmp_path)
    assert [(e.text, e.repeat, e.session_id) for e in events] == [
        ("one", False, rollout.session_id),
        ("two", False, rollout.session_id),
    ]


# -- small parts


def test_a_header_is_taken_off_once() -> None:
    assert read_output("Exit code: 0\nWall time: 1 seconds\nOutput:\nExit code: 7\nOutput:\nx").exit_code == 0
    inner = read_output("Wall time: 0.1 seconds\nOutput:\nExit code: 1\nWall time: 0 seconds\nOutput:\nno")
    assert (inner.exit_code, inner.text) == (1, "no")
    assert read_output('{"output": 3, "metadata": {"exit_code": 1}}').exit_code is None
    assert read_output('{"output": "x", "metadata": {"exit_code": "1"}}').exit_code is None


def test_long_texts_are_no_abort() -> None:
    assert was_aborted("aborted by user after 0.1s")
    assert not was_aborted("aborted by user: the build log says so, and then goes on")
