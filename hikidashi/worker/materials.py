"""What is put before an engine (design section 6, steps 3 and 7), and the linter bound to one phase of a run.

Knowledge is never among the materials (an engine searches it), nor are cleanup-log and workflow.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Final, Literal

from hikidashi.config.settings import Settings
from hikidashi.model.tokens import estimate_tokens
from hikidashi.records.finding import Finding
from hikidashi.records.library import Library
from hikidashi.records.linter import Transition, lint_transition, read_only_paths
from hikidashi.records.record import REMEMBERED, SUMMARY, Record, Tree, normal_body
from hikidashi.staging.entry import Entry
from hikidashi.times import parse_time
from hikidashi.worker.choice import content
from hikidashi.worker.engine import CleanupMaterials, Materials, ReportRow
from hikidashi.worker.scratch import Lint

__all__ = ["build_cleanup_materials", "build_materials", "index_line", "make_lint"]

#: Words of an entry that are compared with the records.
_MAX_ENTRY_CHARACTERS: Final = 4_000
#: A record that has an entry's session counts as this many shared rare words.
_SESSION_WEIGHT: Final = 10.0


def make_lint(
    phase: Literal["integration", "cleanup"],
    *,
    now: datetime,
    entries: Iterable[Entry] = (),
    protected: Mapping[str, bytes] | None = None,
    read_only: Collection[str] = (),
    report: Iterable[ReportRow] = (),
    losses_left: int = 0,
) -> Lint:
    """The linter for a scratch in one phase: gives the errors that the phase brought in."""
    context = Transition(
        phase=phase,
        entries={entry.id: (entry.source, entry.trust, entry.kind) for entry in entries},
        protected=dict(protected or {}),
        read_only=frozenset(read_only),
        report=frozenset(row.slug for row in report),
        losses_left=losses_left,
        now=now,
    )
    return partial(lint_transition, context)


def build_materials(
    entries: Sequence[Entry],
    tree: Tree,
    settings: Settings,
    report: Sequence[ReportRow] = (),
    *,
    refused: Mapping[str, Finding] | None = None,
) -> Materials:
    """The entries, and which records of `memory/` are given in full text up to `worker.memory_tokens`.

    The summary comes first, then records near the entries (their session, shared rare words), then open ones, the
    latest first; the others get one index line each as far as a tenth of the tokens goes. What is left out is said.
    `refused` are the paths that could not be read into `tree`; a run must not write there either.
    """
    shut = {**(refused or {}), **read_only_paths(tree)}
    records = [r for r in Library(tree).records() if r.kind != "knowledge" and r.path not in shut]
    order = sorted(records, key=_urgency(entries, records))
    room = settings.worker.memory_tokens
    index_room = room // 10
    full: list[str] = []
    index: list[str] = []
    left_out = 0
    for record in order:
        cost = estimate_tokens(tree[record.path].decode("utf-8"))
        line_cost = estimate_tokens(index_line(record))
        if cost <= room - index_room:
            full.append(record.path)
            room -= cost
        elif line_cost <= index_room:
            index.append(record.path)
            room -= line_cost
            index_room -= line_cost
        else:
            left_out += 1
    return Materials(
        entries=tuple(entries),
        full=tuple(full),
        index=tuple(index),
        report=tuple(report),
        read_only=frozenset(shut),
        notices=(*_shut_notices(shut), *_size_notices(len(full), len(index), left_out)),
    )


def index_line(record: Record) -> str:
    """One line for a record that is not given in full: path, status, title."""
    return f"{record.path} ({record.status or record.kind}): {record.title}"


def _shut_notices(shut: Mapping[str, Finding]) -> list[str]:
    return [
        f"{path} is read-only to the worker: line {f.line}, {f.code} {f.message}" for path, f in sorted(shut.items())
    ]


def _size_notices(full: int, index: int, left_out: int) -> list[str]:
    if not index and not left_out:
        return []
    said = f"{full} records were read in full, {index} by title"
    rest = f", {left_out} can only be found by search" if left_out else ""
    return [f"{said}{rest}: raise worker.memory_tokens to read more in full"]


@lru_cache(maxsize=REMEMBERED)
def _words(body: str) -> frozenset[str]:
    return frozenset(content(body))


class _urgency:  # noqa: N801  # a sort key with a table of its own
    """Sort key: the summary, then near records by nearness, then open ones, the latest first, then the others."""

    def __init__(self, entries: Sequence[Entry], records: Sequence[Record]) -> None:
        frequency = Counter(word for record in records for word in _words(record.body))
        wanted: defaultdict[str, float] = defaultdict(float)
        for entry in entries:
            for word in set(content(f"{entry.title}\n{entry.body}\n{entry.topic}"[:_MAX_ENTRY_CHARACTERS])):
                if frequency[word]:
                    wanted[word] = math.log(1 + len(records) / frequency[word])
        self._wanted = wanted
        self._sessions = {(entry.source.host, entry.source.session_id) for entry in entries}

    def _nearness(self, record: Record) -> float:
        near = sum(self._wanted[word] for word in _words(record.body) if word in self._wanted)
        if any((source.host, source.session_id) in self._sessions for source in record.sources):
            near += _SESSION_WEIGHT
        return near

    def __call__(self, record: Record) -> tuple[object, ...]:
        # a word or two in common is chance; nearness counts in steps so that recency settles the rest
        near = 0 if record.path == SUMMARY else -(self._nearness(record) // 4)
        late = -parse_time(record.updated_at).timestamp()
        return (record.path != SUMMARY, near, record.status != "open", late, record.path)


def build_cleanup_materials(
    tree: Tree,
    findings: Iterable[Finding],
    protected: Collection[str],
    losses_left: int,
    settings: Settings,
    now: datetime,
    *,
    refused: Collection[str] = (),
    touched: Mapping[str, str] | None = None,
) -> CleanupMaterials:
    """What clean-up may act on: the linter's warnings, twins, replaced chains, overfull sources, aged records.

    `findings` are those of `lint_tree`, `refused` the paths that could not be read into `tree`, `touched` says when
    a person wrote a record: who sets a status by hand seldom moves `updated_at`. A time in the future (a clock that
    was set back) makes nothing aged.
    """
    library = Library(tree)
    warnings: defaultdict[str, list[str]] = defaultdict(list)
    for finding in findings:
        if finding.severity == "warning" and finding.code not in warnings[finding.path]:
            warnings[finding.path].append(finding.code)
    shut = frozenset(read_only_paths(tree)).union(refused)
    limit = settings.cleanup.max_sources
    records = [r for r in library.records() if r.path not in shut and r.kind in ("decision", "request")]
    chains = {path: chain for path, chain in library.replaced_chains.items() if path not in shut}
    return CleanupMaterials(
        warnings={path: tuple(codes) for path, codes in sorted(warnings.items()) if codes},
        replaced=chains,
        overfull=tuple(r.path for r in records if len(r.sources) > limit),
        twins=_twins(records),
        aged=_aged(records, chains, protected, touched or {}, settings, now),
        protected=frozenset(protected),
        read_only=shut,
        losses_left=losses_left,
    )


def _twins(records: Iterable[Record]) -> tuple[tuple[str, ...], ...]:
    groups: defaultdict[tuple[str, str, str, str], list[Record]] = defaultdict(list)
    for record in records:
        body = " ".join(normal_body(record.body).split())
        if body:
            groups[record.kind, record.status, record.replaced_by, body].append(record)
    rows = [sorted(group, key=_age_order) for group in groups.values() if len(group) > 1]
    return tuple(sorted(tuple(record.path for record in group) for group in rows))


def _age_order(record: Record) -> tuple[datetime, str]:
    return parse_time(record.created_at), record.path


def _aged(
    records: Iterable[Record],
    chains: Mapping[str, Sequence[str]],
    protected: Collection[str],
    touched: Mapping[str, str],
    settings: Settings,
    now: datetime,
) -> dict[str, str]:
    """Path -> the evidence in words; of a chain, the decision that was replaced first comes first."""
    days_of: dict[tuple[str, str], int] = {
        ("decision", "replaced"): settings.cleanup.replaced_days,
        ("request", "done"): settings.cleanup.done_days,
        ("request", "open"): settings.cleanup.withdrawn_days,
    }
    rows: list[tuple[int, str, str]] = []
    for record in records:
        limit = days_of.get((record.kind, record.status))
        at = max(parse_time(record.updated_at), parse_time(touched.get(record.path, record.updated_at)))
        days = (now - at).days
        if limit is None or days <= limit or (record.status != "open" and record.path in protected):
            continue
        since = f"since {at.date()}, {days} days, more than {limit}"
        if record.status == "replaced":
            words = f"replaced chain: replaced by {record.replaced_by} {since}"
        else:
            words = f"done {since}" if record.status == "done" else f"untouched {since}"
        rows.append((-len(chains.get(record.path, ())), record.path, words))
    return {path: words for _, path, words in sorted(rows)}
