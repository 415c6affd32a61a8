"""Plans, answers and picks that are decisions, and those that are not."""

from __future__ import annotations

import pytest

from hikidashi.capture.decisions import MAX_PLAN, answered_questions, approved_plan, picked_option, stated_choice

OPTIONS = """How should failed uploads be retried?

A) Retry in the client with backoff
B) Put them into a queue and retry from the worker
C) Fail at once and tell the user

Which one do you prefer?"""

TABLE = """**Next question:** Where should the cache live?

| Option | Description |
|--------|-------------|
| **A. In memory (Recommended)** | Fast, gone after a restart |
| **B. In Redis** | Shared by all workers |
"""


def test_a_plan_is_named_after_its_heading() -> None:
    plan = "# Plan: Move sessions to Redis\n\n## Context\n\nSessions are lost on deploy.\n\n## Steps\n\n1. Add a client"
    found = approved_plan(plan)
    assert found is not None
    assert (found.title, found.trust, found.quote) == ("Plan: Move sessions to Redis", "assistant", "")
    assert "Sessions are lost on deploy." in found.body


def test_a_long_plan_keeps_its_headings() -> None:
    plan = "# Split the billing module\n\n" + "".join(f"## Step {n}\n\n{'words ' * 60}\n" for n in range(12))
    found = approved_plan(plan)
    assert found is not None
    assert len(found.body) <= MAX_PLAN
    assert all(f"## Step {n}" in found.body for n in range(12))


@pytest.mark.parametrize("plan", ["", "# Plan", "do it", "## Context\n\n" + "a " * 100])
def test_a_plan_without_a_name_is_no_decision(plan: str) -> None:
    assert approved_plan(plan) is None


def test_an_answer_is_kept_with_its_question_and_the_options_description() -> None:
    given: dict[str, object] = {
        "questions": [
            {
                "question": "Which database should the job queue use?",
                "options": [{"label": "Postgres", "description": "One server less to run"}],
            }
        ]
    }
    found = answered_questions({"answers": {"Which database should the job queue use?": "Postgres"}}, given, "")
    assert found is not None
    assert found.title == "Which database should the job queue use: Postgres"
    assert "One server less to run" in found.body
    assert found.trust == "user"
    assert found.quote == '"Which database should the job queue use?"="Postgres"'


def test_an_answer_is_read_from_the_result_text_of_older_clients() -> None:
    text = 'User has answered your questions: "Which auth method?"="Passwordless magic links". You can now continue.'
    found = answered_questions(None, {}, text)
    assert found is not None
    assert found.quote == "Passwordless magic links"


@pytest.mark.parametrize(("question", "answer"), [
    ("Should I commit now?", "Yes, commit"),
    ("How would you like to proceed?", "Continue with the next task"),
    ("Which colour?", "yes please"),
    ("Do you want me to run the tests?", "Run all of them"),
    ("Which auth method?", ""),
])  # fmt: skip
def test_what_only_lets_the_agent_go_on_is_no_decision(question: str, answer: str) -> None:
    assert answered_questions({"answers": {question: answer}}, {}, "") is None


@pytest.mark.parametrize(("prompt", "message", "chosen"), [
    ("B", OPTIONS, "Put them into a queue and retry from the worker"),
    ("let's go with B", OPTIONS, "Put them into a queue and retry from the worker"),
    ("I think B, the queue gives us retries for free", OPTIONS, "Put them into a queue and retry from the worker"),
    ("A. is fine, make sure we log it", TABLE, "In memory"),
    ("option B please", TABLE, "In Redis"),
])  # fmt: skip
def test_a_pick_is_kept_with_what_it_picked(prompt: str, message: str, chosen: str) -> None:
    found = picked_option(prompt, message)
    assert found is not None
    assert chosen in found.title
    assert "not chosen" in found.body
    assert found.trust == ("user" if len(prompt) >= 12 else "assistant")


@pytest.mark.parametrize(("prompt", "message"), [
    ("B", "All tests pass."),
    ("B) update the branch first, then let's tackle number ten", OPTIONS),
    ("D", OPTIONS),
    ("a bit more detail please", OPTIONS),
    ("2", "1. commit\n2. push\n\nWhat next?"),
    ("C", "A) one more thing here\nB) two more things here\nC) Something else?\n\nWhich?"),
    ("But what does B cost us in latency, and who runs it?", OPTIONS),
])  # fmt: skip
def test_a_pick_that_is_not_clear_is_no_decision(prompt: str, message: str) -> None:
    assert picked_option(prompt, message) is None


def test_a_stated_choice_quotes_the_person() -> None:
    found = stated_choice("use Postgres instead of SQLite for the queue")
    assert found is not None
    assert found.quote == "use Postgres instead of SQLite for the queue"
    assert found.title.startswith("Use Postgres")
    assert stated_choice("") is None


def test_a_long_option_is_named_in_the_title_and_told_in_the_body() -> None:
    message = (
        "Where should the cache live?\n\n"
        "A) In the memory of each worker — Fast, gone after a restart, and every worker fills its own one again\n"
        "B) In a Redis of its own — Shared by all workers, and one more server that somebody has to run at night\n"
    )
    found = picked_option("B, please", message)
    assert found is not None
    assert found.title == "Where should the cache live? In a Redis of its own"
    assert "one more server that somebody has to run at night" in found.body


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.mark.parametrize("before", range(60, 190, 7))
def test_no_cut_leaves_half_a_secret(before: int) -> None:
    words = ("and so on " * 20)[:before]
    findings = [
        approved_plan(f"# Plan: Move it {words} {SECRET}\n\n{'It is moved step by step. ' * 9}\n\n## Then {SECRET}\n"),
        answered_questions({"answers": {f"Which login {words} {SECRET}?": f"the new one {words} {SECRET}"}}, {}, ""),
        picked_option("A is good for us", f"A) Use the login {words} {SECRET}\nB) Use no login {words} {SECRET}\n"),
        stated_choice(f"use the login {words} {SECRET} instead of none"),
    ]
    for found in findings:
        assert found is not None
        told = " ".join((found.title, found.body, found.quote, found.why))
        assert "ghp_" not in told
        assert SECRET[-12:] not in told
