"""`cost`: what was spent on models, and what may yet be."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import click

from hikidashi.cli.context import Opened, opened
from hikidashi.cli.output import emit_json, json_option, note, say, shown_time, table
from hikidashi.cli.spend import budget_line, cost_text, requests_text, tokens_text
from hikidashi.config.folders import shown
from hikidashi.config.settings import load_settings
from hikidashi.errors import NoWorkspace
from hikidashi.model.cost import cost_report
from hikidashi.model.prices import load_prices, user_prices_file

__all__ = ["cost_command"]

#: Characters of a run's ID that are shown.
_RUN_SHOWN = 12


@click.command("cost")
@json_option
def cost_command(as_json: bool) -> None:
    """What requests to models used and cost, in 24 hours and in 30 days, and what the budgets have left.

    Outside a workspace it shows all of yours together. What nobody knows is shown as unknown: the cost of a model
    without a price, and of an answer that was cut off.
    """
    with contextlib.ExitStack() as stack:
        here: Opened | None
        try:
            here = stack.enter_context(opened())
        except NoWorkspace:
            here = None
        settings = here.settings if here else load_settings(None)
        prices = load_prices()
        report = cost_report(here.connection if here else None, settings).to_dict()
    report["prices"] = {"date": prices.date, "file": str(user_prices_file())}
    if as_json:
        emit_json(report)
    else:
        _show(report)


def _show(report: Mapping[str, Any]) -> None:
    if not report["user"]["days_30"]["requests"] and not (report["workspace"] or report["user"])["days_30"]["requests"]:
        say("No model was asked in the last 30 days.", "bold")
    else:
        _show_totals(report)
    say()
    table(("budget in 24 hours", "left"), [(one["setting"], budget_line(one)) for one in report["budgets"]])
    for one in report["blocked"]:
        note(f"{one['model']} is not asked; {one['line']}")


def _show_totals(report: Mapping[str, Any]) -> None:
    spans = {"day": "24 hours", "days_30": "30 days"}
    whose = {"workspace": "this workspace", "user": "all of yours"}
    rows = [
        _row(f"{words}, {whose[owner]}", report[owner][span])
        for owner in whose
        if report[owner] is not None
        for span, words in spans.items()
    ]
    table(("", "requests", "cost", "tokens"), rows)
    for name, key, heading in (("by_phase", "phase", "for"), ("by_model", "model", "model")):
        say()
        table((heading, "requests", "cost", "tokens"), [_row(one[key], one) for one in report[name]])
    say()
    runs = [(shown_time(one["last_at"]), *_row(one["run_id"][:_RUN_SHOWN], one)) for one in report["by_run"]]
    table(("last request (UTC)", "run", "requests", "cost", "tokens"), runs)
    if report["more_runs"]:
        say(f"… and {report['more_runs']:,} earlier runs in these 30 days")
    if len(report["by_workspace"]) > 1:
        say()
        places = [(*_row("", one)[1:3], one["workspace"] or "outside any workspace") for one in report["by_workspace"]]
        table(("requests", "cost", "workspace"), places)
    if any(report[owner]["days_30"]["unknown_cost"] for owner in whose if report[owner] is not None):
        note(
            "a cost is unknown when the model has no price or the answer was cut off; "
            f"prices of your own go into {shown(report['prices']['file'])}"
        )
    say(f"Costs by the price table of {report['prices']['date']}; your provider's bill decides.", "dim")


def _row(name: str, form: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return name, requests_text(form), cost_text(form["cost_micro_usd"], form["unknown_cost"]), tokens_text(form)
