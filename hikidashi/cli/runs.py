"""How a run is shown, by every command that shows one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from hikidashi.cli.output import amount, note, say, table
from hikidashi.worker.report import RunReport

__all__ = ["operation_row", "show_entries", "show_run"]

#: Records listed after a run; `hikidashi show` lists all.
_RECORDS_SHOWN: Final = 12


def show_run(run: RunReport, *, details: bool = True) -> None:
    """Print one run: how it ended, and with `details` which records its entries went to, what
    clean-up did and why."""
    good = run.outcome in ("done", "idle")
    if run.consumed:
        head = f"{run.outcome}: {amount(run.consumed, 'entry', 'entries')} worked in, {run.seconds:.1f} s"
        say(head if good else f"{head}; {run.message}", "bold green" if good else "bold yellow")
    else:
        said = "" if run.outcome == "done" else run.message
        said = said or (f"{amount(len(run.operations), 'clean-up operation')}" if run.outcome == "done" else "")
        say(f"{run.outcome}: {said}" if said else run.outcome, "bold" if good else "bold yellow")
    if details:
        _show_records(run)
        table(("clean-up", "what and why"), [operation_row(asdict(operation)) for operation in run.operations])
    for line in (*run.recovered, *run.notices):
        note(line)


def _show_records(run: RunReport) -> None:
    counts = Counter((d.kind, d.record or d.reason) for d in run.dispositions)
    rows = [(kind, f"{where} (×{number})" if number > 1 else where) for (kind, where), number in sorted(counts.items())]
    table(("", ""), rows[:_RECORDS_SHOWN])
    if len(rows) > _RECORDS_SHOWN:
        say(f"… and {len(rows) - _RECORDS_SHOWN} more: `hikidashi show {run.run_id[:12]}`")


def operation_row(operation: Mapping[str, Any]) -> tuple[str, str]:
    """A clean-up operation in `RunReport.to_dict`'s form as a row: kind; records, categories and reason."""
    into = f" into {', '.join(operation['into'])}" if operation["into"] else ""
    why = f"{', '.join(operation['categories'])}: {operation['reason']}"
    return operation["op"], f"{', '.join(operation['paths'])}{into}\n{why}"


def show_entries(entries: Iterable[Mapping[str, Any]]) -> None:
    """Print what became of each entry of a run."""
    rows = []
    for entry in entries:
        where = " ".join(part for part in (entry["record"], entry["reason"]) if part)
        title = entry.get("title") or entry["id"]
        rows.append((entry["disposition"], entry.get("kind", ""), f"{title}\n→ {where}" if where else title))
    table(("became", "kind", "entry"), rows)
