"""All records of a workspace at once: read from disk, looked up by slug, with the references between them."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Final, Protocol

from hikidashi.atomic import storage_errors
from hikidashi.records.finding import Finding
from hikidashi.records.record import (
    CLEANUP_LOG,
    REMEMBERED,
    Parsed,
    Record,
    RecordKind,
    Tree,
    read_record,
    record_kind,
    record_path,
)
from hikidashi.records.rules import found

__all__ = [
    "MAX_FILE_BYTES",
    "Library",
    "LoadedTree",
    "RecordsHome",
    "load_tree",
    "read_tree",
    "references",
]

#: A larger file is no record and is not read.
MAX_FILE_BYTES: Final = 1024 * 1024

#: Folders further down than this are not read.
MAX_DEPTH: Final = 16

_TOPS: Final = ("memory", "knowledge")
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

#: `#slug` that stands alone: not a heading, not part of a word, a path, a URL or an HTML entity.
_REFERENCE: Final = re.compile(r"(?<![\w/&#.:=\\-])#([a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?)(?![\w/-])")
_FENCE: Final = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_CODE_SPAN: Final = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")


class RecordsHome(Protocol):
    """What is needed of a workspace here."""

    @property
    def home(self) -> Path:
        """The `.hikidashi/` folder."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedTree:
    """The files of `memory/` and `knowledge/`, and what was refused there."""

    tree: dict[str, bytes] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    @property
    def refused(self) -> dict[str, Finding]:
        """Path -> why what stands there was not read: no run can write there until a person mends it."""
        return {finding.path: finding for finding in self.findings}


def load_tree(workspace: RecordsHome) -> dict[str, bytes]:
    """The bytes of all regular files under `memory/` and `knowledge/`; `read_tree` also says what was refused."""
    return read_tree(workspace).tree


def read_tree(workspace: RecordsHome) -> LoadedTree:
    """Read `memory/` and `knowledge/`, following no link.

    Links, devices and files above `MAX_FILE_BYTES` become findings instead. Names that start with a dot
    (temporary files of ours, a desktop's litter) are no records and are left out. Raises `StorageFailure`
    when a file cannot be read.
    """
    loaded = LoadedTree()
    folders = [(workspace.home / top, top) for top in _TOPS]
    while folders:
        folder, path = folders.pop()
        with storage_errors(f"read {folder}"):
            folders += _read_folder(folder, path, loaded)
    loaded.findings.sort()
    return loaded


def _read_folder(folder: Path, prefix: str, loaded: LoadedTree) -> list[tuple[Path, str]]:
    """Take in the files of one folder; gives the folders in it."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            loaded.findings.append(found("H125", prefix, 0, "not a folder of our own"))
            return []
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
    inner = []
    for entry in entries:
        path = f"{prefix}/{entry.name}"
        if entry.name.startswith("."):
            continue
        if "\\" in entry.name or any(unicodedata.category(c) in ("Cc", "Cs") for c in entry.name):
            loaded.findings.append(found("H116", ascii(path)[1:-1], 0, "a character that no name here may have"))
        elif not entry.is_dir(follow_symlinks=False):
            _read_file(folder / entry.name, path, loaded)
        elif path.count("/") > MAX_DEPTH:
            loaded.findings.append(found("H117", path, 0, f"folders more than {MAX_DEPTH} deep"))
        else:
            if record_kind(path) is not None or path == CLEANUP_LOG:
                loaded.findings.append(found("H125", path, 0, "a folder where a record's file belongs"))
            inner.append((folder / entry.name, path))
    return inner


def _read_file(file: Path, path: str, loaded: LoadedTree) -> None:
    try:
        if not stat.S_ISREG(file.lstat().st_mode):
            loaded.findings.append(found("H125", path, 0, "a link, device or socket"))
            return
        descriptor = os.open(file, os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:  # deleted since the folder was listed
        return
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            loaded.findings.append(found("H125", path, 0, "a link, device or socket"))
            return
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        loaded.findings.append(found("H126", path, 0, f"{status.st_size:,} bytes"))
    else:
        loaded.tree[path] = data


@lru_cache(maxsize=REMEMBERED)
def references(text: str) -> tuple[tuple[str, int], ...]:
    """The `#slug` references of a Markdown text, each with its 1-based line there; code is left out."""
    if "#" not in text:
        return ()
    return tuple(
        (match.group(1), number)
        for number, line in _prose(text)
        for match in _REFERENCE.finditer(line)
        if not match.group(1).isdigit()  # `#12` is an issue's number
    )


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """Lines outside fenced code, without their code spans, with their numbers."""
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        opening = _FENCE.match(line)
        if opening and not fence:
            fence = opening.group(1)
        elif opening and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence and "#" in line:
            yield number, _CODE_SPAN.sub(" ", line)


class Library:
    """A parsed view of a tree. Files are parsed once for the same bytes, whatever the number of libraries."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        #: Path -> what its file holds, for every file in a record's place.
        self.parsed: dict[str, Parsed] = {
            path: read_record(path, data) for path, data in tree.items() if record_kind(path) is not None
        }

    def changed(self, tree: Tree, paths: Iterable[str]) -> Library:
        """The library of `tree`, which differs from this one's at `paths` only; costs what they cost."""
        library = Library.__new__(Library)
        library._tree = tree
        library.parsed = dict(self.parsed)
        slugs = dict(self.slugs)
        for path in paths:
            if record_kind(path) is None:
                continue
            if path not in tree:
                library.parsed.pop(path, None)
                _forget(slugs, path)
            else:
                if path not in library.parsed:
                    _note(slugs, path)
                library.parsed[path] = read_record(path, tree[path])
        library.slugs = slugs
        return library

    @cached_property
    def slugs(self) -> dict[str, tuple[str, ...]]:
        """Slug -> paths of the files with that name, broken ones too; the summary has no slug."""
        slugs: dict[str, tuple[str, ...]] = {}
        for path in self.parsed:
            _note(slugs, path)
        return slugs

    @cached_property
    def broken(self) -> dict[str, tuple[Finding, ...]]:
        """Path -> findings, for files in a record's place that are not records."""
        return {path: self.parsed[path].findings for path in sorted(self.parsed) if self.parsed[path].record is None}

    def records(self, kind: RecordKind | None = None) -> list[Record]:
        """All records (of `kind`), sorted by path."""
        records = [parsed.record for parsed in self.parsed.values() if parsed.record is not None]
        return sorted((r for r in records if kind in (None, r.kind)), key=lambda record: record.path)

    def get(self, path: str) -> Record | None:
        """The record at `path`; None when there is none or it is broken."""
        parsed = self.parsed.get(path)
        return None if parsed is None else parsed.record

    def by_slug(self, kind: RecordKind, slug: str) -> Record | None:
        """The record of `kind` with `slug`."""
        return self.get(record_path(kind, slug))

    def references(self, path: str) -> tuple[tuple[str, int], ...]:
        """The `#slug` references in a file, each with its 1-based line. For records, those of the body."""
        record = self.get(path)
        if record is not None:
            offset = self.parsed[path].body_line - 1
            return tuple((slug, line + offset) for slug, line in references(record.body))
        if path.startswith("memory/workflow/"):
            return references(self._tree[path].decode("utf-8", "replace"))
        return ()

    def referrers(self, slug: str) -> list[str]:
        """Paths of the files that name `slug`: as `#slug`, or as `replaced_by`."""
        paths = []
        for path in sorted(self._tree):
            record = self.get(path)
            named = record is not None and record.replaced_by == slug
            if named or any(other == slug for other, _ in self.references(path)):
                paths.append(path)
        return paths

    def chain(self, slug: str) -> tuple[str, ...]:
        """Slugs of the decisions that follow a replaced one, up to the one in force; a circle is cut."""
        following: list[str] = []
        record = self.by_slug("decision", slug)
        while record is not None and record.replaced_by and record.replaced_by not in (slug, *following):
            following.append(record.replaced_by)
            record = self.by_slug("decision", record.replaced_by)
        return tuple(following)

    @cached_property
    def replaced_chains(self) -> dict[str, tuple[str, ...]]:
        """Path of each replaced decision -> the slugs that follow it, up to the one in force."""
        decisions = [record for record in self.records("decision") if record.status == "replaced"]
        return {record.path: self.chain(record.slug) for record in decisions}


def _note(slugs: dict[str, tuple[str, ...]], path: str) -> None:
    if record_kind(path) != "summary":
        slug = path.rpartition("/")[2].removesuffix(".md")
        slugs[slug] = (*slugs.get(slug, ()), path)


def _forget(slugs: dict[str, tuple[str, ...]], path: str) -> None:
    slug = path.rpartition("/")[2].removesuffix(".md")
    left = tuple(other for other in slugs.get(slug, ()) if other != path)
    if left:
        slugs[slug] = left
    else:
        slugs.pop(slug, None)
