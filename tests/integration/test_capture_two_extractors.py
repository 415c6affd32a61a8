"""Many processes extract at once: one reads, the others leave their paths to it, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock

from tests.capture_sessions import busy_session, finished_session, folder_of_sessions, open_session
from tests.capture_workspace import desk
from tests.support.commands import Commands

EXTRACTOR = """
import sys
from pathlib import Path
from tests.capture_workspace import desk
with desk(Path(sys.argv[1])) as here:
    here.extract(Path(sys.argv[2]))
"""


def test_what_finds_the_lock_held_is_queued_and_taken_by_the_next(tmp_path: Path) -> None:
    path = open_session().write(tmp_path / "a.jsonl")
    other = finished_session().write(tmp_path / "b.jsonl")
    with desk(tmp_path / "shop") as here:
        with FileLock(here.workspace.extract_lock):
            report = here.extract(path)
            assert report.queued
            assert report.to_dict()["queued"] is True
            assert here.entries() == []
        report = here.extract(other)
        assert not report.queued
        assert len(report.new) == 2
        assert here.connection.execute("SELECT count(*) FROM extract_queue").fetchone()[0] == 0


def test_what_is_queued_while_the_holder_reads_is_taken_before_it_ends(tmp_path: Path) -> None:
    path = open_session().write(tmp_path / "a.jsonl")
    late = finished_session().write(tmp_path / "b.jsonl")
    queued: list[bool] = []
    with desk(tmp_path / "shop") as here, desk(tmp_path / "shop") as other:

        def checkpoint(name: str) -> None:
            if name == "extract:files-written" and not queued:
                queued.append(other.extract(late).queued)

        report = here.extract(path, checkpoint=checkpoint)
        assert queued == [True]
        assert len(report.new) == 2


def test_what_is_queued_in_the_last_moment_is_not_lost(tmp_path: Path) -> None:
    """Between the holder's last look at the queue and its letting go of the lock."""
    path = open_session().write(tmp_path / "a.jsonl")
    late = finished_session().write(tmp_path / "b.jsonl")
    with desk(tmp_path / "shop") as here:

        def checkpoint(name: str) -> None:
            if name == "extract:unlocked":
                here.connection.execute("DELETE FROM extract_queue")
                here.connection.execute("INSERT INTO extract_queue (path, queued_at) VALUES (?, '')", (str(late),))
                late_once.clear()

        late_once = [late]
        taken = here.extract(path, checkpoint=lambda name: checkpoint(name) if late_once else None)
        assert len(taken.new) == 2


def test_a_queued_path_that_vanished_is_dropped(tmp_path: Path) -> None:
    path = open_session().write(tmp_path / "a.jsonl")
    with desk(tmp_path / "shop") as here:
        here.connection.execute("INSERT INTO extract_queue (path, queued_at) VALUES ('/no/such/file', '')")
        assert len(here.extract(path).new) == 1
        assert here.connection.execute("SELECT count(*) FROM extract_queue").fetchone()[0] == 0


def test_six_processes_at_once_stage_each_entry_once(tmp_path: Path, run: Commands) -> None:
    folder = folder_of_sessions(tmp_path / "sessions")
    paths = [folder, *sorted(folder.glob("*.jsonl"))]
    extra = busy_session(name="extra").write(tmp_path / "extra.jsonl")
    with desk(tmp_path / "alone") as alone:
        expected = {entry.id for path in [*paths, extra] for entry in alone.extract(path).new}
    with desk(tmp_path / "shop"):
        pass
    ended = run.python(EXTRACTOR, [(tmp_path / "shop", path) for path in [*paths, extra, folder]])
    assert [(one.code, one.err) for one in ended] == [(0, "")] * len(ended)
    with desk(tmp_path / "shop") as here:
        assert {entry.id for entry in here.entries()} == expected
        assert here.states() == {"staged"}
        assert len(here.staged_files()) == len(expected)
