"""Changing a file of a host: a backup first, everything foreign in it kept, and the way back.

For each file that was changed a receipt lies in the user's data folder: its bytes before, and a digest of what was
written. Where the file is still what was written, taking our part out gives the bytes of before; where a person or
the host changed it since, only our part is taken out.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from hikidashi.atomic import FILE_MODE, make_folder, remove_file, storage_errors, write_atomic
from hikidashi.config.folders import data_folder, shown
from hikidashi.errors import BadSettings, Conflict
from hikidashi.times import now

__all__ = ["Change", "read_text", "rewrite"]

#: A file that another program writes at the same time is read again so often.
_TRIES: Final = 5

#: Text -> text; raises `ValueError` for a file of another form.
Edit = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of one file."""

    path: Path
    #: False: it was so already.
    changed: bool
    #: A copy of its bytes before; None where nothing changed, or there was no file.
    backup: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""
        return {
            "path": str(self.path),
            "changed": self.changed,
            "backup": None if self.backup is None else str(self.backup),
        }


def read_text(path: Path) -> str:
    """The file's text, '' without a file. Raises `BadSettings` for one that is not UTF-8, `StorageFailure`."""
    data = _bytes(path)
    return "" if data is None else _text(path, data)


def rewrite(path: Path, take_out: Edit, put_in: Edit | None, *, same: Callable[[str, str], bool]) -> Change:
    """Put our part into the file at `path`, or only take it out where `put_in` is None.

    `take_out` gives the text without any part of ours. `same` says whether two texts mean the same: then nothing is
    written. A link is followed. Raises `BadSettings` for a file of another form, `Conflict` for one that never rests,
    `StorageFailure`.
    """
    path = Path(os.path.realpath(path))
    receipt = _Receipt(path)
    for _ in range(_TRIES):
        data = _bytes(path)
        old = "" if data is None else _text(path, data)
        base = receipt.before(data)
        if base is None:
            base = _edited(path, take_out, old)
        new = base if put_in is None else _edited(path, put_in, base)
        if same(old, new) and not (put_in is None and receipt.made_file(data)):
            return Change(path=path, changed=False)
        if _bytes(path) != data:
            continue
        backup = None if data is None else receipt.backup(data)
        if put_in is None and receipt.made_file(data):
            remove_file(path)
            receipt.drop()
            return Change(path=path, changed=True, backup=backup)
        with storage_errors(f"read {path}"):
            mode = path.stat().st_mode & 0o777 if data is not None else FILE_MODE
        make_folder(path.parent)
        written = new.encode("utf-8")
        receipt.drop() if put_in is None else receipt.write(base if data is not None else None, written)
        write_atomic(path, written, mode=mode)
        return Change(path=path, changed=True, backup=backup)
    raise Conflict(f"{shown(path)} is written to all the time: end the host, then run the same command again")


def _bytes(path: Path) -> bytes | None:
    with storage_errors(f"read {path}"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise BadSettings(f"{shown(path)} is not UTF-8: save it as UTF-8, then run the same command again") from exc


def _edited(path: Path, edit: Edit, text: str) -> str:
    try:
        return edit(text)
    except ValueError as exc:
        raise BadSettings(
            f"{shown(path)} cannot be changed ({exc}): mend it, then run the same command again; nothing was changed"
        ) from exc


class _Receipt:
    """What was written into a file, and what stood there before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = data_folder() / "hosts"
        self._name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        self._file = self._folder / f"{self._name}.json"
        try:
            form = json.loads(self._file.read_bytes())
        except (OSError, ValueError):  # without one our part is taken out by its looks
            form = None
        self._form: dict[str, Any] = form if isinstance(form, dict) else {}

    def _is_as_written(self, data: bytes | None) -> bool:
        return data is not None and self._form.get("written") == hashlib.sha256(data).hexdigest()

    def before(self, data: bytes | None) -> str | None:
        """The text of before, where the file is still what was written; None where that is not known."""
        text = self._form.get("before")
        return text if self._is_as_written(data) and isinstance(text, str) else None

    def made_file(self, data: bytes | None) -> bool:
        """Whether the file is ours alone: made by us, and as we wrote it."""
        return self._is_as_written(data) and bool(self._form.get("made"))

    def write(self, before: str | None, written: bytes) -> None:
        """Note what is about to be written. `before` None: there was no file."""
        made = before is None or bool(self._form.get("made") and before == self._form.get("before"))
        form = {
            "path": str(self._path),
            "made": made,
            "before": before or "",
            "written": hashlib.sha256(written).hexdigest(),
        }
        make_folder(self._folder)
        write_atomic(self._file, json.dumps(form).encode())

    def drop(self) -> None:
        """Nothing of ours is in the file any more."""
        remove_file(self._file)

    def backup(self, data: bytes) -> Path:
        """Keep a copy of the file's bytes."""
        return _backup(self._folder, self._path, data, now())


def _backup(folder: Path, path: Path, data: bytes, at: datetime) -> Path:
    make_folder(folder)
    target = folder / f"{path.name.lstrip('.')}.{at:%Y%m%dT%H%M%S%f}Z"
    write_atomic(target, data)
    return target
