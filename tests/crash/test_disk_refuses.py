"""A disk that is full or read-only at any write: one clear line, nothing lost, and the same command works later.

Every step of every write is refused once, in turn, from the command line on. Where the system lets us, a real
file system of one megabyte and a real read-only mount say the same, databases and locks included.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.commands import Commands, Ended
from tests.support.crossed import crossed
from tests.support.prepared import Prepared, prepare
from tests.support.project import Project

NUMBERS = range(2)


def _one_line(ended: Ended, mend: str) -> None:
    assert ended.code == 12, ended
    lines = ended.err.splitlines()
    assert len(lines) == 1, ended.err
    assert lines[0].startswith("error: ")
    assert mend in lines[0], lines[0]


def _steps(ended: Ended) -> int:
    """How many steps of writes a command announced."""
    return sum(":" not in name for name in ended.passed)


def _with_sessions(root: Path, run: Commands) -> Project:
    project = Project.made(root, run)
    project.keep(project.choices("one", NUMBERS))
    return project


@pytest.fixture(scope="module")
def unread(tmp_path_factory: pytest.TempPathFactory, run: Commands) -> Prepared:
    """A session that nobody extracted yet."""
    return prepare(tmp_path_factory, run, lambda root: _with_sessions(root, run))


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory, run: Commands) -> Prepared:
    """Its entries, in staging."""

    def make(root: Path) -> Project:
        project = _with_sessions(root, run)
        run("extract", "--no-consolidate", cwd=project.root)
        return project

    return prepare(tmp_path_factory, run, make)


REFUSALS = [(errno.ENOSPC, "the disk is full; free some space"), (errno.EROFS, "read-only; remount it writable")]

#: For `extract`: what the disk says, once or from there on, the first step that meets it and each how-many-th after it.
AT_EXTRACT = [
    pytest.param(*REFUSALS[0], False, 0, 2, id="full-once"),
    pytest.param(*REFUSALS[1], True, 1, 2, id="read-only-from-there-on"),
    *(
        pytest.param(*refusal, for_ever, 0, 1, marks=pytest.mark.slow, id=f"{name}-{how_long}-at-every-step")
        for refusal, name in zip(REFUSALS, ("full", "read-only"), strict=True)
        for for_ever, how_long in ((False, "once"), (True, "from-there-on"))
    ),
]


@pytest.mark.parametrize(("number", "mend", "for_ever", "first", "every"), AT_EXTRACT)
def test_extract_loses_nothing_at_any_write(
    unread: Prepared,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    mend: str,
    for_ever: bool,
    first: int,
    every: int,
) -> None:
    pilot = unread.project(monkeypatch)
    steps = _steps(run("extract", "--no-consolidate", cwd=pilot.root, note=True))
    assert steps > 4 * len(NUMBERS)
    for step in range(first, steps, every):
        project = unread.project(monkeypatch)
        ended = run(
            *("extract", "--no-consolidate"), cwd=project.root, refuse=step, errno=number, for_ever=for_ever, code=None
        )
        _one_line(ended, mend)
        run("extract", "--no-consolidate", cwd=project.root)
        project.assert_whole(NUMBERS)
        assert len(project.staged_files()) == len(NUMBERS)


#: A write has five steps: 8 and 19 come upon each of them in turn.
@pytest.mark.parametrize(
    ("number", "mend", "every"),
    [(*REFUSALS[0], 8), (*REFUSALS[1], 19), pytest.param(*REFUSALS[0], 1, marks=pytest.mark.slow)],
    ids=["full", "read-only", "full-at-every-step"],
)
def test_consolidate_loses_nothing_at_any_write(
    staged: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch, number: int, mend: str, every: int
) -> None:
    pilot = staged.project(monkeypatch)
    steps = _steps(run("consolidate", cwd=pilot.root, note=True))
    assert steps > 50
    for step in range(0, steps, every):
        project = staged.project(monkeypatch)
        ended = run("consolidate", cwd=project.root, refuse=step, errno=number, code=None)
        if ended.code == 0:
            # Only what can be left for later may be passed over: a file that the next run deletes.
            assert "note: " in ended.out, (step, ended)
        else:
            _one_line(ended, mend)
        run("consolidate", "--drain", cwd=project.root)
        project.assert_whole(NUMBERS)
        assert set(project.states().values()) == {"consumed"}


def test_a_disk_that_stays_full_from_any_write_on_loses_nothing(
    staged: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = staged.project(monkeypatch)
    steps = _steps(run("consolidate", cwd=pilot.root, note=True))
    for step in range(0, steps, 17):
        project = staged.project(monkeypatch)
        ended = run("consolidate", cwd=project.root, refuse=step, for_ever=True, code=None)
        _one_line(ended, "the disk is full")
        run("consolidate", "--drain", cwd=project.root)
        project.assert_whole(NUMBERS)
        assert set(project.states().values()) == {"consumed"}


def test_init_leaves_nothing_half_made(tmp_path: Path, run: Commands) -> None:
    Project.made(tmp_path / "first", run)  # the user's own folders are made once
    pilot = Project.made(tmp_path / "pilot", run, init=False)
    steps = _steps(run("init", cwd=pilot.root, note=True))
    assert steps > 10
    for step in range(0, steps, 3):
        project = Project.made(tmp_path / f"at-{step}", run, init=False)
        ended = run("init", cwd=project.root, refuse=step, code=None)
        _one_line(ended, "the disk is full")
        if not project.home.exists():
            assert list(project.root.iterdir()) == []
        run("init", cwd=project.root)
        assert [path.name for path in project.root.iterdir()] == [".hikidashi"]
        run("status", cwd=project.root)


# -- real file systems


def _mounted(*arguments: str, at: Path) -> Callable[[], None]:
    """Mount at `at`, or skip; gives what unmounts."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root of a Linux system may mount")
    done = subprocess.run(["mount", *arguments, str(at)], capture_output=True, check=False)
    if done.returncode != 0:
        pytest.skip("this system lets nobody mount")

    def unmount() -> None:
        subprocess.run(["umount", "--lazy", str(at)], check=True)

    return unmount


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB."""
    place = tmp_path / "small"
    place.mkdir()
    unmount = _mounted("-t", "tmpfs", "-o", "size=6m", "tmpfs", at=place)
    yield place
    unmount()


def _fill(place: Path, leave: int) -> Path:
    """A file that leaves `leave` bytes free."""
    file = place / "filler"
    free = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
    with open(file, "wb") as stream:
        left = max(0, free - leave)
        while left > 0:
            left -= stream.write(b"\0" * min(left, 1 << 16))
    return file


@pytest.mark.parametrize(("leave", "command"), crossed([0, 4_096, 16_384, 65_536], ["init", "extract", "consolidate"]))
def test_a_really_full_disk_is_said_in_one_line_and_loses_nothing(
    small_disk: Path, run: Commands, command: str, leave: int
) -> None:
    project = Project.made(small_disk / "shop", run, init=command != "init")
    project.keep(project.choices("one", range(30)))
    if command == "consolidate":
        run("extract", "--no-consolidate", cwd=project.root)
    told = [command, "--no-consolidate"] if command == "extract" else [command]
    filler = _fill(small_disk, leave)
    ended = run(*told, cwd=project.root, code=None)
    if ended.code != 0:
        _one_line(ended, "full")
    else:
        assert leave, "nothing fits on a full disk"
    filler.unlink()
    if command == "init":
        run("init", cwd=project.root)
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", "--drain", cwd=project.root)
    project.assert_whole(range(30))


def test_a_read_only_workspace_is_said_in_one_line(
    staged: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = staged.project(monkeypatch)
    project.keep(project.choices("two", range(2, 5)))
    unmount = _mounted("--bind", str(project.root), at=project.root)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(project.root)], check=True)
        for told in (["extract", "--no-consolidate"], ["consolidate"], ["pause"]):
            _one_line(run(*told, cwd=project.root, code=None), "read-only")
    finally:
        unmount()
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", "--drain", cwd=project.root)
    project.assert_whole(range(5))
