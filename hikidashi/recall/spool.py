"""Uses that could not be noted because another process was writing: they wait in a file. Standard library only.

A turn waits at most 20 ms for another writer (design section 9). What it could not note is appended to a file beside
the database, and the next writer takes it in: the next turn, or `hikidashi extract`. A file is renamed before it is
read, so that two takers never read the same one; a taker that dies leaves it, and the next one takes it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3

from hikidashi.db.connection import queries, transaction

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Final

__all__ = ["drop", "put_by", "take_in", "take_in_waiting"]

#: Behind the database's name.
_SUFFIX: Final = ".spool"
#: More than that is not kept: something holds the database for days, and uses are no more than a hint.
_MAX_BYTES: Final = 256 * 1024
_MODE: Final = 0o600


def put_by(database: Path | str, values: dict[str, Any]) -> bool:
    """Append one turn's uses to the database's spool file; False when there is no room or the disk refuses.

    `values`: `session_id`, `via`, `at`, and the IDs of the facts `named` and `given`.
    """
    path = f"{os.fspath(database)}{_SUFFIX}"
    line = json.dumps(values, ensure_ascii=True).encode("ascii") + b"\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags, _MODE)
        try:
            if os.fstat(descriptor).st_size + len(line) > _MAX_BYTES:
                return False
            return os.write(descriptor, line) == len(line)  # one write: two hooks' lines do not mix
        finally:
            os.close(descriptor)
    except OSError:
        return False


def take_in(connection: sqlite3.Connection, database: Path | str) -> list[str]:
    """Note what waits beside the database, in the CALLER's transaction; gives the files to delete once it commits."""
    folder, name = os.path.split(os.fspath(database))
    try:
        found = [entry for entry in os.listdir(folder or ".") if entry.startswith(name + _SUFFIX)]
    except OSError:
        return []
    taken = []
    for entry in found:
        path = os.path.join(folder, entry)
        if entry == name + _SUFFIX:
            path, before = f"{path}.{os.urandom(4).hex()}", path
            with contextlib.suppress(OSError):
                os.rename(before, path)
        lines = _lines(path)
        if lines is not None:
            for values in lines:
                _note(connection, values)
            taken.append(path)
    return taken


def take_in_waiting(connection: sqlite3.Connection, database: Path | str) -> None:
    """Note what waits, in a transaction of its own. Raises as `transaction` does."""
    with transaction(connection):
        taken = take_in(connection, database)
    drop(taken)


def drop(taken: list[str]) -> None:
    """Delete what `take_in` took, once that is committed."""
    for path in taken:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _lines(path: str) -> list[dict[str, Any]] | None:
    """The whole lines of a file; None where there is none any more."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:
            data = file.read(2 * _MAX_BYTES)
    except OSError:
        return None
    found = []
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):  # cut by a full disk
            values = json.loads(line)
            if isinstance(values, dict):
                found.append(values)
    return found


def _note(connection: sqlite3.Connection, values: dict[str, Any]) -> None:
    sql = queries("recall")
    texts = {name: str(values.get(name, "")) for name in ("session_id", "via", "at")}
    connection.execute(sql["move_seen"], {"ids": _ids(values.get("named")), "at": texts["at"]})
    connection.execute(sql["note_exposures"], {**texts, "ids": _ids(values.get("given"))})


def _ids(value: object) -> str:
    ids = value if isinstance(value, list) else []
    return json.dumps([item for item in ids if type(item) is int])
