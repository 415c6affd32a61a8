"""`consolidate`, `restore` and `requeue`."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

import click

from hikidashi.cli.context import Opened, opened
from hikidashi.cli.output import amount, emit_json, json_option, say, shown_time, table
from hikidashi.config.settings import resolve_engine
from hikidashi.worker.engines import engine_factory
from hikidashi.worker.report import RunReport
from hikidashi.worker.restore import restore
from hikidashi.worker.run import ConsolidateReport, consolidate
from hikidashi.worker.undo import requeue

__all__ = ["consolidate_command", "requeue_command", "restore_command", "show_run"]


@click.command("consolidate")
@click.option("--engine", "engine_name", type=click.Choice(["auto", "anthropic", "rules"]), help="Who consolidates.")
@click.option("--drain", is_flag=True, help="Repeat until nothing is staged; wait for a run that is under way.")
@click.option("--clean-up", "clean_up", is_flag=True, help="Only clean up the records; consume no entries.")
@click.option("--automatic", is_flag=True, hidden=True, help="Started by the program itself: coalesce late arrivals.")
@json_option
@click.pass_context
def consolidate_command(
    ctx: click.Context, engine_name: str | None, drain: bool, clean_up: bool, automatic: bool, as_json: bool
) -> None:
    """Work the staged entries into the records: one pass, whatever the thresholds."""
    with opened() as here:
        choice = resolve_engine(here.settings, engine_name)
        factory = engine_factory(choice.name, here.settings)
        with _working("Consolidating", quiet=as_json or automatic):
            report = consolidate(
                here.workspace,
                here.settings,
                here.connection,
                factory,
                manual=not automatic,
                drain=drain,
                clean_up_only=clean_up,
            )
    if as_json:
        emit_json(report.to_dict())
    else:
        _show(report, here)
    ctx.exit(report.exit_code)


@contextlib.contextmanager
def _working(what: str, *, quiet: bool) -> Iterator[None]:
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(f"{what} ..."):
        yield


def _show(report: ConsolidateReport, here: Opened) -> None:
    for run in report.runs:
        show_run(run)
    last = report.last
    if last.remaining:
        rest = amount(last.remaining, "entry still waits", "entries still wait")
        say(f"{rest}: run `hikidashi consolidate --drain` to work them all in.")
    elif last.outcome == "done":
        say(f"Read the result: {here.workspace.memory / 'summary.md'}  (changes: `hikidashi show {last.run_id}`)")


def show_run(run: RunReport) -> None:
    """Print one run for people."""
    kinds: dict[str, int] = {}
    for disposition in run.dispositions:
        kinds[disposition.kind] = kinds.get(disposition.kind, 0) + 1
    counted = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
    head = f"{run.outcome}: {run.message}" if run.message else run.outcome
    say(head, style="bold" if run.outcome in ("done", "idle") else "bold yellow")
    if run.consumed:
        say(f"{amount(run.consumed, 'entry', 'entries')} consumed in {run.seconds:.1f} s: {counted}")
    table(
        ("clean-up", "records", "why", "reason"),
        [(o.op, "\n".join(o.paths), ", ".join(o.categories), o.reason) for o in run.operations],
    )
    for line in (*run.recovered, *run.notices):
        say(f"note: {line}", style="yellow")


@click.command("restore")
@click.argument("path")
@json_option
def restore_command(path: str, as_json: bool) -> None:
    """Bring a dropped or changed record back, as a new commit.

    PATH is relative to .hikidashi/ (memory/decisions/use-pnpm.md) or to the current folder.
    """
    with opened() as here:
        done = restore(here.workspace, here.settings, here.connection, path)
    if as_json:
        emit_json(dataclasses.asdict(done))
    else:
        for line in done.recovered:
            say(f"note: {line}", style="yellow")
        say(f"{done.path} is as it was on {shown_time(done.from_at)} again, and protected from clean-up.")


@click.command("requeue")
@click.argument("run_id", metavar="RUN")
@json_option
def requeue_command(run_id: str, as_json: bool) -> None:
    """Stage the entries again that RUN discarded (a run's ID, its beginning, or `last`)."""
    with opened() as here:
        done = requeue(here.workspace, here.connection, run_id)
    if as_json:
        emit_json(dataclasses.asdict(done))
    elif done.entries:
        say(f"{amount(len(done.entries), 'entry is', 'entries are')} staged again; the next run takes them.")
    else:
        say(f"Run {done.run_id} discarded nothing that is not staged already.")
