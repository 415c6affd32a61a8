"""Codex CLI: where its rollouts lie, and the events in them.

Line formats of the versions 0.36 to 0.171. The format is internal to the client and changes weekly: any field of
any line may be missing, null or of another type, and nothing here raises because of content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from hikidashi.hosts.back import Before, look_back
from hikidashi.hosts.codex_files import Heads, look_at
from hikidashi.hosts.codex_fold import Fold
from hikidashi.hosts.codex_lines import HOST_NAME, SHAPE
from hikidashi.hosts.lines import parse_line, past_newline, read_blocks, read_lines
from hikidashi.hosts.transcript import Event, Position, ReadReport, SessionFile

__all__ = ["HOST", "Codex"]

#: A line with this says where the session stands from there on.
_PLACE: Final = b'"turn_context"'


class Codex:
    """The host `codex` (see `hosts.transcript.Host`)."""

    name: str = HOST_NAME

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._heads = Heads()

    def session_files(self, cwd: Path) -> list[SessionFile]:
        """The rollouts of sessions started in `cwd` or below, main sessions first, oldest first."""
        configured = self._environ.get("CODEX_HOME", "")
        home = Path(configured).expanduser() if configured else Path.home() / ".codex"
        return self._heads.sessions(home, cwd)

    def recognises(self, path: Path) -> SessionFile | None:
        """`path` as a rollout of Codex; None when it is none, or one of our own worker's."""
        head = look_at(path)
        return head.session_file if head else None

    def events(
        self, path: Path, *, start: Position, report: ReadReport, max_line_bytes: int, seen: set[bytes]
    ) -> Iterator[Event]:
        """The events after `start`, in order (see `hosts.transcript.Host`). Raises `OSError` of the file."""
        fold = Fold(report, seen)
        with path.open("rb") as stream:
            if start.offset > 0:
                _remember(stream, path, fold, start, max_line_bytes)
            start = report.position = past_newline(stream, start)
            yield from _told(stream, fold, report, start, max_line_bytes)


def _remember(stream: BinaryIO, path: Path, fold: Fold, start: Position, max_line_bytes: int) -> None:
    """Let `fold` know what a pass from the file's beginning would know at `start`."""
    with fold.unheard():
        _heads(stream, fold, start, max_line_bytes)
        fold.placed = False
        told_from = look_back(stream, start, max_line_bytes, SHAPE, fold.feed)
        if told_from:
            fold.before = Before(path, told_from, max_line_bytes, SHAPE)
            if not fold.placed:
                fold.before.feed_last(_PLACE, fold.feed)


def _heads(stream: BinaryIO, fold: Fold, start: Position, max_line_bytes: int) -> None:
    """Feed the heads with which the file begins: whose session it is stands nowhere else."""
    report = ReadReport()
    lines = read_lines(
        stream, start=Position(), report=report, max_line_bytes=max_line_bytes, stop=start.offset, chunk_bytes=64 * 1024
    )
    for number, _, raw in lines:
        objects = parse_line(raw, report, SHAPE)
        if any(line.get("type") != "session_meta" for line in objects):
            return
        for line in objects:
            fold.feed(line, number, len(raw) + 1)


def _told(stream: BinaryIO, fold: Fold, report: ReadReport, start: Position, max_line_bytes: int) -> Iterator[Event]:
    """The events of all lines after `start`.

    The report is brought up to date when an event is handed out, and between two reads of the file: nobody looks
    at it in between.
    """
    taken, first = 0, start.line
    for number, offset, lines, missing in read_blocks(
        stream, start=start, report=report, max_line_bytes=max_line_bytes
    ):
        taken -= number
        for raw in lines:
            size = len(raw)
            events = _of_line(raw, fold, report, number)
            if events:
                # What is written behind a line that was taken already carries that line's number.
                report.offset, report.line, report.lines = offset, max(first, number), taken + number
                yield from events
            offset += size
            number += 1
        taken += number
        report.offset, report.line, report.lines = offset - missing, number, taken


def _of_line(raw: bytes, fold: Fold, report: ReadReport, number: int) -> list[Event]:
    """The events of a line, or of what is whole on a damaged one."""
    try:
        line = orjson.loads(raw)
    except ValueError:
        line = None
    if type(line) is dict:
        return fold.feed(line, number, len(raw))
    return [event for part in parse_line(raw[:-1], report, SHAPE) for event in fold.feed(part, number, len(raw))]


#: The host, ready to use.
HOST: Final = Codex()
