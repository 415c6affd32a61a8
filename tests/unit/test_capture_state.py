"""The state between two readings: small, redacted, and as good as having read on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.capture.extract import SessionFold
from hikidashi.hosts.claude_code import HOST
from hikidashi.hosts.transcript import Event
from hikidashi.staging.entry import Entry
from tests.capture_sessions import busy_session, open_session
from tests.support.examples import examples
from tests.transcripts import Session, read

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"


def events_of(session: Session, folder: Path) -> list[Event]:
    return read(session.write(folder / "s.jsonl"))[0]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    folder = tmp_path_factory.mktemp("state")
    return [*events_of(busy_session(), folder), *events_of(open_session(), folder)]


def passed_on(fold: SessionFold) -> SessionFold:
    state = json.loads(json.dumps(fold.to_state()))
    after = SessionFold(HOST.name)
    after.restore(state)
    return after


@settings(max_examples=examples(20, 1_000), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.sets(st.integers(min_value=1, max_value=60), max_size=8))
def test_reading_on_from_a_state_gives_what_reading_at_once_gives(both: list[Event], cuts: set[int]) -> None:
    whole = SessionFold(HOST.name)
    expected = [entry for event in both for entry in whole.feed(event)] + whole.settle()
    fold = SessionFold(HOST.name)
    entries: list[Entry] = []
    for number, event in enumerate(both):
        if number in cuts:
            fold = passed_on(fold)
        entries += fold.feed(event)
    entries += passed_on(fold).settle()
    assert entries == expected
    assert {entry.kind for entry in entries} == {"decision", "attempt", "request"}


def test_a_state_is_the_same_after_it_was_passed_on(both: list[Event]) -> None:
    fold = SessionFold(HOST.name)
    for event in both:
        fold.feed(event)
    assert passed_on(fold).to_state() == fold.to_state()


def test_the_worst_session_has_a_small_state(tmp_path: Path) -> None:
    session = Session()
    for number in range(40):
        session.user(f"Add feature number {number} to the shop: " + "really long words here " * 200)
        session.todo(*((f"item {n} of {number} " + "y" * 400, "pending") for n in range(80)))
        session.says("Which one should it be? " + "z" * 5_000 + "\n\nA) one long option\nB) another long option?")
        for part in range(6):
            session.runs(
                f"npm run build:{part} {'w' * 400}", f"Error: cannot find thing {part} {'q' * 400}", exit_code=1
            )
            session.edits(f"/home/ann/shop/{'n' * 90}{part}.ts", "a", "b")
        session.runs("git commit -am x", f"[main {number:07x}] {'A long subject ' * 20}\n 1 file changed")
    fold = SessionFold(HOST.name)
    for event in events_of(session, tmp_path):
        fold.feed(event)
    assert len(json.dumps(fold.to_state(), ensure_ascii=False).encode()) < 32 * 1024


def test_no_secret_stands_in_a_state(tmp_path: Path) -> None:
    session = Session(branch=f"ann/{TOKEN}")
    session.user(f"Add the token {TOKEN} to the upload client settings")
    session.todo((f"Store {TOKEN} in the settings", "pending"))
    session.says(f"Should {TOKEN} go into the settings file?\n\nA) yes with {TOKEN}\nB) no, from the environment")
    session.runs(f"deploy --token {TOKEN} && npm test", f"Error: token {TOKEN} was refused", exit_code=1)
    session.edits(f"/home/ann/shop/{TOKEN}.ts", "a", "b")
    session.runs(f"npm run build -- {TOKEN}", f"Error: cannot use {TOKEN} here", exit_code=1)
    session.runs("git commit -am x", f"[main 1a2b3c4] Add token {TOKEN} to settings\n 1 file changed")
    fold = SessionFold(HOST.name)
    entries = [entry for event in events_of(session, tmp_path) for entry in fold.feed(event)]
    entries += fold.settle()
    assert entries
    assert TOKEN not in json.dumps(fold.to_state())
    assert all(TOKEN not in entry.to_json() for entry in entries)
    assert any("[redacted:" in entry.to_json() for entry in entries)


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version"):
        SessionFold(HOST.name).restore({"version": 0})
