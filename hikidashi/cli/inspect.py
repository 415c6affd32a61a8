"""`lint`, `log` and `show`: looking at records and runs, without changing anything."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hikidashi.capture.model_report import ExtractionRow, find_extraction
from hikidashi.cli.context import Opened, opened
from hikidashi.cli.extractions import show_reading_details
from hikidashi.cli.output import amount, emit_json, json_option, say, shown_time, table
from hikidashi.cli.runs import operation_row, show_entries
from hikidashi.errors import LintErrors, UsageError
from hikidashi.records.check import check_records
from hikidashi.records.history import Commit, FileDiff, History
from hikidashi.worker.runs import RunDetails, run_details

__all__ = ["lint_command", "log_command", "show_command", "show_commit", "show_diffs"]

#: Characters of a commit's and of a run's ID that are shown; both commands take a beginning.
_COMMIT_SHOWN = 10
_RUN_SHOWN = 12

#: An entry's ID before what became of it: for programs.
_ENTRY_ID = re.compile(r"^[0-9A-HJKMNP-TV-Z]{26} ")


@click.command("lint")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(exists=True, path_type=Path))
@json_option
@click.pass_context
def lint_command(ctx: click.Context, paths: tuple[Path, ...], as_json: bool) -> None:
    """Check the records, or only those of PATH (files or folders in .hikidashi/memory/ or knowledge/).

    Exit code 7 when there are errors. The codes are explained in docs/linter.md.
    """
    with opened() as here:
        checked = check_records(here.workspace, paths, max_sources=here.settings.cleanup.max_sources)
    errors = [finding for finding in checked.findings if finding.severity == "error"]
    if as_json:
        findings = [finding.to_dict() for finding in checked.findings]
        emit_json({"records": checked.records, "errors": len(errors), "findings": findings})
    else:
        found = sorted(checked.findings, key=lambda finding: finding.severity != "error")  # errors first
        table(
            ("severity", "code", "where and what"),
            [
                (f.severity, f.code, f"{f.path}:{f.line}\n{f.message}" if f.line else f"{f.path}\n{f.message}")
                for f in found
            ],
        )
        counted = f"{amount(len(errors), 'error')}, {amount(len(found) - len(errors), 'warning')}"
        say(f"{amount(checked.records, 'record')} checked: {counted}.", "bold red" if errors else "bold")
    if errors:
        ctx.exit(LintErrors.exit_code)


@click.command("log")
@click.option("-p", "--patch", is_flag=True, help="Show the reasons and the changes too.")
@click.option("-n", "--number", type=click.IntRange(min=1), default=20, show_default=True, help="How many commits.")
@json_option
def log_command(patch: bool, number: int, as_json: bool) -> None:
    """The history of the records, newest first: when, by whom, in which run, what."""
    with opened() as here:
        history = History(here.workspace.history)
        commits = history.log(number)
        diffs = {commit.id: history.diff(commit.id) for commit in commits} if patch else {}
    if as_json:
        emit_json({"commits": [_commit_form(commit, diffs.get(commit.id)) for commit in commits]})
        return
    if not commits:
        say("No commits yet: run `hikidashi extract`, then `hikidashi consolidate`.")
    elif patch:
        for commit in commits:
            show_commit(commit, diffs[commit.id])
    else:
        table(
            ("when (UTC)", "by", "run", "what"),
            [
                (
                    shown_time(c.at),
                    c.author,
                    ", ".join(run[:_RUN_SHOWN] for run in c.trailers.get("Run", ())),
                    c.subject,
                )
                for c in commits
            ],
        )


def _commit_form(commit: Commit, diffs: Sequence[FileDiff] | None) -> dict[str, Any]:
    return {**commit.to_dict(), "files": None if diffs is None else [diff.to_dict() for diff in diffs]}


def show_commit(commit: Commit, diffs: Sequence[FileDiff], *, max_lines: int | None = None) -> None:
    """Print one commit: its head, its reasons, its changes (of each file at most `max_lines` lines)."""
    head = f"{commit.id[:_COMMIT_SHOWN]}  {shown_time(commit.at)}  {commit.author}  {commit.subject}"
    say(head, "bold yellow", hang="    ")
    body = [_ENTRY_ID.sub("", line) for line in commit.body.splitlines()]
    for line in body:
        say(line, indent="    ", hang="  ")
    # Operations stand in the trailers too, for programs; a person reads them once.
    trailers = [f"{key}: {value}" for key, values in commit.trailers.items() for value in values if value not in body]
    if trailers:
        say(" · ".join(trailers), "dim", indent="    ", hang="  ")
    say()
    show_diffs(diffs, max_lines=max_lines)


def show_diffs(diffs: Sequence[FileDiff], *, max_lines: int | None = None) -> None:
    """Print unified diffs in colour, of each file at most `max_lines` lines."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for diff in diffs:
        lines = diff.text.splitlines()
        for line in lines[:max_lines]:
            header = line.startswith(("+++ ", "--- ", "diff "))
            say(line, "bold" if header else styles.get(line[:1], ""), wrap=False)
        if max_lines is not None and len(lines) > max_lines:
            say(f"… {len(lines) - max_lines} more lines", "dim")
        say()


@click.command("show")
@click.argument("name", metavar="RUN_ID")
@json_option
def show_command(name: str, as_json: bool) -> None:
    """One run: its entries, operations and changes. Or one extraction by a model: what was read and what dropped.

    RUN_ID is the run's or extraction's ID, the beginning of it, `last` for the last run, or `extraction` for the last
    extraction. `hikidashi log` lists runs.
    """
    with opened() as here:
        found = _meant(here, name)
    if as_json:
        emit_json(found.to_dict())
    elif isinstance(found, ExtractionRow):
        show_reading_details(found.to_dict())
    else:
        _show_run(found)


def _meant(here: Opened, name: str) -> ExtractionRow | RunDetails:
    """The run or extraction that `name` means. Raises `UsageError` for none, or more than one."""
    if name == "extraction":
        return find_extraction(here.connection, "last")
    extraction = None
    if name != "last":
        with contextlib.suppress(UsageError):
            extraction = find_extraction(here.connection, name)
    try:
        run = run_details(here.workspace, here.connection, name)
    except UsageError:
        if extraction is None:
            raise
        return extraction
    if extraction is not None:
        raise UsageError(f"a run and an extraction begin with {name}: give more of the ID")
    return run


def _show_run(details: RunDetails) -> None:
    run = details.run
    say(f"run {run['run_id']}", "bold")
    when = f"{shown_time(run['started_at'])} UTC, {run['seconds']:.1f} s"
    say(f"{run['outcome']}, engine {run['engine'] or 'none'}, {when}")
    if run["message"]:
        say(run["message"])
    show_entries(details.entries)
    table(("clean-up", "what and why"), [operation_row(operation) for operation in run["operations"]])
    for diffs in details.diffs.values():
        say()
        show_diffs(diffs)
