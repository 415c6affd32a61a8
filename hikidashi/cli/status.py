"""`status`: what waits, what ran last, and why nothing happened if nothing did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from hikidashi.cli.context import opened
from hikidashi.cli.extractions import reading_line, withheld_line
from hikidashi.cli.output import amount, emit_json, json_option, note, shown_time, size, table
from hikidashi.cli.spend import spend_lines
from hikidashi.worker.status import workspace_status

__all__ = ["status_command"]


@click.command("status")
@json_option
def status_command(as_json: bool) -> None:
    """What waits, what ran last, and why nothing happened if nothing did.

    It only looks: no lock is taken and nothing is mended.
    """
    with opened() as here:
        status = workspace_status(here.workspace, here.settings, here.connection)
    if as_json:
        emit_json(status)
    else:
        _show(status)


def _show(status: Mapping[str, Any]) -> None:
    rows = [
        ("workspace", str(status["workspace"])),
        ("reads", _reads(status["extraction"])),
        ("engine", f"{status['engine']}\n{status['engine_reason']}"),
        ("staged", _staged(status["staging"])),
    ]
    rows.append(("drawer", _drawer(status["drawer"])))
    if status["prompts"]["replaced"]:
        rows.append(("prompts", _prompts(status["prompts"]["replaced"])))
    if spent := spend_lines(status["models"]):
        rows.append(("models", spent))
    if status["last_run"]:
        rows.append(("last run", _last_run(status["last_run"])))
    if status["claim"]:
        rows.append(("claim", str(status["claim"]["reason"])))
    if status["idle_reason"]:
        rows.append(("idle", str(status["idle_reason"])))
    step = _next_step(status)
    if step:
        rows.append(("next", step))
    table(("", ""), rows)
    for path, message in status["read_only"].items():
        note(f"{path} is read-only to runs until it is mended: {message}")
    for line in status["prompts"]["notices"]:
        note(line)
    if status["extraction"]["damaged"]:
        note(status["extraction"]["damaged"])
    if status["extraction"]["exposed_key"]:
        note(status["extraction"]["exposed_key"])
    if status["unfinished_publication"] and not (status["claim"] and status["claim"]["alive"]):
        note("a run was stopped while it published; the next `hikidashi consolidate` finishes it")


def _reads(extraction: Mapping[str, Any]) -> str:
    by = f"{extraction['model']}, beside the rules" if extraction["model"] else "rules"
    lines = [by, str(extraction["reason"])]
    if extraction["trouble"]:
        lines.append(f"it cannot be asked: {extraction['trouble']}")
    last = extraction["last"]
    if last is not None:
        lines.append(f"{shown_time(last['started_at'])} UTC: {reading_line(last)}; `hikidashi show extraction`")
    if extraction["withheld"]:
        lines.append(withheld_line(extraction["withheld"]))
    return "\n".join(lines)


def _staged(staging: Mapping[str, Any]) -> str:
    lines = [f"{amount(staging['entries'], 'entry', 'entries')}, {size(staging['bytes'])}"]
    if staging["over_threshold"]:
        lines.append(str(staging["over_threshold"]))
    if staging["invalid"]:
        lines.append(f"{amount(staging['invalid'], 'file')} cannot be read; the next run sets them aside")
    if staging["quarantined"]:
        lines.append(f"{amount(staging['quarantined'], 'file')} set aside in .hikidashi/staging/quarantine/")
    if staging["batch_limit"] is not None:
        lines.append(f"the next run takes at most {staging['batch_limit']}, since a run failed over its entries")
    return "\n".join(lines)


def _drawer(drawer: Mapping[str, int]) -> str:
    aside = [f"{drawer[state]} {state}" for state in ("stale", "retired") if drawer[state]]
    lines = [", ".join([f"{amount(drawer['active'], 'fact')}", *aside])]
    if drawer["candidates"]:
        waits = "1 candidate waits" if drawer["candidates"] == 1 else f"{drawer['candidates']} candidates wait"
        lines.append(f"{waits} for your yes: `hikidashi inbox`")
    return "\n".join(lines)


def _prompts(replaced: Mapping[str, str]) -> str:
    whose = {"user": "your own", "workspace": "this workspace's, as you trusted it"}
    return "\n".join(f"{name}: {whose[origin]}" for name, origin in replaced.items())


def _last_run(run: Mapping[str, Any]) -> str:
    counted = f"{amount(run['consumed'], 'entry', 'entries')} worked in, {run['remaining']} left"
    lines = [f"{run['outcome']}, {shown_time(run['started_at'])} UTC: {counted}, {run['seconds']:.1f} s"]
    if run["outcome"] != "done" and run["message"]:
        lines.append(str(run["message"]))
    return "\n".join([*lines, f"`hikidashi show {run['run_id'][:12]}`"])


def _next_step(status: Mapping[str, Any]) -> str:
    """The command that moves things on; '' while a run goes, and where the line above names it."""
    if status["paused_at"] or (status["claim"] and status["claim"]["alive"]):
        return ""
    if status["staging"]["entries"] or status["staging"]["pending"]:
        return "" if "`hikidashi" in str(status["idle_reason"]) else "`hikidashi consolidate`"
    return "`hikidashi extract` reads what is new in your sessions"
