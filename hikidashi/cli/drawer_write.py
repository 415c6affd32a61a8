"""`write`, `retire` and `forget`: changing what the drawer holds."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Final, get_args

import click

from hikidashi.cli.context import only_person, opened_drawers
from hikidashi.cli.fact_view import fact_form, show_fact
from hikidashi.cli.output import amount, confirmed, emit_json, json_option, note, say, yes_option
from hikidashi.cli.proposals import leave_write
from hikidashi.config.machine import this_machine
from hikidashi.drawer.draft import checked
from hikidashi.drawer.fact import CONFIDENCE, Draft, Fact, FactType, Scope, clean_key
from hikidashi.drawer.forget import Forgotten, is_known
from hikidashi.drawer.near import missing_fact
from hikidashi.drawer.places import Drawers
from hikidashi.drawer.reading import fact_keys
from hikidashi.drawer.store import Drawer
from hikidashi.errors import NoSuchFact, UsageError
from hikidashi.times import now

__all__ = ["forget_command", "retire_command", "write_command"]

_scope_option: Final = click.option(
    "--scope",
    type=click.Choice(get_args(Scope)),
    default="workspace",
    show_default=True,
    help="The workspace's facts, or your own global ones.",
)


@click.command("write")
@click.argument("key", metavar="KEY")
@click.argument("body", metavar="BODY")
@click.option(
    "--type",
    "fact_type",
    type=click.Choice(get_args(FactType)),
    required=True,
    help="What it is: `capability` (something that works here), `decision`, `rule`, `procedure` or `fact`.",
)
@_scope_option
@click.option("--proof", default="", help="What bears it out, in one line.")
@click.option("--probe", help="A harmless command that checks it, as one string in quotes. No shell runs it.")
@click.option("--alias", "aliases", multiple=True, help="Words that people prompt with; may be given several times.")
@json_option
def write_command(
    key: str,
    body: str,
    fact_type: FactType,
    scope: Scope,
    proof: str,
    probe: str | None,
    aliases: Sequence[str],
    as_json: bool,
) -> None:
    """Write BODY (`-` reads standard input) into the drawer under KEY, such as `deploy:shop`.

    The fact of the same key is replaced; what it said is kept as a version. Its probe and aliases stay unless others
    are given (--probe "" and --alias "" take them away). A text that holds a secret is refused.
    """
    with opened_drawers(scope) as here:
        drawer = here.drawers.writable(scope)
        before = drawer.replaced(key)
        draft = _draft(key, _text(body), fact_type, scope, proof, probe, aliases, before)
        words = _command_line(draft, probe, aliases)
        only_person(here.settings, *words, leave=lambda: leave_write(here.drawers, checked(draft)))
        fact = drawer.write(draft)
        shadowed = scope == "workspace" and here.drawers.find(key, "global") is not None
    if as_json:
        _emit_written(fact, before)
        return
    if before is None:
        say(f"Created {fact.key}.", "bold")
    else:
        say(f"Replaced {fact.key}: version {fact.version}. Before, it said ({before.type}, {before.status}):", "bold")
        say(before.body, "dim", indent="    ")
    if shadowed:
        note("your own global fact of the same key is not given here while this one is there")


def _draft(
    key: str,
    body: str,
    fact_type: FactType,
    scope: Scope,
    proof: str,
    probe: str | None,
    aliases: Sequence[str],
    before: Fact | None,
) -> Draft:
    """What the command line says. Raises `UsageError` for a probe whose quotes do not match."""
    here = this_machine() if fact_type == "capability" else None
    return Draft(
        key=key,
        type=fact_type,
        body=body,
        scope=scope,
        confidence=CONFIDENCE["command"],
        proof=proof,
        probe=_words(probe) if probe is not None else before.probe if before else (),
        aliases=tuple(aliases) if aliases else before.aliases if before else (),
        trust="user",
        origin="command",
        machine_id=here.id if here else "",
        machine_name=here.name if here else "",
    )


def _command_line(draft: Draft, probe: str | None, aliases: Sequence[str]) -> list[str]:
    """The command in words that a person can type; a text of several lines is to come from standard input."""
    words = ["write", draft.key, draft.body if "\n" not in draft.body else "-", "--type", draft.type]
    words += ["--scope", draft.scope] if draft.scope != "workspace" else []
    words += ["--proof", draft.proof] if draft.proof else []
    words += ["--probe", probe] if probe is not None else []
    return [*words, *(word for alias in aliases for word in ("--alias", alias))]


def _words(probe: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(probe))
    except ValueError as exc:
        raise UsageError(f"the probe cannot be taken apart ({exc}): close its quotes") from exc


def _text(body: str) -> str:
    """The body, from standard input where it is `-`."""
    if body != "-":
        return body
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:  # a program that runs us in its own process
        return sys.stdin.read()
    try:
        return str(stream.read().decode("utf-8"))
    except UnicodeDecodeError as exc:
        raise UsageError("standard input is not UTF-8: convert it before it is written") from exc


def _emit_written(fact: Fact, before: Fact | None) -> None:
    emit_json(
        {
            "action": "created" if before is None else "replaced",
            "fact": fact_form(fact, this_machine()),
            "previous": None if before is None else fact_form(before, this_machine()),
        }
    )


@click.command("retire")
@click.argument("key", metavar="KEY")
@_scope_option
@json_option
def retire_command(key: str, scope: Scope, as_json: bool) -> None:
    """Take the fact of KEY out of use: it is kept, and no agent is given it. `hikidashi write` brings it back."""
    with opened_drawers(scope) as here:
        drawer = _holding(here.drawers, key, scope)
        only_person(here.settings, "retire", key, *_scope_words(scope))
        fact = drawer.retire(key)
    if as_json:
        emit_json({"fact": fact_form(fact, this_machine())})
    else:
        say(f"Retired {fact.key}: no agent is given it any more.", "bold")


@click.command("forget")
@click.argument("key", metavar="KEY")
@_scope_option
@yes_option
@json_option
def forget_command(key: str, scope: Scope, yes: bool, as_json: bool) -> None:
    """Delete the fact of KEY with its versions, candidates, sightings and uses, and every byte of it in the database.

    It is not proposed again until you write it anew. Backups and the sessions themselves are not touched: see
    docs/drawer.md.
    """
    with opened_drawers(scope) as here:
        drawer = _holding(here.drawers, key, scope)
        only_person(here.settings, "forget", key, *_scope_words(scope))
        fact = drawer.replaced(key)
        if fact is not None and not as_json and not yes:
            show_fact(fact, this_machine(), now())
        if not confirmed(
            f"Forget {clean_key(key)} and all that was kept of it?", yes=yes, quiet=as_json, default=False
        ):
            raise UsageError(f"nothing was forgotten: run `hikidashi forget {shlex.quote(key)} --yes`")
        done = drawer.forget(key)
    if done.left is not None:
        raise type(done.left)(
            f"{done.key} is forgotten, but the database's files may still hold bytes of it ({done.left}): "
            "run the same command again"
        )
    if as_json:
        counts = {name: getattr(done, name) for name in ("fact", "candidates", "sightings", "uses", "again")}
        emit_json({"key": done.key, "scope": done.scope, **counts})
    else:
        say(_forgot_line(done), "bold")


def _scope_words(scope: Scope) -> list[str]:
    return ["--scope", scope] if scope != "workspace" else []


def _holding(drawers: Drawers, key: str, scope: Scope) -> Drawer:
    """The drawer of `scope`, which knows something of `key`. Raises `NoSuchFact`; it says if the other scope has it."""
    clean = clean_key(key)
    for drawer in drawers.existing(scope):
        if is_known(drawer.connection, scope, clean):
            return drawer
    other: Scope = "global" if scope == "workspace" else "workspace"
    if drawers.find(clean, other) is not None:
        raise NoSuchFact(f"no fact of the scope {scope} has the key {clean}, but one of {other}: add --scope {other}")
    raise missing_fact(
        clean, [known for found in drawers.existing(scope) for known in fact_keys(found.connection, scope)]
    )


def _forgot_line(done: Forgotten) -> str:
    if done.again:
        return f"{done.key} was forgotten before; the database was cleaned once more."
    counted = ((done.candidates, "candidate"), (done.sightings, "sighting"), (done.uses, "use"))
    gone = [amount(number, name) for number, name in counted if number]
    return f"Forgot {done.key}." + (f" With it went {', '.join(gone)}." if gone else "")
