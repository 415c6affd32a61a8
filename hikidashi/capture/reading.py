"""Reading one transcript into the database: chunk by chunk, each one transaction (design section 5.3)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from hikidashi.capture.extract import SessionFold, Signal
from hikidashi.capture.follow import Belonging, Watermark, resume_at, tail_hash
from hikidashi.capture.report import ExtractReport, FileResult
from hikidashi.capture.seen import SeenKeys
from hikidashi.db.connection import queries, transaction
from hikidashi.hosts.transcript import Host, Position, ReadReport, SessionFile
from hikidashi.staging.entry import Entry
from hikidashi.staging.store import StagingStore
from hikidashi.times import Clock, format_time, parse_time

__all__ = ["CHUNK_BYTES", "Reader"]

_SQL: Final = queries("capture")

#: A longer file is committed in pieces of about this size, so that memory stays bounded and a crash costs little.
CHUNK_BYTES: int = 16 << 20


@dataclass(slots=True, kw_only=True)
class Reader:
    """Reads transcripts for one call of `extract`."""

    connection: sqlite3.Connection
    store: StagingStore
    clock: Clock
    checkpoint: Callable[[str], None]
    seen: SeenKeys
    belonging: Belonging
    settle_after: timedelta
    max_line_bytes: int
    report: ExtractReport
    chunk_bytes: int

    def read(self, host: Host, file: SessionFile, *, explicit: bool) -> None:
        """Take what is new in one transcript. `explicit`: whatever its working folder was, and at rest."""
        self.report.files += 1
        saved = Watermark.load(self.connection, host.name, file.path)
        if saved is not None and saved.is_current(file) and (saved.settled or not self._at_rest(saved, explicit)):
            self.report.unchanged += 1
            return
        result = FileResult(path=file.path, host=host.name)
        self.report.results.append(result)
        try:
            mark = resume_at(saved, file)
            _Pass(self, host, file, mark, result, explicit=explicit).run()
        except OSError as exc:
            self.seen.forget()
            result.error = exc.strerror or str(exc)

    def _at_rest(self, saved: Watermark, explicit: bool) -> bool:
        return explicit or self.rests(str(saved.state.get("last_at", "")))

    def rests(self, last_at: str) -> bool:
        """Whether a session whose last event has that time counts as ended."""
        try:
            last = parse_time(last_at)
        except ValueError:
            return True  # nothing in it has a time: there is nothing to wait for
        return self.clock() - last >= self.settle_after

    def met(self, fold: SessionFold, kind: str, key: str) -> bool:
        """Whether another session than the fold's left that signal."""
        values = {"kind": kind, "key": key, "session_id": fold.session_id}
        return self.connection.execute(_SQL["met_elsewhere"], values).fetchone() is not None


class _Pass:
    """One pass over one file."""

    def __init__(
        self, reader: Reader, host: Host, file: SessionFile, mark: Watermark, result: FileResult, *, explicit: bool
    ) -> None:
        self._reader = reader
        self._host = host
        self._file = file
        self._result = result
        self._explicit = explicit
        self._start = mark
        self._read = ReadReport(skipped=dict(mark.skipped), last_uuid=mark.last_uuid)
        self._fold = SessionFold(host.name, sidechain=file.sidechain, met=self._met)
        if mark.state:
            self._fold.restore(mark.state)
        self._entries: list[Entry] = []

    def _met(self, kind: str, key: str) -> bool:
        return self._reader.met(self._fold, kind, key)

    def run(self) -> None:
        """Read from the watermark to the end; commit each chunk, and the end with the session's request."""
        reader, report, fold = self._reader, self._read, self._fold
        seen, holds, explicit = reader.seen, reader.belonging.holds, self._explicit
        begun, keys = self._start.position.offset, seen.mark
        events = self._host.events(
            self._file.path, start=self._start.position, report=report, max_line_bytes=reader.max_line_bytes, seen=seen
        )
        for event in events:
            if report.offset - begun >= reader.chunk_bytes:
                # The event in hand is not taken yet: the lines before it are, and so are their keys.
                self._commit(report.position, keys, ended=False)
                begun, keys = report.offset, seen.mark
            if explicit or holds(event.cwd):
                self._entries += fold.feed(event)
            keys = seen.mark
        self._finish()

    def _finish(self) -> None:
        settled = self._explicit or self._reader.rests(self._fold.last_at)
        if settled:
            self._entries += self._fold.settle()
        self._commit(self._read.position, self._reader.seen.mark, ended=True, settled=settled)

    def _commit(self, position: Position, keys: int, *, ended: bool, settled: bool = False) -> None:
        """One transaction: entries, seen events, signals and the watermark."""
        reader, file, fold = self._reader, self._file, self._fold
        mark = Watermark(
            position=position,
            session_id=fold.session_id,
            last_uuid=self._read.last_uuid,
            tail_hash=tail_hash(file.path, position.offset),
            size=file.size if ended else -1,
            mtime_ns=file.mtime_ns if ended else -1,
            settled=settled,
            skipped=self._read.skipped,
            state=fold.to_state(),
        )
        with transaction(reader.connection):
            new = set(reader.store.add_pending(self._entries))
            reader.seen.commit(reader.connection, keys)
            self._add_signals(fold.signals)
            mark.save(reader.connection, self._host.name, file.path, format_time(reader.clock()))
            reader.checkpoint("extract:before-commit")
        reader.checkpoint("extract:after-commit")
        reader.seen.committed(keys)
        fold.signals = []
        self._count(position, [entry for entry in self._entries if entry.id in new])
        self._entries = []

    def _add_signals(self, signals: list[Signal]) -> None:
        rows = [{"kind": s.kind, "key": s.key, "at": s.at, "session_id": self._fold.session_id} for s in signals]
        self._reader.connection.executemany(_SQL["add_signal"], rows)

    def _count(self, position: Position, new: list[Entry]) -> None:
        report, result, start = self._reader.report, self._result, self._start
        report.bytes += position.offset - start.position.offset
        report.lines += position.line - start.position.line
        result.bytes += position.offset - start.position.offset
        result.lines += position.line - start.position.line
        for reason, count in self._read.skipped.items():
            more = count - start.skipped.get(reason, 0)
            if more:
                report.skipped[reason] = report.skipped.get(reason, 0) + more
        result.skipped = dict(self._read.skipped)
        result.session_id = self._fold.session_id
        result.entries += len(new)
        report.add(new)
        self._start = replace(start, position=position, skipped=dict(self._read.skipped))
