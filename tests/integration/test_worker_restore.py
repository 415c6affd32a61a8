"""A record that was dropped or changed comes back, and stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hikidashi.errors import Busy, UsageError
from hikidashi.staging.claim import take_claim
from hikidashi.staging.entry import Disposition
from hikidashi.worker.engine import Materials
from hikidashi.worker.restore import RestoreReport, restore
from hikidashi.worker.runs import find_run, run_details
from hikidashi.worker.scratch import Scratch
from hikidashi.worker.undo import requeue
from tests.support.workshop import PlainEngine, Workshop, decision_path, old_path


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project")
    workshop.keep_old(1)
    workshop.stage(1)
    workshop.run()  # drops it
    yield workshop
    workshop.close()


def _restore(workshop: Workshop, path: str) -> RestoreReport:
    return restore(workshop.workspace, workshop.settings, workshop.connection, path, clock=workshop.clock)


@pytest.mark.parametrize("written", [old_path(1), f".hikidashi/{old_path(1)}", old_path(1).replace("/", "\\")])
def test_a_dropped_record_comes_back_and_is_not_dropped_again(workshop: Workshop, written: str) -> None:
    assert old_path(1) not in workshop.tree()
    report = _restore(workshop, written)
    assert "Once true." in workshop.read(old_path(1))
    commit = workshop.history.tip()
    assert commit is not None
    assert (commit.id, commit.author, commit.subject) == (report.commit, "person", f"Restore {old_path(1)}")
    assert commit.trailers["Restored-From"] == (report.from_commit,)
    workshop.now = workshop.now.replace(year=2027)
    assert workshop.run(clean_up_only=True).operations == []
    assert old_path(1) in workshop.tree()
    assert not workshop.workspace.claim_path.exists()


def test_a_changed_record_goes_back_and_a_second_restore_undoes_the_first(workshop: Workshop) -> None:
    path = decision_path(1)
    first = workshop.read(path)
    workshop.write(path, first + "\nAn edit that was never committed.\n")
    edited = workshop.read(path)
    _restore(workshop, path)
    assert workshop.read(path) == first
    _restore(workshop, path)
    assert workshop.read(path) == edited


def test_a_persons_workflow_page_comes_back_too(workshop: Workshop) -> None:
    workshop.write("memory/workflow/how.md", "Ours.\n")
    workshop.stage(2)
    workshop.run()
    (workshop.workspace.home / "memory/workflow/how.md").unlink()
    _restore(workshop, "memory/workflow/how.md")
    assert workshop.read("memory/workflow/how.md") == "Ours.\n"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("memory/decisions/never.md", "was never in history"),
        (decision_path(1), "no earlier text"),
        ("config.toml", "is no record"),
        ("../memory/decisions/x.md", "is no record"),
        ("/etc/passwd", "is no record"),
        ("memory/workflow/../decisions/x.md", "is no record"),
        ("", "is no record"),
    ],
)
def test_what_cannot_be_restored_is_said_with_the_mend(workshop: Workshop, path: str, words: str) -> None:
    before = workshop.tree()
    with pytest.raises(UsageError, match=words) as caught:
        _restore(workshop, path)
    assert "hikidashi log -p" in str(caught.value)
    assert workshop.tree() == before
    assert not workshop.workspace.claim_path.exists()


def test_a_restore_never_races_a_run(workshop: Workshop) -> None:
    held = take_claim(workshop.workspace, "01KQS55DE0WR4VJPYNTPRWQWRJ", max_seconds=900, clock=workshop.clock)
    with pytest.raises(Busy):
        _restore(workshop, old_path(1))
    held.release()
    workshop.stage(2)
    busy: list[str] = []

    def meanwhile() -> None:
        with pytest.raises(Busy) as caught:
            _restore(workshop, old_path(1))
        busy.append(str(caught.value))

    assert workshop.run(meanwhile=meanwhile).outcome == "done"
    assert busy


class Discarding(PlainEngine):
    def integrate(self, scratch: Scratch, materials: Materials) -> list[Disposition]:
        return [Disposition(entry_id=e.id, kind="discarded", reason="small talk") for e in materials.entries]


def test_a_run_is_found_by_its_beginning_and_shown_with_titles_and_diffs(workshop: Workshop) -> None:
    run_id = find_run(workshop.connection, "last").run_id
    details = run_details(workshop.workspace, workshop.connection, run_id[:20].lower())
    assert details.run["outcome"] == "done"
    assert [(e["disposition"], e["kind"], e["title"]) for e in details.entries] == [("applied", "decision", "Choice 1")]
    assert {phase: [d.path for d in files] for phase, files in details.diffs.items()} == {
        "integration": [decision_path(1), "memory/summary.md"],
        "clean-up": ["memory/cleanup-log.md", old_path(1)],
    }
    assert details.to_dict()["diffs"]["clean-up"][1]["diff"].startswith("--- ")


@pytest.mark.parametrize("name", ["", "zzzz", "*", "[0-9]", "01KQ' OR 1=1", "0" * 27, "全"])
def test_a_run_that_is_not_there_is_said(workshop: Workshop, name: str) -> None:
    with pytest.raises(UsageError):
        find_run(workshop.connection, name)


def test_discarded_entries_of_a_run_are_staged_again(workshop: Workshop) -> None:
    ids = workshop.stage(2, 3)
    workshop.run(engine=Discarding)
    report = requeue(workshop.workspace, workshop.connection, "last", clock=workshop.clock)
    assert sorted(report.entries) == sorted(ids)
    assert requeue(workshop.workspace, workshop.connection, "last", clock=workshop.clock).entries == []
    assert workshop.run().consumed == 2
    workshop.assert_whole(ids)
