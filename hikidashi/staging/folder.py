"""The files of staging: reading them without trust, writing them, setting aside what is no entry.

This module knows files only; what a file should hold stands in its database row (`store`). Nothing here
follows a symbolic link and nothing that a person may have written is deleted: it goes to `quarantine/`,
with a `.reason` text beside it.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hikidashi.atomic import (
    TEMP_PREFIX,
    is_temporary,
    make_folder,
    move,
    remove_file,
    storage_errors,
    sync_folder,
    write_atomic,
)
from hikidashi.config.workspace import is_link
from hikidashi.errors import CorruptData, StorageFailure
from hikidashi.staging.entry import MAX_ENTRY_BYTES, Entry
from hikidashi.times import Clock, format_time
from hikidashi.ulid import is_ulid

__all__ = ["EntryFolder", "NotAnEntry", "read_bounded", "require_home"]

#: Things that systems leave in any folder; they are neither entries nor worth keeping.
_LITTER: Final = (".DS_Store", "Thumbs.db", "desktop.ini", ".nfs")

#: A temporary file older than this (seconds) belongs to no living writer.
_TEMP_AGE: Final = 24 * 3600.0

#: The machine's trouble, not the file's: a file is not set aside because we ran out of descriptors.
_OURS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)

#: File systems take names of 255 bytes; this leaves room for a counter and `.reason`.
_NAME_BYTES: Final = 200


class NotAnEntry(Exception):
    """A verdict on one file in staging, never an error that a person meets: it is no entry, the text says why."""


def require_home(home: Path) -> None:
    """Raises `StorageFailure` when `.hikidashi/` itself is gone: a process that goes on after its project was moved
    or deleted must not make a second, empty one in the old place."""
    if not home.is_dir():
        raise StorageFailure(
            f"{home} is gone: the project was moved or deleted meanwhile; run the same command where it is now"
        )


def read_bounded(path: Path, limit: int) -> bytes:
    """The bytes of the regular file `path`, which is not a link and at most `limit` bytes.

    Raises `FileNotFoundError` when it is gone, `NotAnEntry` when it is something else or larger, and
    `StorageFailure` when this process cannot open files at all.
    """
    # O_NONBLOCK: opening a named pipe would wait for its writer for ever.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise NotAnEntry("it is not a regular file")
        descriptor = os.open(path, flags)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise NotAnEntry("it is not a regular file")
            data = stream.read(limit + 1)
    except FileNotFoundError:
        raise
    except OSError as exc:
        if exc.errno in _OURS:
            raise StorageFailure(f"cannot read {path}: {exc.strerror}; close some programs and try again") from exc
        raise NotAnEntry(f"it cannot be read ({exc.strerror})") from exc
    if len(data) > limit:
        raise NotAnEntry(f"it is larger than {limit:,} bytes")
    return data


@dataclass(frozen=True, slots=True)
class EntryFolder:
    """`staging/` and `staging/quarantine/`."""

    staging: Path
    quarantine: Path
    #: Names in `staging/` that are not entries and stay: the claim, `.guard`, `quarantine`.
    reserved: frozenset[str]
    clock: Clock

    def path(self, entry_id: str) -> Path:
        """Where the entry's file lies. Raises `CorruptData` for anything but an ID (journals name IDs too)."""
        if not is_ulid(entry_id):
            raise CorruptData(f"{entry_id[:40]!r} is not an entry ID; run `hikidashi status` to see what waits")
        return self.staging / f"{entry_id}.json"

    def prepare(self) -> None:
        """Make both folders. Raises `CorruptData` if one is a symbolic link, which could lead anywhere, and as
        `require_home` does."""
        require_home(self.staging.parent)
        if is_link(self.staging):
            raise CorruptData(f"{self.staging} is a symbolic link; remove the link and run the same command again")
        make_folder(self.staging)
        if is_link(self.quarantine) or (self.quarantine.exists() and not self.quarantine.is_dir()):
            aside = self._free_name(self.staging, f"{self.quarantine.name}-was-no-folder")
            move(self.quarantine, aside)
        make_folder(self.quarantine)

    def write(self, entry_id: str, content: str, *, folder_later: bool = False) -> None:
        """Write an entry's file; a folder in its place is set aside first. `folder_later`: `flush` follows."""
        path = self.path(entry_id)
        if path.is_dir() and not is_link(path):
            self.set_aside(path, "it is a folder where an entry's file belongs")
        write_atomic(path, content.encode("utf-8"), folder_later=folder_later)

    def flush(self) -> None:
        """Make the names of the files that were written last as durable as their content."""
        sync_folder(self.staging)

    def read(self, entry_id: str) -> tuple[Entry, str]:
        """The entry in its file and the file's exact text. Raises `FileNotFoundError` or `NotAnEntry`."""
        data = read_bounded(self.path(entry_id), MAX_ENTRY_BYTES)
        try:
            text = data.decode("utf-8")
            entry = Entry.from_json(text)
        except UnicodeDecodeError as exc:
            raise NotAnEntry(f"it is not UTF-8 ({exc.reason} at byte {exc.start})") from exc
        except CorruptData as exc:
            raise NotAnEntry(str(exc)) from exc
        if entry.id != entry_id:
            raise NotAnEntry(f"its name says {entry_id} but the ID inside is {entry.id}")
        return entry, text

    def holds(self, entry_id: str, content: str) -> bool | None:
        """Whether the entry's file holds exactly `content`; None when there is no file."""
        wanted = content.encode("utf-8")
        try:
            return read_bounded(self.path(entry_id), len(wanted)) == wanted
        except FileNotFoundError:
            return None
        except NotAnEntry:
            return False

    def delete(self, entry_id: str) -> None:
        """Delete an entry's file; one that is gone already is fine."""
        remove_file(self.path(entry_id))

    def names(self) -> Iterator[str]:
        """The names in `staging/` that are entries or have no business there, in order."""
        with storage_errors(f"read {self.staging}"):
            try:
                found = sorted(path.name for path in self.staging.iterdir())
            except FileNotFoundError:
                return
        for name in found:
            if name not in self.reserved and not name.startswith((TEMP_PREFIX, *_LITTER)):
                yield name

    def remove_old_temporaries(self) -> int:
        """Remove what writers that were killed left behind more than a day ago."""
        removed = 0
        now = min(self.clock().timestamp(), time.time())  # a clock set forward makes nobody's file old
        for folder in (self.staging, self.quarantine):
            for path in folder.glob(f"{TEMP_PREFIX}*"):
                try:
                    found = path.lstat()
                except FileNotFoundError:
                    continue
                if is_temporary(path.name) and stat.S_ISREG(found.st_mode) and now - found.st_mtime > _TEMP_AGE:
                    remove_file(path)
                    removed += 1
        return removed

    def set_aside(self, path: Path, reason: str) -> str:
        """Move `path` to quarantine and write why beside it; gives its name there, '' if it was gone.

        A link is not moved but replaced by a text that holds its target: no link stays inside `.hikidashi/`.
        """
        target = self._free_name(self.quarantine, path.name)
        if is_link(path):
            try:
                led_to = str(path.readlink())
            except FileNotFoundError:
                return ""
            write_atomic(target, f"symbolic link to {led_to!r}\n".encode("utf-8", "replace"))
            remove_file(path)
        elif not move(path, target):  # another sweep was faster
            return ""
        self._write_reason(target, path.name, reason)
        return target.name

    def keep_text(self, name: str, text: str, reason: str) -> str:
        """Put a text that has no file into quarantine; gives its name there."""
        target = self._free_name(self.quarantine, name)
        write_atomic(target, text.encode("utf-8", "replace"))
        self._write_reason(target, name, reason)
        return target.name

    def quarantined(self) -> int:
        """How many things lie in quarantine."""
        with storage_errors(f"read {self.quarantine}"):
            try:
                names = [path.name for path in self.quarantine.iterdir()]
            except (FileNotFoundError, NotADirectoryError):
                return 0
        return sum(not name.endswith(".reason") and not name.startswith((TEMP_PREFIX, *_LITTER)) for name in names)

    def _write_reason(self, target: Path, name: str, reason: str) -> None:
        one_line = " ".join(reason.split())
        text = f"{format_time(self.clock())} {name!r} was set aside: {one_line}\n"
        write_atomic(target.with_name(f"{target.name}.reason"), text.encode("utf-8", "replace"))

    @staticmethod
    def _free_name(folder: Path, name: str) -> Path:
        stem = name
        while len(os.fsencode(stem)) > _NAME_BYTES:
            stem = stem[:-1]
        stem = stem.removesuffix(".reason") + "-reason" if stem.endswith(".reason") else stem
        candidate, number = folder / stem, 1
        while os.path.lexists(candidate) or os.path.lexists(f"{candidate}.reason"):
            number += 1
            candidate = folder / f"{stem}.{number}"
        return candidate
