"""A person's yes, no and later: in one transaction, once, and back again."""

from __future__ import annotations

import dataclasses
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.db.connection import connect
from hikidashi.drawer.candidates import ranked, waiting
from hikidashi.drawer.decisions import LATER_DAYS, Decided, Edit, approve, later, reject, undo
from hikidashi.drawer.reading import find_fact, versions_of
from hikidashi.drawer.store import Drawer
from hikidashi.errors import Conflict, SecretRefused, UsageError
from hikidashi.times import format_time
from tests.secrets_samples import tokens
from tests.unit.test_gate_propose import MORNING, Gate, at, draft, gate, sighting

__all__ = ["gate"]

SECRET = next(token for kind, token in tokens() if kind == "github-token")


def clock() -> Any:
    return MORNING + timedelta(hours=2)


def _ids(gate: Gate) -> set[str]:
    return {candidate.id for candidate in waiting(gate.connection)}


def _table(connection: sqlite3.Connection, name: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in connection.execute(f"SELECT * FROM {name}"))


def test_a_yes_makes_a_fact_that_the_person_vouches_for(gate: Gate) -> None:
    waits = gate.propose(draft(), sighting("a"))
    (done,) = approve(gate.drawer, [waits.id], clock=clock)
    assert (done.kind, done.replaced) == ("approved", None)
    fact = gate.fact
    assert fact == done.fact
    assert (fact.trust, fact.confidence, fact.origin) == ("user", 0.9, "promotion")
    assert (fact.machine_id, fact.machine_name, fact.digest) == ("m1", "desk", "aws")
    assert (fact.body, fact.proof, fact.probe, fact.aliases) == (
        draft().body,
        draft().proof,
        draft().probe,
        draft().aliases,
    )
    assert fact.source["session_id"] == "s1"
    assert _ids(gate) == set()


def test_two_approvals_of_one_candidate_are_one(gate: Gate, tmp_path: Path) -> None:
    waits = [gate.propose(draft(key=f"deploy:n{n}", digest=str(n))).id for n in range(5)]
    done: list[Decided] = []
    lock = threading.Lock()
    start = threading.Barrier(4)

    def person() -> None:
        connection = connect(tmp_path / "workspace.sqlite")
        start.wait()
        for name in waits:
            mine = approve(Drawer(connection, "workspace", clock), [name], clock=clock)
            with lock:
                done.extend(mine)
        connection.close()

    people = [threading.Thread(target=person) for _ in range(4)]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert sorted(decided.candidate.id for decided in done) == sorted(waits)
    facts = gate.connection.execute("SELECT version FROM facts").fetchall()
    assert [row["version"] for row in facts] == [1] * 5


def test_several_are_approved_together_or_not_at_all(gate: Gate) -> None:
    good = gate.propose(draft())
    bad = gate.propose(draft(key="auth:harbour", digest="x"))
    edit = Edit(key="auth:harbour", type="capability", body=f"with {SECRET}", probe=())
    with pytest.raises(SecretRefused, match=r"the body holds a secret \(github-token"):
        approve(gate.drawer, [good.id, bad.id], edits={bad.id: edit}, clock=clock)
    assert _ids(gate) == {good.id, bad.id}
    assert _table(gate.connection, "facts") == []
    with pytest.raises(UsageError, match="the body is empty"):
        approve(gate.drawer, [bad.id], edits={bad.id: dataclasses.replace(edit, body=" ")}, clock=clock)
    assert len(approve(gate.drawer, [good.id, bad.id, "NNNNN"], clock=clock)) == 2


def test_an_edit_is_what_becomes_the_fact(gate: Gate) -> None:
    waits = gate.propose(draft(), sighting("a"))
    edit = Edit(key="deploy:port", type="procedure", body="Deploy the port.", probe=("aws", "s3", "ls"))
    (done,) = approve(gate.drawer, [waits.id], edits={waits.id: edit}, clock=clock)
    assert done.fact is not None
    assert (done.fact.key, done.fact.type, done.fact.body, done.fact.probe) == (
        "deploy:port",
        "procedure",
        "Deploy the port.",
        ("aws", "s3", "ls"),
    )
    assert (done.fact.trust, done.fact.confidence, done.fact.machine_id) == ("user", 0.9, "m1")
    assert gate.propose(draft(), sighting("b")).outcome == "refused", "it was given another name"


def test_other_words_for_what_is_known_by_its_digest_are_borne_out_by_the_next_success(gate: Gate) -> None:
    waits = gate.propose(draft(), sighting("a"))
    edit = Edit(key="deploy:harbour", type="capability", body="In my words.", probe=())
    approve(gate.drawer, [waits.id], edits={waits.id: edit}, clock=clock)
    assert gate.propose(draft(), sighting("b")).outcome == "evidence"
    assert gate.fact.body == "In my words."


def test_other_words_for_a_rule_end_the_old_ones(gate: Gate) -> None:
    rule = draft(key="rule:friday", type="rule", body="never push on friday!!", digest="", probe=(), trust="user")
    waits = gate.propose(rule)
    edit = Edit(key="rule:friday", type="rule", body="Never push on Friday.", probe=())
    approve(gate.drawer, [waits.id], edits={waits.id: edit}, clock=clock)
    assert gate.propose(rule).outcome == "refused"
    again = dataclasses.replace(rule, body="Never push on Friday.")
    assert gate.propose(again, sighting("b", key="rule:friday")).outcome == "evidence"


def test_approving_a_key_that_exists_says_what_it_replaced(gate: Gate) -> None:
    approve(gate.drawer, [gate.propose(draft(), sighting("a")).id], clock=clock)
    second = gate.propose(draft(digest="wrangler", body="with wrangler"), sighting("b"))
    (done,) = approve(gate.drawer, [second.id], clock=clock)
    assert done.replaced is not None
    assert done.fact is not None
    assert (done.replaced.body, done.fact.body, done.fact.version) == (draft().body, "with wrangler", 2)
    assert [version.body for version in versions_of(gate.connection, gate.fact)] == [draft().body, "with wrangler"]


@pytest.mark.parametrize("origin", ["memory_write", "reflection", "import"])
def test_what_could_bring_no_probe_takes_none_away(gate: Gate, origin: Any) -> None:
    """An agent's words over a fact: its probe and aliases stay; another type, or the tool table, changes them."""
    gate.drawer.write(draft(probe=("aws", "sts"), aliases=("ship it",), origin="command"))
    said = draft(body="An agent's words.", digest="", aliases=(), origin=origin, confidence=0.7, trust="assistant")
    (done,) = approve(gate.drawer, [gate.propose(said).id], clock=clock)
    assert (gate.fact.body, gate.fact.version) == ("An agent's words.", 2)
    assert (gate.fact.probe, gate.fact.aliases) == (("aws", "sts"), ("ship it",))
    undo(gate.drawer, done)
    assert (gate.fact.version, gate.fact.probe, gate.fact.aliases) == (1, ("aws", "sts"), ("ship it",))
    other = dataclasses.replace(said, type="procedure", body="Its steps.", aliases=("steps",), source={"at": at(9)})
    approve(gate.drawer, [gate.propose(other).id], clock=clock)
    assert (gate.fact.type, gate.fact.probe, gate.fact.aliases) == ("procedure", (), ("steps",))


def test_the_tool_table_and_a_person_s_edit_decide_the_probe(gate: Gate) -> None:
    gate.drawer.write(draft(probe=("aws", "sts"), aliases=("ship it",), origin="command"))
    shown = draft(digest="make", body="By make.", probe=(), aliases=())
    (done,) = approve(gate.drawer, [gate.propose(shown, sighting("a")).id], clock=clock)
    assert (gate.fact.body, gate.fact.probe, gate.fact.aliases) == ("By make.", (), ("ship it",))
    undo(gate.drawer, done)
    said = draft(body="An agent's words.", digest="", origin="memory_write", source={"at": at(9)})
    waits = gate.propose(dataclasses.replace(said, confidence=0.9)).id
    edit = Edit(key="deploy:harbour", type="capability", body="My words.", probe=())
    approve(gate.drawer, [waits], edits={waits: edit}, clock=clock)
    assert (gate.fact.body, gate.fact.probe) == ("My words.", ())


@pytest.mark.parametrize("key", [" deploy:port", "deploy:port\u3000"])
def test_undo_of_an_edit_whose_key_was_typed_with_blanks_restores_what_was_there(gate: Gate, key: str) -> None:
    before = gate.drawer.write(draft(key="deploy:port", body="The person's own."))
    waits = gate.propose(draft(), sighting("a")).id
    edit = Edit(key=key, type="capability", body="The port.", probe=())
    (done,) = approve(gate.drawer, [waits], edits={waits: edit}, clock=clock)
    assert done.replaced == before
    undo(gate.drawer, done)
    assert gate.drawer.find("deploy:port") == before


def test_a_no_is_remembered(gate: Gate) -> None:
    waits = gate.propose(draft(), sighting("a"))
    (done,) = reject(gate.connection, [waits.id, waits.id], clock=clock)
    assert done.kind == "rejected"
    assert _ids(gate) == set()
    assert approve(gate.drawer, [waits.id], clock=clock) == []
    assert find_fact(gate.connection, "workspace", "deploy:harbour") is None


def test_later_hides_it_for_a_week(gate: Gate) -> None:
    waits = gate.propose(draft(), sighting("a"))
    assert later(gate.connection, gate.candidate, clock=clock) is not None
    assert gate.candidate.is_put_off(format_time(clock() + timedelta(days=LATER_DAYS, seconds=-1)))
    assert not gate.candidate.is_put_off(format_time(clock() + timedelta(days=LATER_DAYS)))
    gate.propose(draft(), sighting("b", session_id="s2"))
    assert gate.candidate.is_put_off(at(3)), "seen again is no reason to ask again"
    approve(gate.drawer, [waits.id], clock=clock)
    assert later(gate.connection, dataclasses.replace(done_candidate(gate), id=waits.id), clock=clock) is None


def done_candidate(gate: Gate) -> Any:
    from hikidashi.drawer.candidates import candidate_of

    return candidate_of(gate.connection.execute("SELECT * FROM candidates").fetchone())


# -- undo


@pytest.mark.parametrize("kind", ["approved", "rejected", "later"])
@pytest.mark.parametrize("existed", [False, True])
def test_undo_leaves_everything_as_it_was(gate: Gate, kind: str, existed: bool) -> None:
    if existed:
        approve(gate.drawer, [gate.propose(draft(digest="old", body="the old way"), sighting("a")).id], clock=clock)
        gate.fail(sighting("f", outcome="failed", at=at(1.5)), "it broke")
    waits = gate.propose(draft(), sighting("b", session_id="s2"))
    before = {name: _table(gate.connection, name) for name in ("facts", "fact_versions", "candidates", "refusals")}
    if kind == "approved":
        (done,) = approve(gate.drawer, [waits.id], clock=clock)
    elif kind == "rejected":
        (done,) = reject(gate.connection, [waits.id], clock=clock)
    else:
        found = later(gate.connection, gate.candidate, clock=clock)
        assert found is not None
        done = found
    after = {name: _table(gate.connection, name) for name in before}
    assert after != before
    undo(gate.drawer, done)
    assert {name: _table(gate.connection, name) for name in before} == before
    assert gate.propose(draft(), sighting("c", session_id="s3")).outcome == "seen"


def test_undo_of_an_edited_approval(gate: Gate) -> None:
    waits = gate.propose(draft(), sighting("a"))
    edit = Edit(key="deploy:port", type="capability", body="Another name.", probe=())
    (done,) = approve(gate.drawer, [waits.id], edits={waits.id: edit}, clock=clock)
    undo(gate.drawer, done)
    assert find_fact(gate.connection, "workspace", "deploy:port") is None
    assert _ids(gate) == {waits.id}
    assert gate.propose(draft(), sighting("b", session_id="s2")).outcome == "seen"


def test_undo_does_not_touch_what_was_written_since(gate: Gate) -> None:
    (done,) = approve(gate.drawer, [gate.propose(draft(), sighting("a")).id], clock=clock)
    gate.drawer.write(dataclasses.replace(draft(), body="A person's own words.", origin="command"))
    with pytest.raises(Conflict, match="written again since"):
        undo(gate.drawer, done)
    assert gate.fact.body == "A person's own words."
    assert len(versions_of(gate.connection, gate.fact)) == 2


def test_undo_of_a_no_gives_way_to_what_waits_since(gate: Gate) -> None:
    (done,) = reject(gate.connection, [gate.propose(draft(), sighting("a")).id], clock=clock)
    other = gate.propose(draft(digest="wrangler"), sighting("b"))
    with pytest.raises(Conflict, match=f"decide {other.id} instead"):
        undo(gate.drawer, done)
    assert _ids(gate) == {other.id}
    assert gate.propose(draft(), sighting("c")).outcome == "refused", "the rejection still stands"


# -- order


def test_what_matters_comes_first(gate: Gate) -> None:
    def put(key: str, sessions: int = 1, hours: float = 0, **changes: Any) -> None:
        for number in range(sessions):
            seen = sighting(f"{key}{number}", key=key, session_id=f"s{number}")
            gate.propose(draft(key=key, digest=key, source={"at": at(hours)}, **changes), seen)

    put("test:harbour")
    put("build:harbour", sessions=9)
    put("deploy:old", hours=-24 * 60)
    put("deploy:harbour")
    put("deploy:often", sessions=3)
    put("port", type="fact", origin="memory_write", confidence=0.7, trust="assistant")
    put("rule:friday", type="rule", confidence=1.0, trust="user")
    order = [candidate.key for candidate in ranked(waiting(gate.connection), MORNING)]
    assert order == [
        "deploy:often",
        "rule:friday",
        "deploy:harbour",
        "build:harbour",
        "port",
        "test:harbour",
        "deploy:old",
    ]
