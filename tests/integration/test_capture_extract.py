"""Transcripts on disk to entries in staging: what is taken, what is skipped, and that it happens once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.capture import follow, reading
from hikidashi.errors import UsageError
from hikidashi.staging.entry import Entry
from tests.capture_sessions import busy_session, finished_session, folder_of_sessions, open_session
from tests.capture_workspace import LATE, SOON, desk
from tests.support.examples import examples
from tests.transcripts import Session, dump

CHOICE = "Use Postgres instead of SQLite for the job queue."


def told(entries: list[Entry]) -> list[tuple[str, str, str]]:
    return [(entry.kind, entry.status, entry.title) for entry in entries]


def test_a_folder_becomes_staged_files(tmp_path: Path) -> None:
    folder = folder_of_sessions(tmp_path / "sessions")
    with desk(tmp_path / "shop") as here:
        report = here.extract(folder)
        assert report.files == 4
        assert report.kinds == {"decision": 4, "attempt": 1, "request": 3}
        assert here.states() == {"staged"}
        assert {name.removesuffix(".json") for name in here.staged_files()} == {entry.id for entry in report.new}
        for name, data in here.staged_files().items():
            assert Entry.from_json(data.decode()).id == name.removesuffix(".json")
        data = json.loads(json.dumps(report.to_dict()))
        assert data["kinds"] == {"decision": 4, "discussion": 0, "attempt": 1, "request": 3}
        assert data["bytes"] == sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
        assert len(data["entries"]) == 8


def test_a_second_extract_reads_nothing_and_changes_nothing(tmp_path: Path) -> None:
    folder = folder_of_sessions(tmp_path / "sessions")
    with desk(tmp_path / "shop") as here:
        here.extract(folder)
        before = here.staged_files()
        report = here.extract(folder)
        assert (report.unchanged, report.bytes, report.new) == (4, 0, [])
        assert here.staged_files() == before


def test_the_order_of_entries_does_not_depend_on_the_disk(tmp_path: Path) -> None:
    one = folder_of_sessions(tmp_path / "a")
    two = tmp_path / "b"
    two.mkdir()
    for path in sorted(one.rglob("*.jsonl"), reverse=True):
        (two / path.name.replace("agent-", "agent-x")).write_bytes(path.read_bytes())
    with desk(tmp_path / "one") as first, desk(tmp_path / "two") as second:
        assert told(first.extract(one).new) == told(second.extract(two).new)


def test_an_event_belongs_to_the_workspace_of_its_own_folder(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, other = tmp_path / "shop", tmp_path / "other"
    other.mkdir()
    with desk(root) as here:
        mine = Session(cwd=str(root / "src"), name="mine")
        mine.user(CHOICE)
        mine.cwd = str(other)
        mine.user("Use Redis instead of memcached for the cache.")
        mine.cwd = str(root)
        mine.user("Use pnpm instead of npm in this project.")
        mine.write(kept_by_the_host(home, str(root / "src")) / "s.jsonl")
        report = here.extract(own=True)
        assert [entry.quote for entry in report.new] == [CHOICE.rstrip("."), "Use pnpm instead of npm in this project"]


def test_explicit_paths_are_taken_wherever_they_ran(tmp_path: Path) -> None:
    session = Session(cwd="/nowhere/at/all")
    session.user(CHOICE)
    path = session.write(tmp_path / "s.jsonl")
    with desk(tmp_path / "shop") as here:
        assert len(here.extract(path).new) == 1


def test_what_was_passed_over_is_taken_when_it_is_asked_for(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with desk(tmp_path / "shop") as here:
        root = str(here.workspace.root)
        session = Session(cwd=root)
        session.user(CHOICE)
        session.cwd = str(other)
        session.user("Use Redis instead of memcached for the cache.")
        path = session.write(kept_by_the_host(home, root) / "s.jsonl")
        assert len(here.extract(own=True).new) == 1
        assert here.extract(own=True).new == []
        assert [entry.quote for entry in here.extract(path).new] == ["Use Redis instead of memcached for the cache"]
        assert here.extract(path).new == []
        assert here.extract(own=True).new == []


def test_what_a_session_left_waits_until_it_is_at_rest(tmp_path: Path, home: Path) -> None:
    with desk(tmp_path / "shop") as here:
        root = str(here.workspace.root)
        open_session(cwd=root).write(kept_by_the_host(home, root) / "s.jsonl")
        at = SOON.replace(hour=11, minute=1)
        assert here.extract(own=True, at=at).new == []
        assert here.extract(own=True, at=at).unchanged == 1
        report = here.extract(own=True, at=LATE)  # nothing was written meanwhile: only time has passed
        assert told(report.new) == [("request", "open", "Split the billing module into two packages")]
        assert report.bytes == 0
        assert here.extract(own=True, at=LATE).new == []


@settings(max_examples=examples(5, 150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.sets(st.integers(1, 999), max_size=6))
def test_a_file_that_grows_in_any_pieces_gives_the_same_entries(
    tmp_path_factory: pytest.TempPathFactory, home: Path, parts: set[int]
) -> None:
    tmp_path = tmp_path_factory.mktemp("grow").resolve()
    with desk(tmp_path / "once") as once, desk(tmp_path / "pieces") as pieces:
        root = str(pieces.workspace.root)
        whole = busy_session(cwd=root).data()
        path = kept_by_the_host(home, root) / "s.jsonl"
        for part in sorted(parts):  # read while it is written: the session is not at rest
            path.write_bytes(whole[: len(whole) * part // 1_000])
            pieces.extract(own=True, at=SOON)
        path.write_bytes(whole)
        pieces.extract(own=True, at=LATE)
        expected = [entry.to_json() for entry in once.extract(path).new]
        assert sorted(entry.to_json() for entry in pieces.entries()) == sorted(expected)
        assert len(expected) == 6


def kept_by_the_host(home: Path, cwd: str) -> Path:
    """The folder in which Claude Code keeps the sessions of a working folder."""
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in cwd)
    folder = home / ".claude" / "projects" / slug
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_resumed_and_forked_copies_add_nothing(tmp_path: Path) -> None:
    session = busy_session()
    original = session.write(tmp_path / "a" / "one.jsonl")
    copy = tmp_path / "b" / "two.jsonl"
    copy.parent.mkdir()
    lines = [{**line, "sessionId": "resumed"} for line in session.lines]
    more = Session(name="more")
    more.session_id = "resumed"
    more.user("thanks, that is all for today")
    more.says("You are welcome.")
    copy.write_bytes(b"".join(map(dump, [*lines, *more.lines])))
    with desk(tmp_path / "shop") as here:
        first = here.extract(original)
        assert first.new
        assert here.extract(copy).new == []
        assert here.extract(tmp_path / "a", tmp_path / "b").new == []


def test_a_file_that_was_written_anew_is_read_from_its_start(tmp_path: Path) -> None:
    path = open_session().write(tmp_path / "s.jsonl")
    with desk(tmp_path / "shop") as here:
        here.extract(path)
        finished_session().write(path)
        report = here.extract(path)
        assert told(report.new) == [("request", "done", "Show the order number on receipts")]
        assert here.extract(path).new == []


def test_a_state_of_another_version_is_not_continued(tmp_path: Path) -> None:
    session = open_session()
    path = session.write(tmp_path / "s.jsonl")
    with desk(tmp_path / "shop") as here:
        here.extract(path)
        here.connection.execute("UPDATE watermarks SET state = '{\"version\": 0}'")
        session.user("Use Postgres instead of SQLite for the job queue.")
        session.write(path)
        assert told(here.extract(path).new) == [("decision", "", "Use Postgres instead of SQLite for the job queue")]


def test_a_shrunk_file_adds_nothing(tmp_path: Path) -> None:
    session = busy_session()
    path = session.write(tmp_path / "s.jsonl")
    with desk(tmp_path / "shop") as here:
        here.extract(path)
        count = len(here.entries())
        path.write_bytes(b"".join(map(dump, session.lines[:6])))
        here.extract(path)
        session.write(path)
        here.extract(path)
        assert len(here.entries()) == count


def test_a_large_file_is_committed_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = busy_session().write(tmp_path / "s.jsonl")
    with desk(tmp_path / "once") as once:
        expected = [entry.to_json() for entry in once.extract(path).new]
    monkeypatch.setattr(reading, "CHUNK_BYTES", 2_000)
    steps: list[str] = []
    with desk(tmp_path / "pieces") as pieces:
        report = pieces.extract(path, checkpoint=steps.append)
        assert steps.count("extract:after-commit") > 5
        assert [entry.to_json() for entry in report.new] == expected
        assert report.bytes == path.stat().st_size
        assert report.lines == len(busy_session().lines)


def test_broken_lines_are_counted_and_said(tmp_path: Path) -> None:
    session = finished_session()
    path = tmp_path / "s.jsonl"
    lines = [dump(line) for line in session.lines]
    path.write_bytes(b"".join([*lines[:3], b'{"type":"user","mess\n', *lines[3:]]))
    with desk(tmp_path / "shop") as here:
        report = here.extract(path)
        assert sum(report.skipped.values()) == 1
        assert len(report.new) == 1
        assert sum(report.results[0].skipped.values()) == 1


@pytest.mark.parametrize("what", ["missing", "folder", "text", "one of two"])
def test_a_path_without_transcripts_is_one_clear_line(tmp_path: Path, what: str) -> None:
    paths = [tmp_path / "x"]
    if what == "folder":
        paths[0].mkdir()
    elif what == "text":
        paths[0].write_text("hello")
    elif what == "one of two":
        paths.insert(0, open_session().write(tmp_path / "s.jsonl"))
    with desk(tmp_path / "shop") as here:
        with pytest.raises(UsageError) as caught:
            here.extract(*paths)
        assert "\n" not in str(caught.value)
        assert str(paths[-1]) in str(caught.value)
        assert here.entries() == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_does_not_stop_the_others(tmp_path: Path) -> None:
    folder = folder_of_sessions(tmp_path / "sessions")
    next(iter(sorted(folder.glob("*.jsonl")))).chmod(0)
    with desk(tmp_path / "shop") as here:
        assert here.extract(folder).new


def test_a_file_that_vanishes_while_it_is_read_is_told_and_the_others_are_taken(tmp_path: Path) -> None:
    folder = folder_of_sessions(tmp_path / "sessions")
    victim = folder / f"{open_session().session_id}.jsonl"
    with desk(tmp_path / "shop") as here:
        report = here.extract(
            folder, checkpoint=lambda name: victim.unlink(missing_ok=True) if name == "extract:locked" else None
        )
        assert [result.path for result in report.results if result.error] == [victim]
        assert ("request", "done", "Show the order number on receipts") in told(report.new)


def test_names_that_are_no_utf8_are_read(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl"))
    try:
        finished_session().write(path)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    with desk(tmp_path / "shop") as here:
        assert len(here.extract(path).new) == 1
        assert here.extract(path).unchanged == 1


def test_a_failure_in_two_sessions_makes_an_attempt(tmp_path: Path) -> None:
    error = "Error: Cannot find module 'left-pad'"
    first = Session(name="first")
    first.user("run the tests please")
    first.runs("npm test", f"{error}\n1 failed", exit_code=1)
    second = Session(name="second")
    second.user("run the tests please")
    second.runs("npm test", f"{error}\n1 failed", exit_code=1)
    second.edits("/home/ann/shop/package.json", "a", "b")
    second.runs("npm test", "12 passed")
    first.write(tmp_path / "s" / "a.jsonl")
    second.write(tmp_path / "s" / "b.jsonl")
    with desk(tmp_path / "shop") as here:
        report = here.extract(tmp_path / "s")
        assert [entry.kind for entry in report.new].count("attempt") == 1


def test_small_transcripts_are_committed_together(tmp_path: Path) -> None:
    folder = folder_of_sessions(tmp_path / "sessions")
    steps: list[str] = []
    with desk(tmp_path / "shop") as here:
        report = here.extract(folder, checkpoint=steps.append)
        assert (report.files, steps.count("extract:after-commit")) == (4, 1)
        marks = here.connection.execute("SELECT count(*) FROM watermarks WHERE settled").fetchone()
        assert marks[0] == 4


def test_a_file_that_breaks_off_takes_nothing_from_those_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of_sessions(tmp_path / "sessions")
    with desk(tmp_path / "once") as once:
        expected = [entry.to_json() for entry in once.extract(folder).new]
    broken: list[Path] = []
    real = follow.tail_hash

    def unreadable(path: Path, offset: int) -> str:
        if path not in broken and len(broken) < 2:  # each of two files once, after all its lines were read
            broken.append(path)
            raise OSError(5, "Input/output error")
        return real(path, offset)

    with desk(tmp_path / "shop") as here:
        here.extract(*sorted(folder.rglob("*.jsonl"))[:1])
        monkeypatch.setattr(reading, "tail_hash", unreadable)
        report = here.extract(folder)
        assert [result.error for result in report.results if result.error] == ["Input/output error"] * 2
        here.extract(folder)
        assert sorted(entry.to_json() for entry in here.entries()) == sorted(expected)


def test_what_another_process_asked_for_is_read_whole_by_one_that_reads_the_last_days_only(
    tmp_path: Path, home: Path
) -> None:
    with desk(tmp_path / "shop") as here, desk(tmp_path / "shop") as other:
        root = str(here.workspace.root)
        old = open_session(cwd=root).write(kept_by_the_host(home, root) / "old.jsonl")
        os.utime(old, (0, 0))
        queued: list[bool] = []

        def checkpoint(name: str) -> None:
            if name == "extract:recovered" and not queued:
                queued.append(other.extract(own=True).queued)

        report = here.extract(own=True, since=LATE, checkpoint=checkpoint)
        assert queued == [True]
        assert told(report.new) == [("request", "open", "Split the billing module into two packages")]
