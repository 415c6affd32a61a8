"""A record: one Markdown file with YAML front matter under `memory/` or `knowledge/` (design section 7).

`parse_record` and `render_record` are each other's inverse: what is rendered parses to an equal record, and
rendering that again gives the same bytes. docs/formats.md describes the files for people.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

from hikidashi.errors import LintErrors
from hikidashi.records.finding import Finding
from hikidashi.records.frontmatter import (
    Field,
    FrontMatterError,
    Pair,
    read_front_matter,
    split_record,
    write_front_matter,
)
from hikidashi.records.rules import found
from hikidashi.records.slug import free_slug, is_slug, make_slug
from hikidashi.source import TRUSTS, Source
from hikidashi.times import parse_time

__all__ = [
    "CLEANUP_LOG",
    "REMEMBERED",
    "SUMMARY",
    "Parsed",
    "Record",
    "RecordError",
    "RecordKind",
    "Tree",
    "free_slug",
    "is_slug",
    "make_slug",
    "normal_body",
    "parse_record",
    "read_record",
    "record_kind",
    "record_path",
    "record_text",
    "render_record",
]

#: All of `memory/` and `knowledge/`: path relative to `.hikidashi/` (with `/`) -> the file's bytes.
Tree = Mapping[str, bytes]

RecordKind = Literal["decision", "request", "summary", "knowledge"]

#: Files of which what was worked out is kept for the next look at the same bytes. A phase goes over all records
#: a dozen times: with fewer places than records each pass would push out what the next one needs.
REMEMBERED: Final = 16_384

SUMMARY: Final = "memory/summary.md"
CLEANUP_LOG: Final = "memory/cleanup-log.md"

_FOLDERS: Final[dict[str, RecordKind]] = {
    "memory/decisions": "decision",
    "memory/requests": "request",
    "knowledge": "knowledge",
}
_STATUSES: Final = {"decision": ("open", "resolved", "replaced"), "request": ("open", "done", "withdrawn")}
_KNOWLEDGE_KINDS: Final = ("term", "policy", "rule", "fact", "know-how")

#: The keys of each kind, in the order in which they are written; the flag says whether a file must have it.
_KEYS: Final[dict[RecordKind, dict[str, bool]]] = {
    "decision": {
        "created_at": True,
        "updated_at": True,
        "status": True,
        "replaced_by": False,
        "trust": True,
        "sources": False,
        "pinned": False,
    },
    "request": {
        "created_at": True,
        "updated_at": True,
        "status": True,
        "trust": True,
        "sources": False,
        "pinned": False,
    },
    "summary": {"updated_at": True, "sources": False, "pinned": False},
    "knowledge": {
        "kind": True,
        "description": False,
        "model_invocation": False,
        "user_invocable": False,
        "last_sources": False,
        "created_at": True,
        "updated_at": True,
        "trust": True,
        "pinned": False,
    },
}
_BLANK_LINES: Final = re.compile(r"\A(?:[ \t]*\n)+")
#: The specification's spelling of a key, read too.
_OLD_SPELLINGS: Final = {"model_invokation": "model_invocation"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A parsed record. Fields that its kind does not have keep their defaults."""

    kind: RecordKind
    #: Relative to `.hikidashi/`: `memory/decisions/<slug>.md`.
    path: str
    #: The file name without `.md`; for the summary, `summary`.
    slug: str
    #: Markdown below the front matter, always in the form of `normal_body`.
    body: str
    created_at: str = ""
    updated_at: str = ""
    #: decision: open, resolved, replaced. request: open, done, withdrawn.
    status: str = ""
    #: Slug of the decision that replaced this one.
    replaced_by: str = ""
    trust: str = ""
    #: `sources`, for knowledge `last_sources`; the summary has those of the program's lines.
    sources: tuple[Source, ...] = ()
    #: A person pinned it: protected (design section 6, "Protection").
    pinned: bool = False
    #: Knowledge: term, policy, rule, fact, know-how.
    knowledge_kind: str = ""
    description: str = ""
    model_invocation: bool = False
    user_invocable: bool = True
    #: Front matter keys that we do not know; written back as they were.
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "body", normal_body(self.body))

    @property
    def title(self) -> str:
        """The first heading of the body, else its first line that is not empty, else the slug."""
        for line in self.body.splitlines():
            text = line.lstrip("#").strip()
            if text:
                return text
        return self.slug


class RecordError(LintErrors):
    """A file is not a record; `findings` say where and why, the message is the first of them."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        first = findings[0]
        super().__init__(f"{first.path}:{first.line}: {first.code} {first.message}")
        self.findings = findings


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file of a record's place holds: the record unless there are errors, and all findings."""

    record: Record | None
    findings: tuple[Finding, ...]
    #: 1-based line of the file on which the body's first line stands.
    body_line: int = 1
    #: Key -> 1-based line, for findings about one key.
    lines: Mapping[str, int] = field(default_factory=dict)


def normal_body(text: str) -> str:
    """`text` with LF line ends, no empty lines around it and one newline at the end; '' when nothing is left."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "replace").decode("utf-8")
    text = _BLANK_LINES.sub("", text).rstrip(" \t\n")
    return text + "\n" if text else ""


@lru_cache(maxsize=REMEMBERED)
def record_kind(path: str) -> RecordKind | None:
    """The kind of record whose place is `path`; None when no record belongs there."""
    if path == SUMMARY:
        return "summary"
    folder, _, name = path.rpartition("/")
    return _FOLDERS.get(folder) if name.endswith(".md") else None


def record_path(kind: RecordKind, slug: str) -> str:
    """Where the record of `kind` and `slug` is kept, relative to `.hikidashi/`."""
    if kind == "summary":
        return SUMMARY
    folder = next(folder for folder, other in _FOLDERS.items() if other == kind)
    return f"{folder}/{slug}.md"


def parse_record(path: str, data: bytes) -> Record:
    """The record in `data`. Raises `RecordError` with all findings when it breaks a rule of the format."""
    parsed = read_record(path, data)
    if parsed.record is None:
        raise RecordError(tuple(f for f in parsed.findings if f.severity == "error"))
    return parsed.record


@lru_cache(maxsize=REMEMBERED)
def read_record(path: str, data: bytes) -> Parsed:
    """The record in `data` if it is one, and what is wrong; kept for the next time the same bytes come."""
    kind = record_kind(path)
    if kind is None:
        return Parsed(None, (found("H117", path, 0, "no record has its place here"),))
    try:
        text = _decode(data)
        front, body, body_line = split_record(text)
        fields = read_front_matter(front)
    except FrontMatterError as exc:
        return Parsed(None, (found(exc.code, path, exc.line, exc.what),))
    reader = _Fields(kind, path, fields)
    reader.findings += _editor_findings(path, data)
    record = reader.record(body)
    lines = {key: value.line for key, value in fields.items()}
    broken = any(finding.severity == "error" for finding in reader.findings)
    blank = _BLANK_LINES.match(body)
    body_line += blank.group().count("\n") if blank else 0
    return Parsed(None if broken else record, tuple(sorted(reader.findings)), body_line, lines)


def render_record(record: Record) -> bytes:
    """The file of `record`: the keys of its kind in their order, unknown keys after them, an empty line, the body."""
    values: dict[str, Any] = {}
    for key in _KEYS[record.kind]:
        if key in ("sources", "last_sources"):
            if record.sources or record.kind != "summary":
                values[key] = [_source_values(source) for source in record.sources]
        elif key == "kind":
            values[key] = record.knowledge_kind
        elif key == "replaced_by" or key == "pinned":
            if getattr(record, key):
                values[key] = getattr(record, key)
        else:
            values[key] = getattr(record, key)
    values.update(record.extra)
    body = f"\n{record.body}" if record.body else ""
    return f"---\n{write_front_matter(values)}---\n{body}".encode("utf-8", "replace")


def _source_values(source: Source) -> dict[str, Any]:
    values: dict[str, Any] = source.to_dict()
    values["lines"], values["uuids"] = Pair(source.lines), Pair(source.uuids)
    return values


def record_text(data: bytes) -> str:
    """The text of a record's file with LF line ends, without a byte order mark. Raises `UnicodeDecodeError`.

    What editors on other systems add is no reason to shut a record: it is read, and gone once a run writes it.
    """
    return data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _decode(data: bytes) -> str:
    try:
        return record_text(data)
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise FrontMatterError("H101", line, f"byte {exc.start:,} is not UTF-8") from exc


def _editor_findings(path: str, data: bytes) -> list[Finding]:
    findings = []
    if data.startswith(b"\xef\xbb\xbf"):
        findings.append(found("H208", path, 1, "the file starts with a byte order mark"))
    if b"\r" in data:
        findings.append(found("H209", path, data.count(b"\n", 0, data.index(b"\r")) + 1, "a carriage return"))
    return findings


class _Fields:
    """Reads a record's values from its front matter, noting what is wrong."""

    def __init__(self, kind: RecordKind, path: str, fields: dict[str, Field]) -> None:
        self._kind = kind
        self._path = path
        self._fields = dict(fields)
        self.findings: list[Finding] = []
        for old, key in _OLD_SPELLINGS.items():
            if kind == "knowledge" and old in self._fields:
                if key in self._fields:
                    self._wrong("H107", self._fields[old].line, f"{old} beside {key}")
                self._fields[key] = self._fields.pop(old)

    def record(self, body: str) -> Record:
        """The record; only to be used when no finding is an error."""
        keys = _KEYS[self._kind]
        for key, needed in keys.items():
            present = self._fields.get(key)
            if needed and not self._text(key) and (present is None or present.text is not None):
                self._wrong("H108", 1, f"the front matter has no {key}")
        for key in ("created_at", "updated_at"):
            self._check_time(key)
        self._check_choice("status", _STATUSES.get(self._kind, ()))
        self._check_choice("trust", TRUSTS)
        if self._kind == "knowledge":
            self._check_choice("kind", _KNOWLEDGE_KINDS)
        self._check_replaced()
        extra = {key: value.value for key, value in self._fields.items() if key not in keys}
        for key in extra:
            self._wrong("H206", self._fields[key].line, f"a {self._kind} has no key {key[:80]}")
        return Record(
            kind=self._kind,
            path=self._path,
            slug=self._path.rpartition("/")[2].removesuffix(".md"),
            body=body,
            created_at=self._text("created_at"),
            updated_at=self._text("updated_at"),
            status=self._text("status"),
            replaced_by=self._text("replaced_by"),
            trust=self._text("trust"),
            sources=self._sources("last_sources" if self._kind == "knowledge" else "sources"),
            pinned=self._flag("pinned", default=False),
            knowledge_kind=self._text("kind"),
            description=self._text("description"),
            model_invocation=self._flag("model_invocation", default=False),
            user_invocable=self._flag("user_invocable", default=True),
            extra=extra,
        )

    def _wrong(self, code: str, line: int, what: str) -> None:
        finding = found(code, self._path, line, what)
        if finding not in self.findings:
            self.findings.append(finding)

    def _text(self, key: str) -> str:
        """A text as it was written; '' when the key is not there, has no value or is not this kind's."""
        value = self._fields.get(key)
        if value is None or value.value is None or key not in _KEYS[self._kind]:
            return ""
        if value.text is None:
            self._wrong("H109", value.line, f"{key} is not a text")
            return ""
        return value.text

    def _flag(self, key: str, *, default: bool) -> bool:
        value = self._fields.get(key)
        if value is None or value.value is None or key not in _KEYS[self._kind]:
            return default
        if not isinstance(value.value, bool):
            self._wrong("H109", value.line, f"{key} is neither true nor false")
            return default
        return value.value

    def _check_choice(self, key: str, choices: tuple[str, ...]) -> None:
        text = self._text(key)
        if text and text not in choices:
            self._wrong("H109", self._fields[key].line, f"{key} is {text[:80]!r}, none of {', '.join(choices)}")

    def _check_time(self, key: str) -> None:
        text = self._text(key)
        if text:
            try:
                parse_time(text)
            except (ValueError, OverflowError):
                self._wrong("H110", self._fields[key].line, f"{key} is {text[:80]!r}")

    def _check_replaced(self) -> None:
        replaced, by = self._text("status") == "replaced", self._text("replaced_by")
        if replaced and not by:
            self._wrong("H112", self._fields["status"].line, "nothing says which decision replaced it")
        if by and not replaced and self._kind == "decision":
            self._wrong("H113", self._fields["replaced_by"].line, f"replaced_by is {by[:80]!r}, but the status is not")

    def _sources(self, key: str) -> tuple[Source, ...]:
        value = self._fields.get(key)
        if value is None or value.value is None:
            return ()
        if not isinstance(value.value, list):
            self._wrong("H109", value.line, f"{key} is not a list")
            return ()
        sources = []
        for number, row in enumerate(value.value, start=1):
            try:
                sources.append(Source.from_dict(row))
            except (ValueError, OverflowError) as exc:
                self._wrong("H111", value.line, f"row {number} of {key}: {exc}")
        return tuple(sources)
