"""What a person (or a disk) puts where the program writes costs that place only: the run goes on, and says so."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hikidashi.errors import CorruptData, StorageFailure
from hikidashi.worker.report import RunReport
from hikidashi.worker.rules import RulesEngine
from tests.support.workshop import Workshop, decision_path

SUMMARY = "memory/summary.md"
LOG = "memory/cleanup-log.md"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    made = Workshop(tmp_path)
    yield made
    made.close()


def run(shop: Workshop) -> RunReport:
    return shop.run(engine=lambda: RulesEngine(shop.settings))


def a_folder(place: Path) -> None:
    place.mkdir()
    (place / "mine.txt").write_text("mine")


def a_link(place: Path) -> None:
    place.symlink_to(place.with_name("elsewhere.md"))


def a_pipe(place: Path) -> None:
    os.mkfifo(place)


def a_huge_file(place: Path) -> None:
    place.write_bytes(b"x" * (1024 * 1024 + 1))


THINGS = [
    a_folder,
    a_huge_file,
    *([] if sys.platform == "win32" else [a_link, a_pipe]),
]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing.__name__)
@pytest.mark.parametrize("path", [decision_path(1), SUMMARY])
def test_a_place_that_is_taken_is_left_alone_and_the_entry_is_worked_in(
    shop: Workshop, thing: Callable[[Path], None], path: str
) -> None:
    place = shop.workspace.home / path
    place.parent.mkdir(parents=True, exist_ok=True)
    thing(place)
    before = place.lstat()
    shop.stage(1)
    report = run(shop)
    assert report.outcome == "done", report.message
    assert report.dispositions[0].kind == "applied"
    assert any(path in notice and "H12" in notice for notice in report.notices)
    after = place.lstat()
    assert (after.st_ino, after.st_mode, after.st_size) == (before.st_ino, before.st_mode, before.st_size)
    assert report.dispositions[0].record in shop.tree()


def test_a_file_whose_name_differs_in_case_only_costs_no_entry(shop: Workshop) -> None:
    shop.write("memory/decisions/CHOICE-1.md", "a thought of mine\n")
    shop.stage(1)
    report = run(shop)
    assert [d.kind for d in report.dispositions] == ["applied"]
    assert shop.read("memory/decisions/CHOICE-1.md") == "a thought of mine\n"


@pytest.mark.parametrize("folder", ["memory", "memory/decisions"])
def test_a_file_in_a_folders_place_is_said_before_anything_is_published(shop: Workshop, folder: str) -> None:
    ids = shop.stage(1)
    place = shop.workspace.home / folder
    place.parent.mkdir(exist_ok=True)
    place.write_text("mine")
    with pytest.raises(CorruptData, match="move it away"):
        run(shop)
    assert not shop.workspace.journal.exists()
    assert place.read_text() == "mine"
    place.unlink()
    assert run(shop).outcome == "done"
    assert shop.states() == dict.fromkeys(ids, "consumed")


def test_a_summary_that_lost_its_end_marker_keeps_the_persons_words_and_stops_no_run(shop: Workshop) -> None:
    shop.stage(1)
    assert run(shop).outcome == "done"
    broken = shop.read(SUMMARY).replace("<!-- hikidashi:end -->", "") + "\nWords of mine.\n"
    shop.write(SUMMARY, broken)
    shop.stage(2)
    assert run(shop).outcome == "done"
    shop.stage(3)
    report = run(shop)
    assert report.outcome == "done", report.message
    assert "Words of mine." in shop.read(SUMMARY)
    assert "#choice-3" in shop.read(SUMMARY)


def test_a_folder_in_the_clean_up_logs_place_stops_no_clean_up(shop: Workshop) -> None:
    shop.keep_old(1)
    a_folder(shop.workspace.home / LOG)
    shop.stage(1)
    report = shop.run()
    assert report.outcome == "done", report.message
    assert [operation.op for operation in report.operations] == ["drop"]
    assert any(LOG in notice for notice in report.notices)
    assert (shop.workspace.home / LOG / "mine.txt").read_text() == "mine"


def test_what_a_person_wrote_into_the_clean_up_log_stays_byte_for_byte(shop: Workshop) -> None:
    shop.keep_old(1)
    mine = "mine: caf\u00e9\u2028 one line\x0b still\r\n".encode() + b"\xff\xfe not UTF-8\n"
    (shop.workspace.home / LOG).write_bytes(mine)
    shop.stage(1)
    assert [operation.op for operation in shop.run().operations] == ["drop"]
    assert (shop.workspace.home / LOG).read_bytes().startswith(mine)


def test_temporary_files_of_killed_writers_leave_the_history_with_the_next_run(shop: Workshop) -> None:
    shop.stage(1)
    run(shop)
    left = shop.workspace.history / "objects" / "ab" / ".tmp-0123456789ab-cd"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"half")
    shop.stage(2)
    run(shop)
    assert not left.exists()


def test_an_empty_head_of_the_history_is_written_again(shop: Workshop) -> None:
    shop.stage(1)
    run(shop)
    (shop.workspace.history / "HEAD").write_bytes(b"")
    shop.stage(2)
    run(shop)
    assert (shop.workspace.history / "HEAD").read_bytes() == b"ref: refs/heads/main\n"


MOVED_AT = ("run:claimed", "run:recovered", "run:snapshot", "run:integrated", "run:checked", "publish:guarded")


@pytest.mark.parametrize("moment", MOVED_AT)
def test_a_project_that_is_moved_during_a_run_leaves_no_second_workspace_and_loses_nothing(
    tmp_path: Path, moment: str
) -> None:
    project, here = tmp_path / "project", tmp_path / "elsewhere"
    moved = Workshop(project)
    ids = moved.stage(1, 2)

    def move(name: str) -> None:
        if name == moment:
            project.rename(here)

    with contextlib.suppress(StorageFailure):
        assert moved.run(checkpoint=move).outcome in ("lost-claim", "crashed")
    moved.close()
    assert not (project / ".hikidashi" / "memory").exists()
    again = Workshop(here)
    again.workspace.claim_path.unlink(missing_ok=True)  # it went along; its process would have ended by now
    again.drain()
    again.assert_whole(ids)
    assert set(again.states().values()) == {"consumed"}
    again.close()


def test_a_run_whose_project_was_moved_before_it_began_says_so(tmp_path: Path) -> None:
    made = Workshop(tmp_path / "project")
    made.stage(1)
    (tmp_path / "project").rename(tmp_path / "elsewhere")
    with pytest.raises(StorageFailure, match="moved or deleted"):
        made.run()
    made.close()
    assert not (tmp_path / "project").exists()
