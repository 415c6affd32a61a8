"""`import claude-memory` and `export claude-memory`: Claude Code's own auto memory, in and out."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import click

from hikidashi.atomic import make_folder, write_atomic
from hikidashi.capture.from_auto_memory import Intake, plan_import, propose_all, record_action
from hikidashi.capture.to_auto_memory import Leaving, memories_of, plan_export
from hikidashi.cli.context import OpenedDrawers, only_person, opened_drawers
from hikidashi.cli.fact_view import name_damaged
from hikidashi.cli.output import amount, confirmed, emit_json, json_option, note, say, short
from hikidashi.cli.proposals import leave_import
from hikidashi.config.folders import shown
from hikidashi.drawer.fact import Scope
from hikidashi.drawer.reading import DamagedFact, all_facts
from hikidashi.errors import NoWorkspace, UsageError
from hikidashi.hosts.claude_memory import INDEX, MemoryFolder, find_folder, new_folder, read_folder
from hikidashi.records.library import load_tree
from hikidashi.times import format_time
from hikidashi.worker.adding import add_records

__all__ = ["export_claude_memory", "import_claude_memory"]

_Path = click.Path(file_okay=False, path_type=Path)


@click.command("claude-memory")
@click.option("--folder", type=_Path, help="The folder of the auto memory; by default the one of this project.")
@click.option("--scope", type=click.Choice(get_args(Scope)), default="workspace", help="Where the facts go.")
@click.option("--resident", is_flag=True, help="Put the descriptions of the records in front of agents.")
@click.option("--replace", is_flag=True, help="Replace records that have another text; history keeps it.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@json_option
def import_claude_memory(
    folder: Path | None, scope: Scope, resident: bool, replace: bool, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Take over what Claude Code's auto memory (MEMORY.md and its files) holds of this project.

    What it knows of you and what you corrected become candidates, which wait for your yes in `hikidashi inbox`; what
    it knows of the project becomes knowledge records. What would be done is shown first. Nothing is changed there,
    and the same import again changes nothing here. docs/claude-memory.md says what becomes of what.
    """
    with opened_drawers() as here:
        place = folder if folder is not None else find_folder(_root(here))
        intake = plan_import(read_folder(place), at=format_time(here.drawers.clock()), scope=scope, resident=resident)
        if not dry_run:
            words = ["import", "claude-memory", *(["--folder", str(folder)] if folder else [])]
            words += ["--scope", scope] if scope != "workspace" else []
            words += [name for name, on in (("--resident", resident), ("--replace", replace)) if on]
            drafts = [fact.draft for fact in intake.facts]
            only_person(here.settings, *words, leave=lambda: leave_import(here.drawers, drafts))
        form = _planned(here, place, intake, replace)
        if not as_json:
            _show_intake(form)
        if not dry_run and (form["candidates"] or form["records"]):
            if not confirmed("Do this?", yes=yes, quiet=as_json):
                raise UsageError("nothing was changed: look at the list, then run the same command with --yes")
            _take_in(here, intake, form, replace)
    if as_json:
        emit_json(form)
    elif form["done"]:
        _show_done(form)


def _root(here: OpenedDrawers) -> Path:
    if here.workspace is None:  # `opened_drawers` opens none only for the scope `global`
        raise NoWorkspace("there is no workspace here: run `hikidashi init`")
    return here.workspace.root


def _planned(here: OpenedDrawers, place: Path, intake: Intake, replace: bool) -> dict[str, Any]:
    """The JSON form of what would be done; keys are stable."""
    tree = load_tree(here.workspace) if here.workspace else {}
    candidates = [
        {"file": fact.file, "scope": fact.draft.scope, "key": fact.draft.key, "type": fact.draft.type,
         "body": fact.draft.body, "outcome": None, "id": None}
        for fact in intake.facts
    ]  # fmt: skip
    records = [
        {"file": one.file, "path": one.record.path, "description": one.record.description,
         "action": record_action(tree, one.record, replace=replace)}
        for one in intake.records
    ]  # fmt: skip
    left_out = [dataclasses.asdict(one) for one in intake.left_out]
    return {"folder": str(place), "done": False, "candidates": candidates, "records": records, "left_out": left_out}


def _take_in(here: OpenedDrawers, intake: Intake, form: dict[str, Any], replace: bool) -> None:
    """Do what `form` says, and note there what became of it. Records first: what fails then is done again whole."""
    if here.workspace is not None and intake.records:
        actions = add_records(
            here.workspace,
            here.settings,
            here.drawers.writable("workspace").connection,
            [one.record for one in intake.records],
            subject=f"Take over {amount(len(intake.records), 'record')} from Claude Code's auto memory",
            replace=replace,
        )
        for row, action in zip(form["records"], actions, strict=True):
            row["action"] = action
    if intake.facts:
        connection = here.drawers.writable(intake.facts[0].draft.scope).connection
        at = format_time(here.drawers.clock())
        for row, done in zip(
            form["candidates"], propose_all(connection, [fact.draft for fact in intake.facts], at=at), strict=True
        ):
            row["outcome"], row["id"] = done.outcome, done.id or None
    form["done"] = True


def _show_intake(form: dict[str, Any]) -> None:
    say(f"In {shown(Path(form['folder']))}:", "bold")
    for row in form["candidates"]:
        say(f"{row['file']}: candidate {row['key']} ({row['type']}): {short(row['body'], 100)}", indent="  ", hang="  ")
    words = {"create": "", "replace": ", replaced", "unchanged": ", there already", "differs": ", left: differs"}
    for row in form["records"]:
        said = f": {short(row['description'], 100)}" if row["description"] else ""
        say(f"{row['file']}: record {row['path']}{words[row['action']]}{said}", indent="  ", hang="  ")
    for row in form["left_out"]:
        note(f"{row['file']}, left out: {row['why']}")
    if not form["candidates"] and not form["records"]:
        say("Nothing to take over.")


def _show_done(form: dict[str, Any]) -> None:
    outcomes = Counter(row["outcome"] for row in form["candidates"])
    actions = Counter(row["action"] for row in form["records"])
    waiting = outcomes["new"] + outcomes["seen"]
    written = actions["create"] + actions["replace"]
    say(
        f"{amount(waiting, 'candidate waits', 'candidates wait')} for `hikidashi inbox`; "
        f"{amount(written, 'record')} written.",
        "bold",
    )
    said = {
        "kept": "a better founded candidate waits",
        "known": "the drawer says so already",
        "refused": "you turned that down before",
        "unfit": "it cannot be kept",
    }
    for row in form["candidates"]:
        if row["outcome"] in said:
            note(f"{row['key']}: {said[row['outcome']]}")
    if actions["differs"]:
        note(f"{amount(actions['differs'], 'record has', 'records have')} another text here and stayed: see --replace")


@click.command("claude-memory")
@click.option("--folder", type=_Path, help="Where to write; by default the auto memory of this project.")
@click.option("--all", "everything", is_flag=True, help="What is retired, replaced, done or withdrawn, too.")
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@json_option
def export_claude_memory(folder: Path | None, everything: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Write facts and records into Claude Code's auto memory, for those who leave.

    One file each, and a line in MEMORY.md. Files that are there stay as they are, and what they say already is not
    written again. What would be written is shown first.
    """
    damaged: list[DamagedFact] = []
    with opened_drawers() as here:
        target = folder if folder is not None else new_folder(_root(here))
        if not dry_run:
            words = ["export", "claude-memory", *(["--folder", str(folder)] if folder else [])]
            only_person(here.settings, *words, *(["--all"] if everything else []))
        drawers = sorted(here.drawers.existing(None), key=lambda drawer: drawer.scope, reverse=True)
        facts = [fact for one in drawers for fact in all_facts(one.connection, one.scope, damaged=damaged)]
        tree = load_tree(here.workspace) if here.workspace else {}
        memories, left_out = memories_of(facts, tree, everything=everything)
        leaving = plan_export(_there(target), memories)
        if not as_json:
            _show_leaving(target, leaving, left_out)
        asked = bool(leaving.files) and not dry_run
        if asked:
            if not confirmed("Write them?", yes=yes, quiet=as_json, default=False):
                raise UsageError("nothing was written: look at the list, then run the same command with --yes")
            _write(target, leaving)
    if as_json:
        files = sorted(leaving.files)
        emit_json({"folder": str(target), "done": asked, "files": files, "known": leaving.known, "left_out": left_out})
    elif asked:
        say(f"{amount(len(leaving.files), 'file')} written.", "bold")
    name_damaged(damaged)


def _there(target: Path) -> MemoryFolder:
    """What the folder holds. Raises `UsageError` where its index is nothing that a line can be added to."""
    if not target.is_dir():
        return MemoryFolder(path=target, refused={})
    found = read_folder(target)
    if INDEX in found.refused:
        raise UsageError(f"{target / INDEX} cannot be added to ({found.refused[INDEX]}): give another --folder")
    return found


def _show_leaving(target: Path, leaving: Leaving, left_out: int) -> None:
    say(f"Into {shown(target)}:" if leaving.files else f"Nothing to write into {shown(target)}.", "bold")
    for name in leaving.files:
        say(f"{name}{' (lines are added)' if name == INDEX else ''}", indent="  ")
    if leaving.known:
        note(f"{amount(leaving.known, 'memory', 'memories')} of them stood there already")
    if left_out:
        note(f"{amount(left_out, 'fact or record', 'facts or records')} no longer in force, or unreadable, stay out")


def _write(target: Path, leaving: Leaving) -> None:
    """The memories, and the index that leads to them last. Raises `StorageFailure`."""
    make_folder(target)
    for name, data in leaving.files.items():
        write_atomic(target / name, data)
