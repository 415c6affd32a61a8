"""One transcript before a model: chunk by chunk, each answer committed with the mark behind it (design section 5.7).

Whatever a transaction holds of a chunk is whole: its entries, its candidates, the events that count as shown, and the
mark. So a crash costs the one answer that was on its way. A chunk that fails on its content is halved until the piece
is found that cannot be read; that one is passed over, counted and named: it may not hold up what comes behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from hikidashi.capture.chunks import Chunk, Chunks
from hikidashi.capture.digest import Digest
from hikidashi.capture.follow import path_text, tail_hash
from hikidashi.capture.model_marks import ModelMark, mark_to_resume
from hikidashi.capture.model_reader import LeftAside, ModelReader, Taken
from hikidashi.capture.model_report import PassedOver
from hikidashi.capture.promoting import Found, bring_before_the_gate
from hikidashi.capture.withheld import drop_read
from hikidashi.db.connection import transaction
from hikidashi.errors import BudgetSpent, ModelFailure
from hikidashi.hosts.transcript import Event, Host, Position, ReadReport, SessionFile
from hikidashi.times import format_time

__all__ = ["LONE_FAILURES", "SessionReading"]

#: How often a piece may fail alone before it is passed over.
LONE_FAILURES: Final = 3


@dataclass(frozen=True, slots=True)
class _Stand:
    """Where a piece stands, and what is done once all before it is."""

    #: End of the line before the one of its event.
    before: Position
    #: Number of its event among those of that line.
    event: int
    #: Number of the piece among those of its event, and how many that has.
    part: int
    parts: int
    #: Keys of events, counted from the start of the pass, that belong to lines before.
    keys: int
    #: Time of the last event before.
    last_at: str


class SessionReading:
    """One pass over one transcript."""

    def __init__(self, reader: ModelReader, host: Host, file: SessionFile, *, named: bool) -> None:
        """Go on at the mark; `named`: a person named the file. Raises `OSError` of the file."""
        self._reader = reader
        self._host = host
        self._file = file
        self._named = named
        saved = ModelMark.load(reader.connection, host.name, file.path)
        if named and saved is not None and saved.passed:
            saved = None  # what was passed over is asked for now
        self._begun = self._mark = mark_to_resume(saved, file)
        self._read = ReadReport()
        self._digest = Digest(last_at=self._mark.last_at)
        self._chunks = Chunks(
            host=host.name,
            path=path_text(file.path),
            limit=reader.chunk_tokens,
            estimate=reader.estimate,
            before=self._mark.context,
        )
        #: Of the pieces that nothing was answered for yet, in order.
        self._stands: deque[_Stand] = deque()
        #: Keys of events that were committed in this pass.
        self._committed = 0
        self._asked = False

    def run(self) -> None:
        """Have all full chunks read, and the rest if the session rests or was named.

        Raises `OSError` of the file, `ModelFailure` and `BudgetSpent`; what was answered before is kept.
        """
        try:
            self._read_events()
            if self._named or self._reader.rests(self._mark.ended_at):
                self._work_off(self._chunks.rest())
            self._look_through()
        except (BudgetSpent, ModelFailure):
            self._keep_keys()
            raise
        finally:
            self._reader.shown.forget()  # of lines that are not done

    # -- events into chunks

    def _read_events(self) -> None:
        reader, report, shown = self._reader, self._read, self._reader.shown
        taken, before_line, last, number = 0, 0, -1, 0
        events = self._host.events(
            self._file.path,
            start=self._begun.position,
            report=report,
            max_line_bytes=reader.max_line_bytes,
            seen=shown.as_set,
        )
        for event in events:
            before = report.position
            if before.offset == last:
                number += 1
            else:  # keys are added a line at once, before its first event is told
                last, number, before_line = before.offset, 0, taken
            self._note(event)
            if self._named or reader.belonging.holds(event.cwd):
                self._take(event, before, number, before_line)
            else:
                self._mark = replace(self._mark, passed=True)
                shown.forget(taken - self._committed)  # it counts where it belongs, or when it is asked for
            taken = self._committed + shown.mark

    def _note(self, event: Event) -> None:
        at, mark = event.at, self._mark
        if at > mark.ended_at and at[:2] == "20" and at[10:11] == "T":  # else it is no time
            self._mark = mark = replace(mark, ended_at=at)
        if event.session_id and event.session_id != mark.session_id:
            self._mark = replace(mark, session_id=event.session_id)

    def _take(self, event: Event, before: Position, number: int, keys: int) -> None:
        """Put the pieces of an event into chunks, and have a chunk read that is full."""
        last_at = self._digest.last_at
        pieces = self._digest.feed(event)
        done = self._done(before, number, len(pieces))
        for part, piece in enumerate(pieces[done:], start=done):
            self._stands.append(_Stand(before, number, part, len(pieces), keys, last_at))
            self._work_off(self._chunks.add(piece))
            if self._mark.plan and self._chunks.waiting >= self._mark.plan[0]:
                self._work_off(self._chunks.rest())

    def _done(self, before: Position, number: int, parts: int) -> int:
        """How many pieces of an event were done when the pass began."""
        begun = self._begun
        if before.offset != begun.position.offset or number > begun.events:
            return 0
        if number < begun.events:
            return parts
        return begun.part if parts == begun.parts else 0

    # -- chunks before the model

    def _work_off(self, chunk: Chunk | None) -> None:
        """Have a chunk read; where it fails its halves, and the halves of these."""
        todo = [] if chunk is None else [chunk]
        while todo:
            chunk = todo.pop(0)
            try:
                taken = self._ask(chunk)
            except ModelFailure as exc:
                if exc.kind == "content":
                    todo[:0] = self._failed(chunk, exc)
                elif exc.at_work:
                    self._broke_down(chunk, exc)
                else:
                    raise
            else:
                self._reader.answered()
                self._commit(chunk, taken)

    def _ask(self, chunk: Chunk) -> Taken:
        reader = self._reader
        if not self._asked:
            self._asked = True
            reader.report.sessions += 1
        reader.tell(self._mark.position.offset - self._begun.position.offset, self._file)
        reader.checkpoint("model:before-request")
        return reader.read(chunk)

    def _failed(self, chunk: Chunk, exc: ModelFailure) -> Sequence[Chunk]:
        """A chunk has no answer: what to ask for now."""
        reader = self._reader
        reader.report.failed_chunks += 1
        reader.vain += 1
        halves = self._divide(chunk)
        reader.require_sense(exc)
        if halves is not None:
            return halves
        if self._mark.failures < LONE_FAILURES:
            return [chunk]
        if not reader.works and reader.control is None:
            raise LeftAside(str(exc), kind="content") from exc
        reader.require_sense(exc, before_passing_over=True)
        self._pass_over(chunk, exc)
        return ()

    def _broke_down(self, chunk: Chunk, exc: ModelFailure) -> None:
        """The server broke down over a chunk, by it or for a reason of its own. The failure is raised: the next run
        asks for less at once, and nothing more is asked now.

        Except for a lone piece over which it broke down in run after run: that is passed over, if the server has an
        answer to something else at the same time.
        """
        halves = self._divide(chunk)
        if halves is not None or self._mark.failures < LONE_FAILURES or self._reader.control is None:
            raise exc
        self._reader.report.failed_chunks += 1
        self._reader.require_sense(exc, before_passing_over=True)
        self._pass_over(chunk, exc)

    def _divide(self, chunk: Chunk) -> tuple[Chunk, Chunk] | None:
        """The halves of a chunk that failed; None, and one failure more, for a lone piece.

        The mark remembers it, since a next run must not begin anew.
        """
        halves = chunk.halves()
        rest = _behind(self._mark.plan, len(chunk.pieces))
        if halves is not None:
            plan = (*(len(half.pieces) for half in halves), *rest)
            self._remember(replace(self._mark, plan=plan, failures=0))
        else:
            self._remember(replace(self._mark, plan=(1, *rest), failures=self._mark.failures + 1))
        return halves

    def _pass_over(self, chunk: Chunk, exc: ModelFailure) -> None:
        piece = chunk.pieces[0]
        self._reader.report.pass_over(
            PassedOver(path=chunk.path, line=piece.line, part=piece.part, parts=piece.parts, why=str(exc))
        )
        self._commit(chunk, None)

    # -- what is kept

    def _keep_keys(self) -> None:
        """The pass ends before a chunk: what stands before it counts as shown, in copies of the session too."""
        if not self._stands or self._stands[0].keys <= self._committed:
            return
        mark, keys = self._at(self._stands[0]), self._stands[0].keys - self._committed
        with transaction(self._reader.connection):
            self._save(mark, keys, format_time(self._reader.clock()))
        self._saved(mark, keys)

    def _commit(self, chunk: Chunk, taken: Taken | None) -> None:
        """One transaction with all that came of a chunk; None for one that is passed over."""
        reader, report = self._reader, self._reader.report
        for _ in chunk.pieces[1:]:
            self._stands.popleft()
        last = self._stands.popleft()
        behind = self._stands[0] if self._stands else replace(last, part=last.part + 1)
        plan = _behind(self._mark.plan, len(chunk.pieces))
        mark = replace(self._at(behind), context=chunk.closing, plan=plan, failures=0)
        keys = behind.keys - self._committed
        at = format_time(reader.clock())
        with transaction(reader.connection):
            if taken is not None:
                new = set(reader.store.add_pending(taken.entries))
                found = Found(drafts=list(taken.drafts))
                proposals = bring_before_the_gate(reader.connection, [found], at=at, machine=reader.machine)
                report.take(chunk, [entry for entry in taken.entries if entry.id in new], proposals, taken.dropped)
            self._save(mark, keys, at)
            report.note(reader.connection)
            reader.checkpoint("model:before-commit")
        self._saved(mark, keys)
        reader.checkpoint("model:after-commit")
        reader.flush()

    def _look_through(self) -> None:
        """The file was read to its end: all of it is done, or the rest waits for the session's end."""
        file, settled = self._file, not self._stands
        if settled:
            position, keys = self._read.position, self._reader.shown.mark
            mark = replace(self._mark, position=position, events=0, part=0, parts=0, last_at=self._digest.last_at)
            mark = replace(mark, tail_hash=tail_hash(file.path, position.offset), plan=(), failures=0)
        else:
            mark, keys = self._at(self._stands[0]), self._stands[0].keys - self._committed
        mark = replace(mark, size=file.size, mtime_ns=file.mtime_ns, settled=settled)
        with transaction(self._reader.connection):
            self._save(mark, keys, format_time(self._reader.clock()))
        self._saved(mark, keys)

    def _at(self, stand: _Stand) -> ModelMark:
        """The mark before the piece that stands there."""
        return replace(
            self._mark,
            position=stand.before,
            events=stand.event,
            part=stand.part,
            parts=stand.parts,
            last_at=stand.last_at,
            tail_hash=tail_hash(self._file.path, stand.before.offset),
        )

    def _remember(self, mark: ModelMark) -> None:
        """Save what is known of a failed chunk; own transaction."""
        with transaction(self._reader.connection):
            self._save(mark, 0, format_time(self._reader.clock()))
            self._reader.report.note(self._reader.connection)
        self._saved(mark, 0)

    def _save(self, mark: ModelMark, keys: int, at: str) -> None:
        reader, name = self._reader, self._host.name
        reader.shown.commit(reader.connection, keys)
        drop_read(reader.connection, name, self._file.path, mark.position.line)
        mark.save(reader.connection, name, self._file.path, at)

    def _saved(self, mark: ModelMark, keys: int) -> None:
        self._mark = mark
        self._reader.shown.committed(keys)
        self._committed += keys


def _behind(plan: Sequence[int], count: int) -> tuple[int, ...]:
    """What is left of a plan behind `count` pieces."""
    left = list(plan)
    while left and count >= left[0]:
        count -= left.pop(0)
    if left:
        left[0] -= count
    return tuple(left)
