"""Clean-up by rules (design section 6, step 7, and "Engines"): exact merges, trimmed sources, replaced chains,
requests past their days. Only what the materials cite is touched, one turn an operation, one operation a record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hikidashi.config.settings import Settings
from hikidashi.records.library import Library, references
from hikidashi.records.record import SUMMARY, Record, read_record, render_record
from hikidashi.source import Source, trust_rank
from hikidashi.times import parse_time
from hikidashi.worker.engine import CleanupMaterials
from hikidashi.worker.report import Operation
from hikidashi.worker.rules_summary import Summary
from hikidashi.worker.scratch import Scratch
from hikidashi.worker.shelf import joined_sources

__all__ = ["CleanUp", "trimmed_sources"]


def trimmed_sources(sources: Iterable[Source], limit: int) -> tuple[Source, ...]:
    """The first and the `limit - 1` newest sources, in the order in which they stood."""
    rows = list(sources)
    if len(rows) <= limit:
        return tuple(rows)
    newest = sorted(range(1, len(rows)), key=lambda i: (parse_time(rows[i].at), i))[-(limit - 1) :]
    kept = {0, *newest}
    return tuple(source for i, source in enumerate(rows) if i in kept)


class CleanUp:
    """One clean-up phase."""

    def __init__(self, scratch: Scratch, materials: CleanupMaterials, settings: Settings) -> None:
        self._scratch = scratch
        self._materials = materials
        self._max_sources = settings.cleanup.max_sources
        self._losses_left = materials.losses_left
        self._touched: set[str] = set()
        self._operations: list[Operation] = []
        library = Library(scratch.tree)
        #: Slug -> paths that name it; the records' own, kept up to date operation by operation.
        self._named_by: defaultdict[str, set[str]] = defaultdict(set)
        for path in scratch.tree:
            for slug in _names(library.get(path), library.references(path)):
                self._named_by[slug].add(path)

    def run(self) -> list[Operation]:
        """Merge and trim before drop; then the requests that nothing touches any more."""
        for group in self._materials.twins:
            self._merge(group)
        for path in self._materials.overfull:
            self._trim(path)
        for path, chain in self._materials.replaced.items():
            self._point_on(path, chain)
        for path, evidence in self._materials.aged.items():
            self._age(path, evidence)
        if self._operations:
            self._scratch.begin_turn()
            self._refresh_summary()
            self._scratch.end_turn()
        return self._operations

    def _record(self, path: str) -> Record | None:
        """The record at `path`, if this run may change it and has not done so yet."""
        if path in self._touched or path in self._materials.read_only:
            return None
        return self._record_now(path)

    def _merge(self, group: tuple[str, ...]) -> None:
        """Records that say the same become the oldest one, or the one that a person vouches for."""
        records = [record for path in group if (record := self._record(path)) is not None]
        records.sort(key=lambda r: (r.path not in self._materials.protected, parse_time(r.created_at), r.path))
        for gone in records[1:]:
            keeper = self._record_now(records[0].path)
            if keeper is None or gone.path in self._materials.protected or self._losses_left < 1:
                continue
            self._merge_pair(keeper, gone)

    def _record_now(self, path: str) -> Record | None:
        data = self._scratch.tree.get(path)
        return None if data is None else read_record(path, data).record

    def _merge_pair(self, keeper: Record, gone: Record) -> None:
        if not _as_good(keeper, gone):
            return
        joined = joined_sources(keeper.sources, gone.sources) if keeper.trust == gone.trust else keeper.sources
        merged = replace(
            keeper,
            sources=trimmed_sources(joined, max(self._max_sources, len(keeper.sources))),
            updated_at=max(keeper.updated_at, gone.updated_at, key=parse_time),
        )
        pointing = [
            replace(record, replaced_by=keeper.slug)
            for record in Library(self._scratch.tree).records("decision")
            if record.replaced_by == gone.slug
        ]
        if any(self._record(record.path) is None for record in pointing):
            return
        operation = Operation(
            op="merge",
            paths=(gone.path, *(record.path for record in pointing)),
            into=(keeper.path,),
            categories=("noisy",),
            reason=f"H205: the same text as {keeper.path}, which is older or a person's; its sources were joined"
            if joined != keeper.sources
            else f"H205: the same text as {keeper.path}, which has its sources or a higher trust",
        )
        self._do(operation, [merged, *pointing], [gone.path])

    def _trim(self, path: str) -> None:
        record = self._record(path)
        if record is None or len(record.sources) <= self._max_sources:
            return
        trimmed = replace(record, sources=trimmed_sources(record.sources, self._max_sources))
        reason = (
            f"H201: {len(record.sources)} sources, more than {self._max_sources}; "
            f"the first and the {self._max_sources - 1} newest stay"
        )
        self._do(Operation(op="trim", paths=(path,), categories=("noisy",), reason=reason), [trimmed])

    def _point_on(self, path: str, chain: tuple[str, ...]) -> None:
        """A replaced decision names the one in force, so that those between can go."""
        record = self._record(path)
        if record is None or path in self._materials.aged or len(chain) < 2 or record.replaced_by == chain[-1]:
            return
        reason = f"replaced chain: {record.replaced_by} was replaced too; {chain[-1]} is in force"
        operation = Operation(op="rewrite", paths=(path,), categories=("superseded",), reason=reason)
        self._do(operation, [replace(record, replaced_by=chain[-1])])

    def _age(self, path: str, evidence: str) -> None:
        record = self._record(path)
        if record is None:
            return
        if record.kind == "request" and record.status == "open":
            if record.pinned:
                return
            operation = Operation(op="rewrite", paths=(path,), categories=("outdated",), reason=evidence)
            self._do(operation, [replace(record, status="withdrawn")])
            return
        if record.status not in ("replaced", "done") or path in self._materials.protected or self._losses_left < 1:
            return
        category = "superseded" if record.kind == "decision" else "outdated"
        self._do(Operation(op="drop", paths=(path,), categories=(category,), reason=evidence), gone=[path])

    def _do(self, operation: Operation, writes: Iterable[Record] = (), gone: Iterable[str] = ()) -> None:
        """One operation as one turn; one that the linter returns is left undone, for its record is still needed."""
        lost, written = tuple(gone), tuple(writes)
        if self._still_named(lost, {record.path: record for record in written}):
            return
        self._scratch.begin_turn()
        for record in written:
            self._scratch.write(record.path, render_record(record).decode("utf-8"))
        for path in lost:
            self._scratch.delete(path)
        if operation.op == "merge":  # the summary may name the one that goes
            self._refresh_summary()
        if self._scratch.end_turn():
            return
        self._losses_left -= len(lost)
        self._touched.update(operation.paths, operation.into)
        self._operations.append(operation)
        for paths in self._named_by.values():
            paths.difference_update(lost)
        for record in written:
            for paths in self._named_by.values():
                paths.discard(record.path)
            for slug in _names(record, references(record.body)):
                self._named_by[slug].add(record.path)

    def _still_named(self, lost: tuple[str, ...], written: Mapping[str, Record]) -> bool:
        """Whether a file that stays refers to one that goes; the summary's own lists follow by themselves."""
        for path in lost:
            slug = path.rpartition("/")[2].removesuffix(".md")
            for other in self._named_by[slug] - set(lost):
                if other == SUMMARY:
                    if slug in Summary.read(self._scratch.tree).persons_references():
                        return True
                    continue
                record = written.get(other)
                if record is None or slug in _names(record, references(record.body)):
                    return True
        return False

    def _refresh_summary(self) -> None:
        """The summary's lists follow the records; only where our block stands already."""
        tree = self._scratch.tree
        if SUMMARY in self._materials.read_only or SUMMARY not in tree:
            return
        summary = Summary.read(tree)
        text = summary.text(Library(tree).records()) if summary.has_block else None
        if text is not None and text.encode("utf-8") != tree[SUMMARY]:
            self._scratch.write(SUMMARY, text)


def _names(record: Record | None, cited: Iterable[tuple[str, int]]) -> set[str]:
    """The slugs that a file names."""
    slugs = {slug for slug, _ in cited}
    if record is not None and record.replaced_by:
        slugs.add(record.replaced_by)
    return slugs


def _as_good(keeper: Record, gone: Record) -> bool:
    """Whether nothing is lost when `gone` goes: same place in the order of things, and no higher trust."""
    return (
        keeper.kind == gone.kind
        and keeper.status == gone.status
        and keeper.replaced_by == gone.replaced_by
        and not gone.pinned
        and trust_rank(keeper.trust) <= trust_rank(gone.trust)
        and dict(_known(keeper)) == dict(_known(gone))
    )


def _known(record: Record) -> Mapping[str, object]:
    return {"kind": record.knowledge_kind, "invoke": record.model_invocation, "extra": record.extra}
