"""What a `.hikidashi/` that nobody trusts yet holds, and how only its records are kept (design section 3, "Trust").

`survey` looks and changes nothing. `keep_records` then leaves `memory/`, `knowledge/`, `config.toml` and
`.gitignore`; everything else goes into a folder beside them where nothing reads it, links are taken out.
A kill between two steps leaves a folder that is still untrusted, and doing it again goes on from there.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hikidashi.atomic import FILE_MODE, FOLDER_MODE, make_folder, storage_errors, write_atomic
from hikidashi.config.folders import shown
from hikidashi.config.toml_file import MAX_FILE_BYTES as MAX_SETTINGS_BYTES
from hikidashi.config.workspace import is_link

__all__ = ["MAX_RECORDS", "MAX_RECORD_BYTES", "MAX_TOTAL_BYTES", "Survey", "keep_records", "survey", "take_out_links"]

#: A larger file is no record (the linter's largest cap is 20,000 characters).
MAX_RECORD_BYTES: Final = 256 * 1024

#: What lies beyond these many records or bytes is set aside.
MAX_RECORDS: Final = 10_000
MAX_TOTAL_BYTES: Final = 64 * 1024 * 1024

_MAX_DEPTH: Final = 8
_RECORD_FOLDERS: Final = ("memory", "knowledge")
_KEPT_FILES: Final = ("config.toml", ".gitignore")
_EARLIER: Final = re.compile(r"set-aside-\d{8}T\d{6}Z(-\d+)?")
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@dataclass(slots=True, kw_only=True)
class Survey:
    """Paths relative to `.hikidashi/`, with `/`; a folder that goes as a whole stands for all in it."""

    #: Records that `trust` takes over.
    records: list[str] = field(default_factory=list)
    #: What it sets aside.
    aside: list[str] = field(default_factory=list)
    #: Links that it takes out.
    links: list[str] = field(default_factory=list)
    #: Bytes of the records together.
    size: int = 0


def survey(home: Path) -> Survey:
    """What of `home` would be kept, set aside and taken out. Raises `StorageFailure`."""
    found = Survey()
    with storage_errors(f"look through {shown(home)}"):
        for entry in _entries(home):
            mode = entry.lstat().st_mode
            if is_link(entry):
                found.links.append(entry.name)
            elif entry.name in _RECORD_FOLDERS and stat.S_ISDIR(mode):
                _survey_folder(entry, entry.name, found)
            elif _EARLIER.fullmatch(entry.name) and stat.S_ISDIR(mode):
                found.links += [f"{entry.name}/{link.relative_to(entry).as_posix()}" for link in _links_below(entry)]
            elif not (entry.name in _KEPT_FILES and _is_small_file(entry, MAX_SETTINGS_BYTES)):
                found.aside.append(entry.name)
                found.links += [f"{entry.name}/{link.relative_to(entry).as_posix()}" for link in _links_below(entry)]
    return found


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def _is_small_file(path: Path, limit: int) -> bool:
    status = path.lstat()
    return stat.S_ISREG(status.st_mode) and status.st_size <= limit


def _is_plain(name: str) -> bool:
    """A name that people can read, on one line; hidden ones are never records."""
    return not name.startswith(".") and name.isprintable() and "\\" not in name


def _survey_folder(folder: Path, prefix: str, found: Survey) -> None:
    for entry in _entries(folder):
        path = f"{prefix}/{entry.name}"
        if is_link(entry):
            found.links.append(path)
        elif entry.is_dir() and _is_plain(entry.name) and path.count("/") < _MAX_DEPTH:
            _survey_folder(entry, path, found)
        elif _is_plain(entry.name) and entry.suffix == ".md" and _is_small_file(entry, MAX_RECORD_BYTES):
            size = entry.lstat().st_size
            if len(found.records) < MAX_RECORDS and found.size + size <= MAX_TOTAL_BYTES:
                found.records.append(path)
                found.size += size
            else:
                found.aside.append(path)
        else:
            found.aside.append(path)
            found.links += [f"{path}/{link.relative_to(entry).as_posix()}" for link in _links_below(entry)]


def _links_below(path: Path) -> list[Path]:
    found = []
    folders = [path] if path.is_dir() else []
    while folders:  # not os.walk: it recurses, and a stranger's folders can be deeper than Python's stack
        for entry in _entries(folders.pop()):
            if is_link(entry):
                found.append(entry)
            elif entry.is_dir():
                folders.append(entry)
    return sorted(found)


def take_out_links(home: Path, links: list[str]) -> None:
    """Delete these links (never what they lead to). Raises `StorageFailure`."""
    with storage_errors(f"take links out of {shown(home)}"):
        for link in links:
            place = home / link
            if is_link(place):
                place.unlink()


def keep_records(home: Path, found: Survey, aside: Path) -> None:
    """Do what `survey` found: `aside`, a new folder in `home`, receives what is no record.

    Raises `StorageFailure`.
    """
    take_out_links(home, found.links)
    for path in found.aside:
        target = aside / path
        make_folder(target.parent)
        with storage_errors(f"set {shown(home / path)} aside"):
            os.replace(home / path, target)
    for path in found.records:
        _make_private(home / path)
    for name in (*_RECORD_FOLDERS, *_KEPT_FILES):
        _narrow(home / name)


def _make_private(record: Path) -> None:
    """Write the record anew, so that no hard link and no strange mode or owner comes with it."""
    with storage_errors(f"read {shown(record)}"):
        descriptor = os.open(record, os.O_RDONLY | _NO_FOLLOW)
        with os.fdopen(descriptor, "rb") as stream:
            data = stream.read(MAX_RECORD_BYTES + 1)
    write_atomic(record, data[:MAX_RECORD_BYTES], sync=False)


def _narrow(path: Path) -> None:
    with storage_errors(f"make {shown(path)} private"):
        if path.is_dir():
            path.chmod(FOLDER_MODE)
            for folder, folders, _ in os.walk(path):
                for name in folders:
                    (Path(folder) / name).chmod(FOLDER_MODE)
        elif path.is_file():
            path.chmod(FILE_MODE)
