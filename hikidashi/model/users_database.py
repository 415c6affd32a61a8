"""The user's own database, where what holds over all workspaces is kept: totals, and who may not be asked."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from hikidashi.atomic import make_folder
from hikidashi.config.folders import data_folder
from hikidashi.db.connection import GLOBAL_DATABASE, connect, database_errors, read_only
from hikidashi.db.migrations import LATEST, migrate, schema_version
from hikidashi.errors import CorruptData

__all__ = ["existing_users_database", "users_database", "users_database_if_there"]


def _path() -> Path:
    return data_folder() / GLOBAL_DATABASE


@contextlib.contextmanager
def users_database() -> Iterator[sqlite3.Connection]:
    """The database for reading and writing, made if need be. Raises as `connect` and `migrate` do."""
    path = _path()
    make_folder(path.parent)
    with contextlib.closing(connect(path)) as connection:
        migrate(connection)
        with database_errors(path):
            yield connection


@contextlib.contextmanager
def users_database_if_there() -> Iterator[sqlite3.Connection | None]:
    """The same; None when there is none yet."""
    if not os.path.lexists(_path()):
        yield None
        return
    with users_database() as connection:
        yield connection


@contextlib.contextmanager
def existing_users_database() -> Iterator[sqlite3.Connection | None]:
    """The database for reading; None when there is none, or one of a version that knew no models.

    Raises `CorruptData` for one of a newer version.
    """
    path = _path()
    if not os.path.lexists(path):
        yield None
        return
    with contextlib.closing(read_only(path)) as connection:
        version = schema_version(connection)
        if version > LATEST:
            raise CorruptData(
                f"{path.name} has schema {version}, this hikidashi knows up to {LATEST}: upgrade hikidashi to use it"
            )
        with database_errors(path):
            yield connection if version == LATEST else None
