"""`verify`: running the probes of facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from hikidashi.cli.context import OpenedDrawers, opened_drawers
from hikidashi.cli.fact_view import damaged_form, fact_form, name_damaged
from hikidashi.cli.output import emit_json, json_option, say
from hikidashi.config.machine import this_machine
from hikidashi.drawer.fact import Fact
from hikidashi.drawer.reading import DamagedFact, all_facts
from hikidashi.drawer.store import Drawer
from hikidashi.drawer.verify import Checked, check_fact, reason_to_skip
from hikidashi.errors import ProbeFailed

__all__ = ["verify_command"]

_STYLES: Final = {"passed": "green", "failed": "bold red", "not-run": "yellow"}
_WIDTH: Final = max(map(len, ("passed", "failed", "not-run", "skipped", "changed")))


@click.command("verify")
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@json_option
@click.pass_context
def verify_command(ctx: click.Context, keys: Sequence[str], as_json: bool) -> None:
    """Run the checks of the facts of KEY, or of all active capabilities, and note how they end.

    A pass makes the fact certain; a fail keeps its proof and takes confidence away; one that could not run (no such
    program, no network) changes nothing. Exit code 17 unless all passed. docs/gate.md says how checks are confined.
    """
    done: list[Checked] = []
    damaged: list[DamagedFact] = []
    with opened_drawers() as here:
        facts = _facts(here, keys, damaged)
        for checked in _checks(here, facts, quiet=as_json):
            done.append(checked)
            if not as_json:
                _say_checked(checked)
    if as_json:
        checks = [_form(checked) for checked in done]
        emit_json({"checked": checks, **_counts(done), "damaged": damaged_form(damaged)})
    elif done:
        counts = {name.replace("_", " "): number for name, number in _counts(done).items() if number}
        say(", ".join(f"{number} {name}" for name, number in counts.items()).capitalize() + ".", "bold")
    elif not damaged:
        say("No active capability of this machine has a check: `hikidashi facts` lists what there is.")
    name_damaged(damaged)
    good = {"passed"} if keys else {"passed", "changed"}
    if any(checked.outcome not in good for checked in done):
        ctx.exit(ProbeFailed.exit_code)


def _facts(here: OpenedDrawers, keys: Sequence[str], damaged: list[DamagedFact]) -> list[tuple[Drawer, Fact]]:
    """The facts to check: those that were named, else all that can be. Rows that cannot be read go to `damaged`."""
    if keys:
        found = []
        for key in dict.fromkeys(keys):
            try:
                found.append(here.drawers.expect(key))
            except DamagedFact as exc:
                damaged.append(exc)
        return found
    machine = this_machine()
    return [
        (drawer, fact)
        for drawer in here.drawers.existing()
        for fact in all_facts(drawer.connection, drawer.scope, type="capability", status="active", damaged=damaged)
        if not reason_to_skip(fact, machine)
    ]


def _checks(here: OpenedDrawers, facts: Sequence[tuple[Drawer, Fact]], *, quiet: bool) -> Iterator[Checked]:
    """Check one after the other, with a line on standard error that says which, if that is a terminal."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("Checking {task.description}"), TimeElapsedColumn())
    for number, (drawer, fact) in enumerate(facts, 1):
        with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
            bar.add_task(escape(f"{fact.key} ({number} of {len(facts)})"), total=None)
            checked = check_fact(drawer, fact, this_machine(), seconds=here.settings.drawer.probe_seconds)
        yield checked


def _say_checked(checked: Checked) -> None:
    style = _STYLES.get(checked.outcome, "")
    say(f"{checked.outcome:<{_WIDTH}}  {checked.fact.key}", style, hang=" " * (_WIDTH + 2))
    say(checked.said, "dim", indent=" " * (_WIDTH + 2))


def _form(checked: Checked) -> dict[str, Any]:
    return {
        "key": checked.fact.key,
        "scope": checked.fact.scope,
        "outcome": checked.outcome,
        "said": checked.said,
        "probe": list(checked.fact.probe),
        "exit_code": checked.exit_code,
        "seconds": round(checked.seconds, 3),
        "fact": fact_form(checked.fact, this_machine()),
    }


def _counts(done: Sequence[Checked]) -> dict[str, int]:
    names = ("passed", "failed", "not-run", "skipped", "changed")
    return {name.replace("-", "_"): sum(checked.outcome == name for checked in done) for name in names}
