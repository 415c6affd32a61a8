"""The second pass of Phase 1: a model reads the sessions (design section 5.7).

It has marks, seen events and a lock of its own, so that reading by rules never waits for a server. Whatever ends it,
what was answered is kept and the rest waits: no failure loses a session, and none is passed over for a failure that is
the server's, the account's or the budget's.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from filelock import FileLock, Timeout

from hikidashi.atomic import FILE_MODE, storage_errors
from hikidashi.capture.back_fill import agree, chunk_estimate, model_since, older_sessions, room_of, switch_on
from hikidashi.capture.chunks import Chunk
from hikidashi.capture.follow import Belonging
from hikidashi.capture.model_marks import ModelMark
from hikidashi.capture.model_report import ModelReport, has_answered
from hikidashi.capture.model_session import ChunkReader, LeftAside, ModelReader, SessionReading, Taken
from hikidashi.capture.seen import shown_keys
from hikidashi.capture.sessions import FoundFiles, own_sessions, transcripts_at
from hikidashi.config.machine import this_machine
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.errors import BadSettings, BudgetSpent, ModelFailure
from hikidashi.hosts.transcript import Host, SessionFile
from hikidashi.model.messages import Asker
from hikidashi.model.prices import load_prices
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock, format_time, now
from hikidashi.ulid import random_ulid

if TYPE_CHECKING:
    from hikidashi.config.settings import Settings
    from hikidashi.config.workspace import Workspace

__all__ = ["MODEL_CHECKPOINTS", "ModelProgress", "TellModel", "read_by_model"]

_SQL: Final = queries("model_reading")

#: The steps of a pass, as they are told to `checkpoint`.
MODEL_CHECKPOINTS: Final = (
    "model:begin",
    "model:agreed",
    "model:locked",
    "model:before-request",
    "model:before-commit",
    "model:after-commit",
    "model:files-written",
    "model:read-through",
    "model:before-dequeue",
    "model:after-dequeue",
    "model:unlocked",
    "model:end",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProgress:
    """How far a pass is, before a request."""

    #: Chunks that were answered.
    chunks: int
    #: Bytes of transcripts that are done, of so many that this pass knows of.
    bytes: int
    total: int
    path: Path


TellModel = Callable[[ModelProgress], None]


def read_by_model(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    *,
    asker: Asker,
    run_id: str = "",
    named: FoundFiles | None = None,
    back_fill: bool = False,
    since: datetime | None = None,
    clock: Clock = now,
    checkpoint: Callable[[str], None] = lambda name: None,
    progress: TellModel = lambda progress: None,
    read: ChunkReader | None = None,
) -> ModelReport:
    """Have a model read the `named` transcripts, or what is new in the workspace's own sessions.

    `back_fill`: a person agreed to have the older ones read too (those written to after `since`, if it is given).
    `run_id` is the run that the asker's meter counts for. `read` takes the place of the model and of the look at its
    claims. Failures of the model and spent budgets are the report's outcome; raises as the database and the disk do,
    and `BadSettings` for a table of prices or a prompt that is wrong.
    """
    began = time.monotonic()
    at = clock()
    report = ModelReport(
        run_id=run_id or random_ulid(at), model=settings.memory.extraction_model, started_at=format_time(at)
    )
    one = _Pass(workspace, settings, connection, report, clock, checkpoint, progress)
    one.read = read or _asking(workspace, settings, connection, asker, report)
    checkpoint("model:begin")
    first = switch_on(connection, settings, clock)
    if named is not None:
        agree(connection, named, named=True, at=at)
    else:
        older = older_sessions(workspace, connection, before=first, since=since)
        if back_fill:
            agree(connection, older, named=False, at=at)
        report.older = 0 if back_fill else len(older)
    checkpoint("model:agreed")
    one.take(None if named is not None else max(first, since or first))
    report.seconds = time.monotonic() - began
    one.end()
    checkpoint("model:end")
    return report


def _asking(
    workspace: Workspace, settings: Settings, connection: sqlite3.Connection, asker: Asker, report: ModelReport
) -> ChunkReader:
    """The reader that asks; what it needs is loaded when there is something to ask."""
    made: list[ChunkReader] = []

    def read(chunk: Chunk) -> Taken:
        if not made:
            made.append(_make_asking(workspace, settings, connection, asker, report))
        return made[0](chunk)

    return read


def _make_asking(
    workspace: Workspace, settings: Settings, connection: sqlite3.Connection, asker: Asker, report: ModelReport
) -> ChunkReader:
    import json

    from hikidashi.capture.claims import answer_schema
    from hikidashi.capture.model_asking import ChunkAsking, CountingAsker
    from hikidashi.model.prompt_files import prompt_sources
    from hikidashi.prompts.template import prompt_text

    schema = json.dumps(answer_schema(), ensure_ascii=False, indent=1)
    return ChunkAsking(
        CountingAsker(asker, report),
        connection,
        model=settings.memory.extraction_model,
        prompt=prompt_text("extraction", prompt_sources(workspace), schema=schema),
        answer=room_of(settings, load_prices()).answer,
    )


@dataclass(slots=True)
class _Pass:
    """One call of `read_by_model`."""

    workspace: Workspace
    settings: Settings
    connection: sqlite3.Connection
    report: ModelReport
    clock: Clock
    checkpoint: Callable[[str], None]
    progress: TellModel
    read: ChunkReader = field(init=False)
    _store: StagingStore = field(init=False)
    _lock: FileLock = field(init=False)
    _reader: ModelReader | None = None
    #: Its row was made: something was asked.
    _started: bool = False
    #: Sessions that were read or left in this pass.
    _handled: set[tuple[Path, bool]] = field(default_factory=set)
    #: Bytes that this pass has before it, and those of sessions that are done.
    _total: int = 0
    _done: int = 0

    def __post_init__(self) -> None:
        self._store = StagingStore(self.workspace, self.connection, self.clock)
        self._lock = FileLock(self.workspace.model_lock, timeout=0, mode=FILE_MODE)

    # -- one process at a time

    def take(self, since: datetime | None) -> None:
        """Read what is queued, and with `since` the workspace's own sessions, or leave it to the process that reads.

        Nothing is lost between two processes: who finds the lock held queues first and then tries it again; who lets
        it go looks at the queue again.
        """
        if not self._try_lock():
            if since is not None:
                self._look_again()
            if not self._try_lock():
                self.report.outcome = "busy"
                return
        while True:
            try:
                self.checkpoint("model:locked")
                self._bury()
                self._read_all(since)
            except (BadSettings, BudgetSpent, ModelFailure) as exc:
                self._fail(exc)
            finally:
                self._lock.release()
            self.checkpoint("model:unlocked")
            if self.report.message or not self._waiting() or not self._try_lock():
                return

    def _try_lock(self) -> bool:
        with storage_errors(f"lock {self.workspace.model_lock}"):
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return False
        return True

    def _bury(self) -> None:
        """Passes that say they run are those of processes that ended: we hold the lock."""
        if not self._started:
            with transaction(self.connection):
                self.connection.execute(_SQL["crashed_extractions"], {"finished_at": format_time(self.clock())})

    def _fail(self, exc: BadSettings | BudgetSpent | ModelFailure) -> None:
        self.report.message = str(exc)
        if isinstance(exc, BudgetSpent):
            self.report.outcome = "budget"
        else:
            self.report.outcome = f"failed:{exc.kind if isinstance(exc, ModelFailure) else 'auth'}"

    def end(self) -> None:
        """Save how it ended."""
        report = self.report
        if self._started:
            if report.outcome == "idle":
                report.outcome = "done"
            report.end(self.connection, format_time(self.clock()))

    # -- the queue

    def _look_again(self) -> None:
        values = {"path": "", "named": 0, "queued_at": format_time(self.clock())}
        with transaction(self.connection):
            self.connection.execute(_SQL["enqueue"], values)

    def _queued(self) -> list[tuple[str, bool]]:
        with database_errors("workspace.sqlite"):
            rows = self.connection.execute(_SQL["queued"]).fetchall()
        return [(row["path"], bool(row["named"])) for row in rows]

    def _waiting(self) -> list[tuple[str, bool]]:
        """What is queued and was not handled yet."""
        return [(path, named) for path, named in self._queued() if (Path(path), named) not in self._handled or not path]

    def _dequeue(self, path: str, named: bool) -> None:
        self.checkpoint("model:before-dequeue")
        with transaction(self.connection):
            self.connection.execute(_SQL["dequeue"], {"path": path, "named": int(named)})
        self.checkpoint("model:after-dequeue")

    # -- the sessions

    def _read_all(self, since: datetime | None) -> None:
        left: list[LeftAside] = []
        own = [] if since is None else self._new_in(own_sessions(self.workspace, since), named=False)
        while True:
            work: list[tuple[str, bool, FoundFiles]] = [("", False, own)] if own else []
            for path, named in self._waiting():
                found = self._at(path) if path else own_sessions(self.workspace, model_since(self.connection))
                work.append((path, named, self._new_in(found, named=named)))
            queued = [(path, named) for path, named, _found in work]
            if not work:
                break
            self._total += sum(file.size for _path, _named, found in work for _host, file in found)
            for path, named, found in work:
                self._read_files(found, named=named, left=left)
                if path or queued.count((path, named)) > (1 if own else 0):
                    self._finish_queued(path, named)
            own = []
        if left and not self._reader_works():
            raise left[0]

    def _finish_queued(self, path: str, named: bool) -> None:
        ...
