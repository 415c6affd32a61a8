"""Where Claude Code keeps its transcripts: `<config>/projects/<slug>/<session>.jsonl`, sub-agents below.

The slug is the folder the session was started in, with every character that is no ASCII letter or digit
written as `-`. Different folders share a slug (`/a/b-c` and `/a/b/c`), so the folder's name only says where to
look; whose session it is, its own lines say.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hikidashi.hosts.claude_lines import HOST_NAME, SHAPE
from hikidashi.hosts.folders import is_within
from hikidashi.hosts.lines import parse_line, read_lines
from hikidashi.hosts.transcript import Position, ReadReport, SessionFile

__all__ = ["Head", "find_sessions", "look_at", "slug_prefixes"]

#: Slugs of longer paths are cut here; `-` and a hash follow.
MAX_SLUG: Final = 200
#: So much of a file is read to tell whose it is.
HEAD_BYTES: Final = 1 << 20
HEAD_LINES: Final = 200

#: Line types that only conversations have.
_SPOKEN: Final = frozenset({"user", "assistant", "system", "attachment", "progress"})
#: Folder of our own files: a session started inside it is our own worker's.
_OWN_FOLDER: Final = ".hikidashi"
_OWN_ENTRYPOINT: Final = "hikidashi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What the first lines of a transcript say."""

    session_file: SessionFile
    #: Working folders named there, the one it was started in first.
    folders: tuple[str, ...]


def look_at(path: Path) -> Head | None:
    """The head of a Claude Code transcript; None for any other file, and for sessions of our own worker."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would wait for its writer, a device never end
            return None
        lines = list(_first_lines(path))
    except OSError:
        # Gone, unreadable or a folder: not a transcript that can be read now.
        return None
    spoken = [line for line in lines if _is_spoken(line)]
    titled = any(line.get("type") == "summary" and isinstance(line.get("leafUuid"), str) for line in lines)
    if not spoken and not titled:
        return None
    folders = tuple(dict.fromkeys(cwd for line in spoken if isinstance(cwd := line.get("cwd"), str) and cwd))
    if any(_OWN_FOLDER in re.split(r"[/\\]", folder) for folder in folders[:1]) or any(map(_is_our_own, spoken)):
        return None
    named = path.name.startswith("agent-") or "subagents" in path.parts[-3:-1]
    sidechain = named or (bool(spoken) and all(line.get("isSidechain") is True for line in spoken))
    times = (at for line in lines if isinstance(at := line.get("timestamp"), str) and at)
    session_file = SessionFile(
        host=HOST_NAME,
        path=path,
        sidechain=sidechain,
        size=status.st_size,
        mtime_ns=status.st_mtime_ns,
        started_at=next(times, ""),
    )
    return Head(session_file=session_file, folders=folders)


def _is_our_own(line: dict[str, Any]) -> bool:
    """Whether our own worker started the session: the client notes what it was started by."""
    return str(line.get("entrypoint") or "").startswith(_OWN_ENTRYPOINT)


def _is_spoken(line: dict[str, Any]) -> bool:
    kind, session_id, uuid = line.get("type"), line.get("sessionId"), line.get("uuid")
    return isinstance(kind, str) and kind in _SPOKEN and isinstance(session_id, str) and isinstance(uuid, str)


def _first_lines(path: Path) -> Iterator[dict[str, Any]]:
    report = ReadReport()
    with path.open("rb") as stream:
        lines = read_lines(stream, start=Position(), report=report, max_line_bytes=HEAD_BYTES, chunk_bytes=64 * 1024)
        spoken = 0
        for number, offset, raw in lines:
            for line in parse_line(raw, report, SHAPE):
                yield line
                spoken += _is_spoken(line)
            if number >= HEAD_LINES or spoken >= 20 or offset > HEAD_BYTES * 4:
                return


def slug_prefixes(cwd: Path) -> set[str]:
    """The names that project folders of `cwd` may have; those of its sub-folders begin with them and `-`."""
    paths = {str(cwd), os.path.realpath(cwd)}
    forms = {unicodedata.normalize(form, path) for path in paths for form in ("NFC", "NFD")} | paths
    return {_slug(path) for path in forms}


def _slug(path: str) -> str:
    # The client counts UTF-16 units: a character outside the first plane becomes two dashes.
    units = path.encode("utf-16-be", "surrogatepass")
    codes = [int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2)]
    return "".join(char if (char := chr(code)).isascii() and char.isalnum() else "-" for code in codes)[:MAX_SLUG]


def find_sessions(projects: Path, cwd: Path) -> list[SessionFile]:
    """The transcripts under `projects` of sessions started in `cwd` or below, main sessions first, oldest first."""
    prefixes = slug_prefixes(cwd)
    roots = {str(cwd), os.path.realpath(cwd)}
    found: list[SessionFile] = []
    for folder in _folders(projects):
        if any(folder.name == slug or folder.name.startswith(f"{slug}-") for slug in prefixes):
            for path in _transcripts(folder):
                head = look_at(path)
                if head and is_within(head.folders[:1], roots):
                    found.append(head.session_file)
    return sorted(found, key=lambda file: (file.sidechain, file.started_at or "~", str(file.path)))


def _folders(projects: Path) -> list[Path]:
    try:
        return sorted(path for path in projects.iterdir() if path.is_dir())
    except OSError:
        return []


def _transcripts(folder: Path) -> Iterator[Path]:
    """Session files of a project folder, and sub-agents' files below; outputs that were saved there are not."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in ("tool-results", "memory"))
        for name in sorted(names):
            if name.endswith(".jsonl"):
                yield Path(place, name)
