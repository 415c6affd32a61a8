"""What one run promises: every entry accounted for, a person's text never lost, every ending said."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.atomic import Step, observed
from hikidashi.errors import (
    BudgetSpent,
    Busy,
    CorruptData,
    HikidashiError,
    LintErrors,
    LostClaim,
    ModelFailure,
    StorageFailure,
)
from hikidashi.records.record import parse_record
from hikidashi.staging.claim import take_claim
from hikidashi.staging.entry import Disposition
from hikidashi.staging.pause import set_paused
from hikidashi.worker.bench import CHECKPOINTS
from hikidashi.worker.engine import CleanupMaterials, Materials
from hikidashi.worker.ledger import batch_limit, last_run, losses_left, protected_blobs, set_batch_limit
from hikidashi.worker.outcomes import exit_code, outcome_of
from hikidashi.worker.report import Operation
from hikidashi.worker.run import consolidate
from hikidashi.worker.runs import find_run
from hikidashi.worker.scratch import Scratch
from tests.support.workshop import PlainEngine, Workshop, decision_path, make_entry, old_path


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "a 'quoted' プロジェクト")
    yield workshop
    workshop.close()


class Failing(PlainEngine):
    """Raises in integration, or in clean-up."""

    def __init__(self, error: Exception, *, phase: str = "integrate") -> None:
        super().__init__()
        self._error, self._phase = error, phase

    def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
        if self._phase == "integrate":
            raise self._error
        return super().integrate(scratch, materials)

    def clean_up(self, scratch: Scratch, materials: CleanupMaterials) -> list[Operation]:
        if self._phase == "clean_up":
            raise self._error
        return super().clean_up(scratch, materials)


class Lying(PlainEngine):
    """Gives dispositions that the trees do not bear out."""

    def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
        return super().integrate(scratch, materials)[1:]


def test_a_run_consumes_what_is_staged_and_says_so(workshop: Workshop) -> None:
    workshop.keep_old(1)
    ids = workshop.stage(1, 2, 3)
    report = workshop.run()
    assert (report.outcome, report.consumed, report.remaining) == ("done", 3, 0)
    workshop.assert_whole(ids)
    integration, clean_up = workshop.history.commit_at(report.commits["integration"]), workshop.history.tip()
    assert clean_up is not None
    assert integration.trailers["Run"] == clean_up.trailers["Run"] == (report.run_id,)
    assert clean_up.trailers["Operation"] == (f"drop {old_path(1)} [outdated]: it is old",)
    assert f"drop {old_path(1)} [outdated]: it is old (run {report.run_id})" in workshop.read("memory/cleanup-log.md")
    row = last_run(workshop.connection)
    assert row is not None
    assert (row.outcome, row.batch) == ("done", tuple(ids))
    saved, said = row.report, json.loads(json.dumps(report.to_dict()))
    assert {k: v for k, v in saved.items() if k != "seconds"} == {k: v for k, v in said.items() if k != "seconds"}


def test_a_second_run_is_idle_and_changes_no_byte(workshop: Workshop) -> None:
    workshop.stage(1)
    workshop.run()
    before, tip = workshop.tree(), workshop.history.tip()
    report = workshop.run()
    assert (report.outcome, report.message) == ("idle", "nothing is staged")
    assert (workshop.tree(), workshop.history.tip()) == (before, tip)
    assert workshop.connection.execute("SELECT count(*) FROM runs").fetchone()[0] == 1


def test_a_paused_workspace_is_left_alone(workshop: Workshop) -> None:
    workshop.stage(1)
    set_paused(workshop.connection, True, workshop.clock)
    report = workshop.run()
    assert report.outcome == "idle"
    assert "hikidashi resume" in report.message
    set_paused(workshop.connection, False)
    assert workshop.run().outcome == "done"


def test_clean_up_alone_runs_without_entries_and_leaves_staged_ones(workshop: Workshop) -> None:
    workshop.keep_old(1)
    ids = workshop.stage(1)
    report = workshop.run(clean_up_only=True)
    assert (report.outcome, report.consumed, report.remaining) == ("done", 0, 1)
    assert [o.op for o in report.operations] == ["drop"]
    workshop.assert_whole(ids)
    assert set(workshop.states().values()) == {"staged"}


ENDINGS: dict[str, tuple[Exception, str]] = {
    "lint": (LintErrors("three turns were returned"), "aborted-lint"),
    "budget": (BudgetSpent("too long"), "budget"),
    "claim": (LostClaim("another took it"), "lost-claim"),
    "auth": (ModelFailure("wrong key", kind="auth"), "failed:auth"),
    "billing": (ModelFailure("no money", kind="billing"), "failed:billing"),
    "network": (ModelFailure("no answer", kind="network"), "failed:network"),
    "overloaded": (ModelFailure("busy", kind="overloaded"), "failed:overloaded"),
    "content": (ModelFailure("nonsense", kind="content"), "failed:content"),
}


@pytest.mark.parametrize(("error", "outcome"), ENDINGS.values(), ids=ENDINGS)
def test_every_failure_has_its_outcome_and_keeps_the_entries(
    workshop: Workshop, error: HikidashiError, outcome: str
) -> None:
    ids = workshop.stage(1, 2)
    report = workshop.run(engine=lambda: Failing(error))
    assert (report.outcome, report.message, report.remaining) == (outcome, str(error), 2)
    assert exit_code(report.outcome) == error.exit_code
    workshop.assert_whole(ids)
    assert set(workshop.states().values()) == {"staged"}
    counted = outcome in ("aborted-lint", "failed:content")
    assert [one.attempts for one in workshop.store.staged()] == [int(counted)] * 2
    assert batch_limit(workshop.connection) == (1 if counted else None)


@pytest.mark.parametrize("error", [error for error, _ in ENDINGS.values()], ids=list(ENDINGS))
def test_a_clean_up_that_fails_leaves_what_was_integrated(workshop: Workshop, error: HikidashiError) -> None:
    workshop.keep_old(1)
    ids = workshop.stage(1)
    report = workshop.run(engine=lambda: Failing(error, phase="clean_up"))
    assert (report.outcome, report.message, report.consumed) == ("partial", str(error), 1)
    assert exit_code(report.outcome) == 0
    workshop.assert_whole(ids)
    assert old_path(1) in workshop.tree()


def test_every_error_of_a_run_has_an_outcome_with_its_exit_code() -> None:
    for error in (Busy("x"), LintErrors("x"), BudgetSpent("x"), LostClaim("x"), ModelFailure("x")):
        outcome = outcome_of(error)
        assert outcome is not None
        assert exit_code(outcome) == error.exit_code
    assert outcome_of(StorageFailure("x")) is None


def test_a_fault_of_the_program_is_raised_and_isolates_the_entry(workshop: Workshop) -> None:
    ids = workshop.stage(1, 2, 3, 4)
    for left in (2, 1):
        with pytest.raises(ZeroDivisionError):
            workshop.run(engine=lambda: Failing(ZeroDivisionError()))
        assert batch_limit(workshop.connection) == left
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            workshop.run(engine=lambda: Failing(ZeroDivisionError()))
    assert workshop.states()[ids[0]] == "quarantined"
    workshop.assert_whole(ids[1:])
    assert workshop.drain().exit_code == 0
    workshop.assert_whole(ids[1:])


def test_dispositions_that_do_not_hold_publish_nothing(workshop: Workshop) -> None:
    ids = workshop.stage(1, 2)
    report = workshop.run(engine=Lying)
    assert report.outcome == "failed:content"
    assert f"{ids[0]}: no disposition" in report.message
    workshop.assert_whole(ids)
    assert workshop.tree() == {}


def test_a_failing_batch_is_halved_until_the_entry_at_fault_stands_alone(workshop: Workshop) -> None:
    ids = workshop.stage(1, 2, 3, 4, 5)
    bad = ids[3]

    class Choking(PlainEngine):
        def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
            if bad in [entry.id for entry in materials.entries]:
                raise LintErrors("it chokes")
            return super().integrate(scratch, materials)

    sizes = []
    for _ in range(20):
        if not workshop.store.staged():
            break
        report = workshop.run(engine=Choking)
        row = last_run(workshop.connection)
        assert row is not None
        sizes.append((len(row.batch), report.outcome))
    assert workshop.states()[bad] == "quarantined"
    assert [state for entry, state in workshop.states().items() if entry != bad] == ["consumed"] * 4
    assert sizes[:3] == [(5, "aborted-lint"), (2, "done"), (3, "aborted-lint")]
    workshop.assert_whole([entry for entry in ids if entry != bad])


def test_a_smaller_batch_grows_back_after_success(workshop: Workshop) -> None:
    set_batch_limit(workshop.connection, 16)
    workshop.stage(1)
    workshop.run()
    assert batch_limit(workshop.connection) == 32
    workshop.stage(2)
    workshop.run()
    assert batch_limit(workshop.connection) is None


def test_time_spent_ends_the_run_between_turns(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = workshop.stage(1, 2)
    began = time.monotonic()
    monkeypatch.setattr("hikidashi.worker.run.time.monotonic", lambda: began)

    class Slow(PlainEngine):
        def _summarise(self, scratch: Scratch, entry: Any) -> None:
            monkeypatch.setattr("hikidashi.worker.run.time.monotonic", lambda: began + 901)
            super()._summarise(scratch, entry)

    report = workshop.run(engine=Slow)
    assert report.outcome == "budget"
    assert "worker.max_seconds" in report.message
    workshop.assert_whole(ids)
    assert set(workshop.states().values()) == {"staged"}


def test_a_manual_pass_is_exactly_one_and_says_what_remains(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path, environ={"HIKIDASHI_WORKER_BATCH_ENTRIES": "2"})
    workshop.stage(*range(1, 8))
    report = consolidate(workshop.workspace, workshop.settings, workshop.connection, PlainEngine, clock=workshop.clock)
    assert [(run.consumed, run.remaining) for run in report.runs] == [(2, 5)]
    automatic = consolidate(
        workshop.workspace, workshop.settings, workshop.connection, PlainEngine, manual=False, clock=workshop.clock
    )
    assert [run.remaining for run in automatic.runs] == [3, 1, 0]
    workshop.stage(*range(8, 20))
    limited = consolidate(
        workshop.workspace, workshop.settings, workshop.connection, PlainEngine, manual=False, clock=workshop.clock
    )
    assert [run.remaining for run in limited.runs] == [10, 8, 6, 4]  # worker.max_coalesced_runs is 3
    drained = workshop.drain()
    assert [run.remaining for run in drained.runs] == [2, 0]
    workshop.close()


def test_entries_that_arrive_meanwhile_wait_for_the_next_run(workshop: Workshop) -> None:
    first = workshop.stage(1)
    late: list[str] = []
    report = workshop.run(meanwhile=lambda: late.extend(workshop.stage(2)))
    assert (report.consumed, report.remaining) == (1, 1)
    assert workshop.states() == {first[0]: "consumed", late[0]: "staged"}
    workshop.drain()
    workshop.assert_whole(first + late)


def test_draining_stops_at_a_failure(workshop: Workshop) -> None:
    workshop.stage(1, 2)
    report = workshop.drain(engine=lambda: Failing(ModelFailure("no", kind="network")))
    assert [run.outcome for run in report.runs] == ["failed:network"]
    assert report.exit_code == ModelFailure.exit_code


def test_draining_waits_for_a_claim_but_not_for_ever(workshop: Workshop) -> None:
    workshop.stage(1)
    held = take_claim(workshop.workspace, "01KQS55DE0WR4VJPYNTPRWQWRJ", max_seconds=900, clock=workshop.clock)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            held.release()

    assert workshop.drain(sleep=sleep).last.outcome == "done"
    assert len(slept) == 3
    workshop.stage(2)
    held = take_claim(workshop.workspace, "01KQS55DE0WR4VJPYNTPRWQWRJ", max_seconds=900, clock=workshop.clock)
    slept.clear()
    report = workshop.run()
    assert report.outcome == "busy"
    assert "is consolidating" in report.message
    assert workshop.connection.execute("SELECT count(*) FROM runs").fetchone()[0] == 1
    held.release()


def test_a_claim_lost_on_the_way_publishes_nothing(workshop: Workshop) -> None:
    ids = workshop.stage(1)
    path = workshop.workspace.claim_path

    def steal() -> None:
        claim = json.loads(path.read_text())
        path.write_text(json.dumps({**claim, "run_id": "01KQS55DE0WR4VJPYNTPRWQWRJ", "pid": claim["pid"] + 1}))

    report = workshop.run(meanwhile=steal)
    assert report.outcome == "lost-claim"
    assert path.exists()  # it is another run's now
    path.unlink()
    workshop.assert_whole(ids)
    assert workshop.tree() == {}


# A person at the same files


def test_an_edit_before_the_run_is_committed_as_the_persons_and_protected(workshop: Workshop) -> None:
    workshop.keep_old(1, 2)
    text = workshop.read(old_path(1)).replace("Once true.", "Still true, I checked.")
    workshop.write(old_path(1), text)
    workshop.stage(1)
    report = workshop.run()
    assert report.outcome == "done"
    assert workshop.read(old_path(1)) == text
    assert old_path(2) not in workshop.tree()  # clean-up took the one that nobody vouches for
    authors = [(c.author, c.subject) for c in workshop.history.log()]
    assert ("person", f"A person changed {old_path(1)}") in authors
    assert set(protected_blobs(workshop.connection)) == {old_path(1)}


def test_a_record_that_a_person_deletes_is_no_longer_protected(workshop: Workshop) -> None:
    workshop.keep_old(1)
    workshop.write(old_path(1), workshop.read(old_path(1)) + "\nMine.\n")
    workshop.stage(1)
    workshop.run()
    assert set(protected_blobs(workshop.connection)) == {old_path(1)}
    (workshop.workspace.home / old_path(1)).unlink()
    ids = workshop.stage(2)
    workshop.run()
    assert protected_blobs(workshop.connection) == {}
    workshop.assert_whole(ids)


def test_an_edit_elsewhere_during_the_run_survives_it(workshop: Workshop) -> None:
    workshop.keep_old(1, 2)
    workshop.settings = workshop.settings
    text = workshop.read(old_path(2)) + "\nMy note.\n"
    ids = workshop.stage(1)
    report = workshop.run(meanwhile=lambda: workshop.write(old_path(2), text))
    assert report.outcome == "done"
    assert workshop.read(old_path(2)) == text
    workshop.assert_whole(ids)
    assert workshop.history.versions(old_path(2))[0][0].author == "person"


def test_an_edit_of_a_record_that_the_run_writes_starts_it_over_on_the_new_text(workshop: Workshop) -> None:
    workshop.stage(1)
    workshop.run()
    ids = workshop.stage(2)
    path = "memory/summary.md"
    edits: list[str] = []

    def edit() -> None:
        if not edits:
            edits.append(workshop.read(path) + "- my own line\n")
            workshop.write(path, edits[0])

    report = workshop.run(meanwhile=edit)
    assert report.outcome == "done"
    assert "started over once" in report.notices[0]
    body = parse_record(path, workshop.tree()[path]).body
    assert "- my own line" in body
    assert "- Choice 2" in body
    workshop.assert_whole(ids)


def test_a_person_who_keeps_editing_wins_and_the_entries_wait(workshop: Workshop) -> None:
    workshop.stage(1)
    workshop.run()
    ids = workshop.stage(2)
    path = "memory/summary.md"
    edits: list[str] = []

    def edit() -> None:
        edits.append(workshop.read(path) + f"- line {len(edits)}\n")
        workshop.write(path, edits[-1])

    report = workshop.run(meanwhile=edit)
    assert (report.outcome, exit_code(report.outcome)) == ("conflict", 10)
    assert path in report.message
    assert workshop.read(path) == edits[1]
    assert workshop.states()[ids[0]] == "staged"
    assert decision_path(2) not in workshop.tree()
    assert workshop.run().outcome == "done"
    assert all(f"- line {n}" in workshop.read(path) for n in (0, 1))
    workshop.assert_whole(ids)


@pytest.mark.parametrize("replaced", [1, 2])
def test_an_edit_in_the_middle_of_publication_takes_it_back_and_starts_over(workshop: Workshop, replaced: int) -> None:
    workshop.stage(1)
    workshop.run()
    ids = workshop.stage(2, 3)
    path = decision_path(3)
    seen: list[str] = []

    def checkpoint(name: str) -> None:
        seen.append(name)
        if seen.count("publish:file-replaced") == replaced and name == "publish:file-replaced":
            workshop.write(path, "A person's, saved at the worst moment.\n")

    report = workshop.run(checkpoint=checkpoint)
    assert workshop.read(path) == "A person's, saved at the worst moment.\n"
    lost = workshop.history.lost()
    if replaced == 1:  # its turn was still to come
        assert list(lost) == [report.run_id]
    assert report.outcome == "done"
    workshop.drain()
    workshop.assert_whole(ids[:1])
    assert workshop.history.versions(path)[0][0].author == "person"


# Faults of the disk


@pytest.mark.parametrize("name", [name for name in CHECKPOINTS if not name.startswith("recover:")])
def test_an_interruption_at_any_checkpoint_leaves_a_state_that_the_next_run_finishes(
    workshop: Workshop, name: str
) -> None:
    workshop.keep_old(1)
    workshop.write("memory/workflow/notes.md", "Ours.\n")
    ids = workshop.stage(1, 2)

    def checkpoint(passed: str) -> None:
        if passed == name:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workshop.run(checkpoint=checkpoint)
    assert not workshop.workspace.claim_path.exists()
    workshop = workshop.reopened()
    assert workshop.drain().exit_code == 0
    workshop.assert_whole(ids)
    assert set(workshop.states().values()) == {"consumed"}
    workshop.close()


@pytest.mark.parametrize(
    ("name", "first", "then"),
    [
        ("run:checked", "crashed", "crashed"),
        ("publish:journal-renamed", "crashed", "partial"),
        ("publish:database", "partial", "partial"),
    ],
)
def test_a_disk_that_fails_in_a_publication_is_said_and_the_next_run_finishes_it(
    workshop: Workshop, name: str, first: str, then: str
) -> None:
    ids = workshop.stage(1, 2)
    failing = False

    def checkpoint(passed: str) -> None:
        nonlocal failing
        failing = failing or passed == name

    def before(step: Step, path: Path) -> None:
        if failing and path.name != workshop.workspace.claim_path.name:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with observed(before), pytest.raises(StorageFailure, match="read-only"):
        workshop.run(checkpoint=checkpoint)
    row = last_run(workshop.connection)
    assert row is not None
    assert row.outcome == first
    assert ("the next run finishes it" in str(row.report["notices"])) == workshop.workspace.journal.exists()
    report = workshop.run()
    finished = find_run(workshop.connection, row.run_id)
    assert finished.outcome == then
    assert finished.report["consumed"] == (0 if then == "crashed" else 2)
    assert report.outcome == ("done" if then == "crashed" else "idle")
    workshop.assert_whole(ids)


def test_interrupting_a_run_by_hand_is_not_the_entrys_fault(workshop: Workshop) -> None:
    ids = workshop.stage(1)

    def interrupt() -> None:
        raise KeyboardInterrupt

    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            workshop.run(meanwhile=interrupt)
    assert workshop.run().consumed == 1
    workshop.assert_whole(ids)


def test_somebody_who_commits_to_the_history_meanwhile_is_built_upon(workshop: Workshop) -> None:
    ids = workshop.stage(1)
    history = workshop.history

    def checkpoint(name: str) -> None:
        if name == "publish:replaced":
            history.commit(history.tree(), author="vcs", subject="By hand", at=workshop.now)

    report = workshop.run(checkpoint=checkpoint)
    assert report.outcome == "done"
    assert [commit.subject for commit in history.log()] == ["Integrate 1 entry", "By hand"]
    workshop.assert_whole(ids)


def test_an_entry_that_vanished_from_the_database_stops_the_run_before_anything_changes(workshop: Workshop) -> None:
    ids = workshop.stage(1, 2)

    def vanish() -> None:
        workshop.connection.execute("DELETE FROM entries WHERE id = ?", (ids[0],))

    with pytest.raises(CorruptData, match="not staged any more"):
        workshop.run(meanwhile=vanish)
    assert workshop.tree() == {}
    assert not workshop.workspace.journal.exists()
    assert workshop.drain().exit_code == 0  # its file was still there and was taken up
    workshop.assert_whole(ids)


def test_a_database_from_a_backup_does_not_stop_recovery(workshop: Workshop) -> None:
    ids = workshop.stage(1, 2)

    def stop(name: str) -> None:
        if name == "publish:committed":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        workshop.run(checkpoint=stop)
    (workshop.workspace.staging / f"{ids[0]}.json").unlink()
    workshop.connection.execute("DELETE FROM entries WHERE id = ?", (ids[0],))
    workshop.connection.execute("DELETE FROM runs")
    report = workshop.run()
    assert "the publication was finished" in report.recovered[0]
    workshop.assert_whole(ids[1:])


def test_losses_are_counted_over_a_rolling_day(workshop: Workshop) -> None:
    workshop.keep_old(*range(1, 4))
    assert losses_left(workshop.connection, 3, 0.1, workshop.now) == 1
    workshop.run(clean_up_only=True)
    assert losses_left(workshop.connection, 2, 0.1, workshop.now) == 0
    report = workshop.run(clean_up_only=True)
    assert report.operations == []
    assert losses_left(workshop.connection, 40, 0.1, workshop.now) == 3


def _refusing(entry_number: int) -> Callable[[], PlainEngine]:
    entry = make_entry(entry_number)

    class Refusing(PlainEngine):
        def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
            kept = Materials(entries=tuple(e for e in materials.entries if e.id != entry.id))
            return [
                *super().integrate(scratch, kept),
                Disposition(entry_id=entry.id, kind="discarded", reason="small talk"),
            ]

    return Refusing


def test_a_discarded_entry_is_consumed_with_its_reason_and_can_be_requeued(workshop: Workshop) -> None:
    ids = workshop.stage(1, 2)
    report = workshop.run(engine=_refusing(2))
    assert report.to_dict()["dispositions"] == {"applied": 1, "discarded": 1}
    assert set(workshop.states().values()) == {"consumed"}
    assert workshop.store.requeue(report.run_id) == [ids[1]]
    assert workshop.run().consumed == 1
    workshop.assert_whole(ids)


def test_a_run_whose_entries_change_nothing_is_still_on_record(workshop: Workshop) -> None:
    ids = workshop.stage(1)
    report = workshop.run(engine=_refusing(1))
    assert report.outcome == "done"
    commit = workshop.history.tip()
    assert commit is not None
    assert commit.trailers["Run"] == (report.run_id,)
    assert f"{ids[0]} discarded small talk: Choice 1" in commit.body
