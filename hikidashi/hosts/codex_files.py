"""Where Codex keeps its rollouts: `<home>/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, and `archived_sessions/`.

The path says nothing of the folder in which a session was started; the first line of the rollout does. A person
may have thousands, so each head is read once and remembered as long as the file is the same.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hikidashi.hosts.codex_envelope import is_sidechain
from hikidashi.hosts.codex_lines import HOST_NAME, LINE_TYPES, SHAPE
from hikidashi.hosts.folders import is_within
from hikidashi.hosts.lines import parse_line, read_lines
from hikidashi.hosts.transcript import Position, ReadReport, SessionFile

__all__ = ["Head", "Heads", "look_at"]

#: So much of a file is read to tell whose it is, when its first line does not.
HEAD_BYTES: Final = 4 << 20
HEAD_LINES: Final = 50

_FOLDERS: Final = ("sessions", "archived_sessions")
#: Folder of our own files, and how our own worker names itself: its sessions are not read.
_OWN_FOLDER: Final = ".hikidashi"
_OWN_ORIGINATOR: Final = "hikidashi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the first lines of a rollout say."""

    session_file: SessionFile
    #: The folder in which the session was started; '' when no line near the start says it.
    folder: str


def look_at(path: Path) -> Head | None:
    """The head of a rollout; None for any other file, and for sessions of our own worker."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would wait for its writer, a device never end
            return None
        meta, folder, started_at = _read_head(path)
    except OSError:
        # Gone, unreadable or a folder: not a transcript that can be read now.
        return None
    if meta is None or str(meta.get("originator") or "").startswith(_OWN_ORIGINATOR):
        return None
    if _OWN_FOLDER in re.split(r"[/\\]", folder):
        return None
    session_file = SessionFile(
        host=HOST_NAME,
        path=path,
        sidechain=is_sidechain(meta),
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        started_at=started_at,
    )
    return Head(session_file=session_file, folder=folder)


def _read_head(path: Path) -> tuple[dict[str, Any] | None, str, str]:
    """The session's own `session_meta` (an empty one where that line is damaged), its folder and its time."""
    report = ReadReport()
    known: dict[str, Any] | None = None
    first_at = ""
    with path.open("rb") as stream:
        for number, offset, raw in read_lines(
            stream, start=Position(), report=report, max_line_bytes=HEAD_BYTES, chunk_bytes=64 * 1024
        ):
            for line in parse_line(raw, report, SHAPE):
                kind, payload, at = line.get("type"), line.get("payload"), line.get("timestamp")
                if not isinstance(kind, str) or not isinstance(payload, dict) or not isinstance(at, str):
                    continue
                if kind not in LINE_TYPES:
                    continue
                first_at = first_at or at
                folder = payload.get("cwd")
                if kind == "session_meta" and known is None:
                    known = payload
                if kind in ("session_meta", "turn_context") and isinstance(folder, str) and folder:
                    started = payload.get("timestamp")
                    return known or {}, folder, started if isinstance(started, str) and started else first_at
            if number >= HEAD_LINES or offset > HEAD_BYTES:
                break
    return known if known is not None else ({} if first_at else None), "", first_at


class Heads:
    """The heads of the rollouts that were looked at."""

    def __init__(self) -> None:
        #: Path -> size and time of the file when it was looked at, and its head.
        self._known: dict[Path, tuple[int, int, Head | None]] = {}

    def sessions(self, home: Path, cwd: Path) -> list[SessionFile]:
        """The rollouts under `home` of sessions started in `cwd` or below, main sessions first, oldest first."""
        roots = {str(cwd), os.path.realpath(cwd)}
        within: dict[str, bool] = {}
        found: list[SessionFile] = []
        for path in _rollouts(home):
            head = self._head(path)
            if head is None:
                continue
            belongs = within.get(head.folder)
            if belongs is None:
                belongs = within[head.folder] = bool(head.folder) and is_within((head.folder,), roots)
            if belongs:
                found.append(head.session_file)
        return sorted(found, key=lambda file: (file.sidechain, file.started_at or "~", str(file.path)))

    def _head(self, path: Path) -> Head | None:
        try:
            status = path.stat()
        except OSError:
            return None
        known = self._known.get(path)
        if known is None or known[:2] != (status.st_size, status.st_mtime_ns):
            known = self._known[path] = (status.st_size, status.st_mtime_ns, look_at(path))
        return known[2]


def _rollouts(home: Path) -> Iterator[Path]:
    """The paths of all rollouts, in order."""
    for folder in _FOLDERS:
        for place, folders, names in os.walk(home / folder):
            folders.sort()
            for name in sorted(names):
                if name.startswith("rollout-") and name.endswith(".jsonl"):
                    yield Path(place, name)
