"""`consolidate`: the staged entries into the records."""

from __future__ import annotations

import click

from hikidashi.cli.context import Opened, opened
from hikidashi.cli.output import amount, emit_json, json_option, say, working
from hikidashi.cli.runs import show_run
from hikidashi.config.engine import resolve_engine
from hikidashi.staging.pause import paused_since
from hikidashi.worker.engines import engine_factory
from hikidashi.worker.run import ConsolidateReport, consolidate

__all__ = ["consolidate_command"]


@click.command("consolidate")
@click.option(
    "--engine",
    "engine_name",
    type=click.Choice(["auto", "anthropic", "rules"]),
    help="Who consolidates; the setting memory.engine otherwise.",
)
@click.option("--drain", is_flag=True, help="Repeat until nothing is staged; wait for a run that is under way.")
@click.option("--clean-up", "clean_up", is_flag=True, help="Only clean up the records; consume no entries.")
@click.option("--automatic", is_flag=True, hidden=True, help="Started by the program itself: coalesce late arrivals.")
@json_option
@click.pass_context
def consolidate_command(
    ctx: click.Context, engine_name: str | None, drain: bool, clean_up: bool, automatic: bool, as_json: bool
) -> None:
    """Work the staged entries into the records, then clean the records up.

    One pass, whatever the thresholds. Records that you wrote or edited are neither dropped nor cut short.
    """
    if drain and clean_up:
        raise click.UsageError("--clean-up consumes no entries, so --drain has nothing to do: leave one of them out")
    with opened() as here:
        choice = resolve_engine(here.settings, "consolidation", engine_name)
        factory = engine_factory(choice.name, here.settings)
        with working("Consolidating", quiet=as_json or automatic):
            report = consolidate(
                here.workspace,
                here.settings,
                here.connection,
                factory,
                manual=not automatic,
                drain=drain,
                clean_up_only=clean_up,
            )
        paused = paused_since(here.connection) is not None
    if as_json:
        emit_json(report.to_dict())
    else:
        _show(report, here, clean_up=clean_up, paused=paused)
    ctx.exit(report.exit_code)


def _show(report: ConsolidateReport, here: Opened, *, clean_up: bool, paused: bool) -> None:
    for run in report.runs:
        show_run(run)
    last = report.last
    if last.remaining and not clean_up:
        rest = amount(last.remaining, "entry still waits", "entries still wait")
        mend = "run `hikidashi consolidate --drain` to work them all in" if last.outcome in ("done", "partial") else ""
        say(f"{rest}: {mend}." if mend else f"{rest}; nothing is lost.")
    elif last.outcome == "done" and last.commits:
        say(f"Read the result: {here.workspace.memory / 'summary.md'}")
        say("What changed, and why: `hikidashi log -p`")
    elif last.outcome == "idle" and not paused:
        say("`hikidashi extract` stages what is new in your sessions; `hikidashi consolidate --clean-up` tidies up.")
