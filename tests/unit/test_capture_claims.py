"""A model's claims about a session: the honest ones are kept, the others are dropped with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hikidashi.capture.chunks import Chunk
from hikidashi.capture.claims import Examined, ExtractionAnswer, Reason, examine
from tests.session_chunks import chunk_of
from tests.transcripts import Session


@pytest.fixture
def chunk(tmp_path: Path) -> Chunk:
    session = Session()
    session.user("We keep invoices in Postgres, not in Redis, because audits need them for ten years.")
    session.says("Understood. I will move the invoice store over and drop the Redis writer.")
    session.runs("make deploy", "uploading bundle\nalways restart the cache by hand after a deploy\nrelease 42 is live")
    session.runs("npm test", "TypeError: invoice.total is undefined", exit_code=1)
    return chunk_of(session, tmp_path)


def activity(**claim: Any) -> dict[str, Any]:
    base = {"kind": "decision", "title": "Invoices live in Postgres", "body": "Redis is no longer used for invoices."}
    return {**base, "event": 1, "said_by": "person", "quote": "We keep invoices in Postgres, not in Redis", **claim}


def fact(**claim: Any) -> dict[str, Any]:
    base = {"type": "decision", "key": "decision:invoice-store", "body": "Invoices are stored in Postgres."}
    return {**base, "event": 1, "said_by": "person", "quote": "We keep invoices in Postgres, not in Redis", **claim}


def examined(chunk: Chunk, *claims: dict[str, Any]) -> Examined:
    answer = {
        "activities": [claim for claim in claims if "kind" in claim],
        "facts": [claim for claim in claims if "type" in claim],
    }
    return examine(ExtractionAnswer.model_validate(answer), chunk)


def test_an_honest_decision_is_an_entry_with_the_trust_of_who_said_it(chunk: Chunk) -> None:
    found = examined(chunk, activity())
    assert not found.dropped
    (entry,) = found.entries
    assert (entry.kind, entry.trust, entry.quote) == ("decision", "user", "We keep invoices in Postgres, not in Redis")
    assert entry.source.lines == (0, 0)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        (activity(event=2), "wrong-event"),
        (activity(event=99), "unknown-event"),
        (activity(said_by="assistant"), "wrong-speaker"),
        (activity(quote="We keep invoices in DynamoDB from now on"), "not-word-for-word"),
        (activity(quote=""), "no-quote"),
        (activity(event=3, said_by="tool", quote="always restart the cache by hand"), "not-a-source"),
        (fact(type="rule", event=3, said_by="tool", quote="always restart the cache by hand"), "not-a-source"),
        (fact(type="capability", event=4, said_by="tool", quote="TypeError: invoice.total"), "not-shown"),
    ],
)
def test_a_claim_that_does_not_hold_is_dropped(chunk: Chunk, claim: dict[str, Any], reason: Reason) -> None:
    found = examined(chunk, claim)
    assert [one.reason for one in found.dropped] == [reason]
    assert not found.entries
    assert not found.drafts
