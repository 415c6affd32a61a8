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
from hikidashi.times import now
from hikidashi.worker.adopt import found_workspace, pause, trust_workspace

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
    preview = trust_workspace(Path.cwd(), dry_run=True)
    if not as_json:
        say(f"{preview.root}/.hikidashi", style="bold")
        table(("would be adopted",), [(path,) for path in preview.adopted])
        table(("would be set aside",), [(path,) for path in preview.set_aside])
        for line in preview.refused_settings:
            say(f"note: {line}", style="yellow")
    if preview.needed and not confirmed("Trust these records?", yes=yes):
        raise click.UsageError("nothing was changed: look at the records, then run `hikidashi trust --yes`")
    report = trust_workspace(Path.cwd()) if preview.needed else preview
    if as_json:
        emit_json(report.to_dict())
    elif not preview.needed:
        say("This workspace is trusted already.")
    else:
        say(f"Trusted: {amount(len(report.adopted), 'record')} adopted, {len(report.set_aside)} set aside.")


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
        since = pause(here.connection, on)
    if as_json:
        emit_json({"workspace": str(here.workspace.root), "paused_at": since or None})
    elif on:
        say(f"Paused since {since}: nothing is captured or consolidated until `hikidashi resume`.")
    else:
        say("Not paused: sessions are captured and consolidated.")
