"""The records on disk, judged: what `hikidashi lint` and a pre-commit hook show."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from hikidashi.errors import UsageError
from hikidashi.records.finding import Finding
from hikidashi.records.library import RecordsHome, read_tree
from hikidashi.records.linter import MAX_SOURCES, lint_tree
from hikidashi.records.record import record_kind
from hikidashi.records.rules_state import FindSecrets
from hikidashi.redact import find_secrets

__all__ = ["Checked", "check_records"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was found."""

    #: Sorted by path and line.
    findings: list[Finding]
    #: How many records were looked at.
    records: int


def check_records(
    workspace: RecordsHome,
    paths: Sequence[Path] = (),
    *,
    now: datetime | None = None,
    max_sources: int = MAX_SOURCES,
    find_secrets: FindSecrets = find_secrets,
) -> Checked:
    """Judge all records, and give what concerns `paths` (files or folders; none of them: everything).

    The whole tree is judged in any case, since a record can be wrong by what another one says. Raises
    `UsageError` for a path outside `memory/` and `knowledge/`, `StorageFailure` when a file cannot be read.
    """
    wanted = [_inside(workspace, path) for path in paths]
    loaded = read_tree(workspace)
    findings = lint_tree(loaded.tree, now=now, max_sources=max_sources, find_secrets=find_secrets)
    records = [path for path in loaded.tree if record_kind(path) is not None]
    return Checked(
        findings=[f for f in sorted([*loaded.findings, *findings]) if _is_wanted(f.path, wanted)],
        records=sum(1 for path in records if _is_wanted(path, wanted)),
    )


def _inside(workspace: RecordsHome, path: Path) -> str:
    """`path` relative to `.hikidashi/`, with `/`; '' for that folder itself or the project's."""
    home = Path(os.path.realpath(workspace.home))
    # The last part is not followed: a link among the records is to be judged, not what it points to.
    place = Path(os.path.normpath(Path(os.path.realpath(path.absolute().parent)) / path.absolute().name))
    if place in (home, home.parent):
        return ""
    try:
        inner = place.relative_to(home).as_posix()
    except ValueError:
        inner = ""
    if inner.partition("/")[0] not in ("memory", "knowledge"):
        raise UsageError(f"{path} is not among this workspace's records; name files under memory/ or knowledge/")
    return inner


def _is_wanted(path: str, wanted: list[str]) -> bool:
    return not wanted or any(inner in ("", path) or path.startswith(f"{inner}/") for inner in wanted)
