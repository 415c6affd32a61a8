"""Writing files so that a reader sees the old bytes or the new ones, never a half. Standard library only.

Every file that Hikidashi writes goes through `write_atomic` (design section 3: temp file, fsync,
`os.replace`; files 0600, folders 0700). An error of the file system becomes `StorageFailure` with one line.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from hikidashi.errors import StorageFailure

__all__ = [
    "FILE_MODE",
    "FOLDER_MODE",
    "TEMP_PREFIX",
    "Step",
    "is_temporary",
    "make_folder",
    "move",
    "observed",
    "remove_file",
    "storage_errors",
    "sync_folder",
    "write_atomic",
]

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700

#: Temporary files start with this, so that a sweep after a crash knows them (and nothing else) by name.
TEMP_PREFIX: Final = ".tmp-"

_TEMPORARY: Final = re.compile(re.escape(TEMP_PREFIX) + r"[0-9a-f]{12}-.+", re.DOTALL)

#: What changes the disk, in the order of a write; each is announced to `observed` just before it is done.
Step = Literal["make folder", "create", "write", "flush", "replace", "flush folder", "move", "delete"]

#: Characters of a file's own name in its temporary one: at 4 bytes each they still fit a name of 255 bytes.
_NAME_KEPT: Final = 40

_before: Callable[[Step, Path], None] | None = None

_REASONS: Final = {
    errno.ENOSPC: "the disk is full; free some space and run the same command again",
    errno.EDQUOT: "the disk quota is used up; free some space and run the same command again",
    errno.EFBIG: "the file may not grow that large (file size limit); raise the limit and run the same command again",
    errno.EROFS: "the file system is read-only; remount it writable and run the same command again",
    errno.EACCES: "permission denied; give your user write access and run the same command again",
    errno.EPERM: "permission denied; give your user write access and run the same command again",
    errno.ENOTDIR: "a part of this path is no folder; move what stands there away and run the same command again",
    errno.EEXIST: "something else stands in its place; move that away and run the same command again",
    errno.EISDIR: "a folder stands in the file's place; move it away and run the same command again",
    errno.ENOTEMPTY: "a folder stands in the file's place; move it away and run the same command again",
    errno.ENOENT: "a folder on the way there is missing; make it, then run the same command again",
    errno.ELOOP: "a symbolic link stands in the way; replace it by a real one and run the same command again",
    errno.ENAMETOOLONG: "the path is too long for this file system; use a shorter one and run the same command again",
    errno.EMFILE: "too many files are open; raise the limit (`ulimit -n`) and run the same command again",
    errno.ENFILE: "too many files are open; close some programs and run the same command again",
    errno.EIO: "the disk reports an error; check the disk, then run the same command again",
    errno.EBUSY: "another program is using it; close that program and run the same command again",
}


@contextlib.contextmanager
def observed(before: Callable[[Step, Path], None]) -> Iterator[None]:
    """Call `before(step, path)` in front of each step of this process's writes, while the block lasts.

    What it raises happens in the step's place: this is how the tests fill the disk at every write in turn,
    and kill a process between any two steps. Nothing in the program uses it.
    """
    global _before
    previous, _before = _before, before
    try:
        yield
    finally:
        _before = previous


def _step(step: Step, path: Path) -> None:
    if _before is not None:
        _before(step, path)


@contextlib.contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Turn an `OSError` of the block into `StorageFailure` whose one line says `what` could not be done."""
    try:
        yield
    except OSError as exc:
        reason = _REASONS.get(exc.errno or 0, f"{exc.strerror or exc}; mend that and run the same command again")
        raise StorageFailure(" ".join(f"cannot {what}: {reason}".split())) from exc


def is_temporary(name: str) -> bool:
    """Whether `write_atomic` gave a file this name."""
    return _TEMPORARY.fullmatch(name) is not None


def make_folder(path: Path) -> None:
    """Make `path` and its parents (0700); an existing folder is left as it is."""
    with storage_errors(f"make the folder {path}"):
        missing = [] if path.is_dir() else [path]
        while missing and not missing[-1].parent.exists():
            missing.append(missing[-1].parent)
        for folder in reversed(missing):  # `parents=True` would give the parents the umask's mode
            _step("make folder", folder)
            folder.mkdir(mode=FOLDER_MODE, exist_ok=True)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to disk, where the platform can: a rename is durable only after this."""
    if sys.platform == "win32":  # a folder cannot be opened for fsync there; NTFS journals the rename
        return
    with storage_errors(f"flush {path}"):
        _step("flush folder", path)
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as exc:
            if exc.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
                raise
        finally:
            os.close(descriptor)


def write_atomic(
    path: Path, data: bytes, *, mode: int = FILE_MODE, sync: bool = True, folder_later: bool = False
) -> None:
    """Replace `path` by `data` in one step.

    `sync=False` skips the fsyncs, for files that can be computed again. `folder_later`: the caller writes more
    files into the folder and calls `sync_folder` once behind them; until then a power cut may undo the rename.
    Raises `StorageFailure`; then `path` has its old bytes and no temporary file is left (if only the last step
    failed, the flush of the folder, it has the new ones, which a power cut may yet undo).
    """
    temporary = path.with_name(f"{TEMP_PREFIX}{os.urandom(6).hex()}-{path.name[-_NAME_KEPT:]}")
    with storage_errors(f"write {path}"):
        try:
            _step("create", path)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(descriptor, "wb") as stream:
                _step("write", path)
                stream.write(data)
                stream.flush()
                if sync:
                    _step("flush", path)
                    os.fsync(stream.fileno())
            _step("replace", path)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    if sync and not folder_later:
        sync_folder(path.parent)


def remove_file(path: Path) -> None:
    """Delete `path`; one that is gone already is fine."""
    with storage_errors(f"delete {path}"):
        _step("delete", path)
        path.unlink(missing_ok=True)


def move(source: Path, target: Path) -> bool:
    """Rename within one file system, over nothing; a link is moved, not followed. False if `source` is gone."""
    with storage_errors(f"move {source} to {target}"):
        _step("move", source)
        try:
            source.rename(target)
        except FileNotFoundError:
            return False
    sync_folder(target.parent)
    return True
