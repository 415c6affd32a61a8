"""A project folder with a workspace and the sessions of a person who works in it, as the command line sees them."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hikidashi.atomic import TEMP_PREFIX
from hikidashi.config.workspace import Workspace
from hikidashi.records.history import History
from hikidashi.records.library import load_tree
from tests.support.commands import ROOT, Commands
from tests.transcripts import Session

#: Sessions of these tests are days old, so that they count as ended; records made of them are young.
MORNING = datetime.now(UTC).replace(microsecond=0) - timedelta(days=3)


def python_environ() -> dict[str, str]:
    """The environment of a real `python -m hikidashi` that runs the code of this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def slug(folder: Path | str) -> str:
    """The name of Claude Code's folder for sessions started in `folder`."""
    return re.sub(r"[^A-Za-z0-9]", "-", str(folder))


@dataclass(slots=True)
class Project:
    """One project; `made` runs `init` in it."""

    root: Path
    run: Commands

    @classmethod
    def made(cls, root: Path, run: Commands, *, init: bool = True) -> Project:
        root.mkdir(parents=True)
        project = cls(root.resolve(), run)
        if init:
            run("init", cwd=root)
        return project

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.root, "")

    @property
    def home(self) -> Path:
        return self.workspace.home

    # -- sessions

    def session(self, name: str, *, cwd: Path | str | None = None, day: int = 0) -> Session:
        """An empty session, started in the project's folder unless `cwd` says otherwise."""
        return Session(name=name, cwd=str(cwd or self.root), at=MORNING + timedelta(days=day, minutes=len(name)))

    def choices(self, name: str, numbers: Iterable[int], *, cwd: Path | str | None = None) -> Session:
        """A session in which the person answers one question a number: one decision each."""
        session = self.session(name, cwd=cwd)
        session.user("let us set the ports of the services")
        for number in numbers:
            session.asks(
                f"Which port does service{number} listen on?",
                [f"port {9000 + number} for service{number}", f"port {5000 + number} for service{number}"],
                f"port {9000 + number} for service{number}",
            )
        session.says("All ports are set.")
        return session

    def keep(self, session: Session) -> Path:
        """Put a session where the host keeps it."""
        folder = Path(os.environ["HOME"], ".claude", "projects", slug(session.cwd))
        return session.write(folder / f"{session.session_id}.jsonl")

    # -- what is there

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """What the database says."""
        with closing(sqlite3.connect(f"{self.workspace.database.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute(sql, values).fetchall()

    def states(self) -> dict[str, str]:
        """State by entry ID."""
        return {str(key): str(state) for key, state in self.rows("SELECT id, state FROM entries")}

    def tree(self) -> dict[str, bytes]:
        """All record files."""
        return load_tree(self.workspace)

    def texts(self) -> str:
        """All decisions as one text."""
        return "\n".join(
            data.decode() for path, data in sorted(self.tree().items()) if path.startswith("memory/decisions/")
        )

    def staged_files(self) -> set[str]:
        return {path.stem for path in self.workspace.staging.glob("*.json") if not path.name.startswith(TEMP_PREFIX)}

    def applied(self, number: int) -> int:
        """How often the decision on service `number` is in the records: files, and sources within each."""
        return sum(
            data.decode().count("  - host: ")
            for path, data in self.tree().items()
            if "/decisions/" in path and self.says(data.decode(), number)
        )

    @staticmethod
    def says(text: str, number: int) -> bool:
        """Whether a text holds the decision on service `number`."""
        return re.search(rf"\bport {9000 + number} for service{number}\b", text) is not None

    def assert_whole(self, numbers: Iterable[int]) -> None:
        """Nothing lost, twice or half-written, whenever no process is at work: each number once or still staged."""
        staged = [(self.workspace.staging / f"{key}.json").read_text("utf-8") for key in sorted(self.staged_files())]
        for number in numbers:
            waiting = sum(self.says(json.loads(entry)["body"], number) for entry in staged)
            assert self.applied(number) + waiting == 1, (number, self.applied(number), waiting)
        assert {key for key, state in self.states().items() if state == "staged"} == self.staged_files()
        assert "pending" not in self.states().values()
        assert History(self.workspace.history).tree() == self.tree(), "the tip of the history equals the files"
        assert not self.workspace.journal.exists()
        assert not self.workspace.claim_path.exists()
        assert self.rows("SELECT run_id FROM runs WHERE outcome = 'running'") == []
        assert self.rows("PRAGMA integrity_check") == [("ok",)]

    def everything(self) -> dict[str, bytes]:
        """Every record and the tip of the history: what a second pass must not change by a byte."""
        tip = History(self.workspace.history).tip()
        return {**self.tree(), "history": tip.id.encode() if tip else b""}
