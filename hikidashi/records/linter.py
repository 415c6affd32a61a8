"""The linter: judges a tree, or what a worker did to one (design section 7).

`lint_tree` is what `hikidashi lint` and a pre-commit hook run. `lint_transition` is what a turn of the worker
has to pass; it looks at what changed only, and stays quiet about errors that stood before in files that the
turn left alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from hikidashi.records.finding import Finding
from hikidashi.records.library import Library
from hikidashi.records.record import Tree
from hikidashi.records.rules import RULES, Rule, found
from hikidashi.records.rules_state import FindSecrets, cross_errors, file_findings, tree_warnings
from hikidashi.records.rules_transition import Transition, transition_errors
from hikidashi.redact import find_secrets
from hikidashi.times import now as system_now

__all__ = [
    "RULES",
    "Rule",
    "Transition",
    "found",
    "lint_transition",
    "lint_tree",
    "read_only_paths",
    "rules_table",
]

#: `cleanup.max_sources`' default.
MAX_SOURCES: Final = 10


def lint_tree(
    tree: Tree,
    *,
    now: datetime | None = None,
    max_sources: int = MAX_SOURCES,
    find_secrets: FindSecrets = find_secrets,
) -> list[Finding]:
    """Errors and warnings of a tree, sorted by path and line; `now` (the clock's by default) dates `H203`."""
    library = Library(tree)
    findings = [finding for path in tree for finding in file_findings(path, tree[path], find_secrets)]
    findings += cross_errors(library, tree)
    findings += tree_warnings(library, now=now or system_now(), max_sources=max_sources)
    return sorted(findings)


def lint_transition(
    context: Transition,
    before: Tree,
    after: Tree,
    named: Mapping[str, frozenset[str]],
    *,
    find_secrets: FindSecrets = find_secrets,
) -> list[Finding]:
    """The errors that a phase brought in, sorted; [] when `after` may be published.

    `named` says for each written path which entries (and `report:<slug>` rows) it takes in.
    """
    start = _start(context, before)
    changed = _changed_paths(start.tree, after)
    if not changed:
        return []
    new = start.library.changed(after, changed)
    stood: Counter[tuple[str, str]] = Counter((f.path, f.code) for f in start.cross)
    now_there = cross_errors(new, after)
    for path in changed:
        if path in before:
            stood.update((f.path, f.code) for f in file_findings(path, before[path], find_secrets))
        if path in after:
            now_there += [f for f in file_findings(path, after[path], find_secrets) if f.severity == "error"]
    errors = set(transition_errors(context, changed, start.library, new, (before, after), named))
    for finding in now_there:
        if stood[finding.path, finding.code] > 0:
            stood[finding.path, finding.code] -= 1
        else:
            errors.add(finding)
    return sorted(errors)


@dataclass(frozen=True, slots=True)
class _Start:
    """What a phase started from, judged once for all its turns."""

    tree: dict[str, bytes]
    library: Library
    cross: list[Finding]


def _start(context: Transition, before: Tree) -> _Start:
    start: _Start | None = context.memo.get("start")
    if start is None or start.tree != before:  # the same bytes objects, turn after turn: no text is compared
        tree = dict(before)
        library = Library(tree)
        context.memo.clear()
        start = context.memo["start"] = _Start(tree, library, cross_errors(library, tree))
    return start


def _changed_paths(before: Tree, after: Tree) -> frozenset[str]:
    changed = {path for path in before if path not in after}
    for path, data in after.items():
        old = before.get(path)
        if old is not data and old != data:
            changed.add(path)
    return frozenset(changed)


def read_only_paths(tree: Tree, *, find_secrets: FindSecrets = find_secrets) -> dict[str, Finding]:
    """Path -> the first error there: files that a run leaves alone until a person mends them."""
    findings = [f for path in tree for f in file_findings(path, tree[path], find_secrets)]
    findings += cross_errors(Library(tree), tree)
    errors = [finding for finding in findings if finding.severity == "error"]
    return {finding.path: finding for finding in sorted(errors, reverse=True)}


def rules_table() -> str:
    """The table of all codes in Markdown, for the documentation."""
    rows = ["| code | severity | judges | what is wrong | the mend |", "| --- | --- | --- | --- | --- |"]
    for rule in RULES.values():
        judges = "a tree" if rule.judges == "state" else "a worker's change"
        cells = (rule.code, rule.severity, judges, rule.title, rule.mend)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"
