"""What `hikidashi lint` checks: the records on disk, or some of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hikidashi.errors import UsageError
from hikidashi.records.finding import Finding
from hikidashi.records.library import RecordsHome, read_tree
from hikidashi.records.linter import lint_tree

__all__ = ["Checked", "check_records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The findings, and how many files were looked at."""

    records: int
    findings: list[Finding]


def check_records(workspace: RecordsHome, paths: Sequence[Path] = (), *, max_sources: int) -> Checked:
    """Lint the whole tree (rules look across files) and give what concerns `paths`, all when there are none.

    Raises `UsageError` for a path that lies outside `memory/` and `knowledge/`.
    """
    loaded = read_tree(workspace)
    findings = sorted([*loaded.findings, *lint_tree(loaded.tree, max_sources=max_sources)])
    wanted = [_relative(workspace.home, path) for path in paths]
    if not wanted:
        return Checked(records=len(loaded.tree), findings=findings)
    return Checked(
        records=sum(_concerns(wanted, path) for path in loaded.tree),
        findings=[finding for finding in findings if _concerns(wanted, finding.path)],
    )


def _relative(home: Path, path: Path) -> str:
    full = path.resolve()
    if not full.is_relative_to(home.resolve()):
        raise UsageError(f"{path} is not in {home}; give a record of this workspace, or no path for all of them")
    return full.relative_to(home.resolve()).as_posix()


def _concerns(wanted: Sequence[str], path: str) -> bool:
    return any(part == "." or path == part or path.startswith(f"{part}/") for part in wanted)
