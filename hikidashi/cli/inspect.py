"""`status`, `lint`, `log` and `show`: looking, without changing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from hikidashi.cli.context import opened
from hikidashi.cli.output import amount, emit_json, json_option, say, shown_time, size, table
from hikidashi.errors import LintErrors
from hikidashi.records.check import check_records
from hikidashi.records.history import Commit, FileDiff, History
from hikidashi.worker.runs import run_details
from hikidashi.worker.status import workspace_status

__all__ = ["lint_command", "log_command", "show_command", "status_command"]


@click.command("status")
@json_option
def status_command(as_json: bool) -> None:
    """What waits, what ran last, and why nothing happened if nothing did."""
    with opened() as here:
        status = workspace_status(here.workspace, here.settings, here.connection)
    if as_json:
        emit_json(status)
    else:
        _show_status(status)


def _show_status(status: Mapping[str, Any]) -> None:
    staging, last, claim = status["staging"], status["last_run"], status["claim"]
    rows = [("workspace", str(status["workspace"])), ("engine", f"{status['engine']} ({status['engine_reason']})")]
    waiting = f"{amount(staging['entries'], 'entry', 'entries')}, {size(staging['bytes'])}"
    if staging["over_threshold"]:
        waiting += f" ({staging['over_threshold_reason']})"
    rows.append(("staged", waiting))
    if staging["invalid"] or staging["quarantined"]:
        rows.append(("trouble", f"{staging['invalid']} invalid, {staging['quarantined']} in staging/quarantine/"))
    if claim:
        rows.append(("claim", claim["reason"]))
    if last:
        line = f"{last['outcome']} at {shown_time(last['started_at'])} ({last['run_id']})"
        rows.append(("last run", f"{line}: {last['message']}" if last["message"] else line))
        rows.append(("", f"{last['consumed']} consumed, {last['remaining']} left, {last['seconds']:.1f} s"))
    rows += [("broken", f"{f['path']}: {f['message']}; read-only to runs until mended") for f in status["read_only"]]
    if status["idle_reason"]:
        rows.append(("idle", str(status["idle_reason"])))
    table(("", ""), rows)


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@json_option
@click.pass_context
def lint_command(ctx: click.Context, paths: tuple[Path, ...], as_json: bool) -> None:
    """Check the records, or only those of PATHS (files or folders in the workspace)."""
    with opened() as here:
        checked = check_records(here.workspace, paths, max_sources=here.settings.cleanup.max_sources)
    errors = [finding for finding in checked.findings if finding.severity == "error"]
    if as_json:
        findings = [finding.to_dict() for finding in checked.findings]
        emit_json({"records": checked.records, "errors": len(errors), "findings": findings})
    else:
        rows = [(f"{f.path}:{f.line}" if f.line else f.path, f.code, f.severity, f.message) for f in checked.findings]
        table(("where", "code", "severity", "what"), rows)
        warnings = len(checked.findings) - len(errors)
        say(
            f"{amount(checked.records, 'record')} checked: {amount(len(errors), 'error')}, {amount(warnings, 'warning')}."
        )
    if errors:
        ctx.exit(LintErrors.exit_code)


@click.command("log")
@click.option("-p", "--patch", is_flag=True, help="Show the changes too.")
@click.option("-n", "--number", type=click.IntRange(min=1), default=20, show_default=True, help="How many commits.")
@json_option
def log_command(patch: bool, number: int, as_json: bool) -> None:
    """The history of the records, newest first."""
    with opened() as here:
        history = History(here.workspace.history)
        commits = history.log(number)
        diffs = {commit.id: history.diff(commit.id) for commit in commits} if patch else {}
    if as_json:
        emit_json({"commits": [_commit_form(commit, diffs.get(commit.id)) for commit in commits]})
        return
    if not commits:
        say("No commits yet: run `hikidashi extract`, then `hikidashi consolidate`.")
    for commit in commits:
        say(f"{commit.id[:10]}  {shown_time(commit.at)}  {commit.author}  {commit.subject}", style="bold")
        if patch:
            show_commit_body(commit)
            show_diffs(diffs[commit.id])


def _commit_form(commit: Commit, diffs: Sequence[FileDiff] | None) -> dict[str, Any]:
    form: dict[str, Any] = {
        "id": commit.id,
        "author": commit.author,
        "at": commit.at,
        "subject": commit.subject,
        "body": commit.body,
        "trailers": {key: list(values) for key, values in commit.trailers.items()},
    }
    if diffs is not None:
        form["files"] = [{"path": diff.path, "diff": diff.text} for diff in diffs]
    return form


def show_commit_body(commit: Commit) -> None:
    """Print a commit's body and trailers, indented."""
    lines = commit.body.splitlines()
    lines += [f"{key}: {value}" for key, values in commit.trailers.items() for value in values]
    for line in lines:
        say(f"    {line}")
    say()


def show_diffs(diffs: Sequence[FileDiff]) -> None:
    """Print unified diffs in colour."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for diff in diffs:
        for line in diff.text.splitlines():
            header = line.startswith(("+++", "---", "diff "))
            say(line, style="bold" if header else styles.get(line[:1], ""))
        say()


@click.command("show")
@click.argument("run_id", metavar="RUN_ID")
@json_option
def show_command(run_id: str, as_json: bool) -> None:
    """One run: its entries, operations and changes (RUN_ID: an ID, its beginning, or `last`)."""
    with opened() as here:
        details = run_details(here.workspace, here.connection, run_id)
    if as_json:
        emit_json(details.to_dict())
        return
    run = details.run
    say(f"run {run['run_id']}: {run['outcome']}, {run['engine']}, {shown_time(run['started_at'])}", style="bold")
    if run["message"]:
        say(run["message"])
    rows = [
        (
            entry["disposition"],
            entry.get("kind", ""),
            entry.get("title", entry["id"]),
            entry["record"] or entry["reason"],
        )
        for entry in details.entries
    ]
    table(("disposition", "kind", "entry", "record or reason"), rows)
    table(
        ("clean-up", "records", "why", "reason"),
        [(o["op"], "\n".join(o["paths"]), ", ".join(o["categories"]), o["reason"]) for o in run["operations"]],
    )
    for diffs in details.diffs.values():
        show_diffs(diffs)
