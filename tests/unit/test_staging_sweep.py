"""A sweep makes folder and rows agree, whatever happened to either, and deletes nothing that a person wrote."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect, transaction
from hikidashi.db.migrations import migrate
from hikidashi.errors import CorruptData
from hikidashi.source import Source
from hikidashi.staging.entry import MAX_ENTRY_BYTES, Disposition, Entry, entry_id
from hikidashi.staging.store import StagingStore

AT = "2026-05-03T09:30:00.000Z"


def make_entry(name: str, **changes: str) -> Entry:
    source = Source(host="claude-code", session_id="s1", lines=(1, 2), uuids=("a", "b"), at=AT)
    return Entry(
        id=entry_id("claude-code", AT, name, "decision", 0),
        kind="decision",
        title=changes.get("title", f"Decide {name}"),
        body=changes.get("body", ""),
        why="",
        quote="",
        source=source,
        trust="assistant",
    )


class Desk:
    """One staged entry, one consumed one, and a folder to do harm in."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root, "0" * 32)
        self.workspace.home.mkdir(parents=True)
        self.connection = connect(self.workspace.database)
        migrate(self.connection)
        self.store = StagingStore(self.workspace, self.connection)
        self.staged, self.consumed, self.unknown = make_entry("staged"), make_entry("consumed"), make_entry("unknown")
        with transaction(self.connection):
            self.store.add_pending([self.staged, self.consumed])
        self.store.flush_pending()
        with transaction(self.connection):
            self.store.consume("R1", [Disposition(entry_id=self.consumed.id, kind="discarded", reason="noise")])
        self.store.delete_files([self.consumed.id])

    def file(self, entry: Entry) -> Path:
        return self.workspace.staging / f"{entry.id}.json"

    def aside(self) -> dict[str, str]:
        """Name in quarantine -> the reason beside it."""
        folder = self.workspace.quarantine
        names = [path.name for path in folder.iterdir() if not path.name.endswith(".reason")]
        return {name: (folder / f"{name}.reason").read_text(encoding="utf-8") for name in names}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "project")
    yield made
    made.connection.close()


def test_nothing_is_done_when_folder_and_rows_agree(desk: Desk) -> None:
    before = desk.file(desk.staged).stat()
    report = desk.store.sweep()
    assert report.lines() == [] and not report.deleted and not report.flushed
    assert desk.file(desk.staged).stat().st_mtime_ns == before.st_mtime_ns


def _other_id_inside(path: Path, desk: Desk) -> None:
    path.write_text(make_entry("another").to_json(), encoding="utf-8")


#: What may lie where an entry's file belongs, and a word of the reason that is given.
NO_ENTRIES: dict[str, tuple[Callable[[Path, Desk], object], str]] = {
    "empty": (lambda path, desk: path.write_bytes(b""), "not a staging entry"),
    "garbage": (lambda path, desk: path.write_bytes(os.urandom(64) + b"\xff"), "UTF-8"),
    "no JSON": (lambda path, desk: path.write_text("hello"), "not a staging entry"),
    "cut short": (lambda path, desk: path.write_text(desk.unknown.to_json()[:80]), "not a staging entry"),
    "NULs after a power cut": (lambda path, desk: path.write_bytes(b"\0" * 500), "not a staging entry"),
    "a list": (lambda path, desk: path.write_text("[]"), "not a JSON object"),
    "nested too deeply": (lambda path, desk: path.write_text("[" * 100_000), "not a staging entry"),
    "wrong kind": (lambda path, desk: path.write_text(desk.unknown.to_json().replace("decision", "idea")), "kind is"),
    "half a surrogate pair": (
        lambda path, desk: path.write_text(desk.unknown.to_json().replace("Decide", "\\ud83d")),
        "surrogates",
    ),
    "a time out of range": (
        lambda path, desk: path.write_text(desk.unknown.to_json().replace(AT, "0001-01-01T00:00:00+23:59")),
        "out of range",
    ),
    "another ID inside": (_other_id_inside, "but the ID inside is"),
    "not UTF-8": (lambda path, desk: path.write_bytes(desk.unknown.to_json().encode("utf-16")), "not UTF-8"),
    "oversized": (lambda path, desk: path.write_bytes(b" " * (MAX_ENTRY_BYTES + 1)), "larger than"),
    "a folder": (lambda path, desk: (path / "deep").mkdir(parents=True), "not a regular file"),
    "a named pipe": (lambda path, desk: os.mkfifo(path), "not a regular file"),
    "a link to a valid entry": (
        lambda path, desk: path.symlink_to(desk.file(desk.staged)),
        "not a regular file",
    ),
    "a link to nowhere": (lambda path, desk: path.symlink_to("/nowhere/at all"), "not a regular file"),
}


@pytest.mark.parametrize("what", NO_ENTRIES)
def test_what_is_no_entry_is_set_aside_at_first_sight(desk: Desk, what: str) -> None:
    make, reason = NO_ENTRIES[what]
    path = desk.file(desk.unknown)
    make(path, desk)
    assert desk.store.totals().invalid == 1
    report = desk.store.sweep()
    assert not os.path.lexists(path)
    assert list(report.quarantined) == [path.name]
    assert reason in desk.aside()[path.name]
    assert desk.store.totals().quarantined == 1
    assert desk.store.sweep().lines() == [], "set aside once, not again and again"
    assert [staged.entry for staged in desk.store.staged()] == [desk.staged]


@pytest.mark.parametrize("what", NO_ENTRIES)
def test_a_staged_entry_survives_whatever_replaced_its_file(desk: Desk, what: str) -> None:
    path = desk.file(desk.staged)
    path.rename(path.with_name(".moved"))
    path.with_name(".moved").unlink()
    NO_ENTRIES[what][0](path, desk)
    report = desk.store.sweep()
    assert path.read_text(encoding="utf-8") == desk.staged.to_json()
    assert report.rewritten == [desk.staged.id]
    assert list(desk.aside()) == [path.name], "what lay there is kept, not overwritten"


def test_an_entry_that_was_changed_by_hand_is_kept_and_the_captured_text_restored(desk: Desk) -> None:
    changed = make_entry("staged", body="rewritten by hand").to_json()
    desk.file(desk.staged).write_text(changed, encoding="utf-8")
    desk.store.sweep()
    name = desk.file(desk.staged).name
    assert desk.file(desk.staged).read_text(encoding="utf-8") == desk.staged.to_json()
    assert (desk.workspace.quarantine / name).read_text(encoding="utf-8") == changed
    assert "entry files are immutable" in desk.aside()[name]


def test_a_lost_file_is_written_again_from_its_row(desk: Desk) -> None:
    desk.file(desk.staged).unlink()
    assert desk.store.sweep().rewritten == [desk.staged.id]
    assert desk.file(desk.staged).read_text(encoding="utf-8") == desk.staged.to_json()


def test_a_lost_folder_is_made_again(desk: Desk) -> None:
    desk.file(desk.staged).unlink()
    desk.workspace.quarantine.rmdir()
    desk.workspace.staging.rmdir()
    assert desk.store.totals().invalid == 0
    desk.store.sweep()
    assert desk.file(desk.staged).exists()
    assert desk.workspace.staging.stat().st_mode & 0o777 == 0o700


def test_a_valid_file_that_no_row_knows_is_taken_up(desk: Desk) -> None:
    desk.file(desk.unknown).write_text(desk.unknown.to_json(), encoding="utf-8")
    assert desk.store.sweep().adopted == [desk.unknown.id]
    assert {staged.entry.id for staged in desk.store.staged()} == {desk.staged.id, desk.unknown.id}
    assert desk.store.sweep().lines() == []


def test_a_file_with_a_secret_is_not_taken_up(desk: Desk) -> None:
    token = "ghp_" + "A1b2C3d4E5f6" * 3
    desk.file(desk.unknown).write_text(make_entry("unknown", body=f"push with {token}").to_json(), encoding="utf-8")
    report = desk.store.sweep()
    assert (report.adopted, [staged.entry for staged in desk.store.staged()]) == ([], [desk.staged])
    (reason,) = desk.aside().values()
    assert "its body holds a secret (" in reason and token not in reason


def test_the_file_of_a_consumed_entry_goes_and_is_never_staged_again(desk: Desk) -> None:
    desk.file(desk.consumed).write_text(desk.consumed.to_json(), encoding="utf-8")
    assert desk.store.sweep().deleted == [desk.consumed.id]
    assert not desk.file(desk.consumed).exists()
    assert [staged.entry for staged in desk.store.staged()] == [desk.staged]


@pytest.mark.parametrize("delete", [False, True], ids=["sweep", "delete_files"])
def test_a_changed_file_of_a_consumed_entry_is_kept_in_quarantine(desk: Desk, delete: bool) -> None:
    changed = make_entry("consumed", body="a person's addition").to_json()
    desk.file(desk.consumed).write_text(changed, encoding="utf-8")
    report = desk.store.delete_files([desk.consumed.id]) if delete else desk.store.sweep()
    name = desk.file(desk.consumed).name
    assert list(report.quarantined) == [name]
    assert (desk.workspace.quarantine / name).read_text(encoding="utf-8") == changed


def test_deleting_keeps_the_file_of_an_entry_that_is_staged(desk: Desk) -> None:
    desk.store.delete_files([desk.staged.id])
    assert desk.file(desk.staged).exists()


@pytest.mark.parametrize(
    "name",
    [
        "notes.txt", "entry.json", "a name with spaces.json", "日本語.md", "01ARZ3NDEKTSV4RRFFQ69G5FAV.json.bak",
        "01arz3ndektsv4rrffq69g5fav.json", "81ARZ3NDEKTSV4RRFFQ69G5FAV.json", "x" * 255, "é" * 127, "a.reason",
        "line\nbreak", "-rf",
    ],
)  # fmt: skip
def test_a_file_of_any_name_is_kept_in_quarantine(desk: Desk, name: str) -> None:
    (desk.workspace.staging / name).write_text("a person's words")
    report = desk.store.sweep()
    (kept,) = report.quarantined
    assert (desk.workspace.quarantine / kept).read_text() == "a person's words"
    assert "not named like an entry" in desk.aside()[kept]
    assert all("\n" not in line for line in report.lines())


def test_names_that_meet_in_quarantine_are_all_kept(desk: Desk) -> None:
    for number in range(3):
        (desk.workspace.staging / "notes.txt").write_text(f"version {number}")
        desk.store.sweep()
    kept = {(desk.workspace.quarantine / name).read_text() for name in desk.aside()}
    assert kept == {"version 0", "version 1", "version 2"}


def test_a_link_is_replaced_by_a_text_that_says_where_it_led(desk: Desk, tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(desk.unknown.to_json(), encoding="utf-8")
    desk.file(desk.unknown).symlink_to(outside)
    desk.store.sweep()
    kept = desk.workspace.quarantine / desk.file(desk.unknown).name
    assert not kept.is_symlink()
    assert str(outside) in kept.read_text()
    assert outside.read_text(encoding="utf-8") == desk.unknown.to_json()


def test_what_is_not_an_entry_but_belongs_there_stays(desk: Desk) -> None:
    staying = ["consolidation.lock", ".guard", ".DS_Store", ".tmp-0a1b2c-entry.json"]
    for name in staying:
        (desk.workspace.staging / name).write_text("x")
    assert desk.store.sweep().lines() == []
    assert all((desk.workspace.staging / name).exists() for name in staying)


def test_temporary_files_of_killed_writers_go_after_a_day(desk: Desk) -> None:
    ages = {"0" * 12 + "-old": 25 * 3600, "1" * 12 + "-fresh": 3600, "2" * 12 + "-future": -40 * 86400, "mine": 1e6}
    for name, age in ages.items():
        path = desk.workspace.staging / f".tmp-{name}"
        path.write_text("half")
        os.utime(path, (time.time() - age,) * 2)
    assert desk.store.sweep().temporaries == 1
    left = sorted(p.name for p in desk.workspace.staging.iterdir() if p.name.startswith(".tmp-"))
    assert left == [".tmp-111111111111-fresh", ".tmp-222222222222-future", ".tmp-mine"]


@pytest.mark.parametrize("in_place", ["file", "link"])
def test_something_else_in_quarantines_place_is_set_aside_too(desk: Desk, tmp_path: Path, in_place: str) -> None:
    desk.workspace.quarantine.rmdir()
    if in_place == "file":
        desk.workspace.quarantine.write_text("mine")
    else:
        desk.workspace.quarantine.symlink_to(tmp_path)
    desk.store.sweep()
    assert desk.workspace.quarantine.is_dir() and not desk.workspace.quarantine.is_symlink()
    assert list(desk.aside()) == ["quarantine-was-no-folder"]
    assert not (tmp_path / "quarantine-was-no-folder").exists()


def test_a_staging_folder_that_is_a_link_is_refused(desk: Desk, tmp_path: Path) -> None:
    desk.workspace.staging.rename(tmp_path / "elsewhere")
    desk.workspace.staging.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CorruptData, match=r"is a symbolic link; remove the link"):
        desk.store.sweep()


@pytest.mark.parametrize("content", ["not json", make_entry("another").to_json()], ids=["damaged", "another entry"])
def test_a_damaged_row_does_not_stop_every_run_from_then_on(desk: Desk, content: str) -> None:
    with transaction(desk.connection):
        desk.connection.execute("UPDATE entries SET content = ? WHERE id = ?", (content, desk.staged.id))
    report = desk.store.sweep()
    assert desk.store.staged() == []
    assert any("row in the database" in reason for reason in report.quarantined.values())
    kept = {(desk.workspace.quarantine / name).read_text(encoding="utf-8") for name in desk.aside()}
    assert kept == {content, desk.staged.to_json()}, "both what the row and what the file held"
    assert desk.store.sweep().lines() == []


def test_a_file_that_vanishes_during_a_sweep_is_no_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ghosts = ["gone.txt", f"{desk.unknown.id}.json", f"{desk.consumed.id}.json"]
    monkeypatch.setattr(type(desk.store._folder), "names", lambda self: iter([*ghosts, f"{desk.staged.id}.json"]))
    assert desk.store.sweep().lines() == []
    assert desk.store.totals().invalid == 1  # gone.txt, which has no content to look at


def test_two_sweeps_at_once_lose_nothing(desk: Desk) -> None:
    """What the second one decides is decided on the row as it is then, not as it was when it listed the folder."""
    other = connect(desk.workspace.database)
    late = StagingStore(desk.workspace, other)
    listed = list(late._folder.names())
    assert listed == [f"{desk.staged.id}.json"]
    with transaction(desk.connection):
        desk.store.consume("R2", [Disposition(entry_id=desk.staged.id, kind="discarded", reason="x")])
    desk.store.delete_files([desk.staged.id])
    late.sweep()
    assert not desk.file(desk.staged).exists(), "the late sweep did not bring the consumed file back"
    other.close()
