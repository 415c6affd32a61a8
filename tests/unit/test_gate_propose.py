"""What comes to the gate: counted once, one candidate a key, evidence for what is known, nothing a person refused."""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.drawer import candidates
from hikidashi.drawer.candidates import Candidate, waiting
from hikidashi.drawer.decisions import approve, reject
from hikidashi.drawer.fact import Draft, Fact, Sighting
from hikidashi.drawer.gate import Proposal, observe_failure, propose, sweep
from hikidashi.drawer.reading import find_fact
from hikidashi.drawer.refusals import note_forgotten
from hikidashi.drawer.sightings import sightings_of
from hikidashi.drawer.store import Drawer
from hikidashi.times import format_time
from tests.secrets_samples import tokens

MORNING = datetime(2026, 5, 3, 9, 30, tzinfo=UTC)


def at(hours: float) -> str:
    return format_time(MORNING + timedelta(hours=hours))


def draft(**changes: Any) -> Draft:
    values: dict[str, Any] = {
        "key": "deploy:harbour",
        "type": "capability",
        "body": "harbour is deployed from here with aws: `aws s3 sync dist s3://harbour`.",
        "confidence": 0.9,
        "proof": "`aws s3 sync dist s3://harbour` said `upload: dist/a.js to s3://harbour/a.js`",
        "probe": ("aws", "sts", "get-caller-identity"),
        "aliases": ("deploy", "harbour"),
        "trust": "tool",
        "origin": "promotion",
        "digest": "aws",
        "machine_id": "m1",
        "machine_name": "desk",
        "source": {"host": "claude-code", "session_id": "s1", "at": at(0)},
    }
    return Draft(**(values | changes))


def sighting(anchor: str, **changes: Any) -> Sighting:
    values: dict[str, Any] = {
        "key": "deploy:harbour",
        "anchor": anchor,
        "host": "claude-code",
        "session_id": "s1",
        "path": "/sessions/s1.jsonl",
        "line": 7,
        "at": at(0),
        "verb": "deploy",
        "tool": "aws",
        "target": "harbour",
        "told": "aws s3 sync dist s3://harbour",
    }
    return Sighting(**(values | changes))


class Gate:
    """A drawer and its gate at a certain hour."""

    def __init__(self, path: Path) -> None:
        self.connection = connect(path)
        migrate(self.connection)
        self.hour = 1.0
        self.drawer = Drawer(self.connection, "workspace", lambda: MORNING + timedelta(hours=self.hour))

    def propose(self, draft: Draft, *seen: Sighting) -> Proposal:
        with transaction(self.connection):
            return propose(self.connection, draft, seen, at=at(self.hour), rules_version=3)

    def fail(self, seen: Sighting, said: str = "it broke", **changes: Any) -> str:
        with transaction(self.connection):
            return observe_failure(self.connection, seen, said, **changes)

    def approve(self, *ids: str) -> None:
        approve(self.drawer, ids, clock=lambda: MORNING + timedelta(hours=self.hour))

    @property
    def candidate(self) -> Candidate:
        (only,) = waiting(self.connection)
        return only

    @property
    def fact(self) -> Fact:
        found = find_fact(self.connection, "workspace", "deploy:harbour")
        assert found is not None
        return found

    def status(self) -> str:
        return self.fact.status


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path / "workspace.sqlite")
    yield made
    made.connection.close()


# -- one candidate a key


def test_a_damaged_fact_keeps_nothing_out_and_a_yes_mends_it(gate: Gate) -> None:
    gate.drawer.write(draft())
    gate.connection.execute("UPDATE facts SET aliases = '{'")
    assert gate.propose(draft(), sighting("a")).outcome == "new"
    assert gate.fail(sighting("b", outcome="failed")) != "nobody"
    gate.approve(gate.candidate.id)
    assert (gate.fact.body, gate.fact.version) == (draft().body, 2)


def test_a_first_sighting_waits_with_all_it_was_given(gate: Gate) -> None:
    done = gate.propose(draft(), sighting("a"))
    assert (done.outcome, done.redacted) == ("new", 0)
    candidate = gate.candidate
    assert candidate.draft() == draft()
    assert (candidate.id, candidate.sessions, candidate.state, candidate.rules_version) == (done.id, 1, "waiting", 3)
    assert (candidate.first_seen, candidate.last_seen, candidate.seen_at) == (at(1), at(1), at(0))
    assert [seen.anchor for seen in sightings_of(gate.connection, "workspace", "deploy:harbour")] == ["a"]


def test_an_id_is_short_stable_and_easy_to_type(gate: Gate, tmp_path: Path) -> None:
    first = gate.propose(draft(), sighting("a")).id
    assert len(first) == 5
    assert not set(first) - set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    other = Gate(tmp_path / "other.sqlite")
    other.propose(draft(key="auth:harbour"), sighting("a", key="auth:harbour"))
    assert other.propose(draft(body="told in other words"), sighting("b")).id == first
    other.connection.close()


def test_ids_that_begin_alike_are_longer(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "_letters", lambda parts: "00000" + parts[1][-3:].upper() + "Z" * 18)
    first = gate.propose(draft(key="deploy:one"))
    second = gate.propose(draft(key="deploy:two"))
    assert first.id == "00000"
    assert second.id == "00000T"
    assert {candidate.id for candidate in waiting(gate.connection)} == {first.id, second.id}
    assert gate.propose(draft(key="deploy:two", source={}), sighting("n", key="deploy:two")).id == second.id


def test_another_session_raises_the_count_and_the_same_event_never(gate: Gate) -> None:
    gate.propose(draft(), sighting("a"))
    gate.hour = 2
    assert gate.propose(draft(), sighting("a")).outcome == "known"
    assert gate.propose(draft(), sighting("a", session_id="copy-of-s1")).outcome == "known"
    assert gate.candidate.sessions == 1
    assert gate.candidate.last_seen == at(1)
    assert gate.propose(draft(), sighting("b")).outcome == "seen", "the same session once more"
    assert gate.candidate.sessions == 1
    assert gate.propose(draft(), sighting("c", session_id="s2")).outcome == "seen"
    assert gate.candidate.sessions == 2
    assert gate.candidate.last_seen == at(2)
    assert gate.candidate.first_seen == at(1)


def test_a_later_text_of_the_same_proposal_takes_the_place_of_the_earlier(gate: Gate) -> None:
    gate.propose(draft(), sighting("a"))
    newer = draft(body="harbour is deployed: `make`, then `aws s3 sync`.", proof="twice", source={"at": at(5)})
    gate.propose(newer, sighting("b", session_id="s2"))
    assert (gate.candidate.body, gate.candidate.proof) == (newer.body, "twice")
    gate.propose(draft(body="an old session, read late", source={"at": at(-90)}), sighting("c", session_id="s3"))
    assert gate.candidate.body == newer.body
    assert gate.candidate.sessions == 3


@pytest.mark.parametrize("worse", [{"confidence": 0.5}, {"trust": "external"}])
def test_a_less_sure_text_does_not(gate: Gate, worse: dict[str, Any]) -> None:
    gate.propose(draft(), sighting("a"))
    gate.propose(draft(body="perhaps", source={"at": at(5)}, **worse), sighting("b"))
    assert gate.candidate.body == draft().body


def test_another_content_of_a_waiting_key_replaces_it(gate: Gate) -> None:
    first = gate.propose(draft(), sighting("a"))
    second = gate.propose(draft(digest="wrangler", body="with wrangler", source={"at": at(2)}), sighting("b"))
    assert second.outcome == "new"
    assert second.id != first.id
    assert gate.candidate.body == "with wrangler"


def test_what_an_agent_writes_does_not_push_out_what_was_shown(gate: Gate) -> None:
    shown = gate.propose(draft(), sighting("a"))
    written = draft(digest="", body="deploy is broken", origin="memory_write", confidence=0.7, trust="assistant")
    assert gate.propose(written) == Proposal(outcome="kept", id=shown.id)
    assert gate.candidate.body == draft().body


def test_what_an_agent_writes_twice_is_one_candidate(gate: Gate) -> None:
    written = draft(key="port", type="fact", digest="", body="It is 3000.", origin="memory_write", source={})
    first = gate.propose(written)
    assert first.outcome == "new"
    assert gate.propose(written) == Proposal(outcome="seen", id=first.id)
    assert gate.candidate.sessions == 1


@pytest.mark.parametrize("origin", ["memory_write", "import", "reflection"])
def test_only_the_tool_table_and_a_person_bring_a_probe(gate: Gate, origin: Any) -> None:
    gate.propose(draft(origin=origin))
    assert gate.candidate.probe == ()


# -- facts


def test_fresh_evidence_for_a_fact_is_no_candidate(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    gate.hour = 10
    done = gate.propose(draft(), sighting("b", session_id="s2", at=at(9)))
    assert done == Proposal(outcome="evidence")
    assert waiting(gate.connection) == []
    assert gate.fact.last_seen == at(9)
    assert gate.fact.body == draft().body
    assert len(sightings_of(gate.connection, "workspace", "deploy:harbour")) == 2
    assert gate.propose(draft(), sighting("b", session_id="s2", at=at(9))).outcome == "known"


def test_an_agent_that_repeats_a_fact_bears_nothing_out(gate: Gate) -> None:
    rule = draft(key="deploy:harbour", digest="", origin="memory_write", confidence=0.7, trust="assistant", source={})
    gate.approve(gate.propose(rule).id)
    gate.hour = 5
    gate.fail(sighting("f", outcome="failed", at=at(4)), "AccessDenied")
    gate.connection.execute("UPDATE facts SET status = 'stale', confidence = 0.3")
    before = gate.fact
    assert before.failure == "AccessDenied"
    gate.hour = 6
    assert gate.propose(rule) == Proposal(outcome="known")
    assert gate.fact == before


def test_an_event_of_the_future_moves_nothing_beyond_now(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    gate.hour = 10
    gate.propose(draft(), sighting("b", at=at(90_000)))
    assert gate.fact.last_seen == at(10)


def test_an_old_success_read_late_does_not_wipe_out_a_newer_failure(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    gate.hour = 20
    assert gate.fail(sighting("f", outcome="failed", at=at(15)), "AccessDenied") == "noted"
    gate.propose(draft(), sighting("b", at=at(12)))
    assert (gate.fact.last_failed, gate.fact.failure) == (at(15), "AccessDenied")
    gate.propose(draft(), sighting("c", at=at(16)))
    assert (gate.fact.last_failed, gate.fact.failure) == (None, "")


def test_a_fact_with_another_content_gets_a_candidate_that_would_replace_it(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    assert gate.propose(draft(digest="wrangler", body="with wrangler"), sighting("b")).outcome == "new"
    assert gate.fact.body == draft().body


def test_the_same_on_another_machine_is_another_proposal(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    assert gate.propose(draft(machine_id="m2", machine_name="lap"), sighting("b")).outcome == "new"
    assert gate.propose(draft(machine_id=""), sighting("c")).outcome == "evidence"


def test_rules_are_compared_by_their_words(gate: Gate) -> None:
    rule = draft(key="rule:friday", type="rule", body="Never push on Friday.", digest="", probe=(), trust="user")
    gate.approve(gate.propose(rule).id)
    again = dataclasses.replace(rule, body="Never push  on\nFriday.")
    assert gate.propose(again, sighting("r", key="rule:friday")).outcome == "evidence"
    assert gate.propose(dataclasses.replace(rule, body="Never push on Monday.")).outcome == "new"


def test_a_retired_fact_comes_back_by_a_yes_only(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    gate.drawer.retire("deploy:harbour")
    again = gate.propose(draft(), sighting("b"))
    assert again.outcome == "new"
    assert gate.status() == "retired"
    gate.approve(again.id)
    assert gate.status() == "active"


# -- what was refused


def test_a_rejected_content_does_not_come_back_and_another_one_does(gate: Gate) -> None:
    first = gate.propose(draft(), sighting("a"))
    reject(gate.connection, [first.id])
    assert gate.propose(draft(body="in other words"), sighting("b")) == Proposal(outcome="refused")
    assert waiting(gate.connection) == []
    assert gate.propose(draft(digest="wrangler"), sighting("c")).outcome == "new"


def test_of_a_forgotten_key_nothing_is_written_down(gate: Gate) -> None:
    with transaction(gate.connection):
        note_forgotten(gate.connection, scope="workspace", key="deploy:harbour", at=at(0))
    for number, content in enumerate(("aws", "wrangler")):
        assert gate.propose(draft(digest=content), sighting(f"a{number}")).outcome == "refused"
    assert gate.fail(sighting("f", outcome="failed")) == "nobody"
    dump = "\n".join(gate.connection.iterdump())
    assert "harbour" not in dump


# -- secrets and odd texts

SECRET = next(token for kind, token in tokens() if kind == "github-token")


def test_a_secret_in_any_text_is_replaced_and_counted(gate: Gate) -> None:
    bad = draft(
        body=f"deploy with {SECRET}",
        proof=f"said {SECRET}",
        probe=("gh", "auth", "status", SECRET),
        aliases=("deploy", SECRET),
    )
    done = gate.propose(bad, sighting("a", told=f"GH_TOKEN={SECRET} gh release create", target=SECRET))
    assert done.redacted == 6
    dump = "\n".join(gate.connection.iterdump())
    assert SECRET not in dump
    assert gate.candidate.body == "deploy with [redacted:github-token]"
    assert gate.candidate.probe == ()
    assert gate.candidate.aliases == ("deploy",)


@pytest.mark.parametrize("key", [f"deploy:{SECRET}", "", "  ", "deploy:\x07bell", "x" * 201])
def test_a_key_that_cannot_be_kept_is_unfit_and_nothing_is_written(gate: Gate, key: str) -> None:
    assert gate.propose(draft(key=key), sighting("a", key=key)) == Proposal(outcome="unfit")
    assert waiting(gate.connection) == []


def test_what_is_too_long_is_cut_and_what_is_no_text_is_marked(gate: Gate) -> None:
    long = draft(body="a b " * 2_000, proof="p " * 900, aliases=("x" * 101, *(f"n{i}" for i in range(300))))
    assert gate.propose(long, sighting("a", told="t " * 900)).outcome == "new"
    assert len(gate.candidate.body) <= 4_000
    assert gate.candidate.body.endswith("…")
    assert len(gate.candidate.proof) <= 1_000
    assert len(gate.candidate.aliases) == 200
    odd = draft(key="deploy:odd", body="one\0two \ud800", probe=("p" * 1_001,))
    assert gate.propose(odd).outcome == "new"
    (found,) = [candidate for candidate in waiting(gate.connection) if candidate.key == "deploy:odd"]
    assert found.body == "one\N{REPLACEMENT CHARACTER}two ?"
    assert found.probe == ()
    gate.approve(found.id)  # what may wait may be approved


# -- failures


def test_a_failed_call_is_noted_beside_the_fact(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    failed = sighting("f", outcome="failed", at=at(2))
    assert gate.fail(failed, "An error\noccurred " + "x" * 400) == "noted"
    assert gate.fact.last_failed == at(2)
    assert gate.fact.failure.startswith("An error occurred xxx")
    assert len(gate.fact.failure) == 300
    assert gate.status() == "active"
    assert gate.fail(failed, "again") == "known"


def test_a_failure_older_than_the_last_success_or_a_passed_probe_is_history(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a", at=at(3))).id)
    assert gate.fail(sighting("f", outcome="failed", at=at(2))) == "history"
    assert gate.fact.last_failed is None
    gate.drawer.verified(gate.fact, True, "passed", at(6))
    assert gate.fail(sighting("g", outcome="failed", at=at(5))) == "history"
    assert gate.fact.last_failed is None


def test_a_failure_elsewhere_says_nothing_of_this_machine(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    assert gate.fail(sighting("f", outcome="failed", at=at(2)), machine_id="m2") == "history"
    assert gate.fact.last_failed is None
    assert gate.fail(sighting("g", outcome="failed", at=at(3)), machine_id="m1") == "noted"


def test_denied_in_two_sessions_without_a_success_between_makes_stale(gate: Gate) -> None:
    gate.approve(gate.propose(draft(), sighting("a")).id)
    gate.hour = 5.5
    assert gate.fail(sighting("f", outcome="denied", at=at(2), session_id="s2")) == "noted"
    assert gate.fail(sighting("g", outcome="denied", at=at(3), session_id="s2")) == "noted", "the same session"
    assert gate.fail(sighting("h", outcome="failed", at=at(4), session_id="s3")) == "noted", "another failure"
    assert gate.status() == "active"
    assert gate.fail(sighting("i", outcome="denied", at=at(5), session_id="s4")) == "stale"
    assert gate.status() == "stale"
    gate.propose(draft(), sighting("j", at=at(4.5), session_id="s5"))
    assert gate.status() == "stale", "a success before the last failure, read late"
    gate.hour = 9
    gate.propose(draft(), sighting("k", at=at(8), session_id="s5"))
    assert gate.status() == "active"
    assert gate.fail(sighting("l", outcome="denied", at=at(9), session_id="s6")) == "noted"
    assert gate.status() == "active", "counted from the success on"


def test_a_rule_does_not_become_stale_by_calls(gate: Gate) -> None:
    gate.approve(gate.propose(draft(type="procedure"), sighting("a")).id)
    gate.fail(sighting("f", outcome="denied", at=at(2), session_id="s2"))
    gate.fail(sighting("g", outcome="denied", at=at(3), session_id="s3"))
    assert gate.status() == "active"
    assert gate.fact.last_failed == at(3)


def test_what_failed_while_it_waited_is_carried_over_by_the_yes(gate: Gate) -> None:
    waits = gate.propose(draft(), sighting("a"))
    for number in (2, 3):
        gate.fail(sighting(f"f{number}", outcome="denied", at=at(number), session_id=f"s{number}"))
    gate.hour = 9
    gate.approve(waits.id)
    assert gate.fact.last_failed == at(3)
    assert gate.fact.failure == "`aws s3 sync dist s3://harbour` failed"
    assert gate.status() == "stale"


def test_a_failure_of_a_key_that_nobody_knows_is_not_kept(gate: Gate) -> None:
    assert gate.fail(sighting("f", outcome="failed")) == "nobody"
    assert sightings_of(gate.connection, "workspace", "deploy:harbour") == []


# -- expiry


def test_what_is_not_seen_again_for_thirty_days_stops_waiting(gate: Gate) -> None:
    first = gate.propose(draft(), sighting("a"))
    later = MORNING + timedelta(hours=1)
    assert sweep(gate.connection, later + timedelta(days=30), days=30) == 0
    assert sweep(gate.connection, later + timedelta(days=30, seconds=1), days=30) == 1
    assert waiting(gate.connection) == []
    gate.hour = 24 * 40
    again = gate.propose(draft(), sighting("b", session_id="s2", at=at(24 * 39)))
    assert (again.outcome, again.id) == ("new", first.id)
    assert gate.candidate.sessions == 2
    assert gate.candidate.first_seen == at(24 * 40)


def test_what_a_person_wrote_by_hand_waits_no_longer(gate: Gate) -> None:
    written = draft(key="port", type="fact", digest="", body="It is 3000.", origin="memory_write", machine_id="")
    gate.propose(written)
    gate.propose(draft(key="deploy:harbour"), sighting("a"))
    gate.drawer.write(dataclasses.replace(written, body="It is 4000.", origin="command"))
    assert sweep(gate.connection, MORNING, days=30) == 0
    gate.drawer.write(dataclasses.replace(written, origin="command"))
    assert sweep(gate.connection, MORNING, days=30) == 1
    assert [candidate.key for candidate in waiting(gate.connection)] == ["deploy:harbour"]


def test_nothing_is_proposed_when_the_caller_rolls_back(gate: Gate) -> None:
    with pytest.raises(sqlite3.Error), transaction(gate.connection):
        propose(gate.connection, draft(), [sighting("a")], at=at(1), rules_version=1)
        raise sqlite3.Error("the disk is full")
    assert waiting(gate.connection) == []
    assert sightings_of(gate.connection, "workspace", "deploy:harbour") == []
