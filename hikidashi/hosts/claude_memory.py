"""Claude Code's own auto memory: `<config>/projects/<slug>/memory/`, `MEMORY.md` and one file a memory.

A memory's file has front matter (`name`, `description`, `type`, `modified`) and Markdown below; `MEMORY.md` has one
line a memory. A model writes them, so they are read with patience: what is no front matter is text, and what cannot
be read is named. Nothing is followed out of the folder, and nothing here writes.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from hikidashi.errors import UsageError
from hikidashi.hosts.claude_files import MAX_SLUG, slug_prefixes
from hikidashi.times import format_time

__all__ = ["INDEX", "Memory", "MemoryFolder", "find_folder", "new_folder", "read_folder"]

INDEX: Final = "MEMORY.md"

#: A larger file is no memory; what lies beyond these many files is named and not read.
MAX_FILE_BYTES: Final = 256 * 1024
MAX_FILES: Final = 2_000
#: A folder with more in it is another one.
_MAX_ENTRIES: Final = 10_000

_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FENCE: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_KEY: Final = re.compile(r"([ \t]*)([A-Za-z_][\w-]*):(?:[ \t]+(.*))?")
_BLOCK: Final = re.compile(r"[|>][+-]?")
#: A line of the index: `- [Title](file.md) — what it is about`.
_INDEX_LINE: Final = re.compile(r"\s*(?:[-*+]|\d+\.)\s+\[([^\]]*)\]\(([^)\s]+)\)\s*(?:[—–:-]+\s*(.*))?")
#: Read, or the client's own bookkeeping, which says nothing.
_READ_KEYS: Final = frozenset({"name", "description", "type", "modified", "metadata", "originsessionid", "node_type"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory of the folder."""

    #: Relative to the folder, with `/`.
    file: str
    #: As its front matter has it, else the file's name without `.md`.
    name: str
    description: str = ""
    #: user, feedback, project, reference; '' or another word where the model wrote none or its own.
    type: str = ""
    #: When it was written last, as `hikidashi.times.format_time` writes it.
    modified: str = ""
    body: str = ""
    #: What the line of the index calls it and says of it; '' without a line.
    title: str = ""
    hook: str = ""
    #: Keys of the front matter that are not read.
    other_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFolder:
    """What a folder of auto memory holds."""

    path: Path
    #: Sorted by file.
    memories: tuple[Memory, ...] = ()
    #: The index as it is; b'' when there is none.
    index: bytes = b""
    #: What stands in the index beside the lines that lead to memories; '' when that is nothing but headings.
    notes: str = ""
    #: File -> why it was not read.
    refused: Mapping[str, str]
    #: All names of files there, for who adds one.
    names: frozenset[str] = frozenset()


def find_folder(root: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of auto memory of the project at `root`. Raises `UsageError` when there is none."""
    for folder in _places(root, environ):
        if folder.is_dir():
            return folder
    raise UsageError(
        f"Claude Code keeps no auto memory for {root}: name its folder "
        "(`/memory` in Claude Code shows it) with --folder"
    )


def new_folder(root: Path, environ: Mapping[str, str] = os.environ) -> Path:
    """The folder of auto memory of the project at `root`, be it there or not.

    Raises `UsageError` where only Claude Code knows its name.
    """
    places = list(_places(root, environ))
    for folder in places:
        if folder.is_dir():
            return folder
    if _moved(environ) is not None or len(places) == 0:
        raise UsageError("only Claude Code knows where its auto memory goes: name the folder with --folder")
    return places[0]


def _config(environ: Mapping[str, str]) -> Path:
    configured = environ.get("CLAUDE_CONFIG_DIR", "")
    return Path(configured).expanduser() if configured else Path.home() / ".claude"


def _places(root: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where the folder may be, the likeliest first: it goes by the root of the git repository."""
    moved = _moved(environ)
    names = [name for top in dict.fromkeys([_git_root(root), root]) for name in _names(top)]
    if moved is not None:
        yield from (moved / name / "memory" for name in names)
        yield moved
        return
    projects = _config(environ) / "projects"
    for name in names:
        if len(name) < MAX_SLUG:
            yield projects / name / "memory"
        else:  # cut there, and a hash follows that only the client knows
            yield from sorted(projects.glob(f"{name}-*/memory"))


def _names(top: Path) -> list[str]:
    return sorted(slug_prefixes(top), key=lambda name: (name not in slug_prefixes(Path(os.path.realpath(top))), name))


def _git_root(folder: Path) -> Path:
    return next((place for place in (folder, *folder.parents) if (place / ".git").exists()), folder)


def _moved(environ: Mapping[str, str]) -> Path | None:
    """`autoMemoryDirectory` of the user's settings (a project's own are ignored by the client, too)."""
    try:
        settings = json.loads((_config(environ) / "settings.json").read_bytes())
    except (OSError, ValueError):
        return None
    said = settings.get("autoMemoryDirectory") if isinstance(settings, dict) else None
    if not isinstance(said, str) or not said.startswith(("/", "~/")):
        return None
    return Path(said).expanduser()


def read_folder(folder: Path) -> MemoryFolder:
    """What is in `folder`. Raises `UsageError` when it is no folder that can be read."""
    refused: dict[str, str] = {}
    names = _file_names(folder, refused)
    texts: dict[str, tuple[str, float]] = {}
    for name in names:
        try:
            texts[name] = _text(folder / name)
        except (OSError, ValueError) as exc:
            refused[name] = (exc.strerror or "it cannot be read") if isinstance(exc, OSError) else str(exc)
    index, _ = texts.pop(INDEX, ("", 0.0))
    memories = {name: _memory(name, text, changed) for name, (text, changed) in texts.items()}
    notes = _take_index(index, memories)
    return MemoryFolder(
        path=folder,
        memories=tuple(memories.values()),
        index=index.encode(),
        notes=notes,
        refused=refused,
        names=frozenset([*names, *refused]),
    )


def _file_names(folder: Path, refused: dict[str, str]) -> list[str]:
    """The Markdown files below, sorted; anything else goes to `refused`."""

    def unreadable(exc: OSError) -> None:
        if exc.filename == str(folder):
            raise UsageError(f"cannot read {folder} ({exc.strerror}): give the folder that holds {INDEX}") from exc
        refused[os.path.relpath(str(exc.filename), folder)] = exc.strerror or "it cannot be read"

    found: list[str] = []
    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders.sort()
        for name in sorted([*names, *(one for one in folders if (Path(place) / one).is_symlink())]):
            path = (Path(place) / name).relative_to(folder).as_posix()
            if name.startswith("."):
                continue
            if not path.isprintable() or "\\" in path:
                refused[ascii(path)[1:-1]] = "its name cannot be written down"
            elif (folder / path).is_symlink():
                refused[path] = "it is a link"
            elif not name.lower().endswith(".md"):
                refused[path] = "it is no Markdown file"
            elif len(found) >= MAX_FILES:
                refused[path] = f"there are more than {MAX_FILES:,} files"
            else:
                found.append(path)
        if len(found) + len(refused) > _MAX_ENTRIES:
            raise UsageError(f"{folder} holds too much for an auto memory: give the folder that holds {INDEX}")
    return found


def _text(path: Path) -> tuple[str, float]:
    """Text with LF line ends, and when it changed. Raises `OSError`, `ValueError` with what is wrong."""
    descriptor = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"it is larger than {MAX_FILE_BYTES // 1024} KB")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as exc:
        raise ValueError("it is not UTF-8") from exc
    return text.replace("\r\n", "\n").replace("\r", "\n"), status.st_mtime


def _memory(file: str, text: str, changed: float) -> Memory:
    fields, body = _split(text)
    return Memory(
        file=file,
        name=fields.get("name") or file.rpartition("/")[2][:-3],
        description=fields.get("description", ""),
        type=fields.get("type", "").lower(),
        modified=_time(fields.get("modified", "")) or format_time(datetime.fromtimestamp(changed, UTC)),
        body=body.strip("\n").rstrip(),
        other_keys=tuple(key for key in fields if key not in _READ_KEYS),
    )


def _time(text: str) -> str:
    try:
        at = datetime.fromisoformat(text)
        return format_time(at if at.tzinfo else at.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return ""


def _split(text: str) -> tuple[dict[str, str], str]:
    """The values of the front matter, whatever their depth, and the text below it."""
    opening = _FENCE.match(text)
    closing = _FENCE.search(text, opening.end() + 1) if opening else None
    if opening is None or closing is None:
        return {}, text
    fields: dict[str, str] = {}
    last, block = "", -1
    for line in text[opening.end() + 1 : closing.start()].splitlines():
        indent = len(line) - len(line.lstrip())
        match = None if block >= 0 and indent > block else _KEY.fullmatch(line)
        if match is None:
            if last and line.strip():
                fields[last] = f"{fields[last]} {line.strip()}".strip()
            continue
        last, value = match[2].lower(), (match[3] or "").strip()
        block = len(match[1]) if _BLOCK.fullmatch(value) else -1
        fields[last] = "" if block >= 0 else _unquoted(value)
    return fields, text[closing.end() + 1 :]


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        try:
            read = json.loads(value, strict=False)
        except ValueError:  # a model's quotes are not always closed where they should be
            read = value[1:-1]
        return " ".join(str(read).split())
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _take_index(index: str, memories: dict[str, Memory]) -> str:
    """Give the memories what the index says of them; returns what else stands there."""
    left = []
    for line in index.split("\n"):
        match = _INDEX_LINE.fullmatch(line)
        file = match[2].removeprefix("./") if match else ""
        if match is None or file not in memories or memories[file].title:
            left.append(line)
        else:
            hook = (match[3] or "").strip()
            memories[file] = replace(memories[file], title=match[1].strip() or memories[file].name, hook=hook)
    said = any(line.strip() and not line.lstrip().startswith("#") for line in left)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(left)).strip() if said else ""
