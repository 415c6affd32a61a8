"""Claude Code: where its transcripts lie, and the events in them.

Line formats of the versions 0.2.122 to 2.1.332. The format is internal to the client and changes weekly:
any field of any line may be missing, null or of another type, and nothing here raises because of content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from hikidashi.hosts.back import Before, look_back
from hikidashi.hosts.claude_files import find_sessions, look_at
from hikidashi.hosts.claude_fold import Fold
from hikidashi.hosts.claude_lines import HOST_NAME, SHAPE
from hikidashi.hosts.lines import parse_line, past_newline, read_blocks
from hikidashi.hosts.transcript import Event, Position, ReadReport, SessionFile

__all__ = ["HOST", "ClaudeCode"]


class ClaudeCode:
    """The host `claude-code` (see `hosts.transcript.Host`)."""

    name: str = HOST_NAME

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ

    def session_files(self, cwd: Path) -> list[SessionFile]:
        """The transcripts of sessions started in `cwd` or below, main sessions first, oldest first."""
        configured = self._environ.get("CLAUDE_CONFIG_DIR", "")
        home = Path(configured).expanduser() if configured else Path.home() / ".claude"
        return find_sessions(home / "projects", cwd)

    def recognises(self, path: Path) -> SessionFile | None:
        """`path` as a transcript of Claude Code; None when it is none, or one of our own worker's."""
        head = look_at(path)
        return head.session_file if head else None

    def events(
        self, path: Path, *, start: Position, report: ReadReport, max_line_bytes: int, seen: set[bytes]
    ) -> Iterator[Event]:
        """The events after `start`, in order (see `hosts.transcript.Host`). Raises `OSError` of the file."""
        fold = Fold(report, seen)
        with path.open("rb") as stream:
            if start.offset > 0:
                with fold.unheard():
                    told_from = look_back(stream, start, max_line_bytes, SHAPE, fold.feed)
                fold.before = Before(path, told_from, max_line_bytes, SHAPE) if told_from else None
            start = report.position = past_newline(stream, start)
            yield from _told(stream, fold, report, start, max_line_bytes)


def _told(stream: BinaryIO, fold: Fold, report: ReadReport, start: Position, max_line_bytes: int) -> Iterator[Event]:
    """The events of all lines after `start`.

    The report is brought up to date when an event is handed out, and between two reads of the file: nobody looks
    at it in between.
    """
    loads, assistant, user = orjson.loads, fold.assistant, fold.user
    taken, first = 0, start.line
    for number, offset, lines, missing in read_blocks(
        stream, start=start, report=report, max_line_bytes=max_line_bytes
    ):
        taken -= number
        for raw in lines:
            size = len(raw)
            try:
                line = loads(raw)
            except ValueError:
                line = None
            if type(line) is dict:
                kind = line.get("type")
                if kind == "assistant":
                    events = assistant(line, number, size)
                elif kind == "user":
                    events = user(line, number, size)
                else:
                    events = fold.other(line, number)
            else:
                events = _saved(raw, fold, report, number)
            if events:
                # What is written behind a line that was taken already carries that line's number.
                report.offset, report.line, report.lines = offset, max(first, number), taken + number
                yield from events
            offset += size
            number += 1
        taken += number
        report.offset, report.line, report.lines = offset - missing, number, taken


def _saved(raw: bytes, fold: Fold, report: ReadReport, number: int) -> list[Event]:
    """The events of what is whole on a damaged line."""
    raw, size = raw[:-1], len(raw)
    return [event for line in parse_line(raw, report, SHAPE) for event in fold.feed(line, number, size)]


#: The host, ready to use.
HOST: Final = ClaudeCode()
