"""`ping`: whether the configured models answer."""

from __future__ import annotations

import contextlib

import click

from hikidashi.cli.context import opened
from hikidashi.cli.output import amount, emit_json, json_option, note, say, table
from hikidashi.config.settings import load_settings
from hikidashi.errors import ModelFailure, NoWorkspace
from hikidashi.model.ping import Pinged, Pings, ping_models

__all__ = ["ping_command"]


@click.command("ping")
@json_option
@click.pass_context
def ping_command(ctx: click.Context, as_json: bool) -> None:
    """Send one tiny request to each configured model: does it work, how fast, for how many tokens and what money.

    A model that works is used again, even if its key or account was refused before. It works outside a workspace, too.
    Exit code 11 when a model does not work.
    """
    pings = _pings()
    if as_json:
        emit_json(pings.to_dict())
    else:
        _say(pings)
    if any(one.failure is not None for one in pings.pinged):
        ctx.exit(ModelFailure.exit_code)


def _pings() -> Pings:
    with contextlib.ExitStack() as stack:
        try:
            here = stack.enter_context(opened())
        except NoWorkspace:
            return ping_models(load_settings(None), None)
        return ping_models(here.settings, here.connection)


def _say(pings: Pings) -> None:
    say(pings.base_url, "bold")
    table(("model", "result"), [(one.model, _result(one)) for one in pings.pinged])
    for name in pings.left_out:
        note(f"{name} was not asked: it names a model of Anthropic's, and nothing uses it yet")


def _result(one: Pinged) -> str:
    if one.failure is not None:
        return str(one.failure)
    parts = [f"works, {one.seconds:.1f} s"]
    if one.usage is not None:
        parts.append(amount(one.usage.total, "token"))
    parts.append(f"${one.cost / 1_000_000:.6f}" if one.cost is not None else "cost unknown")
    if one.answered not in ("", one.model):
        parts.append(f"answered by {one.answered}")
    return ", ".join(parts)
