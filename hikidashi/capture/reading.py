"""Reading transcripts into the database, some megabytes in each transaction (design section 5.3).

Small files share a transaction, since each one waits for the disk; a large file takes several. Whatever a
transaction holds of a file is whole: the watermark, and all that comes from the lines before it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from hikidashi.capture.extract import SessionFold, Signal
from hikidashi.capture.follow import Belonging, Watermark, is_at_rest, path_text, resume_at, tail_hash
from hikidashi.capture.promoting import Found, Promoting, bring_before_the_gate
from hikidashi.capture.report import ExtractReport, FileResult
from hikidashi.capture.seen import SeenKeys
from hikidashi.capture.withheld import withhold
from hikidashi.config.machine import Machine
from hikidashi.db.connection import queries, transaction
from hikidashi.hosts.transcript import Host, Position, ReadReport, SessionFile
from hikidashi.staging.entry import Entry
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock, format_time

__all__ = ["CHUNK_BYTES", "Reader"]

_SQL: Final = queries("capture")

#: What is read is committed in pieces of about this size, so that memory stays bounded and a crash costs little.
CHUNK_BYTES: int = 16 << 20

#: Files in one transaction at most.
_MAX_TOGETHER: Final = 64


@dataclass(slots=True, kw_only=True)
class _Taken:
    """What is ready to be committed of one file: the watermark, and what came from the lines before it."""

    source: _Pass
    mark: Watermark
    entries: list[Entry]
    signals: list[Signal]
    found: Found
    bytes: int


@dataclass(slots=True, kw_only=True)
class Reader:
    """Reads transcripts for one call of `extract`."""

    connection: sqlite3.Connection
    store: StagingStore
    clock: Clock
    checkpoint: Callable[[str], None]
    seen: SeenKeys
    belonging: Belonging
    machine: Machine
    settle_after: timedelta
    max_line_bytes: int
    report: ExtractReport
    chunk_bytes: int
    #: Whether a model reads a session of the workspace's own; one that is named it does if there is one at all. The
    #: activities that the rules find there are kept back. None: there is no model.
    by_model: Callable[[SessionFile], bool] | None = None
    #: What waits for the next commit, and how many of the new keys belong to it.
    waiting: list[_Taken] = field(default_factory=list)
    keys: int = 0

    def read(self, host: Host, file: SessionFile, *, explicit: bool) -> None:
        """Take what is new in one transcript. `explicit`: whatever its working folder was, and at rest."""
        self.report.files += 1
        saved = Watermark.load(self.connection, host.name, file.path)
        if explicit and saved is not None and saved.state.get("passed"):
            saved = None  # what the workspace's own reading passed over is asked for now
        if saved is not None and saved.is_current(file) and (saved.settled or not self._at_rest(saved, explicit)):
            self.report.unchanged += 1
            return
        result = FileResult(path=file.path, host=host.name)
        self.report.results.append(result)
        try:
            mark = resume_at(saved, file)
            _Pass(self, host, file, mark, result, explicit=explicit).run()
        except OSError as exc:
            self.seen.forget(self.keys)
            result.error = exc.strerror or str(exc)

    def take(self, taken: _Taken, keys: int, *, whole: bool) -> None:
        """Have `taken` and the first `keys` new keys committed: with the next files if it is a `whole` small one."""
        self.waiting.append(taken)
        self.keys = keys
        if not whole or self.waiting_bytes >= self.chunk_bytes or len(self.waiting) >= _MAX_TOGETHER:
            self.commit()

    @property
    def waiting_bytes(self) -> int:
        """Bytes of transcripts that were read and wait for their commit."""
        return sum(taken.bytes for taken in self.waiting)

    def commit(self) -> None:
        """One transaction with all that waits: entries, seen events, signals and watermarks."""
        waiting, keys = self.waiting, self.keys
        if not waiting:
            return
        at = format_time(self.clock())
        with transaction(self.connection):
            new = [set(self._add(taken)) for taken in waiting]
            self.seen.commit(self.connection, keys)
            self.connection.executemany(_SQL["add_signal"], [_row(t, signal) for t in waiting for signal in t.signals])
            found = [taken.found for taken in waiting]
            proposals = bring_before_the_gate(self.connection, found, at=at, machine=self.machine)
            for taken in waiting:
                taken.mark.save(self.connection, taken.source.host.name, taken.source.file.path, at)
            self.checkpoint("extract:before-commit")
        self.checkpoint("extract:after-commit")
        self.seen.committed(keys)
        self.waiting, self.keys = [], 0
        self.report.propose(proposals)
        for taken, ids in zip(waiting, new, strict=True):
            taken.source.count(taken.mark, [entry for entry in taken.entries if entry.id in ids])

    def _add(self, taken: _Taken) -> list[str]:
        """The IDs of the entries that are new, in the transaction of `commit`."""
        source = taken.source
        if source.by_model:
            withhold(self.connection, source.host.name, source.file.path, taken.entries)
            return []
        return self.store.add_pending(taken.entries)

    def _at_rest(self, saved: Watermark, explicit: bool) -> bool:
        return explicit or self.rests(str(saved.state.get("last_at", "")))

    def rests(self, last_at: str) -> bool:
        """Whether a session whose last event has that time counts as ended."""
        return is_at_rest(last_at, self.clock(), self.settle_after)

    def met(self, fold: SessionFold, kind: str, key: str) -> bool:
        """Whether another session than the fold's left that signal."""
        for taken in self.waiting:
            if taken.mark.session_id != fold.session_id and any(s.key == key and s.kind == kind for s in taken.signals):
                return True
        values = {"kind": kind, "key": key, "session_id": fold.session_id}
        return self.connection.execute(_SQL["met_elsewhere"], values).fetchone() is not None


class _Pass:
    """One pass over one file."""

    def __init__(
        self, reader: Reader, host: Host, file: SessionFile, mark: Watermark, result: FileResult, *, explicit: bool
    ) -> None:
        self._reader = reader
        self.host = host
        self.file = file
        self._result = result
        self._explicit = explicit
        by_model = reader.by_model
        #: A model reads it too.
        self.by_model = by_model is not None and not file.sidechain and (explicit or by_model(file))
        self._start = mark
        self._read = ReadReport(skipped=dict(mark.skipped), last_uuid=mark.last_uuid)
        self._fold = SessionFold(host.name, sidechain=file.sidechain, met=self._met)
        self._promoting = Promoting(host.name, path=path_text(file.path), project_of=reader.belonging.project)
        if mark.state:
            self._fold.restore(mark.state)
            self._promoting.restore(mark.state["promoting"])
        self._entries: list[Entry] = []
        #: Events of other folders were passed over: they are not taken, and may be asked for by name.
        self._passed = bool(mark.state.get("passed"))

    def _met(self, kind: str, key: str) -> bool:
        return self._reader.met(self._fold, kind, key)

    def run(self) -> None:
        """Read from the watermark to the end; commit each chunk, and the end with the session's request."""
        reader, report, fold = self._reader, self._read, self._fold
        seen, holds, explicit = reader.seen, reader.belonging.holds, self._explicit
        taken = len(seen)
        events = self.host.events(
            self.file.path,
            start=self._start.position,
            report=report,
            max_line_bytes=reader.max_line_bytes,
            seen=seen.as_set,
        )
        limit = self._start.position.offset + reader.chunk_bytes - reader.waiting_bytes
        feed, promote = fold.feed, self._promoting.feed
        for event in events:
            if report.offset >= limit:
                # The event in hand is not taken yet: the lines before it are, and so are their keys.
                self._take(report.position, taken - seen.known, ended=False)
                limit = report.offset + reader.chunk_bytes
            if explicit or holds(event.cwd):
                promote(event, fold.last_at)
                made = feed(event)
                if made:
                    self._entries += made
            else:
                self._passed = True
                seen.forget(taken - seen.known)  # it counts where it belongs, or when it is asked for
            taken = len(seen)
        self._finish()

    def _finish(self) -> None:
        settled = self._explicit or self._reader.rests(self._fold.last_at)
        if settled:
            self._entries += self._fold.settle()
        self._take(self._read.position, self._reader.seen.mark, ended=True, settled=settled)

    def _take(self, position: Position, keys: int, *, ended: bool, settled: bool = False) -> None:
        """What was read so far is ready to be committed."""
        file, fold = self.file, self._fold
        mark = Watermark(
            position=position,
            session_id=fold.session_id,
            last_uuid=self._read.last_uuid,
            tail_hash=tail_hash(file.path, position.offset),
            size=file.size if ended else -1,
            mtime_ns=file.mtime_ns if ended else -1,
            settled=settled,
            skipped=dict(self._read.skipped),
            state={**fold.to_state(), "promoting": self._promoting.to_state(), "passed": self._passed},
        )
        size = position.offset - self._start.position.offset
        found = self._promoting.take()
        taken = _Taken(source=self, mark=mark, entries=self._entries, signals=fold.signals, found=found, bytes=size)
        self._entries, fold.signals = [], []
        self._reader.take(taken, keys, whole=ended)

    def count(self, mark: Watermark, new: list[Entry]) -> None:
        """`mark` was committed, with `new` entries."""
        report, result, start, position = self._reader.report, self._result, self._start, mark.position
        size, lines = position.offset - start.position.offset, position.line - start.position.line
        report.bytes += size
        report.lines += lines
        result.bytes += size
        result.lines += lines
        for reason, count in mark.skipped.items():
            more = count - start.skipped.get(reason, 0)
            if more:
                report.skipped[reason] = report.skipped.get(reason, 0) + more
        result.skipped = mark.skipped
        result.session_id = mark.session_id
        result.entries += len(new)
        report.add(new)
        self._start = replace(start, position=position, skipped=mark.skipped)


def _row(taken: _Taken, signal: Signal) -> dict[str, str]:
    return {"kind": signal.kind, "key": signal.key, "at": signal.at, "session_id": taken.mark.session_id}
