"""State rules: what is wrong with a tree as it is, whoever made it so (`H1xx` and `H2xx`)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Final, Protocol

from rapidfuzz import fuzz

from hikidashi.records.finding import Finding
from hikidashi.records.library import Library
from hikidashi.records.record import (
    CLEANUP_LOG,
    REMEMBERED,
    Record,
    RecordKind,
    Tree,
    is_slug,
    read_record,
    record_kind,
    record_path,
    record_text,
)
from hikidashi.records.rules import found
from hikidashi.records.similarity import similar_pairs
from hikidashi.records.terms import terms
from hikidashi.times import parse_time

__all__ = [
    "MAX_BODY",
    "MAX_DESCRIPTION",
    "MAX_SUMMARY",
    "FindSecrets",
    "FoundSecret",
    "cross_errors",
    "file_findings",
    "tree_warnings",
]

#: Characters of the body.
MAX_SUMMARY: Final = 20_000
MAX_BODY: Final = 8_000
#: Characters of a description that stands in system prompts.
MAX_DESCRIPTION: Final = 1_024
#: A body longer than this should have more than one source.
LONG_BODY: Final = 3_000
REPLACED_DAYS: Final = 30

_WORKFLOW: Final = "memory/workflow/"
_MARKER: Final = re.compile(r"^(?:<{7}|>{7}|\|{7})(?: .*)?$", re.MULTILINE)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_DATED_SLUG: Final = re.compile(r"[a-z-]+-[0-9]{8}-[0-9a-f]{6}(?:-[0-9]+)?")
_NUMBERED: Final = re.compile(r"-[0-9]{1,2}$")
_DIGITS: Final = re.compile(r"[0-9]+")


class FoundSecret(Protocol):
    """A secret in a text, as the redactor finds it."""

    @property
    def kind(self) -> str:
        """What it is (`aws-key`, `jwt` …)."""
        ...

    @property
    def start(self) -> int:
        """Index of its first character."""
        ...


#: Gives the secrets in a text.
FindSecrets = Callable[[str], Sequence[FoundSecret]]


@lru_cache(maxsize=REMEMBERED)
def file_findings(path: str, data: bytes, find_secrets: FindSecrets) -> tuple[Finding, ...]:
    """What is wrong with one file taken alone; kept for the next time the same bytes come."""
    findings = list(_format_findings(path, data))
    try:
        text = record_text(data)
    except UnicodeDecodeError:
        if path == CLEANUP_LOG:
            findings.append(found("H101", path, 0, "the log is not UTF-8"))
        return tuple(sorted(findings))
    findings += _text_findings(path, text, find_secrets)
    return tuple(sorted(findings))


def _format_findings(path: str, data: bytes) -> Iterator[Finding]:
    if path.startswith(_WORKFLOW) or path == CLEANUP_LOG:
        return
    kind = record_kind(path)
    if kind is None:
        yield found("H117", path, 0, "no record has its place here")
        return
    name = path.rpartition("/")[2]
    if kind != "summary" and not is_slug(name.removesuffix(".md")):
        yield found("H116", path, 0, f"the file name {name[:80]!r}")
    parsed = read_record(path, data)
    yield from parsed.findings
    if parsed.record is not None:
        yield from _record_findings(parsed.record, parsed.body_line)


def _record_findings(record: Record, body_line: int) -> Iterator[Finding]:
    cap = MAX_SUMMARY if record.kind == "summary" else MAX_BODY
    if len(record.body) > cap:
        yield found(
            "H122", record.path, body_line, f"the body has {len(record.body):,} characters, {cap:,} are allowed"
        )
    if record.model_invocation and len(record.description) > MAX_DESCRIPTION:
        yield found("H123", record.path, 1, f"the resident description has {len(record.description):,} characters")
    if record.model_invocation and not record.description.strip():
        yield found("H124", record.path, 1, "nothing could be put into a system prompt")


def _text_findings(path: str, text: str, find_secrets: FindSecrets) -> Iterator[Finding]:
    for match in _MARKER.finditer(text):
        yield found("H119", path, _line(text, match.start()), "a merge marker")
    if not path.startswith(_WORKFLOW):
        control = _CONTROL.search(text)
        if control is not None:
            yield found("H121", path, _line(text, control.start()), f"the character U+{ord(control.group()):04X}")
    for secret in find_secrets(text):
        yield found("H120", path, _line(text, secret.start), f"it looks like a secret ({secret.kind})")


def _line(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def cross_errors(library: Library, tree: Tree) -> list[Finding]:
    """Errors that show only in several files together."""
    return [*_replaced_errors(library, tree), *_case_errors(tree)]


def _replaced_errors(library: Library, tree: Tree) -> Iterator[Finding]:
    following = {
        parsed.record.slug: parsed.record.replaced_by
        for parsed in library.parsed.values()
        if parsed.record is not None and parsed.record.replaced_by
    }
    for slug, by in following.items():
        path = record_path("decision", slug)
        line = library.parsed[path].lines["replaced_by"]
        if record_path("decision", by) not in tree:
            yield found("H114", path, line, f"there is no decision {by[:80]!r}")
            continue
        seen, at = {slug}, by
        while at not in seen and at in following:
            seen.add(at)
            at = following[at]
        if at == slug:
            yield found("H115", path, line, f"{slug} comes back to itself by way of {by}")


def _case_errors(tree: Tree) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for path in tree:
        other = first.setdefault(path.lower(), path)
        if other != path:
            one, two = sorted((path, other))
            yield found("H118", two, 0, f"beside {one}")


def tree_warnings(library: Library, *, now: datetime, max_sources: int) -> Iterator[Finding]:
    """What clean-up should look at."""
    slugs = library.slugs
    for record in library.records():
        yield from _record_warnings(record, library, now, max_sources)
        for slug, line in library.references(record.path):
            if slug not in slugs and "-" in slug:  # a word after a `#` is more often a tag
                yield found("H207", record.path, line, f"nothing is named #{slug}")
    yield from _similar_slugs(library)
    yield from _similar_bodies(library)


def _record_warnings(record: Record, library: Library, now: datetime, max_sources: int) -> Iterator[Finding]:
    parsed = library.parsed[record.path]
    if record.kind != "summary" and len(record.sources) > max_sources:
        line = parsed.lines.get("sources", parsed.lines.get("last_sources", 1))
        yield found("H201", record.path, line, f"{len(record.sources)} sources, more than {max_sources}")
    if record.status == "replaced":
        days = (now - parse_time(record.updated_at)).days
        if days > REPLACED_DAYS:
            yield found("H203", record.path, parsed.lines["status"], f"replaced {days} days ago")
    if record.kind != "summary" and len(record.sources) == 1 and len(record.body) > LONG_BODY:
        yield found("H204", record.path, parsed.body_line, f"{len(record.body):,} characters")


def _similar_slugs(library: Library) -> Iterator[Finding]:
    by_kind: dict[RecordKind, list[str]] = defaultdict(list)
    for record in library.records():
        if record.kind != "summary" and not _DATED_SLUG.fullmatch(record.slug):
            by_kind[record.kind].append(record.slug)
    for kind, slugs in by_kind.items():
        slugs.sort(key=lambda slug: (len(slug), slug))  # `x` before `x-2`
        alike = partial(_slugs_are_alike, slugs)
        for one, two in similar_pairs([_trigrams(slug) for slug in slugs], 0.6, alike):
            path = record_path(kind, slugs[two])
            yield found("H202", path, 0, f"{slugs[two]} is much like {slugs[one]}")


@lru_cache(maxsize=REMEMBERED)
def _trigrams(slug: str) -> frozenset[str]:
    # A number at the end says that the slug was taken; it must not hide that the rest is the same.
    padded = f"^{_NUMBERED.sub('', slug)}$"
    return frozenset(padded[i : i + 3] for i in range(len(padded) - 2))


def _slugs_are_alike(slugs: Sequence[str], one: int, two: int) -> bool:
    base, other = _NUMBERED.sub("", slugs[one]), _NUMBERED.sub("", slugs[two])
    if base == other:
        return base in (slugs[one], slugs[two])  # `x` and `x-2`, but not `step-1` and `step-2`
    same_numbers = _DIGITS.findall(base) == _DIGITS.findall(other)
    same_words = sorted(base.split("-")) == sorted(other.split("-"))
    return same_numbers and (same_words or fuzz.ratio(base, other, score_cutoff=85) > 0)


@lru_cache(maxsize=REMEMBERED)
def _term_set(body: str) -> frozenset[str]:
    return frozenset(terms(body))


def _similar_bodies(library: Library) -> Iterator[Finding]:
    records = [
        record
        for record in library.records()
        # A decision and the one that replaced it are alike by nature.
        if record.kind != "summary" and record.status != "replaced" and len(_term_set(record.body)) >= 5
    ]
    bodies = [record.body for record in records]
    pairs = similar_pairs(
        [_term_set(body) for body in bodies],
        0.8,
        lambda one, two: fuzz.ratio(bodies[one], bodies[two], score_cutoff=90) > 0,
    )
    for one, two in pairs:
        share = fuzz.ratio(bodies[one], bodies[two])
        yield found("H205", records[two].path, 0, f"its body is {share:.0f} % that of {records[one].path}")
