"""A workspace with an open database, and the entries of a session, for the tests of capture."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from hikidashi.capture.extract import SessionFold
from hikidashi.capture.report import ExtractReport
from hikidashi.capture.run import extract
from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.hosts.claude_code import HOST
from hikidashi.staging.entry import Entry
from tests.transcripts import Session, read

__all__ = ["LATE", "SOON", "Desk", "captured", "desk"]

#: Long after, and one minute after, the sessions of `tests.transcripts` begin.
LATE = datetime(2026, 3, 2, tzinfo=UTC)
SOON = datetime(2026, 3, 1, 9, 1, tzinfo=UTC)


@dataclass
class Desk:
    """One workspace of a test."""

    workspace: Workspace
    connection: sqlite3.Connection

    def extract(
        self,
        *paths: Path,
        at: datetime = LATE,
        own: bool = False,
        since: datetime | None = None,
        checkpoint: Callable[[str], None] = lambda name: None,
    ) -> ExtractReport:
        """Extract the paths (or, with `own`, the workspace's sessions) as if it were `at`."""
        return extract(
            self.workspace,
            load_settings(self.workspace, environ={}),
            self.connection,
            paths=None if own else list(paths),
            since=since,
            clock=lambda: at,
            checkpoint=checkpoint,
        )

    def entries(self) -> list[Entry]:
        """All entries that were ever captured, oldest first."""
        rows = self.connection.execute("SELECT content FROM entries ORDER BY id").fetchall()
        return [Entry.from_json(row["content"]) for row in rows]

    def staged_files(self) -> dict[str, bytes]:
        """The entry files."""
        return {path.name: path.read_bytes() for path in sorted(self.workspace.staging.glob("*.json"))}

    def states(self) -> set[str]:
        """The states that entries are in."""
        return {row["state"] for row in self.connection.execute("SELECT DISTINCT state FROM entries").fetchall()}


@contextlib.contextmanager
def desk(root: Path) -> Iterator[Desk]:
    """A workspace at `root`; a second call opens it again."""
    workspace = Workspace(root=root.resolve(), id="0" * 32)
    workspace.home.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(connect(workspace.database)) as connection:
        migrate(connection)
        yield Desk(workspace, connection)


def captured(
    session: Session, tmp_path: Path, *, settle: bool = True, met: Sequence[tuple[str, str]] = ()
) -> list[Entry]:
    """The entries of one session, by the fold alone; `met` are signals of other sessions."""
    path = session.write(tmp_path / f"{session.session_id}.jsonl")
    fold = SessionFold(HOST.name, sidechain=session.sidechain, met=lambda kind, key: (kind, key) in met)
    entries = [entry for event in read(path)[0] for entry in fold.feed(event)]
    return entries + (fold.settle() if settle else [])
