"""The two drawers a command works with: the workspace's and the user's own one, the scope `global`.

The user's own stands in `global.sqlite` of the data folder (design section 3) and has the same tables. It is made
by the first write to it; reading never makes it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hikidashi.atomic import make_folder
from hikidashi.config.folders import data_folder
from hikidashi.db.connection import GLOBAL_DATABASE, connect
from hikidashi.db.migrations import migrate
from hikidashi.db.network import network_warning
from hikidashi.drawer.decay import decay_if_due
from hikidashi.drawer.fact import Fact, Scope, clean_key
from hikidashi.drawer.near import missing_fact
from hikidashi.drawer.reading import fact_keys, find_fact
from hikidashi.drawer.store import Drawer
from hikidashi.times import Clock, now

__all__ = ["Drawers", "global_database"]


def global_database() -> Path:
    """Where the facts of the scope `global` are, or will be."""
    return data_folder() / GLOBAL_DATABASE


class Drawers:
    """The workspace's drawer (None outside a workspace) and the user's own one, which is opened when it is needed.

    A context manager: what it opened itself, it closes.
    """

    def __init__(self, workspace: sqlite3.Connection | None, clock: Clock = now) -> None:
        self._workspace = workspace
        self._global: sqlite3.Connection | None = None
        self.clock: Final = clock
        #: What is to be said about the place of the user's own database; '' for nothing.
        self.warning = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._global is not None:
            self._global.close()
            self._global = None

    def existing(self, scope: Scope | None = None) -> list[Drawer]:
        """The drawers that are there, the workspace's first; with `scope` that one at most."""
        found = []
        if scope != "global" and self._workspace is not None:
            found.append(Drawer(self._workspace, "workspace", self.clock))
        if scope != "workspace" and (self._global is not None or global_database().is_file()):
            found.append(self.writable("global"))
        return found

    def writable(self, scope: Scope) -> Drawer:
        """The drawer of a scope; the user's own one is made if need be. Raises `StorageFailure` and its kin."""
        if scope == "workspace":
            if self._workspace is None:
                raise RuntimeError("there is no workspace here")
            return Drawer(self._workspace, scope, self.clock)
        if self._global is None:
            self._global = _open_global()
            self.warning = network_warning(global_database())
        return Drawer(self._global, scope, self.clock)

    def find(self, key: str, scope: Scope | None = None) -> tuple[Drawer, Fact] | None:
        """The fact of a key and its drawer. Both scopes: the workspace's shadows the user's own."""
        clean = clean_key(key)
        for drawer in self.existing(scope):
            fact = find_fact(drawer.connection, drawer.scope, clean)
            if fact is not None:
                return drawer, fact
        return None

    def expect(self, key: str, scope: Scope | None = None) -> tuple[Drawer, Fact]:
        """The same. Raises `NoSuchFact` that names keys like it."""
        found = self.find(key, scope)
        if found is None:
            keys = [known for drawer in self.existing(scope) for known in fact_keys(drawer.connection, drawer.scope)]
            raise missing_fact(clean_key(key), keys)
        return found

    def decay(self, *, stale_days: int, retired_days: int) -> None:
        """A pass over each drawer that is there and due."""
        for drawer in self.existing():
            decay_if_due(
                drawer.connection, drawer.scope, self.clock(), stale_days=stale_days, retired_days=retired_days
            )


def _open_global() -> sqlite3.Connection:
    path = global_database()
    make_folder(path.parent)
    connection = connect(path)
    try:
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection
