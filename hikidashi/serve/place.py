"""Where a hook runs: the workspace, its databases open for reading, settings, session. Standard library only."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from datetime import UTC, datetime

from hikidashi.config.glance import Place, machine_id
from hikidashi.config.quick_settings import quick_settings
from hikidashi.config.user_paths import user_path
from hikidashi.db.connection import GLOBAL_DATABASE, database_errors, queries, read_only
from hikidashi.errors import CorruptData, HikidashiError
from hikidashi.recall.lookup import Index
from hikidashi.rules_version import RULES_VERSION
from hikidashi.serve.given import Session

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

    from hikidashi.drawer.fact import Scope
    from hikidashi.recall.lookup import Note
    from hikidashi.serve.host_event import HostEvent

__all__ = ["Here", "opened"]

#: A hook waits so long for a writer that shuts readers out; WAL has none.
_BUSY_SECONDS: Final = 0.2

_MIGRATIONS: Final = os.path.join(os.path.dirname(os.path.dirname(__file__)), "db", "sql", "migrations")


class Here:
    """An event with all that answering it needs."""

    def __init__(self, event: HostEvent, place: Place, drawers: dict[Scope, sqlite3.Connection]) -> None:
        self.event: Final = event
        self.place: Final = place
        #: Open databases; the workspace's is always there.
        self.drawers: Final = drawers
        self.session: Final = Session(place.home, event.session_id)
        self.settings: Final = quick_settings(place.home, self.session.data.get("settings"))
        #: One line on what does not work, though the rest does.
        self.problem = self.settings.wrong
        self.now: Final = datetime.now(UTC)
        kept = self.session.data.get("machine")
        self.machine_id: Final[str] = kept if isinstance(kept, str) else machine_id()
        self._sql: Final = queries("serve")

    @property
    def databases(self) -> dict[Scope, str]:
        """The files of the open databases."""
        paths: dict[Scope, str] = {"workspace": self.place.database, "global": _global_database()}
        return {scope: paths[scope] for scope in self.drawers}

    @property
    def is_older(self) -> bool:
        """Whether the workspace's database was written by an older version: a command brings it up to date."""
        return _schema(self.drawers["workspace"]) < _known_schema()

    def save(self, **values: Any) -> None:
        """Write the session's memory."""
        self.session.save(settings=self.settings.kept, machine=self.machine_id, **values)

    def rows(self, name: str, scope: Scope, **values: object) -> list[sqlite3.Row]:
        """The rows of a statement of `serve.sql` in one database. Raises as `database_errors` says."""
        with database_errors(os.path.basename(self.databases[scope])):
            return self.drawers[scope].execute(self._sql[name], values).fetchall()

    def notes(self, name: str, *, limit: int) -> list[Note]:
        """Facts as they are shown: the workspace's, then the user's own; the workspace's key shadows, but for rules."""
        found: list[Note] = []
        values: dict[str, object] = {"limit": limit, "rules_version": RULES_VERSION}
        if name == "facts":
            values["machine_id"] = self.machine_id
        for scope, connection in self.drawers.items():
            index = Index(connection)
            keys = {note.key for note in found}
            ids = [row["id"] for row in self.rows(name, scope, **values)]
            found += [note for note in map(index.note, ids) if note.type == "rule" or note.key not in keys]
        return found[:limit]


@contextlib.contextmanager
def opened(event: HostEvent, place: Place) -> Iterator[Here]:
    """Open the databases for an event. Raises `Busy`, `CorruptData` and `StorageFailure` for the workspace's own.

    What is wrong with the user's own database is a problem beside: the workspace's facts are given all the same.
    """
    drawers: dict[Scope, sqlite3.Connection] = {}
    problem = ""
    try:
        drawers["workspace"] = _reader(place.database)
        with contextlib.suppress(FileNotFoundError):
            os.stat(_global_database())
            try:
                drawers["global"] = _reader(_global_database())
            except HikidashiError as exc:
                problem = str(exc)
        here = Here(event, place, drawers)
        here.problem = here.problem or problem
        yield here
    finally:
        for connection in drawers.values():
            connection.close()


def _global_database() -> str:
    return os.path.join(user_path("data"), GLOBAL_DATABASE)


def _known_schema() -> int:
    """The schema that this version writes (`db.migrations.LATEST`, which takes longer to load)."""
    return max(int(name[:3]) for name in os.listdir(_MIGRATIONS) if name[:3].isdigit())


def _schema(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _reader(path: str) -> sqlite3.Connection:
    connection = read_only(path, busy_seconds=_BUSY_SECONDS)
    version, known = _schema(connection), _known_schema()
    if version > known:
        connection.close()
        raise CorruptData(
            f"{os.path.basename(path)} has schema {version}, this hikidashi knows up to {known}: "
            "upgrade hikidashi to use it"
        )
    return connection
