"""Claude Code: where its transcripts lie, and the events in them.

Line formats of the versions 0.2.122 to 2.1.332. The format is internal to the client and changes weekly:
any field of any line may be missing, null or of another type, and nothing here raises because of content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from hikidashi.hosts.claude_files import SHAPE, find_sessions, look_at
from hikidashi.hosts.claude_fold import HOST_NAME, Fold
from hikidashi.hosts.lines import parse_line, read_lines
from hikidashi.hosts.transcript import Event, Position, ReadReport, SessionFile

__all__ = ["HOST", "ClaudeCode", "is_silent"]

#: A pass that begins inside a file first looks back this far for the calls whose results it will meet.
LOOK_BACK_BYTES: Final = 4 << 20

#: Lines that back up file contents: up to a fifth of a transcript.
_SNAPSHOTS: Final = (b'{"type":"file-history-snapshot"', b'{"type": "file-history-snapshot"')


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
        report.position = start
        fold = Fold(report, seen)
        with path.open("rb") as stream:
            if start.offset > 0:
                _look_back(stream, start, fold, max_line_bytes)
            for number, offset, raw in read_lines(stream, start=start, report=report, max_line_bytes=max_line_bytes):
                if not is_silent(raw):
                    for line in parse_line(raw, report, SHAPE):
                        yield from fold.feed(line, number, len(raw))
                report.offset, report.line = offset, number + 1
                report.lines += 1


def _look_back(stream: BinaryIO, start: Position, fold: Fold, max_line_bytes: int) -> None:
    """Feed the lines before `start` to the fold, so that it knows the open calls; their events are dropped."""
    back = max(0, start.offset - LOOK_BACK_BYTES)
    stream.seek(back)
    before = stream.read(start.offset - back)
    first = before.find(b"\n") + 1 if back else 0
    newlines = before.count(b"\n", first)
    whole = start.line - newlines - (0 if before.endswith(b"\n") else 1)
    del before
    unheard = ReadReport()
    with fold.unheard(unheard):
        position = Position(offset=back + first, line=max(0, whole))
        for number, _, raw in read_lines(
            stream, start=position, report=unheard, max_line_bytes=max_line_bytes, stop=start.offset
        ):
            if not is_silent(raw):
                for line in parse_line(raw, unheard, SHAPE):
                    fold.feed(line, number, len(raw))


def is_silent(raw: bytes) -> bool:
    """Whether a line is one of the many that carry nothing, judged without parsing it.

    Only the line object's own type counts, never text inside it: the type must stand before any nested object
    and any escaped character, and no second object may stand on the line.
    """
    if raw.startswith(_SNAPSHOTS):
        return raw.endswith(b"}") and b"}{" not in raw and b'{"parentUuid"' not in raw and b"\0" not in raw
    named = raw.find(b'"progress"', 0, 1024)
    if named < 0:
        return False
    own = raw.rfind(b'"type":', 0, named)
    if own < 1 or raw[own + 7 : named].strip() or b"{" in raw[1:own] or b"[" in raw[1:own] or b"\\" in raw[1:own]:
        return False
    # One nested type, the progress's own, is usual. More may be another process's line that was torn into this one.
    return raw.endswith(b"}") and b"}{" not in raw and b'{"parentUuid"' not in raw and raw.count(b'{"type":', own) <= 1


#: The host, ready to use.
HOST: Final = ClaudeCode()
