"""`extract`: sessions in, staged entries out."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hikidashi.capture.run import ExtractReport, extract
from hikidashi.cli.context import Opened, opened
from hikidashi.cli.extractions import show_reading, withheld_line
from hikidashi.cli.output import (
    amount,
    emit_json,
    handful,
    json_option,
    note,
    plain,
    say,
    shown_time,
    size,
    table,
    warn,
)
from hikidashi.cli.reading import ModelInUse, agreed_to_read, model_in_use
from hikidashi.drawer.rescan import rescan_warning
from hikidashi.errors import BadSettings, BudgetSpent, ModelFailure
from hikidashi.recall.spool import take_in_waiting
from hikidashi.worker.spawn import start_if_due

if TYPE_CHECKING:
    from hikidashi.capture.model_reading import ModelProgress

__all__ = ["exit_code", "extract_command", "run_extraction", "show_extraction"]

#: Entries listed after an extraction; all of them are files in `.hikidashi/staging/`.
_ENTRIES_SHOWN = 30

#: Keys of new candidates named; `inbox` shows all.
_KEYS_SHOWN = 5


@click.command("extract")
@click.argument("paths", metavar="[PATH]...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--engine",
    type=click.Choice(["auto", "anthropic", "rules"]),
    help="Who reads besides the rules; the setting memory.engine otherwise.",
)
@click.option("--no-consolidate", is_flag=True, help="Start no consolidation, however much is staged.")
@click.option("--yes", is_flag=True, help="Agree to what a model's reading of older sessions, or of PATH, will cost.")
@json_option
@click.pass_context
def extract_command(
    ctx: click.Context, paths: tuple[Path, ...], engine: str | None, no_consolidate: bool, yes: bool, as_json: bool
) -> None:
    """Read sessions: propose what they prove, stage what is worth remembering.

    What they prove waits for your yes (`hikidashi inbox`). PATH is a transcript or a folder of them, taken whatever
    its working folder was. Without one: the sessions that the host keeps for this workspace. Each is read from where
    the last reading ended.

    Where you agreed to a model (docs/models.md), it reads too, the rules' own reading first. Sessions from before it
    was switched on, and any PATH, only after a yes to what that is expected to cost.
    """
    with opened() as here, model_in_use(here, engine) as model:
        take_in_waiting(here.connection, here.workspace.database)
        named = list(paths) or None
        agreement = agreed_to_read(here, model, paths=named, yes=yes, quiet=as_json)
        report = run_extraction(here, named, model=model, back_fill=agreement.agreed, quiet=as_json)
        background = "" if no_consolidate else start_if_due(here.workspace, here.settings, here.connection)
    if as_json:
        found = {**report.to_dict(), "expected_cost": agreement.to_dict(), "consolidation": background or None}
        emit_json(found)
        ctx.exit(exit_code(report))
    show_extraction(report)
    if report.files > report.unchanged and not report.new:
        minutes = amount(here.settings.capture.settle_minutes, "minute")
        say(f"What a session leaves open is staged once it has been quiet for {minutes} (capture.settle_minutes).")
    if background:
        say(f"A consolidation was started in the background: {background}.")
        say("Next: `hikidashi status` shows how it goes.")
    elif report.new:
        say("Next: `hikidashi consolidate` works the staged entries into the records.")
    ctx.exit(exit_code(report))


def exit_code(report: ExtractReport) -> int:
    """What the command ends with: the model's trouble, if it had one, after all else was done."""
    outcome = report.model.outcome if report.model is not None else ""
    if outcome == "budget":
        return BudgetSpent.exit_code
    if outcome == "failed:settings":
        return BadSettings.exit_code
    return ModelFailure.exit_code if outcome.startswith("failed:") else 0


def run_extraction(
    here: Opened,
    paths: list[Path] | None,
    *,
    model: ModelInUse | None = None,
    back_fill: bool = False,
    since: datetime | None = None,
    quiet: bool = False,
) -> ExtractReport:
    """Extract with a progress bar on standard error, if that is a terminal.

    With `model` it reads too, and `back_fill` says that somebody agreed to have it read older sessions.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[done]}"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task("Reading sessions", total=None, done="")

        def progress(done: int, total: int, path: Path) -> None:
            bar.update(task, completed=done, total=total, done=f"{done}/{total}")

        def tell_model(at: ModelProgress) -> None:
            name = here.settings.memory.extraction_model
            what = f"{amount(at.chunks, 'chunk')}, {size(at.bytes)} of {size(at.total)}"
            bar.update(task, description=f"{name} reads", completed=at.bytes, total=at.total or None, done=what)

        report = extract(
            here.workspace,
            here.settings,
            here.connection,
            paths=paths,
            since=since,
            progress=progress,
            asker=model.asker if model is not None else None,
            run_id=model.run_id if model is not None else "",
            back_fill=back_fill,
            tell_model=tell_model,
        )
    warn(rescan_warning([report.rescanned]))
    if model is not None and model.failure is not None and report.model is not None and not report.model.message:
        report.model.message = str(model.failure)  # nothing was asked, which would have said it
        if not isinstance(model.failure, ModelFailure):
            report.model.outcome = "failed:settings"
    return report


def show_extraction(report: ExtractReport) -> None:
    """Print what an extraction found."""
    if report.paused_since:
        note(f"nothing was read: paused since {shown_time(report.paused_since)} UTC; run `hikidashi resume` to go on")
        return
    shown = report.new[:_ENTRIES_SHOWN]
    table(("staged", "said by", "what"), [(entry.kind, entry.trust, entry.title) for entry in shown])
    if len(report.new) > len(shown):
        say(f"… and {len(report.new) - len(shown)} more")
    if report.queued:
        say("Another extraction is at work here; it takes the sessions of this call too.")
    else:
        _show_counts(report)
        _show_candidates(report)
        _show_trouble(report)
    if report.model is not None:
        show_reading(report.model.to_dict())
    if report.withheld:
        note(withheld_line(report.withheld))


def _show_trouble(report: ExtractReport) -> None:
    skipped = sum(report.skipped.values())
    if skipped:
        reasons = ", ".join(f"{number} {reason}" for reason, number in sorted(report.skipped.items()))
        note(f"{amount(skipped, 'piece')} of broken input skipped, later lines kept: {reasons}")
    for result in report.results:
        if result.error:
            note(f"{plain(str(result.path))}: {result.error}")


def _show_counts(report: ExtractReport) -> None:
    if not report.files:
        say("No sessions were found for this workspace.", "bold")
        say("Give a transcript or a folder of them: `hikidashi extract PATH`")
        return
    read = report.files - report.unchanged
    new = amount(len(report.new), "new entry", "new entries")
    if read:
        unchanged = f", {report.unchanged} unchanged" if report.unchanged else ""
        volume = f"{amount(read, 'session file')}, {size(report.bytes)}, {amount(report.lines, 'line')}"
        say(f"Read {volume}{unchanged}: {new} staged.", "bold")
    elif report.model is not None:  # what the model found comes after this
        say(f"The rules found nothing new in {amount(report.files, 'session file')}.", "bold")
    else:
        say(f"{amount(report.files, 'session file')}, nothing new since the last time.", "bold")


def _show_candidates(report: ExtractReport) -> None:
    keys = list(report.candidates.values())
    if keys:
        waits = "1 candidate waits" if len(keys) == 1 else f"{len(keys)} candidates wait"
        say(f"{waits} for your yes: {handful(keys, _KEYS_SHOWN)}. `hikidashi inbox` goes through them.")
    if report.borne_out:
        say(f"{amount(len(report.borne_out), 'fact')} of the drawer worked again.")
