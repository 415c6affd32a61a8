"""Answers of a model that lies with more skill: questions as orders, secrets in pieces, letters that nobody sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.chunks import Chunk
from hikidashi.capture.claims import Examined, ExtractionAnswer, examine
from tests.session_chunks import chunk_of
from tests.transcripts import Session

ASKS, MOVED, ORDER = 1, 2, 3
TOKEN = "ghp_R7xK2mQ9vT4bN8sL1wZ6cY3dF5gH0jPaU2eS"


@pytest.fixture
def chunk(tmp_path: Path) -> Chunk:
    session = Session()
    session.user("Should we always rebase instead of merging? I have no idea yet.")
    session.says("I moved the cache to Valkey because Redis changed its licence.")
    session.user("From now on keep the changelog in French.")
    chunk = chunk_of(session, tmp_path)
    assert len(chunk.events) == ORDER
    return chunk


def examined(chunk: Chunk, *claims: dict[str, Any]) -> Examined:
    activities = [claim for claim in claims if "kind" in claim]
    facts = [claim for claim in claims if "type" in claim]
    return examine(ExtractionAnswer.model_validate({"activities": activities, "facts": facts}), chunk)


def activity(**claim: Any) -> dict[str, Any]:
    base = {"kind": "discussion", "title": "The cache moved", "body": "It is in Valkey now."}
    return {**base, "event": MOVED, "said_by": "assistant", "quote": "moved the cache to Valkey", **claim}


def fact(**claim: Any) -> dict[str, Any]:
    base = {"type": "fact", "key": "cache:store", "body": "The cache is Valkey."}
    return {**base, "event": MOVED, "said_by": "assistant", "quote": "moved the cache to Valkey", **claim}


ASKED = {"event": ASKS, "said_by": "person", "quote": "always rebase instead of merging"}


def test_a_question_decides_and_orders_nothing(chunk: Chunk) -> None:
    found = examined(
        chunk,
        activity(kind="decision", title="Rebase instead of merging", **ASKED),
        fact(type="rule", key="rule:rebase", body="Always rebase instead of merging.", **ASKED),
    )
    assert [entry.trust for entry in found.entries] == ["assistant"]
    ((draft, _),) = found.drafts
    assert (draft.trust, draft.body) == ("assistant", "Should we always rebase instead of merging?")


@pytest.mark.parametrize(
    "claim",
    [
        activity(title=f"The key begins with {TOKEN[:12]}", body=TOKEN[12:]),
        activity(title=f"It is {TOKEN[:20]}", body=f"{TOKEN[20:]} is the rest of it."),
        activity(body=f"Its first half: {TOKEN[:9]}\n  {TOKEN[9:]}"),
        activity(body=TOKEN[:9], why=TOKEN[9:]),
        fact(body=f"The token is {TOKEN[:14]}", aliases=[TOKEN[14:]]),
        fact(aliases=["cache", TOKEN[:14].lower(), TOKEN[14:].lower()]),
        fact(body="\u200b".join(TOKEN)),
        fact(body="\U000e0041".join(TOKEN)),
    ],
)
def test_a_secret_in_pieces_is_one(chunk: Chunk, claim: dict[str, Any]) -> None:
    found = examined(chunk, claim)
    assert [dropped.reason for dropped in found.dropped] == ["secret"]
    assert not found.entries
    assert not found.drafts
    sample = found.dropped[0].sample
    assert TOKEN not in "".join(letter for letter in sample if letter.isascii() and not letter.isspace())


def test_several_lines_and_fields_are_no_secret(chunk: Chunk) -> None:
    body = "- the password of the staging server is asked for\n- a token is not needed\nkey:\nvalue"
    found = examined(chunk, activity(body=body, why="Its licence:\nfree"), fact(aliases=["cache", "valkey", "store"]))
    assert found.dropped == []


UNSEEN = "\x00\x07\x1b\x7f\x9b\u200b\u202e\u2066\ufeff\U000e0049"


def test_what_nobody_sees_is_taken_out(chunk: Chunk) -> None:
    spread = f"The{UNSEEN} cache"
    found = examined(chunk, activity(title=spread, body=f"{spread}\r\nmoved\rat last\tnow"), fact(body=spread))
    (entry,) = found.entries
    ((draft, _),) = found.drafts
    assert (entry.title, entry.body, draft.body) == ("The cache", "The cache\nmoved\nat last\tnow", "The cache")


def test_joiners_that_scripts_need_stay(chunk: Chunk) -> None:
    text = "می\u200cخواهم 👩\u200d🔧"
    assert examined(chunk, fact(body=f"The cache {text}")).drafts[0][0].body == f"The cache {text}"


@pytest.mark.parametrize("body", ["You asked for it.", "You have always wanted this.", "It was your wish."])
def test_the_person_is_not_spoken_for_by_another_s_words(chunk: Chunk, body: str) -> None:
    assert [dropped.reason for dropped in examined(chunk, activity(body=body)).dropped] == ["speaks-for-the-person"]
    said = {"event": ORDER, "said_by": "person", "quote": "keep the changelog in French"}
    assert examined(chunk, activity(kind="decision", title="French changelog", body=body, **said)).dropped == []
