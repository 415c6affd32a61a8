"""A disk that is full or read-only at any step of a write: one clear line, and the old bytes stay."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.atomic import Step, make_folder, move, observed, remove_file, write_atomic
from hikidashi.errors import StorageFailure


def failing_at(wanted: Step, number: int) -> Callable[[Step, Path], None]:
    def before(step: Step, path: Path) -> None:
        if step == wanted:
            raise OSError(number, os.strerror(number))

    return before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("step", ["create", "write", "flush", "replace"])
def test_a_write_that_fails_keeps_the_old_bytes_and_leaves_no_litter(tmp_path: Path, step: Step, number: int) -> None:
    path = tmp_path / "file"
    write_atomic(path, b"old")
    with observed(failing_at(step, number)), pytest.raises(StorageFailure) as caught:
        write_atomic(path, b"new")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert str(caught.value).startswith(f"cannot write {path}: ") and "\n" not in str(caught.value)


def test_the_steps_of_each_operation_are_announced_in_order(tmp_path: Path) -> None:
    seen: list[Step] = []
    with observed(lambda step, path: seen.append(step)):
        make_folder(tmp_path / "a" / "b")
        make_folder(tmp_path / "a" / "b")
        write_atomic(tmp_path / "x", b"1")
        write_atomic(tmp_path / "y", b"1", sync=False)
        assert move(tmp_path / "x", tmp_path / "z")
        assert not move(tmp_path / "x", tmp_path / "z2")
        remove_file(tmp_path / "z")
    assert seen == [
        *("make folder", "make folder"),
        *("create", "write", "flush", "replace", "flush folder"),
        *("create", "write", "replace"),
        *("move", "flush folder"),
        "move",
        "delete",
    ]
    write_atomic(tmp_path / "after", b"1")
    assert len(seen) == 14, "nobody listens after the block"


@pytest.mark.parametrize("step", ["make folder", "move", "delete"])
def test_the_other_steps_fail_in_one_line_too(tmp_path: Path, step: Step) -> None:
    (tmp_path / "file").write_text("kept")
    act: dict[str, Callable[[], object]] = {
        "make folder": lambda: make_folder(tmp_path / "new"),
        "move": lambda: move(tmp_path / "file", tmp_path / "moved"),
        "delete": lambda: remove_file(tmp_path / "file"),
    }
    with observed(failing_at(step, errno.EROFS)), pytest.raises(StorageFailure, match="read-only; remount it writable"):
        act[step]()
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_name_as_long_as_the_file_system_takes_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("\U0001f5c4" * 63 + ".md")  # 255 bytes
    write_atomic(path, b"whole")
    assert path.read_bytes() == b"whole"


def test_an_error_without_a_mend_of_its_own_still_ends_with_one(tmp_path: Path) -> None:
    mend = r"No such device; mend that and run the same command again$"
    with observed(failing_at("write", errno.ENODEV)), pytest.raises(StorageFailure, match=mend):
        write_atomic(tmp_path / "file", b"")


@pytest.mark.parametrize("place", ["file/below", "folder", "folder/file/deeper", "missing/file", "x" * 300])
def test_something_else_in_the_way_is_an_error_with_a_mend_of_its_own(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_bytes(b"")
    with pytest.raises(StorageFailure, match=r"; (move|make|use) .*run the same command again$"):
        write_atomic(tmp_path / place, b"")
