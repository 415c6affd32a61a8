"""`init`, `trust`, `pause` and `resume`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Final

import click

from hikidashi.capture.run import waiting_sessions
from hikidashi.cli.capture import run_extraction, show_extraction
from hikidashi.cli.context import opened
from hikidashi.cli.output import amount, confirmed, emit_json, json_option, say, size, table, yes_option
from hikidashi.errors import UsageError
from hikidashi.staging.pause import paused_since, set_paused
from hikidashi.times import now
from hikidashi.worker.adopt import TrustReport, found_workspace, preview_trust, trust_workspace

__all__ = ["init_command", "pause_command", "resume_command", "trust_command"]

#: How far back `init` offers to look.
_OFFERED_DAYS: Final = 30


@click.command("init")
@click.option("--shared", is_flag=True, help="Let memory/, knowledge/ and config.toml into the project's git.")
@yes_option
@json_option
def init_command(shared: bool, yes: bool, as_json: bool) -> None:
    """Make a workspace in the current folder, then offer the sessions of the last 30 days."""
    workspace = found_workspace(Path.cwd(), shared=shared)
    since = now() - timedelta(days=_OFFERED_DAYS)
    with opened(workspace.root) as here:
        waiting = waiting_sessions(here.workspace, here.connection, since=since)
        count, volume = len(waiting), sum(file.size for file in waiting)
        offered = f"{amount(count, 'session')} of the last {_OFFERED_DAYS} days ({size(volume)})"
        if not as_json:
            say(f"Workspace {workspace.home} is ready.", style="bold")
            say(f"Found {offered}." if count else "No sessions of the last 30 days were found for this folder.")
        taken = bool(count) and confirmed(f"Extract {'it' if count == 1 else 'them'} now?", yes=yes)
        report = run_extraction(here, None, since=since, quiet=as_json) if taken else None
    if as_json:
        emit_json(
            {
                "workspace": str(workspace.root),
                "id": workspace.id,
                "shared": shared,
                "sessions": {"found": count, "bytes": volume, "days": _OFFERED_DAYS},
                "extracted": report.to_dict() if report else None,
            }
        )
    elif report:
        show_extraction(report)
        say("Next: `hikidashi consolidate` works the staged entries into the records.")
    elif count:
        say("Not extracted: `hikidashi extract` does it when you want (`hikidashi init --yes` asks nothing).")
    else:
        say("Next: work with your agent here, then `hikidashi extract`. See it first: `hikidashi demo`.")


@click.command("trust")
@yes_option
@json_option
def trust_command(yes: bool, as_json: bool) -> None:
    """Look at a .hikidashi/ that came with a clone or was moved here, and adopt its records.

    Only Markdown under memory/ and knowledge/ is adopted. Database, staging, claim, journal, history and prompts
    found there are set aside, unread, and made anew.
    """
    report = preview_trust(Path.cwd())
    if report.kind != "already":
        if not as_json:
            _show_plan(report)
        if not confirmed("Trust it?", yes=yes):
            raise UsageError("nothing was changed: look at the records, then run `hikidashi trust --yes`")
        report = trust_workspace(Path.cwd())
    if as_json:
        emit_json(_trust_form(report))
    elif report.kind == "already":
        say("This workspace is trusted already.")
    elif report.kind == "own":
        say("Trusted: it is yours, and all of it was kept.")
    else:
        say(f"Trusted: {amount(len(report.adopted), 'record')} adopted, {len(report.set_aside)} set aside.")


def _show_plan(report: TrustReport) -> None:
    say(f"{report.root}/.hikidashi", style="bold")
    if report.kind == "own":
        moved = f", moved from {report.moved_from}" if report.moved_from else ""
        say(f"This workspace is yours{moved}: all of it would be kept.")
    else:
        table(("would be adopted",), [(path,) for path in report.adopted])
        table(("would be set aside, unread",), [(path,) for path in report.set_aside])
    for link in report.links:
        say(f"note: the symlink {link} would be taken out", style="yellow")
    for line in report.refused_settings:
        say(f"note: {line}", style="yellow")


def _trust_form(report: TrustReport) -> dict[str, object]:
    return {
        "workspace": str(report.root),
        "kind": report.kind,
        "moved_from": str(report.moved_from) if report.moved_from else None,
        "adopted": list(report.adopted),
        "set_aside": list(report.set_aside),
        "aside": str(report.aside) if report.aside else None,
        "links": list(report.links),
        "refused_settings": list(report.refused_settings),
    }


@click.command("pause")
@json_option
def pause_command(as_json: bool) -> None:
    """Capture and consolidate nothing in this workspace until `resume`."""
    _set_paused(True, as_json)


@click.command("resume")
@json_option
def resume_command(as_json: bool) -> None:
    """Capture and consolidate in this workspace again."""
    _set_paused(False, as_json)


def _set_paused(on: bool, as_json: bool) -> None:
    with opened() as here:
        set_paused(here.connection, on)
        since = paused_since(here.connection)
    if as_json:
        emit_json({"workspace": str(here.workspace.root), "paused_at": since or None})
    elif on:
        say(f"Paused since {since}: nothing is captured or consolidated until `hikidashi resume`.")
    else:
        say("Not paused: sessions are captured and consolidated.")
