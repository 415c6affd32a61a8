"""What one session leaves: at most one request, its decisions, its attempts, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.extract import SessionFold
from hikidashi.staging.entry import Entry
from tests.capture_workspace import captured
from tests.transcripts import Session, read

ASK = "Add a retry to the upload client and cover it with tests"
PLAN = (
    "# Move sessions to Redis\n\n## Context\n\nSessions are lost on every deploy of the shop.\n\n"
    "## Steps\n\n1. Add a client"
)
NO_MODULE = "Error: Cannot find module 'left-pad'"


def requests(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind == "request"]


# -- work that is left


def test_open_items_of_the_list_are_a_request_in_the_persons_words(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.todo(
        ("Write the retry", "completed"), ("Cover it with tests", "in_progress"), ("Update the docs", "pending")
    )
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.says("I wrote the retry. The tests are still to do.")
    (entry,) = captured(session, tmp_path)
    assert (entry.kind, entry.status, entry.trust) == ("request", "open", "user")
    assert entry.title == ASK
    assert entry.quote == ASK
    assert "- Cover it with tests\n- Update the docs" in entry.body
    assert "Write the retry" not in entry.body
    assert ASK in entry.why
    assert entry.source.lines == (0, 2)
    assert entry.source.uuids == (session.lines[0]["uuid"], session.lines[2]["uuid"])


def test_tasks_of_newer_versions_are_a_list_too(tmp_path: Path) -> None:
    session = Session(version="2.1.60")
    session.user(ASK)
    for number, subject in enumerate(["Write the retry", "Cover it with tests"], 1):
        call = session.call("TaskCreate", {"subject": subject, "description": "x", "activeForm": "x"})
        session.result(call, f"Task #{number} created successfully: {subject}")
    session.result(session.call("TaskUpdate", {"taskId": "1", "status": "completed"}), "Updated task #1 status")
    session.says("One is left.")
    (entry,) = captured(session, tmp_path)
    assert "- Cover it with tests" in entry.body
    assert "Write the retry" not in entry.body


def test_a_list_that_a_team_ticks_off_elsewhere_says_nothing_here(tmp_path: Path) -> None:
    session = Session(version="2.1.60")
    session.user(ASK)
    call = session.call("TaskCreate", {"subject": "Write the retry", "description": "x", "activeForm": "x"})
    session.result(call, "Task #1 created successfully: Write the retry")
    session.result(session.call("TaskUpdate", {"taskId": "1", "owner": "backend"}), "Updated task #1 owner")
    session.says("The team is at work.")
    assert captured(session, tmp_path) == []


def test_a_list_that_nobody_touched_for_long_is_not_open_work(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.todo(("Write the retry", "pending"))
    session.says("Planned.")
    for number in range(7):
        session.user(f"what does part {number} of the client do?")
        session.says("It sends bytes.")
    assert captured(session, tmp_path) == []


def test_a_list_that_was_forgotten_after_shipping_is_finished_work(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.todo(("Write", "completed"), ("Test", "completed"), ("Docs", "completed"), ("Ship it", "in_progress"))
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.runs("git commit -am x", "[main 1a2b3c4] Add a retry to the upload client\n 1 file changed")
    session.says("Shipped.")
    (entry,) = captured(session, tmp_path)
    assert entry.status == "done"


def test_a_failed_last_outcome_is_a_request_with_its_first_error_line(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.runs("npm test", f"> shop test\n{NO_MODULE}\n1 failed", exit_code=1)
    session.says("The test still fails.")
    (entry,) = captured(session, tmp_path)
    assert entry.status == "open"
    assert f"`npm test` failed: {NO_MODULE}" in entry.body


def test_a_failure_that_passed_later_is_no_open_work(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.runs("npm test", "1 failed\nError: boom happened", exit_code=1)
    session.edits("/home/ann/shop/upload.py", "b", "c")
    session.runs("npm test", "12 passed")
    session.says("Done.")
    (entry,) = captured(session, tmp_path)
    assert entry.status == "done"


def test_a_failure_that_the_person_left_behind_is_no_open_work(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.runs("npm test", "1 failed\nError: boom happened", exit_code=1)
    for _ in range(3):
        session.user("what is this folder for?")
        session.says("For uploads.")
    assert captured(session, tmp_path) == []


@pytest.mark.parametrize("end", ["refused", "background", "timeout", "interrupted"])
def test_a_call_that_neither_passed_nor_failed_is_no_outcome(tmp_path: Path, end: str) -> None:
    session = Session()
    session.user("what do the tests of the upload client say?")
    call = session.bash("npm test")
    if end == "refused":
        session.refuses(call)
    elif end == "background":
        session.result(
            call, "Command running in background with ID: b1", structured=session.shell("", backgroundTaskId="b1")
        )
    elif end == "timeout":
        session.result(
            call, "Command timed out after 2m 0.0s 1 failed", is_error=True, structured="Error: Command timed out"
        )
    else:
        session.result(call, "Interrupted by user", is_error=True, structured="Error: Interrupted by user")
    session.says("I could not see it.")
    assert captured(session, tmp_path) == []


def test_work_that_the_person_stopped_is_a_request(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.interrupt()
    (entry,) = captured(session, tmp_path)
    assert (entry.status, entry.title) == ("open", ASK)


def test_work_that_was_taken_up_again_is_not_interrupted(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.interrupt()
    session.user("continue")
    session.says("It is all there.")
    assert captured(session, tmp_path) == []


def test_a_ticket_in_two_sessions_is_open_work_until_it_ships(tmp_path: Path) -> None:
    session = Session(branch="ann/shop-12-retry")
    session.user(ASK)
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.says("Edited.")
    assert captured(session, tmp_path) == []
    (entry,) = captured(session, tmp_path, met=[("topic", "ticket:SHOP-12")])
    assert (entry.status, entry.topic, entry.title) == ("open", "ticket:SHOP-12", ASK)


# -- finished work


FINISHED: list[tuple[str, Callable[[Session], object], str]] = [
    (
        "commit",
        lambda s: s.runs("git commit -am x", "[main 1a2b3c4] Add a retry to the upload client\n 1 file changed"),
        "commit 1a2b3c4 on main: Add a retry to the upload client",
    ),
    (
        "push",
        lambda s: s.runs("git push origin main", "To example.org:ann/shop\n   1a2b3c4..5d6e7f8  main -> main"),
        "pushed to main",
    ),
    (
        "pull request",
        lambda s: s.runs('gh pr create --title "Retry uploads" --body x', "https://github.com/ann/shop/pull/7"),
        "pull request opened: https://github.com/ann/shop/pull/7",
    ),
    ("tests", lambda s: s.runs("npm test", "12 passed"), "`npm test` passed: 12 passed"),
    ("deployment", lambda s: s.runs("fly deploy", "v7 deployed"), "`fly deploy` succeeded"),
]


@pytest.mark.parametrize(("name", "step", "proof"), FINISHED)
def test_finished_work_is_one_line_with_its_proof(
    tmp_path: Path, name: str, step: Callable[[Session], object], proof: str
) -> None:
    session = Session()
    session.user(ASK)
    session.edits("/home/ann/shop/upload.py", "a", "b")
    step(session)
    session.says("Done.")
    (entry,) = captured(session, tmp_path)
    assert (entry.kind, entry.status) == ("request", "done")
    assert f"- {proof}" in entry.body
    assert entry.title in (ASK, "Add a retry to the upload client", "Retry uploads")


def test_a_deployment_that_nothing_else_names_is_named_after_its_command(tmp_path: Path) -> None:
    session = Session()
    session.user("デプロイして")
    session.runs("aws s3 sync dist s3://shop-releases", "upload: dist/index.html")
    session.says("It is live.")
    (entry,) = captured(session, tmp_path)
    assert (entry.status, entry.title) == ("done", "Deployed: `aws s3 sync dist s3://shop-releases`")


def test_a_list_that_is_done_to_its_end_is_finished_work(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.todo(("Write the retry", "pending"))
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.todo(("Write the retry", "completed"))
    session.says("Done.")
    (entry,) = captured(session, tmp_path)
    assert (entry.status, entry.title) == ("done", ASK)
    assert "all 1 items of the list are done" in entry.body


NOTHING: dict[str, Callable[[Session], object]] = {
    "a chat": lambda s: (s.user("what does the upload client do?"), s.says("It uploads.")),
    "an ask without work": lambda s: (s.user(ASK), s.says("Which client do you mean?")),
    "reading": lambda s: (s.user("look at the client please"), s.runs("cat upload.py", "x"), s.says("Read.")),
    "tests without edits": lambda s: (
        s.user("run the tests of the client"),
        s.runs("npm test", "12 passed"),
        s.says("ok"),
    ),
    "a push that moved nothing": lambda s: (
        s.user("push it"),
        s.runs("git push", "Everything up-to-date"),
        s.says("ok"),
    ),
    "a dry run": lambda s: (s.user(ASK), s.runs("npm publish --dry-run", "would publish"), s.says("ok")),
    "an empty session": lambda s: s.user("/clear"),
    "injected text": lambda s: (s.user(ASK, isMeta=True), s.says("ok")),
}


@pytest.mark.parametrize("name", NOTHING)
def test_sessions_without_anything_worth_a_line_leave_nothing(tmp_path: Path, name: str) -> None:
    session = Session()
    NOTHING[name](session)
    assert captured(session, tmp_path) == []


def test_a_session_that_is_not_at_rest_leaves_no_request_yet(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.todo(("Write the retry", "pending"))
    assert captured(session, tmp_path, settle=False) == []


# -- decisions


def test_an_approved_plan_is_a_decision_and_a_refused_one_is_not(tmp_path: Path) -> None:
    session = Session()
    session.user("plan how sessions could survive a deploy")
    session.plan(PLAN, approved=False)
    assert captured(session, tmp_path, settle=False) == []
    session.plan(PLAN)
    (entry,) = captured(session, tmp_path, settle=False)
    assert (entry.kind, entry.title, entry.trust) == ("decision", "Plan: Move sessions to Redis", "assistant")


def test_a_plan_that_starts_a_fresh_session_is_a_decision_of_the_assistants_words(tmp_path: Path) -> None:
    session = Session()
    session.user(f"Implement the following plan:\n\n{PLAN}")
    session.says("I start.")
    (entry,) = captured(session, tmp_path)
    assert (entry.kind, entry.title, entry.trust, entry.quote) == (
        "decision",
        "Plan: Move sessions to Redis",
        "assistant",
        "",
    )


def test_a_plan_that_starts_a_fresh_session_gives_the_person_no_words(tmp_path: Path) -> None:
    session = Session()
    session.user(f"Implement the following plan:\n\n{PLAN}", planContent=PLAN)
    session.edits("/home/ann/shop/a.py", "a", "b")
    session.runs("npm run build", "error: cannot find module redis", 1)
    decision, request = captured(session, tmp_path)
    assert (decision.kind, request.kind, request.trust) == ("decision", "request", "assistant")
    assert request.why == "A person approved this plan."


@pytest.mark.parametrize("how", ["file", "meta", "coordinator"])
def test_injected_text_that_reads_like_an_approved_plan_is_none(how: str, tmp_path: Path) -> None:
    session, text = Session(), f"Implement the following plan:\n\n{PLAN}"
    if how == "file":
        session.attachment(type="file", content=text)
    else:
        flags: dict[str, Any] = {"isMeta": True} if how == "meta" else {"origin": {"kind": "coordinator"}}
        session.user(text, **flags)
    session.says("I start.")
    assert captured(session, tmp_path) == []


def test_a_plan_that_another_agent_is_to_approve_is_no_decision(tmp_path: Path) -> None:
    session = Session()
    session.user("plan how sessions could survive a deploy")
    call = session.call("ExitPlanMode", {"plan": PLAN})
    session.result(call, "Submitted to the team lead for approval.", structured={"awaitingLeaderApproval": True})
    assert captured(session, tmp_path, settle=False) == []


def test_answers_that_the_model_wrote_into_its_own_question_are_nobodys(tmp_path: Path) -> None:
    session = Session()
    call = session.call("AskUserQuestion", {"questions": [], "answers": {"Which database is used?": "Postgres"}})
    session.result(call, "The dialog was closed.", structured={"answers": {}})
    assert captured(session, tmp_path) == []


def test_an_answered_question_is_a_decision_of_the_person(tmp_path: Path) -> None:
    session = Session()
    session.user("set up the job queue please")
    session.asks("Which database should the job queue use?", ["Postgres", "SQLite"], "Postgres")
    (entry,) = captured(session, tmp_path)
    assert (entry.kind, entry.trust) == ("decision", "user")
    assert entry.title == "Which database should the job queue use: Postgres"
    assert entry.quote in session.lines[2]["message"]["content"][0]["content"]


def test_a_choice_in_the_persons_words_is_quoted(tmp_path: Path) -> None:
    session = Session()
    session.user("Good. Use Postgres instead of SQLite for the job queue.")
    (entry,) = captured(session, tmp_path)
    assert (entry.kind, entry.trust) == ("decision", "user")
    assert entry.quote == "Use Postgres instead of SQLite for the job queue"


def test_a_pick_is_a_decision_with_what_was_offered(tmp_path: Path) -> None:
    session = Session()
    session.user("how should failed uploads be retried?")
    session.says("Where should we retry?\n\nA) Retry in the client with backoff\nB) Retry from a queue in the worker")
    session.user("let's go with B")
    (entry,) = captured(session, tmp_path)
    assert "Retry from a queue in the worker" in entry.title
    assert entry.source.lines == (1, 2)


@pytest.mark.parametrize("line", ["tool", "assistant", "meta", "summary", "sidechain"])
def test_what_the_person_did_not_say_is_no_decision(tmp_path: Path, line: str) -> None:
    words = "Use Postgres instead of SQLite for the job queue."
    session = Session(sidechain=line == "sidechain")
    session.user("look at the notes")
    if line == "tool":
        session.runs("cat notes.md", words)
    elif line == "assistant":
        session.says(words)
    elif line == "meta":
        session.user(words, isMeta=True)
    elif line == "summary":
        session.compacts(words)
    else:
        session.user(words)
    assert captured(session, tmp_path) == []


# -- attempts


def stubborn(session: Session, *, between: bool = True) -> None:
    session.user(ASK)
    session.runs("npm test", f"{NO_MODULE}\n1 failed", exit_code=1)
    if between:
        session.edits("/home/ann/shop/jest.config.js", "a", "b")
    session.runs("npm test", f"{NO_MODULE}\n1 failed", exit_code=1)
    session.says("The package is not installed at all, so I add it.")
    session.edits("/home/ann/shop/package.json", "a", "b")
    session.runs("npm test", "12 passed")
    session.says("Green.")


def attempts(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.kind == "attempt"]


def test_a_command_that_failed_twice_and_then_passed_is_an_attempt(tmp_path: Path) -> None:
    session = Session()
    stubborn(session)
    (entry,) = attempts(captured(session, tmp_path))
    assert entry.title == f"`npm test` failed: {NO_MODULE}"
    assert "failed 2 times" in entry.body
    assert "jest.config.js, package.json" in entry.body
    assert "12 passed" in entry.body
    assert "The package is not installed at all" in entry.body
    assert (entry.trust, entry.quote) == ("tool", NO_MODULE)


def test_red_green_is_a_days_work(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.runs("npm test", f"{NO_MODULE}\n1 failed", exit_code=1)
    session.edits("/home/ann/shop/package.json", "a", "b")
    session.runs("npm test", "12 passed")
    assert attempts(captured(session, tmp_path)) == []


def test_the_same_failure_looked_at_twice_is_one_failure(tmp_path: Path) -> None:
    session = Session()
    stubborn(session, between=False)
    assert attempts(captured(session, tmp_path)) == []


def test_a_failure_that_another_session_met_counts(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.runs("npm test", f"{NO_MODULE}\n1 failed", exit_code=1)
    session.edits("/home/ann/shop/package.json", "a", "b")
    session.runs("npm test", "12 passed")
    fold = SessionFold("claude-code", met=lambda kind, key: kind == "failure")
    entries = [e for event in read(session.write(tmp_path / "s.jsonl"))[0] for e in fold.feed(event)]
    (entry,) = attempts(entries)
    assert "another session" in entry.body
    assert fold.signals[0].kind == "failure"


def test_a_pass_without_a_change_proves_nothing(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    for _ in range(3):
        session.runs("npm test", f"{NO_MODULE}\n1 failed", exit_code=1)
    session.runs("npm test", "12 passed")
    assert attempts(captured(session, tmp_path)) == []


def test_slips_that_a_compiler_points_at_are_no_attempt(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    for _ in range(2):
        session.runs("npm run build", "src/a.ts(1,1): error TS6133: 'x' is declared but never used", exit_code=2)
        session.edits("/home/ann/shop/a.ts", "a", "b")
    session.runs("npm run build", "compiled")
    assert attempts(captured(session, tmp_path)) == []


def test_a_sub_agents_calls_count_for_attempts_and_its_prompt_for_nothing(tmp_path: Path) -> None:
    session = Session(sidechain=True)
    stubborn(session)
    (entry,) = captured(session, tmp_path)
    assert entry.kind == "attempt"


# -- what is attached


def test_ids_depend_on_the_event_and_not_on_the_file_or_session(tmp_path: Path) -> None:
    session = Session()
    session.user("Use Postgres instead of SQLite for the job queue.")
    before = captured(session, tmp_path)
    for line in session.lines:
        line["sessionId"] = "another"
    session.session_id = "another"
    after = captured(session, tmp_path / "elsewhere")
    assert [entry.id for entry in before] == [entry.id for entry in after]
    assert before[0].source.session_id != after[0].source.session_id


def test_events_that_were_counted_before_are_context_only(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.todo(("Write the retry", "pending"))
    session.user("Use Postgres instead of SQLite for the job queue.")
    path = session.write(tmp_path / "a.jsonl")
    seen: set[bytes] = set()
    read(path, seen=seen)
    fold = SessionFold("claude-code")
    assert [e for event in read(path, seen=seen)[0] for e in fold.feed(event)] + fold.settle() == []


def test_titles_are_one_line_of_at_most_200_characters(tmp_path: Path) -> None:
    session = Session()
    session.user("Add " + "a very long wish about the upload client " * 30 + "\n\nand more\nand more")
    session.todo(("x" * 500 + "\nsecond line", "pending"))
    session.says("ok")
    for entry in captured(session, tmp_path):
        assert len(entry.title) <= 200
        assert "\n" not in entry.title


def test_a_changed_outcome_of_a_settled_session_is_told_once_more(tmp_path: Path) -> None:
    session = Session()
    session.user(ASK)
    session.todo(("Write the retry", "pending"))
    session.says("Planned.")
    fold = SessionFold("claude-code")
    path = tmp_path / "a.jsonl"
    taken = 0

    def grow() -> list[Entry]:
        nonlocal taken
        events = read(session.write(path))[0]
        entries = [e for event in events[taken:] for e in fold.feed(event)] + fold.settle()
        taken = len(events)
        return entries

    (first,) = grow()
    assert grow() == []
    session.user("thanks")
    session.says("You are welcome.")
    assert grow() == []
    session.user("continue")
    session.edits("/home/ann/shop/upload.py", "a", "b")
    session.todo(("Write the retry", "completed"))
    session.says("Done.")
    (second,) = grow()
    assert (first.status, second.status) == ("open", "done")
    assert first.id != second.id


@pytest.mark.parametrize("at", ["", "yesterday", "2026-99-99T00:00:00Z", "20"])
def test_a_session_without_usable_times_is_taken_all_the_same(tmp_path: Path, at: str) -> None:
    session = Session()
    session.user("Use Postgres instead of SQLite for the job queue.")
    for line in session.lines:
        line["timestamp"] = at
    (entry,) = captured(session, tmp_path)
    assert entry.source.at == "1970-01-01T00:00:00.000Z"
