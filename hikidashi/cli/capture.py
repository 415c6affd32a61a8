"""`extract`: sessions in, staged entries out."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hikidashi.capture.run import ExtractReport, extract
from hikidashi.cli.context import Opened, opened
from hikidashi.cli.output import amount, emit_json, json_option, say, size, table
from hikidashi.worker.spawn import start_if_due

__all__ = ["extract_command", "run_extraction", "show_extraction"]


@click.command("extract")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option("--no-consolidate", is_flag=True, help="Start no consolidation, however much is staged.")
@json_option
def extract_command(paths: tuple[Path, ...], no_consolidate: bool, as_json: bool) -> None:
    """Read sessions and stage what is worth remembering.

    PATH is a transcript or a folder of them, taken whatever its working folder was. Without one: the sessions that
    the host keeps for this workspace.
    """
    with opened() as here:
        report = run_extraction(here, list(paths) or None, quiet=as_json)
        background = "" if no_consolidate else start_if_due(here.workspace, here.settings, here.connection)
    if as_json:
        emit_json({**report.to_dict(), "consolidation": background or None})
        return
    show_extraction(report)
    if background:
        say(f"Consolidation in the background: {background}. `hikidashi status` shows how it goes.")
    elif report.new:
        say("Next: `hikidashi consolidate` works them into the records.")


def run_extraction(
    here: Opened, paths: list[Path] | None, *, since: datetime | None = None, quiet: bool = False
) -> ExtractReport:
    """Extract with a progress bar on standard error, if that is a terminal."""
    columns = (TextColumn("Reading sessions"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("", total=None)

        def progress(done: int, total: int, path: Path) -> None:
            bar.update(task, completed=done, total=total)

        return extract(here.workspace, here.settings, here.connection, paths=paths, since=since, progress=progress)


def show_extraction(report: ExtractReport) -> None:
    """Print what an extraction found."""
    table(
        ("staged", "trust", "from", "what"),
        [(e.kind, e.trust, f"{e.source.session_id[:8]}:{e.source.lines[0]}", e.title) for e in report.new],
    )
    if report.paused_since:
        say(f"Nothing was read: paused since {report.paused_since}. Run `hikidashi resume` to go on.", style="yellow")
        return
    skipped = sum(report.skipped.values())
    read = f"{amount(report.files, 'session file')}, {size(report.bytes)}, {amount(report.lines, 'line')}"
    say(f"Read {read}: {amount(len(report.new), 'new entry', 'new entries')} staged.")
    if skipped:
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(report.skipped.items()))
        say(f"{amount(skipped, 'piece')} of broken input skipped, later lines kept: {reasons}.", style="yellow")
    if report.queued:
        say("Another extraction is at work here; it will take the sessions of this call too.")
