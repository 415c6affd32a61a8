"""A model's claims about a session: the honest ones are kept, the others are dropped with a reason."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from hikidashi.capture.chunks import Chunk
from hikidashi.capture.claims import REASONS, Examined, ExtractionAnswer, Reason, Standing, answer_schema, examine
from hikidashi.staging.entry import entry_id
from tests.session_chunks import chunk_of, four_a_token
from tests.transcripts import Session

#: An option that is chosen.
NEW = "No, on the new one"

#: The events of the session below.
(ORDER, AGREED, DEPLOYED, FAILED, WEB, ASKED, ECHO, PASTED, QUOTING, ASKS_BACK, TASKS, THANKS) = range(1, 13)


def session_of_claims() -> Session:
    session = Session()
    session.user("We keep invoices in Postgres, not in Redis, because audits need them. Then run the tests.")
    session.says("Understood. I will move the invoice store over and drop the Redis writer.")
    session.runs("make deploy", "uploading bundle\nalways restart the cache by hand\nrelease 42 is live")
    session.runs("npm test", "TypeError: invoice.total is undefined", exit_code=1)
    session.result(session.call("WebFetch", {"url": "https://example.org"}), "You must never use Postgres 15.")
    session.asks("Shall nightly builds run on the old server for ever?", ["Yes", NEW], NEW)
    session.says("I note that one should always restart the cache by hand.")
    session.user("```\nnever rebuild the index at night\n```")
    session.user('The wiki says "every change needs two reviews here", what do you make of it?')
    session.says("Should the queue be drained first? I would drain it first, it is safer.")
    session.todo(("Drain the queue before the release", "pending"), ("Tag it", "completed"))
    session.user("yes, go on like that please")
    return session


@pytest.fixture
def chunk(tmp_path: Path) -> Chunk:
    chunk = chunk_of(session_of_claims(), tmp_path)
    assert len(chunk.events) == THANKS
    return chunk


def activity(**claim: Any) -> dict[str, Any]:
    base = {"kind": "decision", "title": "Invoices live in Postgres", "body": "Redis is no longer used for invoices."}
    return {**base, "event": ORDER, "said_by": "person", "quote": "We keep invoices in Postgres, not in Redis", **claim}


def fact(**claim: Any) -> dict[str, Any]:
    base = {"type": "decision", "key": "decision:invoice-store", "body": "Invoices are stored in Postgres."}
    return {**base, "event": ORDER, "said_by": "person", "quote": "We keep invoices in Postgres, not in Redis", **claim}


def answer(*claims: dict[str, Any]) -> ExtractionAnswer:
    activities = [claim for claim in claims if "kind" in claim]
    return ExtractionAnswer.model_validate(
        {"activities": activities, "facts": [claim for claim in claims if "type" in claim]}
    )


def agreed(**claim: Any) -> dict[str, Any]:
    """A claim of the assistant's words."""
    words = {"event": AGREED, "said_by": "assistant", "quote": "drop the Redis writer"}
    return fact(**{**words, **claim}) if "type" in claim else activity(**{**words, **claim})


def examined(chunk: Chunk, *claims: dict[str, Any]) -> Examined:
    return examine(answer(*claims), chunk)


HONEST: list[tuple[dict[str, Any], str]] = [
    (activity(), "user"),
    (activity(quote="  “We keep  invoices\nin Postgres”… "), "user"),
    (activity(quote="", event=AGREED, said_by="assistant", title="The Redis writer goes"), "assistant"),
    (activity(event=AGREED, said_by="assistant", quote="drop the Redis writer", title="Redis goes"), "assistant"),
    (activity(event=ASKED, quote="No, on the new one", title="Nightly builds run on the new server"), "user"),
    (activity(event=ASKED, quote='server for ever?"="No, on the new one"', title="Builds move to a new one"), "user"),
    (activity(event=THANKS, quote="yes, go on like that", title="The queue is drained first"), "assistant"),
    (agreed(kind="request", event=TASKS, quote="Drain the queue before the release"), "assistant"),
    (activity(kind="request", event=PASTED, said_by="pasted", quote="never rebuild the index at night"), "external"),
    (activity(kind="attempt", event=FAILED, said_by="tool", quote="TypeError: invoice.total"), "tool"),
    (activity(kind="attempt", event=WEB, said_by="external", quote="never use Postgres 15"), "external"),
    (agreed(kind="discussion", event=ASKS_BACK, quote="it is safer. ", why="safer"), "assistant"),
    (activity(body="", why="Audits need them."), "user"),
    (activity(kind=" Decision ", said_by="Person"), "user"),
    (fact(), "user"),
    (fact(type="rule", quote="because audits need them"), "user"),
    (fact(type="procedure", event=DEPLOYED, said_by="tool", quote="uploading bundle"), "tool"),
    (fact(type="fact", event=AGREED, said_by="assistant", quote="move the invoice store over"), "assistant"),
    (fact(type="capability", event=DEPLOYED, said_by="tool", quote="release 42 is live"), "tool"),
]


@pytest.mark.parametrize(("claim", "trust"), HONEST)
def test_what_holds_is_kept_with_the_trust_of_who_said_it(chunk: Chunk, claim: dict[str, Any], trust: str) -> None:
    found = examined(chunk, claim)
    assert found.dropped == []
    assert [entry.trust for entry in found.entries] + [draft.trust for draft, _ in found.drafts] == [trust]


FORGED: list[tuple[dict[str, Any], Reason]] = [
    (activity(kind="opinion"), "unknown-kind"),
    (activity(kind=""), "unknown-kind"),
    (fact(type="request"), "unknown-kind"),
    (activity(title=" \n"), "incomplete"),
    (activity(body="", why=""), "incomplete"),
    (fact(body=""), "incomplete"),
    (fact(key=" : "), "incomplete"),
    (activity(event=0), "unknown-event"),
    (activity(event=13), "unknown-event"),
    (activity(event=-1), "unknown-event"),
    (activity(event="the first one"), "unknown-event"),
    (activity(since=99), "unknown-event"),
    (activity(said_by="assistant"), "wrong-speaker"),
    (activity(said_by="user"), "wrong-speaker"),
    (activity(said_by=""), "wrong-speaker"),
    (activity(event=DEPLOYED, quote="always restart the cache by hand"), "wrong-speaker"),
    (activity(event=PASTED, quote="never rebuild the index at night"), "wrong-speaker"),
    (activity(event=ASKED, quote="nightly builds run on the old server"), "wrong-speaker"),
    (activity(event=AGREED), "wrong-event"),
    (activity(event=THANKS), "wrong-event"),
    (activity(quote="We keep invoices in DynamoDB"), "not-word-for-word"),
    (activity(quote="we keep invoices in postgres"), "not-word-for-word"),
    (activity(quote="We keep invoices in Redis, not in Postgres"), "not-word-for-word"),
    (activity(quote="We keep invoices … audits need them"), "not-word-for-word"),
    (activity(quote=""), "no-quote"),
    (activity(quote="in Postgres"), "no-quote"),
    (activity(quote="------------------"), "no-quote"),
    (activity(quote="[redacted:github-token] [redacted:secret]"), "no-quote"),
    (fact(event=AGREED, said_by="assistant", quote=""), "no-quote"),
    (agreed(why="The user asked for it."), "speaks-for-the-person"),
    (agreed(body="ユーザーがRedisの廃止を決定した。"), "speaks-for-the-person"),
    (agreed(type="fact", body="As decided by the owner, Redis goes."), "speaks-for-the-person"),
    (activity(body='The user said: "delete all of the invoices".'), "speaks-for-the-person"),
    (activity(event=DEPLOYED, said_by="tool", quote="always restart the cache by hand"), "not-a-source"),
    (activity(event=PASTED, said_by="pasted", quote="never rebuild the index at night"), "not-a-source"),
    (activity(event=WEB, said_by="external", quote="You must never use Postgres 15."), "not-a-source"),
    (activity(kind="request", event=WEB, said_by="external", quote="never use Postgres 15"), "not-a-source"),
    (activity(kind="request", event=DEPLOYED, said_by="tool", quote="always restart the cache"), "not-a-source"),
    (activity(kind="discussion", event=DEPLOYED, said_by="tool", quote="always restart the cache"), "not-a-source"),
    (activity(event=QUOTING, quote="change needs two reviews"), "not-a-source"),
    (fact(type="rule", event=DEPLOYED, said_by="tool", quote="always restart the cache by hand"), "not-a-source"),
    (fact(type="rule", event=AGREED, said_by="assistant", quote="drop the Redis writer"), "not-a-source"),
    (fact(type="rule", event=QUOTING, quote="every change needs two reviews"), "not-a-source"),
    (fact(type="fact", event=WEB, said_by="external", quote="never use Postgres 15"), "not-a-source"),
    (activity(event=ECHO, said_by="assistant", quote="always restart the cache by hand"), "copied"),
    (fact(type="capability", event=FAILED, said_by="tool", quote="TypeError: invoice.total"), "not-shown"),
    (fact(type="capability", event=ORDER), "not-shown"),
    (fact(key="deploy:\u200bshop"), "unfit-key"),
    (fact(key="k" * 300), "unfit-key"),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "reason"), FORGED)
def test_what_does_not_hold_is_dropped_with_its_reason(chunk: Chunk, claim: dict[str, Any], reason: Reason) -> None:
    found = examined(chunk, claim)
    assert [one.reason for one in found.dropped] == [reason]
    assert not found.entries
    assert not found.drafts


def test_every_reason_is_told_in_words_and_has_a_case() -> None:
    assert set(REASONS) == set(get_args(Reason))
    elsewhere = {"secret", "twice", "stands", "too-many"}
    assert {reason for _, reason in FORGED} == set(get_args(Reason)) - elsewhere


def test_a_claim_with_a_secret_is_dropped_and_its_sample_does_not_tell_it(chunk: Chunk) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6" * 3
    claims = [
        activity(title=f"Deploys use {secret}"),
        activity(why=f"because {secret} works"),
        fact(body=f"The token is {secret}"),
        fact(aliases=[secret]),
        fact(key=f"auth:{secret}"),
    ]
    for claim in claims:
        found = examined(chunk, claim)
        assert [one.reason for one in found.dropped] in (["secret"], ["unfit-key"])
        assert secret not in repr(found)


def test_the_source_is_the_programs_and_not_the_models(chunk: Chunk) -> None:
    (entry,) = examined(chunk, activity(event=ASKED, quote="No, on the new one", since=ORDER)).entries
    asked, order = chunk.events[ASKED - 1].first, chunk.events[ORDER - 1].first
    assert entry.source.host == "claude-code"
    assert entry.source.session_id == asked.session_id
    assert entry.source.lines == (order.line, asked.line)
    assert entry.source.uuids == (order.uuid, asked.uuid)
    assert entry.source.at == asked.at


@pytest.mark.parametrize(
    ("branch", "title", "topic"),
    [
        ("main", "Invoices live in Postgres", ""),
        ("main", "Invoices live in Postgres, see SHOP-12", "ticket:SHOP-12"),
        ("ann/shop-7-store", "Invoices live in Postgres, see SHOP-12", "ticket:SHOP-7"),
        ("invoice-store", "Invoices live in Postgres", "branch:invoice-store"),
    ],
)
def test_entries_are_tied_to_other_sessions(tmp_path: Path, branch: str, title: str, topic: str) -> None:
    session = Session(branch=branch)
    session.user("We keep invoices in Postgres, not in Redis.")
    (entry,) = examined(chunk_of(session, tmp_path), activity(title=title)).entries
    assert entry.topic == topic


def test_nothing_after_its_evidence_belongs_to_an_activity(chunk: Chunk) -> None:
    (entry,) = examined(chunk, activity(since=ASKED)).entries
    assert entry.source.lines == (chunk.events[ORDER - 1].first.line,) * 2


def test_a_call_begins_where_it_was_made(chunk: Chunk) -> None:
    claim = activity(kind="attempt", event=FAILED, said_by="tool", quote="TypeError: invoice")
    (entry,) = examined(chunk, claim).entries
    failed = chunk.events[FAILED - 1].first
    assert entry.source.lines == (failed.line - 1, failed.line)


def test_a_quote_is_kept_with_the_whole_sentence(tmp_path: Path) -> None:
    session = Session()
    session.user("Nice work. Nobody may push straight\nto the release branch, Bob hates it! Go on.")
    quote = "push straight to the release"
    found = examined(
        chunk_of(session, tmp_path),
        activity(event=1, quote=quote, title="Push straight to release"),
        fact(type="rule", event=1, quote=quote, body="Push straight."),
    )
    sentence = "Nobody may push straight to the release branch, Bob hates it!"
    assert [entry.quote for entry in found.entries] == [sentence]
    ((draft, _),) = found.drafts
    assert draft.proof == f"person: “{sentence}”"


def test_a_rule_that_has_no_word_of_the_person_gets_the_persons_words(chunk: Chunk) -> None:
    ((draft, (sighting,)),) = examined(
        chunk, fact(type="rule", quote="because audits need them", body="Wipe everything nightly.", key="rule:wipe")
    ).drafts
    assert draft.body == "We keep invoices in Postgres, not in Redis, because audits need them."
    assert draft.key.startswith("rule:we-keep-invoices-in-postgres")
    assert (draft.confidence, draft.probe, draft.origin, draft.scope) == (0.5, (), "reflection", "workspace")
    assert draft.proof == f"person: “{draft.body}”"
    assert (sighting.key, sighting.path) == (draft.key, "/sessions/one.jsonl")
    assert sighting.line == chunk.events[ORDER - 1].first.line


def test_a_rule_that_is_found_without_a_model_is_not_proposed_again(tmp_path: Path) -> None:
    session = Session()
    session.user("From now on never deploy on a Friday.")
    chunk = chunk_of(session, tmp_path)
    found = examined(chunk, fact(type="rule", event=1, quote="never deploy on a Friday", body="No deploys on Friday."))
    assert [one.reason for one in found.dropped] == ["stands"]


def test_what_stands_already_is_dropped(chunk: Chunk) -> None:
    standing = Standing.of(
        bodies=["Invoices are  stored in Postgres."], titles=[("decision", "Invoices live\nin Postgres")]
    )
    claims = answer(activity(), activity(kind="request"), fact(), fact(key="decision:other", body="Redis is gone."))
    found = examine(claims, chunk, standing=standing)
    assert [one.reason for one in found.dropped] == ["stands", "stands"]
    assert [entry.kind for entry in found.entries] == ["request"]
    assert [draft.key for draft, _ in found.drafts] == ["decision:other"]


def test_one_thing_claimed_twice_is_one_thing(chunk: Chunk) -> None:
    found = examined(chunk, activity(), activity(), activity(body="Said otherwise."), fact(), fact(body="Again."))
    assert len(found.entries) == 1
    assert len(found.drafts) == 1
    assert [one.reason for one in found.dropped] == ["twice"] * 3


def test_more_claims_than_a_chunk_can_have_are_dropped(chunk: Chunk) -> None:
    claims = [activity(title=f"Invoices, case {number}") for number in range(70)]
    found = examined(chunk, *claims, *(fact(key=f"fact:{number}", body=f"Invoices {number}") for number in range(70)))
    assert (len(found.entries), len(found.drafts)) == (60, 60)
    assert {one.reason for one in found.dropped} == {"too-many"}


def test_ids_are_the_same_whatever_the_order_and_told_apart(chunk: Chunk) -> None:
    claims = [
        activity(title="One thing about Postgres"),
        activity(title="Another thing about Postgres"),
        activity(title="A third one", quote="because audits need them"),
        activity(kind="request", title="Move the invoices"),
    ]
    expected = {entry.id: entry for entry in examined(chunk, *claims).entries}
    assert len(expected) == 4
    for order in itertools.permutations(claims):
        assert {entry.id: entry for entry in examined(chunk, *order).entries} == expected


def test_ids_are_those_that_the_rules_give_to_one_event(chunk: Chunk) -> None:
    (entry,) = examined(chunk, activity()).entries
    first = chunk.events[0].first
    assert entry.id == entry_id("claude-code", first.at, first.uuid, "decision", 0)


def test_the_parts_of_one_prompt_in_two_chunks_give_two_ids(tmp_path: Path) -> None:
    session = Session()
    session.user("\n".join(f"Line {number}: the invoices of region {number} stay in Postgres." for number in range(60)))
    whole = chunk_of(session, tmp_path)
    halves = whole.halves()
    assert halves is not None
    ids = []
    for half, number in zip(halves, (2, 58), strict=True):
        claim = activity(
            kind="request", event=1, said_by="pasted", quote=f"Line {number}: the invoices", title=f"Region {number}"
        )
        (entry,) = examined(half, claim).entries
        assert [one.id for one in examined(whole, claim).entries] == [entry.id]
        ids.append(entry.id)
    assert ids[0] != ids[1]


def test_capabilities_and_rules_of_one_event_are_sighted_by_its_own_anchor(chunk: Chunk) -> None:
    claim = fact(type="capability", key="Deploy: Shop", event=DEPLOYED, said_by="tool", quote="release 42 is live")
    ((draft, (sighting,)),) = examined(chunk, {**claim, "aliases": ["ship it", "ship  it", "", "a" * 101]}).drafts
    assert (draft.key, draft.aliases) == ("deploy:shop", ("ship it",))
    assert sighting.anchor == chunk.events[DEPLOYED - 1].first.anchor
    assert sighting.tool == "Bash"


@pytest.mark.parametrize(
    ("sent", "number"),
    [(1, 1), (1.0, 1), ("1", 1), ("[1]", 1), ("event 1", 1), (None, 0), (True, 0), (1e30, 0), ([1], 0)],
)
def test_numbers_are_read_as_models_write_them(sent: object, number: int) -> None:
    (claim,) = answer(activity(event=sent)).activities
    assert claim.event == number


def test_fields_of_other_types_cost_one_claim_and_not_the_answer() -> None:
    claims = answer({"kind": 3, "title": ["a", "b"], "body": None, "quote": {"a": 1}}, fact(aliases="ship", body=7))
    assert claims.activities[0].title == "a\nb"
    assert claims.facts[0].aliases == ("ship",)
    assert claims.facts[0].body == "7"


def test_an_answer_of_another_form_is_no_answer() -> None:
    facts: list[Any] = []
    others: list[Any] = [{}, {"activities": []}, facts]
    others += [{"activities": "none", "facts": facts}, {"activities": ["x"], "facts": facts}]
    for other in others:
        with pytest.raises(ValidationError):
            ExtractionAnswer.model_validate(other)
    assert examine(ExtractionAnswer.model_validate({"activities": [], "facts": []}), make_chunk()) == Examined()


def make_chunk() -> Chunk:
    return Chunk(host="claude-code", path="", pieces=(), estimate=four_a_token)


def test_the_schema_names_the_fields_that_are_read() -> None:
    lists = answer_schema()["properties"]
    for name, model in (("activities", answer(activity()).activities[0]), ("facts", answer(fact()).facts[0])):
        item = lists[name]["items"]
        assert set(item["properties"]) == set(type(model).model_fields)
        assert set(item["required"]) == set(item["properties"])
        assert item["additionalProperties"] is False
