"""Looking at runs that were: which one is meant, what it did to entries and records."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hikidashi.config.workspace import Workspace
from hikidashi.errors import CorruptData, UsageError
from hikidashi.records.history import FileDiff, History
from hikidashi.staging.entry import Entry
from hikidashi.worker.ledger import RunRow, last_run, run_entries, runs_like

__all__ = ["RunDetails", "find_run", "run_details", "run_form"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDetails:
    """One run with its entries' titles and what its commits changed."""

    #: As `run_form` gives it.
    run: dict[str, Any]
    #: id, disposition, record, reason, and where the entry is still known kind and title.
    entries: list[dict[str, Any]]
    #: Phase -> what its commit changed, by path.
    diffs: dict[str, list[FileDiff]]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: the run's, its entries with titles, and the changes as unified diffs."""
        diffs = {phase: [{"path": d.path, "diff": d.text} for d in files] for phase, files in self.diffs.items()}
        return {**self.run, "entries": self.entries, "diffs": diffs}


def find_run(connection: sqlite3.Connection, name: str) -> RunRow:
    """The run whose ID is `name` or begins with it; `last` is the newest. Raises `UsageError`."""
    if name == "last":
        row = last_run(connection)
        if row is None:
            raise UsageError("there was no run yet; run `hikidashi consolidate`")
        return row
    prefix = name.upper()
    if not (prefix.isalnum() and prefix.isascii() and len(prefix) <= 26):
        raise UsageError(f"{name[:60]!r} is no run; give its ID, the beginning of it, or `last`")
    rows = runs_like(connection, prefix)
    if len(rows) != 1:
        problem = "several runs begin" if rows else "no run begins"
        raise UsageError(f"{problem} with {name}; `hikidashi log` names the run of each commit")
    return rows[0]


def run_form(row: RunRow) -> dict[str, Any]:
    """A run as `show --json` and `status --json` print it: its report, with the row's outcome."""
    report: Mapping[str, Any] = row.report
    return {**report, "outcome": row.outcome, "started_at": row.started_at, "finished_at": row.finished_at or None}


def run_details(workspace: Workspace, connection: sqlite3.Connection, name: str) -> RunDetails:
    """All about the run that `name` means. Raises `UsageError`, `CorruptData`."""
    row = find_run(connection, name)
    run = run_form(row)
    known = {found["id"]: found for found in run_entries(connection, row.run_id)}
    history = History(workspace.history)
    return RunDetails(
        run=run,
        entries=[{**entry, **_titled(known.get(entry["id"]))} for entry in run.get("entries", ())],
        diffs={phase: history.diff(commit) for phase, commit in run.get("commits", {}).items()},
    )


def _titled(found: sqlite3.Row | None) -> dict[str, str]:
    """Kind and title; nothing for an entry that was staged again since, or whose content is damaged."""
    if found is None:
        return {}
    try:
        return {"kind": found["kind"], "title": Entry.from_json(found["content"]).title}
    except CorruptData:
        return {"kind": found["kind"]}
