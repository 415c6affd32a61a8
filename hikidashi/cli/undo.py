"""`restore` and `requeue`: taking back what a run did."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import click

from hikidashi.cli.context import current_folder, opened
from hikidashi.cli.output import amount, emit_json, json_option, note, say, shown_time
from hikidashi.config.workspace import Workspace
from hikidashi.worker.restore import restore
from hikidashi.worker.undo import requeue

__all__ = ["requeue_command", "restore_command"]


@click.command("restore")
@click.argument("path")
@json_option
def restore_command(path: str, as_json: bool) -> None:
    """Bring a dropped or changed record back, as a new commit, and protect it from clean-up.

    PATH is relative to .hikidashi/ (memory/decisions/use-pnpm.md) or to the current folder. What is there now is
    kept in history first; if something is, a second `restore` takes the first one back.
    """
    with opened() as here:
        done = restore(here.workspace, here.settings, here.connection, _record_name(here.workspace, path))
    if as_json:
        emit_json(done.to_dict())
        return
    for line in done.recovered:
        note(line)
    say(f"{done.path} is again as it was on {shown_time(done.from_at)} UTC, and protected from clean-up.", "bold")


def _record_name(workspace: Workspace, path: str) -> str:
    """`path` relative to `.hikidashi/` when it is that from the current folder, else as it was given."""
    if path.startswith(("memory/", "knowledge/", ".hikidashi/")) and not Path(path).is_absolute():
        return path
    place = os.path.normpath(current_folder() / path)
    home = workspace.home
    return Path(place).relative_to(home).as_posix() if Path(place).is_relative_to(home) else path


@click.command("requeue")
@click.argument("run_id", metavar="RUN")
@json_option
def requeue_command(run_id: str, as_json: bool) -> None:
    """Stage the entries again that RUN discarded (a run's ID, the beginning of it, or `last`)."""
    with opened() as here:
        done = requeue(here.workspace, here.connection, run_id)
    if as_json:
        emit_json(dataclasses.asdict(done))
    elif done.entries:
        say(f"{amount(len(done.entries), 'entry is', 'entries are')} staged again.", "bold")
        say("Next: `hikidashi consolidate` takes them.")
    else:
        say(f"Run {done.run_id} discarded nothing that is not staged already.")
