"""A link, a folder or a huge file among the records costs nobody else anything: it is left alone and said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from hikidashi.errors import CorruptData, UsageError
from hikidashi.records.history import History
from hikidashi.records.library import MAX_FILE_BYTES
from hikidashi.worker.ledger import protected_blobs
from hikidashi.worker.restore import restore
from hikidashi.worker.rules import RulesEngine
from tests.support.workshop import Workshop, decision_path

Spoil = Callable[[Path], None]


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project")
    yield workshop
    workshop.close()


def rules(workshop: Workshop) -> Callable[[], RulesEngine]:
    return lambda: RulesEngine(workshop.settings, clock=workshop.clock)


def _link(file: Path) -> None:
    target = file.parent.parent.parent.parent / "elsewhere.md"
    target.write_bytes(file.read_bytes() if file.exists() else b"# Theirs\n")
    file.unlink(missing_ok=True)
    file.symlink_to(target)


def _huge(file: Path) -> None:
    file.write_bytes(b"x" * (MAX_FILE_BYTES + 1))


def _folder(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.mkdir()


@pytest.mark.parametrize("spoil", [_link, _huge, _folder])
@pytest.mark.parametrize("path", ["memory/summary.md", decision_path(1), decision_path(2)])
def test_a_file_that_is_not_read_does_not_stop_consolidation(workshop: Workshop, path: str, spoil: Spoil) -> None:
    workshop.stage(1)
    assert workshop.run(engine=rules(workshop)).outcome == "done"
    spoil(workshop.workspace.home / path)
    workshop.stage(2)  # would be choice-2.md
    report = workshop.run(engine=rules(workshop))
    assert (report.outcome, report.remaining) == ("done", 0), report.message
    assert any(path in notice and "read-only" in notice for notice in report.notices)
    record = report.dispositions[0].record
    assert record == ("memory/decisions/choice-2-2.md" if path == decision_path(2) else decision_path(2))
    assert "Port 8002" in workshop.read(record)


def test_a_file_that_is_not_read_counts_as_neither_deleted_nor_edited(workshop: Workshop) -> None:
    workshop.stage(1)
    workshop.run(engine=rules(workshop))
    path = decision_path(1)
    workshop.write(path, workshop.read(path) + "\nA person's line.\n")
    workshop.stage(2)
    workshop.run(engine=rules(workshop))
    theirs = protected_blobs(workshop.connection)[path]
    _huge(workshop.workspace.home / path)
    workshop.write(decision_path(2), workshop.read(decision_path(2)) + "\nAn edit beside it.\n")
    workshop.stage(3)
    workshop.run(engine=rules(workshop))
    assert protected_blobs(workshop.connection)[path] == theirs
    assert b"A person's line." in History(workshop.workspace.history).tree()[path]


def test_restore_does_not_write_over_a_file_that_history_could_not_keep(workshop: Workshop) -> None:
    workshop.stage(1)
    workshop.run(engine=rules(workshop))
    file = workshop.workspace.home / decision_path(1)
    _huge(file)
    with pytest.raises(UsageError, match="1 MiB"):
        restore(workshop.workspace, workshop.settings, workshop.connection, decision_path(1), clock=workshop.clock)
    assert file.stat().st_size == MAX_FILE_BYTES + 1


@pytest.mark.parametrize("folder", ["memory", "memory/decisions", "knowledge"])
def test_a_link_in_place_of_a_records_folder_is_said_and_nothing_counts_as_deleted(
    workshop: Workshop, folder: str
) -> None:
    ids = workshop.stage(1, 2)
    workshop.run(engine=rules(workshop))
    workshop.write(decision_path(1), workshop.read(decision_path(1)) + "\nA person's line.\n")
    workshop.workspace.knowledge.mkdir(exist_ok=True)
    workshop.stage(3)
    workshop.run(engine=rules(workshop))
    protected, tip = protected_blobs(workshop.connection), workshop.history.tip()
    place = workshop.workspace.home / folder
    place.rename(workshop.workspace.root / "moved")
    place.symlink_to(workshop.workspace.root / "moved")
    workshop.stage(4)
    with pytest.raises(CorruptData, match="no plain folder"):
        workshop.run(engine=rules(workshop))
    assert (protected_blobs(workshop.connection), workshop.history.tip()) == (protected, tip)
    place.unlink()
    (workshop.workspace.root / "moved").rename(place)
    assert workshop.run(engine=rules(workshop)).outcome == "done"
    assert set(workshop.states().values()) == {"consumed"}
    assert len(ids) == 2


def test_a_name_that_differs_in_case_only_is_taken(workshop: Workshop) -> None:
    workshop.write("memory/decisions/Choice-1.md", "A person's own file.\n")
    workshop.stage(1)
    report = workshop.run(engine=rules(workshop))
    assert report.dispositions[0].record == "memory/decisions/choice-1-2.md"


def test_a_request_that_a_person_opened_again_is_not_withdrawn_again(workshop: Workshop) -> None:
    at = "2026-01-01T09:00:00.000Z"
    front = f"---\ncreated_at: {at}\nupdated_at: {at}\nstatus: withdrawn\ntrust: user\nsources: []\n---\n"
    path = "memory/requests/old-plan.md"
    workshop.write(path, front + "\n# Old plan\n\nStill to be done one day.\n")
    workshop.history.commit(workshop.tree(), author="worker", subject="An earlier run", at=workshop.now)
    workshop.write(path, workshop.read(path).replace("withdrawn", "open"))
    for _ in range(2):
        workshop.run(engine=rules(workshop), clean_up_only=True)
        assert "status: open" in workshop.read(path)
        workshop.now += timedelta(days=10)
    workshop.now += timedelta(days=60)
    workshop.run(engine=rules(workshop), clean_up_only=True)
    assert "status: withdrawn" in workshop.read(path)
