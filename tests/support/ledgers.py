"""A workspace's database, settings and a clock that tests set, for all that counts requests."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hikidashi.config.folders import data_folder
from hikidashi.config.settings import Settings, load_settings
from hikidashi.db.connection import GLOBAL_DATABASE, connect
from hikidashi.db.migrations import migrate
from hikidashi.model.ledger import LedgerMeter, make_meter
from hikidashi.processes import OwnIdentity, Sighting

__all__ = ["START", "Books", "FakeProcesses", "books", "make_settings"]

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(slots=True)
class FakeProcesses:
    """Processes of one machine: this one, and whichever else a test says is alive."""

    pid: int = 100
    boot_id: str = "boot-1"
    pid_ns: str = "pid:[1]"
    host: str = "desk"
    #: pid -> start ID.
    alive: dict[int, str] = field(default_factory=dict)

    def own(self) -> OwnIdentity:
        return OwnIdentity(
            pid=self.pid, start_id=str(self.pid), boot_id=self.boot_id, pid_ns=self.pid_ns, host=self.host
        )

    def look(self, pid: int) -> Sighting:
        if pid == self.pid:
            return Sighting(state="running", start_id=str(pid))
        return Sighting(state="running", start_id=self.alive[pid]) if pid in self.alive else Sighting(state="gone")


def make_settings(**values: Any) -> Settings:
    """Settings with `group__key=value` from the environment, whatever the user's file says."""
    given = {f"HIKIDASHI_{name.replace('__', '_').upper()}": str(value) for name, value in values.items()}
    return load_settings(None, environ=given)


@dataclass(slots=True, kw_only=True)
class Books:
    """One workspace's ledger, and the user's behind it."""

    connection: sqlite3.Connection
    at: datetime = START
    settings: Settings = field(default_factory=make_settings)
    processes: FakeProcesses = field(default_factory=FakeProcesses)
    environ: dict[str, str] = field(default_factory=dict)

    def clock(self) -> datetime:
        """The present moment."""
        return self.at

    def later(self, **span: float) -> None:
        """Let time pass."""
        self.at += timedelta(**span)

    def meter(self, run_id: str = "RUN") -> LedgerMeter:
        """The meter of a run."""
        return make_meter(
            self.connection,
            self.settings,
            run_id,
            clock=self.clock,
            processes=self.processes,
            environ=self.environ,
        )

    def rows(self, *, users: bool = False) -> list[dict[str, Any]]:
        """All requests of the workspace's database, or of the user's own one."""
        if not users:
            return [dict(row) for row in self.connection.execute("SELECT * FROM model_requests ORDER BY rowid")]
        connection = connect(data_folder() / GLOBAL_DATABASE)
        try:
            return [dict(row) for row in connection.execute("SELECT * FROM model_requests ORDER BY rowid")]
        finally:
            connection.close()


@contextmanager
def books(folder: Path, **values: Any) -> Iterator[Books]:
    """A workspace's database in `folder`, with settings as `make_settings` takes them."""
    folder.mkdir(parents=True, exist_ok=True)
    connection = connect(folder / "workspace.sqlite")
    try:
        migrate(connection)
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('workspace_id', ?)", (folder.name,))
        yield Books(connection=connection, settings=make_settings(**values))
    finally:
        connection.close()
