"""Whether an engine said truly what became of each entry (design section 6, step 5).

A run deletes the entries that it consumed, so a disposition is believed only where the trees bear it out.
The lines are written for whoever must mend the call: a model gets them as the result of its finish tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hikidashi.errors import HikidashiError
from hikidashi.records.record import Record, Tree, parse_record
from hikidashi.source import Source
from hikidashi.staging.entry import Disposition, Entry

__all__ = ["check_dispositions"]


def check_dispositions(
    dispositions: Sequence[Disposition], entries: Sequence[Entry], before: Tree, after: Tree
) -> list[str]:
    """What is wrong with `dispositions`, one line each; [] when every entry has one that holds.

    `before` is the tree at the run's snapshot, `after` the scratch now.
    """
    known = {entry.id: entry for entry in entries}
    counted = Counter(d.entry_id for d in dispositions)
    lines = [
        f"{i}: no disposition; give one of applied, merged, duplicate, covered, discarded"
        for i in known
        if i not in counted
    ]
    lines += [f"{i}: is no entry of this run; take it out" for i in counted if i not in known]
    lines += [f"{i}: has {n} dispositions; give one" for i, n in counted.items() if n > 1 and i in known]
    for disposition in dispositions:
        entry = known.get(disposition.entry_id)
        problem = "" if entry is None else _problem(disposition, entry, before, after)
        if problem:
            lines.append(f"{disposition.entry_id}: {problem}")
    return lines


def _problem(disposition: Disposition, entry: Entry, before: Tree, after: Tree) -> str:
    kind, path = disposition.kind, disposition.record
    if kind == "discarded":
        return "" if disposition.reason.strip() else "discarded without a reason; say why nothing of it is kept"
    if not path:
        return f"{kind} without a record; name the record that carries it"
    if path.startswith("memory/workflow/") or path == "memory/cleanup-log.md":
        return f"{kind} in {path}, which is no record; name the record that carries it"
    if kind in ("applied", "merged"):
        return _taken_in(kind, path, entry.source, before, after)
    if path not in before:
        return f"{kind} by {path}, which did not exist when the run began; name one that did, or say applied"
    return "" if path in after else f"{kind} by {path}, which this run took away; name one that stays"


def _taken_in(kind: str, path: str, source: Source, before: Tree, after: Tree) -> str:
    if path not in after:
        return f"{kind} in {path}, which does not exist; write the record first"
    if after[path] == before.get(path):
        return f"{kind} in {path}, which this run did not change; write the entry into it, or say covered"
    try:
        record: Record = parse_record(path, after[path])
    except HikidashiError as exc:
        return f"{kind} in {path}, which cannot be read: {exc}"
    if source not in record.sources:
        return f"{kind} in {path}, which does not carry this entry's source; name the entry when you write it"
    return ""
