"""Transition rules: what a worker may not do to a tree, whatever the tree looks like afterwards (`H3xx`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from hikidashi.records.finding import Finding
from hikidashi.records.library import Library
from hikidashi.records.record import CLEANUP_LOG, Record, Tree, read_record, record_kind
from hikidashi.records.rules import found
from hikidashi.records.terms import kept_share
from hikidashi.source import Source, Trust, trust_rank
from hikidashi.times import parse_time

__all__ = ["KEPT_SHARE", "REPORT", "Transition", "own_text", "transition_errors"]

#: A body may lose a quarter of its text, no more (design section 6, "Protection").
KEPT_SHARE: Final = 0.75

#: A row of the knowledge candidate report is named by this and its slug.
REPORT: Final = "report:"

#: From a begin marker to the end marker after it. A begin whose end a person deleted starts no region: what
#: follows is theirs, up to the begin of the next pair.
_GENERATED: Final = re.compile(
    r"^<!-- *hikidashi:(?!end)[^\n>]*-->[ \t]*$"
    r"(?:(?!^<!-- *hikidashi:(?!end)).)*?"
    r"^<!-- *(?:hikidashi:end|/hikidashi)[^\n>]*-->[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """What binds the worker in one phase of one run."""

    phase: Literal["integration", "cleanup"]
    #: The entries of this batch: ID -> source, trust, kind.
    entries: Mapping[str, tuple[Source, Trust, str]] = field(default_factory=dict)
    #: Path -> the last text that a person wrote or restored there.
    protected: Mapping[str, bytes] = field(default_factory=dict)
    #: Records that are broken, hold merge markers or a secret.
    read_only: frozenset[str] = frozenset()
    #: Slugs of the knowledge candidate report's rows.
    report: frozenset[str] = frozenset()
    #: How many losing operations (drop, merge, split) the run may still do.
    losses_left: int = 0
    now: datetime
    #: What `lint_transition` keeps between the turns of one phase; nobody else's.
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class _Change:
    """One changed record of a phase; `before` is None for a new one."""

    path: str
    before: Record | None
    after: Record
    #: Entry IDs and `report:<slug>` that were named for it.
    named: frozenset[str]


def own_text(body: str) -> str:
    """A body without the regions between our markers: what a person's protection covers.

    A region starts at a line `<!-- hikidashi:NAME -->` and ends at a line `<!-- hikidashi:end -->` (or
    `<!-- /hikidashi:NAME -->`).
    """
    return _GENERATED.sub("", body)


def transition_errors(
    context: Transition,
    changed: frozenset[str],
    before: Library,
    after: Library,
    trees: tuple[Tree, Tree],
    named: Mapping[str, frozenset[str]],
) -> Iterator[Finding]:
    """The errors of a phase that made `trees[1]` of `trees[0]`; `changed` are the paths that differ."""
    judged: dict[str, tuple[bytes | None, frozenset[str], list[Finding]]] = context.memo.setdefault("judged", {})
    for path in sorted(changed):
        names = named.get(path, frozenset())
        data = trees[1].get(path)
        known = judged.get(path)
        # In integration a file is judged by itself; what clean-up makes of one depends on the others.
        if known is None or known[0] is not data or known[1] != names or context.phase == "cleanup":
            known = judged[path] = (data, names, list(_file_errors(context, path, changed, before, trees, names)))
        yield from known[2]
        yield from _slug_errors(path, before, after, trees)
    yield from _loss_errors(context, changed, before, trees)
    yield from _reference_errors(before, after, trees[1])


def _file_errors(
    context: Transition,
    path: str,
    changed: frozenset[str],
    before: Library,
    trees: tuple[Tree, Tree],
    names: frozenset[str],
) -> Iterator[Finding]:
    """What is wrong with the change of one file."""
    data = trees[1].get(path)
    yield from _path_errors(context, path, trees[0].get(path), data, names)
    new = read_record(path, data).record if data is not None and record_kind(path) is not None else None
    old = before.get(path)
    if new is None or (old is None and path in trees[0]):
        return  # a broken file: its state errors and being read-only say it
    change = _Change(path, old, new, names)
    if old is None:
        yield from _new_file_errors(context, change)
    else:
        yield from _changed_errors(context, change, old)
    yield from _source_errors(context, change, changed, before)
    yield from _trust_errors(context, change, changed, before)


def _slug_errors(path: str, before: Library, after: Library, trees: tuple[Tree, Tree]) -> Iterator[Finding]:
    if path in trees[0] or record_kind(path) in (None, "summary"):
        return
    slug = path.rpartition("/")[2].removesuffix(".md")
    others = {*before.slugs.get(slug, ()), *after.slugs.get(slug, ())} - {path}
    if others:
        yield found("H302", path, 0, f"{slug} is the slug of {', '.join(sorted(others))}")


def _path_errors(
    context: Transition, path: str, old: bytes | None, new: bytes | None, named: frozenset[str]
) -> Iterator[Finding]:
    if path.startswith("memory/workflow/") or path == CLEANUP_LOG:
        yield found("H304", path, 0, "a run does not write here")
        return
    if path in context.read_only:
        yield found("H305", path, 0, "this record is broken or holds a secret")
    if new is None and context.phase == "integration":
        yield found("H301", path, 0, "integration deletes nothing")
    if old is not None and path in context.protected:
        yield from _protection_errors(path, context.protected[path], old, new)
    for name in sorted(named):
        is_report = name.startswith(REPORT) and name.removeprefix(REPORT) in context.report
        if name not in context.entries and not is_report:
            yield found("H319", path, 0, f"{name[:80]} is named")


def _protection_errors(path: str, text: bytes, old: bytes, new: bytes | None) -> Iterator[Finding]:
    if new is None:
        yield found("H312", path, 0, "it may not be dropped, merged away or split")
        return
    person = _body(path, text)
    kept = kept_share(person, _body(path, new))
    if kept < min(KEPT_SHARE, kept_share(person, _body(path, old))):
        yield found("H313", path, 0, f"{kept:.0%} of the person's text would be left")


def _body(path: str, data: bytes) -> str:
    record = read_record(path, data).record if record_kind(path) is not None else None
    return own_text(record.body if record is not None else data.decode("utf-8", "replace"))


def _new_file_errors(context: Transition, change: _Change) -> Iterator[Finding]:
    record, path = change.after, change.path
    if record.pinned:
        yield found("H318", path, 1, "a new record is pinned")
    if context.phase == "cleanup" or record.kind == "summary":
        return
    evidence = [context.entries[name][1] for name in change.named if name in context.entries]
    if record.kind in ("decision", "knowledge") and any(trust in ("tool", "external") for trust in evidence):
        yield found("H317", path, 0, f"a {record.kind} on the word of a tool or an outside text")
    if record.kind == "knowledge" and not any(name.removeprefix(REPORT) in context.report for name in _rows(change)):
        yield found("H315", path, 0, "no row of the report is named")


def _rows(change: _Change) -> list[str]:
    return [name for name in change.named if name.startswith(REPORT)]


def _changed_errors(context: Transition, change: _Change, old: Record) -> Iterator[Finding]:
    new, path = change.after, change.path
    if new.created_at != old.created_at:
        yield found("H310", path, 1, f"created_at was {old.created_at}")
    if parse_time(new.updated_at) < parse_time(old.updated_at):
        yield found("H311", path, 1, f"updated_at was {old.updated_at}")
    if new.pinned != old.pinned:
        yield found("H318", path, 1, f"pinned was {str(old.pinned).lower()}")
    if old.pinned and path not in context.protected:
        kept = kept_share(own_text(old.body), own_text(new.body))
        if kept < KEPT_SHARE:
            yield found("H313", path, 0, f"{kept:.0%} of the pinned text would be left")
    if context.phase == "integration" and old.kind != "summary":
        kept = kept_share(old.body, new.body)
        if kept < KEPT_SHARE:
            yield found("H303", path, 0, f"{kept:.0%} of the body would be left")


def _source_errors(context: Transition, change: _Change, changed: frozenset[str], before: Library) -> Iterator[Finding]:
    old = change.before.sources if change.before is not None else ()
    new = change.after.sources
    allowed = {context.entries[name][0] for name in change.named if name in context.entries} | set(old)
    if change.after.kind == "knowledge":
        rows = {name.removeprefix(REPORT) for name in _rows(change)} & context.report
        origins = [before.get(path) for slug in rows for path in before.slugs.get(slug, ())]
        allowed |= {source for record in origins if record is not None for source in record.sources}
    if context.phase == "cleanup" and not allowed.issuperset(new):
        allowed |= {source for record in _touched(changed, before) for source in record.sources}
    for source in dict.fromkeys(new):
        if source not in allowed:
            where = f"{source.session_id[:60]}, lines {source.lines[0]} to {source.lines[1]}"
            yield found("H306", change.path, 1, f"the source {where}")
    if change.before is None and change.after.kind != "summary":
        made_of_nothing = not change.named if context.phase == "integration" else not _touched(changed, before)
        if made_of_nothing:
            yield found("H306", change.path, 0, "a new record that is made of nothing")
    if change.after.kind != "summary":
        lost = set(old) - set(new)
        if lost and (context.phase == "integration" or not new):
            yield found("H307", change.path, 1, f"{len(lost)} of {len(old)} sources are gone")


def _touched(changed: frozenset[str], before: Library) -> list[Record]:
    """The records that a clean-up changed or deleted: what a record written in it can be made of."""
    records = [before.get(path) for path in sorted(changed)]
    return [record for record in records if record is not None]


def _trust_errors(context: Transition, change: _Change, changed: frozenset[str], before: Library) -> Iterator[Finding]:
    old, new, path = change.before, change.after, change.path
    if not new.trust:
        return
    evidence: list[str] = [
        trust
        for _, trust, kind in (context.entries[name] for name in sorted(change.named) if name in context.entries)
        if not (new.kind == "request" and kind == "attempt")  # evidence of an outcome, in a section of its own
    ]
    if context.phase == "cleanup":
        evidence = [record.trust for record in _ingredients(change, changed, before) if record.trust]
    lowest = max(map(trust_rank, evidence), default=0)
    if old is None:
        if trust_rank(new.trust) < lowest:
            yield found("H308", path, 1, f"trust {new.trust} on evidence of a lower one")
        return
    if trust_rank(new.trust) < trust_rank(old.trust):
        yield found("H308", path, 1, f"trust was {old.trust}")
    grew = new.body != old.body or new.sources != old.sources
    if grew and trust_rank(new.trust) < lowest:
        yield found("H309", path, 1, f"text of a lower trust in a record of trust {new.trust}")


def _ingredients(change: _Change, changed: frozenset[str], before: Library) -> list[Record]:
    """The records that the written one takes in: by their sources, or for a new one without any, all touched."""
    old = set(change.before.sources) if change.before is not None else set()
    gained = set(change.after.sources) - old
    if change.before is not None and not gained:
        return []
    touched = [record for record in _touched(changed, before) if record.path != change.path]
    shared = [record for record in touched if gained & set(record.sources)]
    return touched if change.before is None and not shared else shared


def _loss_errors(
    context: Transition, changed: frozenset[str], before: Library, trees: tuple[Tree, Tree]
) -> Iterator[Finding]:
    if context.phase != "cleanup":
        return
    lost = []
    for record in _touched(changed, before):
        data = trees[1].get(record.path)
        if record.pinned and data is None and record.path not in context.protected:
            yield found("H312", record.path, 0, "it is pinned and may not be dropped, merged away or split")
        shrunk = data is not None and kept_share(record.body, _whole_body(record.path, data)) < KEPT_SHARE
        if data is None or (shrunk and record.kind != "summary"):
            lost.append(record.path)
    for path in lost[max(context.losses_left, 0) :]:
        yield found("H316", path, 0, f"{len(lost)} records are lost, {max(context.losses_left, 0)} may be")


def _whole_body(path: str, data: bytes) -> str:
    record = read_record(path, data).record
    return record.body if record is not None else ""


def _reference_errors(before: Library, after: Library, tree: Tree) -> Iterator[Finding]:
    gone = before.slugs.keys() - after.slugs.keys()
    if not gone:
        return
    for path in sorted(tree):
        for slug, line in after.references(path):
            if slug in gone:
                yield found("H314", path, line, f"#{slug} named {before.slugs[slug][0]}, which is gone")
