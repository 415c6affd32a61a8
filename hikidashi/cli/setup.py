"""`init` and `trust`."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Final

import click

from hikidashi.capture.back_fill import model_since
from hikidashi.capture.run import ExtractReport, waiting_sessions
from hikidashi.cli.capture import run_extraction, show_extraction
from hikidashi.cli.consent import require_key, settle_key, use_key_option
from hikidashi.cli.context import Opened, current_folder, only_person, opened
from hikidashi.cli.output import (
    amount,
    confirmed,
    emit_json,
    json_option,
    note,
    say,
    size,
    table,
    yes_option,
)
from hikidashi.cli.prompts import trust_prompts
from hikidashi.cli.reading import Agreement, agreed_to_read, expected_text, model_in_use, price_of
from hikidashi.config.settings import load_settings
from hikidashi.errors import UsageError
from hikidashi.hosts.registered import look_around
from hikidashi.times import now
from hikidashi.worker.adopt import TrustReport, found_workspace, preview_trust, trust_workspace

__all__ = ["init_command", "trust_command"]

#: How far back `init` offers to look.
_OFFERED_DAYS: Final = 30


@click.command("init")
@click.option("--shared", is_flag=True, help="Let memory/, knowledge/ and config.toml into the project's git.")
@use_key_option
@yes_option
@json_option
def init_command(shared: bool, use_key: bool | None, yes: bool, as_json: bool) -> None:
    """Make a workspace in the current folder, then offer the sessions of the last 30 days.

    In a linked worktree or a submodule it is made in the main worktree or the superproject. Run again in a
    workspace it changes nothing but what --shared and --use-key say, and offers the sessions that were not read yet.
    """
    require_key(load_settings(None), use_key)
    workspace = found_workspace(current_folder(), shared=shared)
    since = now() - timedelta(days=_OFFERED_DAYS)
    with opened(workspace.root) as here:
        waiting = waiting_sessions(here.workspace, here.connection, since=since)
        count, volume = len(waiting), sum(file.size for file in waiting)
        if not as_json:
            _show_found(here, count, volume)
        key = settle_key(here.settings, use_key, quiet=as_json, price=lambda: _price(here, since))
        if key.file is not None:
            here = dataclasses.replace(here, settings=load_settings(here.workspace))
        report, agreement = _first_reading(here, count, since, use_key=use_key, yes=yes, quiet=as_json)
    if as_json:
        emit_json(
            {
                "workspace": str(workspace.root),
                "id": workspace.id,
                "shared": shared,
                "sessions": {"found": count, "bytes": volume, "days": _OFFERED_DAYS},
                "key": key.to_dict(),
                "expected_cost": agreement.to_dict(),
                "extracted": report.to_dict() if report else None,
            }
        )
        return
    if report:
        show_extraction(report)
        if report.new:
            say("Next: `hikidashi consolidate` works the staged entries into the records.")
    elif count:
        say("Nothing was extracted. When you want it: `hikidashi extract`, then `hikidashi consolidate`.")
    else:
        say("Next: work with your agent here, then `hikidashi extract`. See it first: `hikidashi demo`.")
    if not look_around(workspace.root).ours:
        say("To have your agent's sessions given what you approve: `hikidashi install claude-code` (or codex).")


def _price(here: Opened, since: datetime) -> str:
    expected = price_of(here, since=since)
    return f"What it would read now: {expected_text(expected)}." if expected.sessions else ""


def _first_reading(
    here: Opened, count: int, since: datetime, *, use_key: bool | None, yes: bool, quiet: bool
) -> tuple[ExtractReport | None, Agreement]:
    """Extract what was found, if somebody says so; by a model only after a yes to its cost.

    `--yes` alone is none: it was not said with a price in sight. With `--use-key` it is.
    """
    with model_in_use(here) as model:
        agreement = agreed_to_read(here, model, since=since, yes=yes and use_key is True, quiet=quiet)
        if agreement.agreed:
            report = run_extraction(here, None, model=model, back_fill=True, since=since, quiet=quiet)
            return report, agreement
        # A no to older sessions is none to the model that reads the new ones here already.
        goes_on = model if model_since(here.connection) is not None else None
        by_rules = " by the rules alone" if model is not None and goes_on is None else ""
        if count and confirmed(f"Extract {'it' if count == 1 else 'them'} now{by_rules}?", yes=yes, quiet=quiet):
            return run_extraction(here, None, model=goes_on, since=since, quiet=quiet), agreement
    return None, agreement


def _show_found(here: Opened, count: int, volume: int) -> None:
    say(f"The workspace is ready: {here.workspace.home}", "bold")
    if count:
        say(f"Found {amount(count, 'session')} of the last {_OFFERED_DAYS} days, {size(volume)}, not read yet.")
    else:
        say(f"No session of the last {_OFFERED_DAYS} days waits to be read for this folder.")


@click.command("trust")
@click.option("--prompts", is_flag=True, help="Show the prompts of this workspace, and use them as they are now.")
@yes_option
@json_option
def trust_command(prompts: bool, yes: bool, as_json: bool) -> None:
    """Look at a .hikidashi/ that came with a clone or was moved here, and adopt its records.

    Only Markdown under memory/ and knowledge/ is adopted. Database, staging, claim, journal, history and prompts
    found there are set aside, unread, and made anew. Prompts in a workspace that is trusted already are used after
    --prompts has shown them, until one of them changes.
    """
    folder = current_folder()
    if prompts:
        trust_prompts(folder, yes=yes, as_json=as_json)
        return
    report = preview_trust(folder)
    if report.kind != "already":
        if not as_json:
            _show_plan(report)
        only_person(load_settings(None), "trust", folder=folder)
        if not confirmed("Trust it?", yes=yes, quiet=as_json, default=False):
            raise UsageError("nothing was changed: look at the records, then run `hikidashi trust --yes`")
        report = trust_workspace(folder)
    if as_json:
        emit_json(_trust_form(report))
    elif report.kind == "already":
        say("This workspace is trusted already: nothing was changed.", "bold")
    elif report.kind == "own":
        say("Trusted: it is yours, and all of it was kept.", "bold")
    else:
        say(f"Trusted: {amount(len(report.adopted), 'record')} adopted, {len(report.set_aside)} set aside.", "bold")
        if report.aside is not None:
            say(f"Set aside in {report.aside}: look at it and delete it when you like.")


def _show_plan(report: TrustReport) -> None:
    say(f"{report.root}/.hikidashi", "bold")
    if report.kind == "own":
        moved = f", moved from {report.moved_from}" if report.moved_from else ""
        say(f"This workspace is yours{moved}: all of it would be kept.")
    else:
        say("It was not made by you in this place. Only its records would be kept, all else set aside unread.")
        kept = [("keep", path) for path in report.adopted] or [("keep", "no records")]
        table(("", ""), [*kept, *(("set aside", path) for path in report.set_aside)])
    for link in report.links:
        note(f"the symlink {link} would be taken out")
    for line in report.refused_settings:
        note(line)


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
