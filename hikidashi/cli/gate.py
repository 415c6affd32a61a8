"""`candidates`, `approve` and `reject`: what waits for a yes, and deciding it by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final, get_args

import click

from hikidashi.cli.candidate_edit import edit_candidate
from hikidashi.cli.candidate_view import desk_form, show_change, show_list
from hikidashi.cli.desk import Desk, opened_desk
from hikidashi.cli.fact_view import fact_form
from hikidashi.cli.output import amount, confirmed, emit_json, json_option, note, say, yes_option
from hikidashi.config.machine import this_machine
from hikidashi.drawer.candidates import Candidate
from hikidashi.drawer.decisions import Decided, Edit, approve, reject
from hikidashi.drawer.fact import FactType
from hikidashi.errors import CorruptData, UsageError

__all__ = ["approve_command", "candidates_command", "reject_command"]

#: Candidates listed; more are seldom read.
_LISTED: Final = 10

_names = click.argument("names", metavar="[ID]...", nargs=-1)
_verb_option = click.option(
    "--verb", "verbs", multiple=True, help="All that do this: deploy, publish, auth, …; may be given more than once."
)
_type_option = click.option(
    "--type",
    "types",
    type=click.Choice(get_args(FactType)),
    multiple=True,
    help="All of this type; may be given more than once.",
)


@click.command("candidates")
@click.option("--all", "everything", is_flag=True, help="List all of them, those that you put off too.")
@json_option
@click.pass_context
def candidates_command(ctx: click.Context, everything: bool, as_json: bool) -> None:
    """The candidates that wait for your yes: the ten that matter, the rest counted.

    In JSON all of them, with the fact that each would replace and what was seen of its key; there, lines of
    transcripts count from 0.
    """
    with opened_desk() as desk:
        if as_json:
            emit_json(desk_form(desk))
        else:
            _show_waiting(desk, everything=everything)
    if desk.damaged:
        ctx.exit(CorruptData.exit_code)


def _show_waiting(desk: Desk, *, everything: bool) -> None:
    waiting = desk.candidates[: len(desk.candidates) - desk.put_off]
    shown = desk.candidates if everything else waiting[:_LISTED]
    if not desk.candidates:
        say("Nothing waits: `hikidashi extract` proposes what your sessions show.")
        return
    if not shown:
        say(f"Nothing waits. {desk.put_off} put off: `hikidashi candidates --all` lists them.")
        return
    show_list(desk, shown)
    if not everything:
        _say_rest(len(waiting) - len(shown), desk.put_off)
    elif desk.put_off:
        say(f"Put off: the last {desk.put_off}. The inbox leaves them out until their days are over.")
    take = "take one with `hikidashi approve ID`, or `hikidashi reject ID`."
    say(f"Next: `hikidashi inbox` goes through them; or {take}" if waiting else f"Next: {take}")


def _say_rest(more: int, put_off: int) -> None:
    parts = [f"{more} more" if more > 0 else "", f"{put_off} put off" if put_off else ""]
    counted = " and ".join(filter(None, parts))
    if counted:
        say(f"… and {counted}: `hikidashi candidates --all` lists them.")


@click.command("approve")
@_names
@_verb_option
@_type_option
@click.option("--edit", is_flag=True, help="Change key, type, body or check in your editor first.")
@yes_option
@json_option
def approve_command(
    names: Sequence[str], verbs: Sequence[str], types: Sequence[FactType], edit: bool, yes: bool, as_json: bool
) -> None:
    """Put candidates into the drawer, each ID (or the beginning of one, or a key) once.

    Where the key exists, what it says now and what it will say are shown; the old text is kept as a version. With
    --verb or --type all of those kinds are taken, after a question on a terminal and with --yes without one.
    """
    with opened_desk() as desk:
        chosen = desk.chosen(names, verbs, types)
        desk.only_person("approve", *_words(names, verbs, types, edit), chosen=chosen)
        if verbs or types:
            _confirm_kind(desk, chosen, yes=yes, quiet=as_json)
        edits = _edits(desk, chosen) if edit else {}
        if edit:
            chosen = [candidate for candidate in chosen if candidate.id in edits]
        agreed = [candidate for candidate in chosen if _agreed(desk, candidate, edits, yes=yes, quiet=as_json)]
        done = _by_scope(desk, agreed, edits)
    if as_json:
        emit_json({"approved": [_approved_form(decided) for decided in done], "missed": _missed(agreed, done)})
        return
    for decided in done:
        if decided.fact is not None:
            say(f"{decided.fact.key} is in the drawer, version {decided.fact.version}.", "bold")
    _say_missed(agreed, done)
    if not chosen:
        say("Nothing was approved.")


def _words(names: Sequence[str], verbs: Sequence[str], types: Sequence[str], edit: bool = False) -> list[str]:
    """The rest of the command line, for the person's own terminal."""
    kinds = [("--verb", verb) for verb in verbs] + [("--type", type) for type in types]
    return [*names, *(word for kind in kinds for word in kind), *(["--edit"] if edit else [])]


def _confirm_kind(desk: Desk, chosen: Sequence[Candidate], *, yes: bool, quiet: bool) -> None:
    """Show all of a kind and ask once. Raises `UsageError` on a no."""
    if not quiet:
        show_list(desk, chosen)
    if not confirmed(f"Approve {'it' if len(chosen) == 1 else f'all {len(chosen)}'}?", yes=yes, quiet=quiet):
        raise UsageError("nothing was approved: look at them, then run the same command with --yes")


def _edits(desk: Desk, chosen: Sequence[Candidate]) -> dict[str, Edit]:
    found = {candidate.id: edit_candidate(desk.proposal(candidate)) for candidate in chosen}
    return {candidate_id: edit for candidate_id, edit in found.items() if edit is not None}


def _agreed(desk: Desk, candidate: Candidate, edits: dict[str, Edit], *, yes: bool, quiet: bool) -> bool:
    """Show what would be replaced, and on a terminal ask whether it may be."""
    new = desk.proposal(candidate, edits.get(candidate.id))
    fact = desk.drawer(candidate).replaced(new.key)
    if fact is None or quiet:
        return True
    show_change(fact, new)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    return yes or not at_terminal or confirmed("Replace it?", yes=False)


def _by_scope(desk: Desk, chosen: Sequence[Candidate], edits: dict[str, Edit]) -> list[Decided]:
    """Approve the candidates of each drawer in one transaction."""
    done = []
    for scope in dict.fromkeys(candidate.scope for candidate in chosen):
        ids = [candidate.id for candidate in chosen if candidate.scope == scope]
        shown = {candidate.id: candidate for candidate in chosen}
        done += approve(desk.here.drawers.writable(scope), ids, edits=edits, shown=shown)
    return done


def _approved_form(decided: Decided) -> dict[str, Any]:
    fact, replaced = decided.fact, decided.replaced
    return {
        "id": decided.candidate.id,
        "fact": None if fact is None else fact_form(fact, this_machine()),
        "replaced": None if replaced is None else fact_form(replaced, this_machine()),
    }


def _missed(chosen: Sequence[Candidate], done: Sequence[Decided]) -> list[str]:
    """The IDs that somebody else decided meanwhile."""
    decided = {one.candidate.id for one in done}
    return [candidate.id for candidate in chosen if candidate.id not in decided]


def _say_missed(chosen: Sequence[Candidate], done: Sequence[Decided]) -> None:
    missed = _missed(chosen, done)
    if missed:
        note(
            f"{', '.join(missed)} did not wait any more: another process decided {'it' if len(missed) == 1 else 'them'}"
        )


@click.command("reject")
@_names
@_verb_option
@_type_option
@json_option
def reject_command(names: Sequence[str], verbs: Sequence[str], types: Sequence[FactType], as_json: bool) -> None:
    """Turn candidates down: they do not come back unless their content changes."""
    with opened_desk() as desk:
        chosen = desk.chosen(names, verbs, types)
        desk.only_person("reject", *_words(names, verbs, types), chosen=chosen)
        done: list[Decided] = []
        for scope in dict.fromkeys(candidate.scope for candidate in chosen):
            ids = [candidate.id for candidate in chosen if candidate.scope == scope]
            done += reject(desk.here.drawers.writable(scope).connection, ids)
    if as_json:
        rejected = [{"id": one.candidate.id, "key": one.candidate.key} for one in done]
        emit_json({"rejected": rejected, "missed": _missed(chosen, done)})
        return
    for one in done:
        say(f"{one.candidate.id} ({one.candidate.key}) was turned down.", "bold")
    _say_missed(chosen, done)
    if done:
        say(f"{amount(len(done), 'candidate')} will not be proposed again with that content.")
