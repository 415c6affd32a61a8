"""Phase 1 (design section 5): from transcripts to staged entries, exactly once, one extractor at a time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from filelock import FileLock, Timeout

from hikidashi.atomic import FILE_MODE, storage_errors
from hikidashi.capture import reading
from hikidashi.capture.back_fill import read_without_asking, switch_off
from hikidashi.capture.follow import Belonging, Watermark, path_text
from hikidashi.capture.reading import Reader
from hikidashi.capture.report import ExtractReport
from hikidashi.capture.seen import seen_keys
from hikidashi.capture.sessions import FoundFiles, absolute, explicit_transcripts, own_sessions, transcripts_at
from hikidashi.capture.withheld import take_up, withheld_count
from hikidashi.config.machine import this_machine
from hikidashi.config.workspace import remember_worktrees
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.drawer.decay import decay_if_due
from hikidashi.drawer.gate import sweep
from hikidashi.drawer.rescan import rescan_if_due
from hikidashi.hosts.transcript import SessionFile
from hikidashi.staging.pause import paused_since
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock, format_time, now

if TYPE_CHECKING:
    from hikidashi.capture.model_reading import TellModel
    from hikidashi.config.settings import Settings
    from hikidashi.config.workspace import Workspace
    from hikidashi.model.messages import Asker

__all__ = ["CHECKPOINTS", "ExtractReport", "extract", "waiting_sessions"]

_SQL: Final = queries("capture")

#: The steps of an extraction, as they are told to `checkpoint`.
CHECKPOINTS: Final = (
    "extract:begin",
    "extract:locked",
    "extract:recovered",
    "extract:before-commit",
    "extract:after-commit",
    "extract:files-written",
    "extract:before-dequeue",
    "extract:after-dequeue",
    "extract:unlocked",
    "extract:end",
)

#: Entry files are written once this many wait, and at the end.
_FLUSH_AT: Final = 32


def extract(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    *,
    paths: Sequence[Path] | None = None,
    since: datetime | None = None,
    clock: Clock = now,
    checkpoint: Callable[[str], None] = lambda name: None,
    progress: Callable[[int, int, Path], None] | None = None,
    asker: Asker | None = None,
    run_id: str = "",
    back_fill: bool = False,
    tell_model: TellModel | None = None,
) -> ExtractReport:
    """Take what is new in the given transcripts (files or folders), or in the workspace's own sessions.

    Of the workspace's own, those written to after `since` only. While the workspace is paused nothing is read.
    `progress` is told (files done, files in all, the file). Raises `UsageError` for a path that holds no
    transcript, `StorageFailure`, `Busy` or `CorruptData` as the database does.

    With an `asker` a model reads main sessions after the rules did (see `read_by_model`, which `run_id`, `back_fill`
    and `tell_model` are for): there the rules still find what was proven and said for good, and their activities
    wait. Without one, those that no model came to are taken up.
    """
    began = time.monotonic()
    run = _Extraction(workspace, settings, connection, since, clock, checkpoint, progress)
    run.report.paused_since = paused_since(connection)
    if run.report.paused_since:
        return run.report
    if asker is not None:
        run.by_model = read_without_asking(connection, settings, clock, back_fill=back_fill)
    checkpoint("extract:begin")
    found = explicit_transcripts(paths) if paths is not None else None
    run.take(found, [str(absolute(path)) for path in paths] if paths is not None else [""])
    if not run.report.queued:
        run.report.rescanned = rescan_if_due(connection)
        _tend(settings, connection, clock())
    if asker is not None:
        run.have_read(asker, found, run_id, back_fill, tell_model)
    checkpoint("extract:end")
    run.report.seconds = time.monotonic() - began
    return run.report


def _tend(settings: Settings, connection: sqlite3.Connection, at: datetime) -> None:
    """What time does to the drawer and its candidates. Even where no command looks at it, Phase 1 comes by."""
    limits = {"stale_days": settings.drawer.stale_days, "retired_days": settings.drawer.retired_days}
    decay_if_due(connection, "workspace", at, **limits)
    sweep(connection, at, days=settings.gate.expire_days)


class _Extraction:
    """One call of `extract`."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Settings,
        connection: sqlite3.Connection,
        since: datetime | None,
        clock: Clock,
        checkpoint: Callable[[str], None],
        progress: Callable[[int, int, Path], None] | None,
    ) -> None:
        self.report = ExtractReport()
        self._workspace = workspace
        self._settings = settings
        self._connection = connection
        self._since = since
        self._clock = clock
        self._checkpoint = checkpoint
        self._progress = progress
        self._store = StagingStore(workspace, connection, clock)
        #: Which of the workspace's own sessions a model reads too; None: there is no model.
        self.by_model: Callable[[SessionFile], bool] | None = None
        self._lock = FileLock(workspace.extract_lock, timeout=0, mode=FILE_MODE)

    def take(self, found: FoundFiles | None, names: list[str]) -> None:
        """Read what was asked for, or leave it to the process that is reading.

        Nothing is lost between two processes: who finds the lock held queues first and then tries the lock
        again; who lets it go looks at the queue again.
        """
        if not self._try_lock():
            self._enqueue(names)
            if not self._try_lock():
                self.report.queued = True
                return
            found, names = [], []
        while True:
            try:
                self._checkpoint("extract:locked")
                self.report.recovered += self._store.flush_pending()
                self._checkpoint("extract:recovered")
                if self.by_model is None:
                    self._take_up()
                self._read(self._own() if found is None else found, explicit=found is not None)
                self._drain()
            finally:
                self._lock.release()
            self._checkpoint("extract:unlocked")
            found = []
            if not self._queued() or not self._try_lock():
                return

    def have_read(
        self, asker: Asker, named: FoundFiles | None, run_id: str, back_fill: bool, tell: TellModel | None
    ) -> None:
        """Let a model read the same sessions, or what is new in the workspace's own."""
        from hikidashi.capture.model_reading import read_by_model

        model = read_by_model(
            self._workspace,
            self._settings,
            self._connection,
            asker=asker,
            run_id=run_id,
            named=named,
            back_fill=back_fill,
            since=self._since,
            clock=self._clock,
            checkpoint=self._checkpoint,
            progress=tell,
        )
        self.report.take_model(model)
        self.report.withheld = withheld_count(self._connection)

    def _take_up(self) -> None:
        """The rules read alone: what they kept back for a model that did not come to it is theirs again."""
        switch_off(self._connection)
        taken = take_up(self._connection, self._store)
        if taken:
            self.report.add(taken)
            self._write_files()

    def _try_lock(self) -> bool:
        with storage_errors(f"lock {self._workspace.extract_lock}"):
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                return False
        return True

    # -- the queue

    def _enqueue(self, names: list[str]) -> None:
        at = format_time(self._clock())
        with transaction(self._connection):
            for name in names:
                self._connection.execute(
                    _SQL["enqueue"], {"path": path_text(Path(name)) if name else "", "queued_at": at}
                )

    def _queued(self) -> list[sqlite3.Row]:
        with database_errors("workspace.sqlite"):
            return self._connection.execute(_SQL["queued"]).fetchall()

    def _drain(self) -> None:
        """Read what other processes queued, until nothing is queued any more."""
        while rows := self._queued():
            names = list(dict.fromkeys(str(row["path"]) for row in rows))
            if "" in names:
                self._read(own_sessions(self._workspace, None), explicit=False)  # asked for without our `since`
            for name in names:
                if name:  # one that vanished meanwhile has nothing to give
                    self._read(transcripts_at(Path(name)), explicit=True)
            self._checkpoint("extract:before-dequeue")
            with transaction(self._connection):
                self._connection.executemany(_SQL["dequeue"], [(row["id"],) for row in rows])
            self._checkpoint("extract:after-dequeue")

    # -- the files

    def _own(self) -> FoundFiles:
        remember_worktrees(self._workspace)  # one may be gone at the next extraction, its last sessions unread
        return own_sessions(self._workspace, self._since)

    def _read(self, found: FoundFiles, *, explicit: bool) -> None:
        if not found:
            return
        reader = self.reader(found)
        written = len(self.report.new)
        for number, (host, file) in enumerate(found):
            if self._progress is not None:
                self._progress(number, len(found), file.path)
            reader.read(host, file, explicit=explicit)
            if len(self.report.new) - written >= _FLUSH_AT:
                self._write_files()
                written = len(self.report.new)
        reader.commit()
        self._write_files()

    def reader(self, found: FoundFiles) -> Reader:
        """The reader of these files."""
        return Reader(
            connection=self._connection,
            store=self._store,
            clock=self._clock,
            checkpoint=self._checkpoint,
            seen=seen_keys(self._connection, bytes_ahead=sum(file.size for _host, file in found)),
            belonging=Belonging(self._workspace.root),
            machine=this_machine(),
            settle_after=timedelta(minutes=self._settings.capture.settle_minutes),
            max_line_bytes=self._settings.capture.max_line_bytes,
            report=self.report,
            chunk_bytes=reading.CHUNK_BYTES,
            by_model=self.by_model,
        )

    def _write_files(self) -> None:
        self._store.flush_pending()
        self._checkpoint("extract:files-written")


def waiting_sessions(workspace: Workspace, connection: sqlite3.Connection, *, since: datetime) -> list[SessionFile]:
    """The workspace's own transcripts that were written to after `since` and that no extraction has read whole."""
    waiting = []
    for host, file in own_sessions(workspace, since):
        mark = Watermark.load(connection, host.name, file.path)
        if mark is None or not mark.is_current(file):
            waiting.append(file)
    return waiting
