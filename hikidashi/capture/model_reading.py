"""The second pass of Phase 1: a model reads the sessions (design section 5.7).

It has marks, seen events and a lock of its own, so that reading by rules never waits for a server. Whatever ends it,
what was answered is kept and the rest waits: no failure loses a session, and none is passed over for a failure that is
the server's, the account's or the budget's.
"""

from __future__ import annotations

import functools
import sqlite3
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from filelock import FileLock, Timeout

from hikidashi.atomic import FILE_MODE, storage_errors
from hikidashi.capture.back_fill import model_since, older_sessions, room_of, switch_on
from hikidashi.capture.chunks import Chunk
from hikidashi.capture.follow import Belonging, path_text
from hikidashi.capture.model_marks import ModelMark
from hikidashi.capture.model_reader import ChunkReader, LeftAside, ModelReader, Paused, Taken
from hikidashi.capture.model_report import ModelReport, has_answered, has_unfinished
from hikidashi.capture.model_session import SessionReading
from hikidashi.capture.seen import shown_keys
from hikidashi.capture.sessions import FoundFiles, own_sessions, transcripts_at
from hikidashi.config.machine import this_machine
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.errors import BadSettings, BudgetSpent, ModelFailure
from hikidashi.hosts.transcript import Host, SessionFile
from hikidashi.model.messages import Asker
from hikidashi.model.prices import load_prices
from hikidashi.model.tokens import most_tokens
from hikidashi.staging.pause import paused_since
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock, format_time, now
from hikidashi.ulid import random_ulid

if TYPE_CHECKING:
    from hikidashi.capture.model_asking import ChunkAsking
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
    progress: TellModel | None = None,
    read: ChunkReader | None = None,
    control: Callable[[], None] | None = None,
) -> ModelReport:
    """Have a model read the `named` transcripts, or what is new in the workspace's own sessions.

    `back_fill`: a person agreed to have the older ones read too (those written to after `since`, if it is given).
    `run_id` is the run that the asker's meter counts for. `read` takes the place of the model and of the look at its
    claims, `control` that of `ModelReader.control`. Failures of the model, spent budgets and settings that do not work
    (a prompt, a table of prices) are the report's outcome; raises as the database and the disk do.
    """
    began = time.monotonic()
    at = clock()
    report = ModelReport(
        run_id=run_id or random_ulid(at), model=settings.memory.extraction_model, started_at=format_time(at)
    )
    one = _Pass(workspace, settings, connection, report, clock, checkpoint, progress)
    one.read, one.control = read, control
    if one.read is None:
        one.read, one.control = _asking(workspace, settings, connection, asker, report)
    checkpoint("model:begin")
    first = switch_on(connection, settings, clock)
    if named is not None:
        one.agree(named, named=True)
    else:
        found = own_sessions(workspace, since)
        older = older_sessions(connection, found, before=first)
        if back_fill:
            one.agree(older, named=False)
        report.older = 0 if back_fill else len(older)
        one.own = [pair for pair in found if pair[1].mtime_ns >= int(first.timestamp() * 1e9)]
    checkpoint("model:agreed")
    one.take()
    report.seconds = time.monotonic() - began
    one.end()
    checkpoint("model:end")
    return report


def _asking(
    workspace: Workspace, settings: Settings, connection: sqlite3.Connection, asker: Asker, report: ModelReport
) -> tuple[ChunkReader, Callable[[], None]]:
    """The reader that asks, and its control; what they need is loaded when there is something to ask."""

    @functools.cache
    def asking() -> ChunkAsking:
        from hikidashi.capture.model_asking import make_asking

        return make_asking(workspace, settings, connection, asker, report)

    return lambda chunk: asking()(chunk), lambda: asking().control()


@dataclass(slots=True)
class _Pass:
    """One call of `read_by_model`."""

    workspace: Workspace
    settings: Settings
    connection: sqlite3.Connection
    report: ModelReport
    clock: Clock
    checkpoint: Callable[[str], None]
    progress: TellModel | None
    read: ChunkReader | None = None
    control: Callable[[], None] | None = None
    _store: StagingStore = field(init=False)
    _lock: FileLock = field(init=False)
    _reader: ModelReader | None = None
    #: The workspace's own sessions that a model reads without asking; None where others were named.
    own: FoundFiles | None = None
    #: Sessions of this call that a person agreed to.
    _agreed: list[_Work] = field(default_factory=list)
    #: Sessions that were read, or left, in this call.
    _handled: set[tuple[str, bool]] = field(default_factory=set)
    #: Sessions with a piece that a model which never answered here cannot read, and what it said.
    _left: list[tuple[_Work, LeftAside]] = field(default_factory=list)
    #: Its row was made: something was asked.
    _started: bool = False
    #: Bytes that this call has before it, and those of sessions that are done.
    _total: int = 0
    _done: int = 0

    def __post_init__(self) -> None:
        self._store = StagingStore(self.workspace, self.connection, self.clock)
        self._lock = FileLock(self.workspace.model_lock, timeout=0, mode=FILE_MODE)

    # -- one process at a time

    def take(self) -> None:
        """Read the workspace's own sessions, what was agreed to and what is queued; or leave it to the process that is
        reading.

        Nothing is lost between two processes: who finds the lock held queues first and then tries it again; who lets
        it go looks at the queue again.
        """
        if not self._try_lock():
            if self.own is not None:
                self._look_again()
            if not self._try_lock():
                self.report.outcome = "busy"
                return
        while True:
            try:
                self.checkpoint("model:locked")
                self._bury()
                self._read_all()
            except (BadSettings, BudgetSpent, ModelFailure, Paused) as exc:
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
        """Passes that say they run are those of processes that ended, since we hold the lock."""
        if not self._started and has_unfinished(self.connection):
            with transaction(self.connection):
                self.connection.execute(_SQL["crashed_extractions"], {"finished_at": format_time(self.clock())})

    def _fail(self, exc: BadSettings | BudgetSpent | ModelFailure | Paused) -> None:
        self.report.message = str(exc)
        if isinstance(exc, ModelFailure):
            self.report.outcome = f"failed:{exc.kind}"
        else:
            self.report.outcome = {BudgetSpent: "budget", Paused: "paused"}.get(type(exc), "failed:settings")

    def end(self) -> None:
        """Save how it ended."""
        report = self.report
        if self._started:
            if report.outcome == "idle":
                report.outcome = "done"
            report.end(self.connection, format_time(self.clock()))

    # -- the queue

    def agree(self, files: FoundFiles, *, named: bool) -> None:
        """A person wants these read by a model: they wait in the queue until they are."""
        self._agreed = _works(files, named=named)
        at = format_time(self.clock())
        rows = [{"path": work.name, "named": int(named), "queued_at": at} for work in self._agreed]
        if rows:
            with transaction(self.connection):
                self.connection.executemany(_SQL["enqueue"], rows)

    def _look_again(self) -> None:
        values = {"path": "", "named": 0, "queued_at": format_time(self.clock())}
        with transaction(self.connection):
            self.connection.execute(_SQL["enqueue"], values)

    def _waiting(self) -> list[tuple[str, bool]]:
        """What is queued and was not handled in this call."""
        with database_errors("workspace.sqlite"):
            rows = self.connection.execute(_SQL["queued"]).fetchall()
        queued = [(str(row["path"]), bool(row["named"])) for row in rows]
        return [row for row in queued if row not in self._handled]

    def _dequeue(self, path: str, named: bool) -> None:
        self.checkpoint("model:before-dequeue")
        with transaction(self.connection):
            self.connection.execute(_SQL["dequeue"], {"path": path, "named": int(named)})
        self.checkpoint("model:after-dequeue")

    # -- the sessions

    def _read_all(self) -> None:
        own, agreed = _works(self.own or [], named=False), self._agreed
        self.own, self._agreed = None, []
        self._read_files([*own, *agreed])
        while waiting := self._waiting():
            for path, named in waiting:
                if path:
                    found = _works(transcripts_at(Path(path)), named=named)
                    self._read_files(found)
                    if not found:  # it vanished: nothing of it can be read any more
                        self._dequeue(path, named)
                    self._handled.add((path, named))
                else:  # gone before we look, so that what arrives meanwhile is seen
                    self._dequeue(path, named)
                    self._handled = {one for one in self._handled if one[1]}  # they may have gone on since
                    switched_on = model_since(self.connection)
                    if switched_on is not None:
                        self._read_files(_works(own_sessions(self.workspace, switched_on), named=False))
        self._read_left()

    def _read_files(self, files: Iterable[_Work]) -> None:
        """Have sessions read in which there is something new; what was agreed of them is done then."""
        reader = self._reader = self._reader or self._make_reader()
        queued = set(self._waiting())
        ahead: list[tuple[_Work, int]] = []
        for work in files:
            if (work.name, work.named) not in self._handled:
                mark = self._mark(work)
                has_new = reader.has_new(mark, work.file, named=work.named)
                ahead.append((work, _ahead(work, mark) if has_new else -1))
        self._total += sum(size for _work, size in ahead if size > 0)
        for work, size in ahead:
            self._handled.add((work.name, work.named))
            if size >= 0:
                self._read_file(work, reader)
                self._done += size
            if (work.name, work.named) in queued and not self._is_left(work):
                self._dequeue(work.name, work.named)

    def _mark(self, work: _Work) -> ModelMark | None:
        return ModelMark.load(self.connection, work.host.name, work.file.path)

    def _read_file(self, work: _Work, reader: ModelReader) -> None:
        try:
            SessionReading(reader, work.host, work.file, named=work.named).run()
        except OSError as exc:
            self.report.errors[work.name] = exc.strerror or str(exc)
        except LeftAside as exc:
            self._left.append((work, exc))
        self.checkpoint("model:read-through")

    def _is_left(self, work: _Work) -> bool:
        return work.name in self.report.errors or any(other == work for other, _exc in self._left)

    def _read_left(self) -> None:
        """Sessions that were left, now that the model answered for others; it answers for none: that is the outcome."""
        left, self._left = self._left, []
        for work, exc in left:
            if self._reader is None or not self._reader.works:
                raise exc
            self._read_file(work, self._reader)
            self._dequeue(work.name, work.named)

    # -- what all sessions share

    def _make_reader(self) -> ModelReader:
        settings, connection = self.settings, self.connection
        return ModelReader(
            connection=connection,
            store=self._store,
            clock=self.clock,
            checkpoint=self.checkpoint,
            shown=shown_keys(connection),
            belonging=Belonging(self.workspace.root),
            machine=this_machine(),
            settle_after=timedelta(minutes=settings.capture.settle_minutes),
            max_line_bytes=settings.capture.max_line_bytes,
            report=self.report,
            read=self._ask,
            control=self.control,
            chunk_tokens=room_of(self.workspace, settings, load_prices()).chunk,
            estimate=most_tokens,
            tell=self._tell,
            flush=self._write_files,
            works=has_answered(connection, self.report.model),
        )

    def _ask(self, chunk: Chunk) -> Taken:
        if paused_since(self.connection):
            raise Paused("paused while it read: run `hikidashi resume`, and the next extraction goes on there")
        if not self._started:
            self._started = True
            self.report.start(self.connection)
        assert self.read is not None
        return self.read(chunk)

    def _tell(self, done: int, file: SessionFile) -> None:
        if self.progress is not None:
            bytes_done = self._done + done
            self.progress(ModelProgress(chunks=self.report.chunks, bytes=bytes_done, total=self._total, path=file.path))

    def _write_files(self) -> None:
        self._store.flush_pending()
        self.checkpoint("model:files-written")


@dataclass(frozen=True, slots=True)
class _Work:
    """One transcript to read; `named`: a person named it."""

    host: Host
    file: SessionFile
    named: bool

    @property
    def name(self) -> str:
        """Its path as the database holds it."""
        return path_text(self.file.path)


def _works(found: FoundFiles, *, named: bool) -> list[_Work]:
    """The main sessions among them: sub-agents' files are the rules'."""
    return [_Work(host, file, named) for host, file in found if not file.sidechain]


def _ahead(work: _Work, mark: ModelMark | None) -> int:
    """Bytes of a transcript that are not done."""
    return max(work.file.size - (mark.position.offset if mark else 0), 0)
