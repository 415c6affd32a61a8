"""`export` and `import`: facts as JSON lines; with the word `claude-memory` see `cli.claude_memory`."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final, get_args

import click

from hikidashi.cli.context import only_person, opened_drawers
from hikidashi.cli.fact_view import damaged_form, name_damaged
from hikidashi.cli.output import amount, emit_json, json_option, note, say
from hikidashi.cli.proposals import leave_import
from hikidashi.drawer.fact import Scope
from hikidashi.drawer.reading import DamagedFact, all_facts, versions_of
from hikidashi.drawer.transfer import fact_line, import_facts, parse_lines
from hikidashi.errors import UsageError

__all__ = ["export_command", "import_command"]

_OTHER: Final = "claude-memory"

#: Of a file that is imported: it is checked as a whole, in memory.
_MAX_BYTES: Final = 256 * 1024 * 1024


class WithClaudeMemory(click.Command):
    """A command that becomes another one, with its own options, where the word `claude-memory` stands."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """The context of the command that is meant. A file of that name is written `./claude-memory`."""
        words = args[: args.index("--")] if "--" in args else args
        if _OTHER not in words:
            return super().make_context(info_name, args, parent, **extra)
        place = words.index(_OTHER)
        rest = [*args[:place], *args[place + 1 :]]
        return self.claude_memory().make_context(f"{info_name} {_OTHER}", rest, parent, **extra)

    def claude_memory(self) -> click.Command:
        """That other command."""
        module = importlib.import_module("hikidashi.cli.claude_memory")
        command: click.Command = getattr(module, f"{self.name}_claude_memory")
        return command


@click.command("export", cls=WithClaudeMemory)
@click.option(
    "--scope", type=click.Choice(get_args(Scope)), help="Only the workspace's facts, or only your own global ones."
)
@click.option("--versions", is_flag=True, help="With every version of each fact, oldest first.")
@json_option
def export_command(scope: Scope | None, versions: bool, as_json: bool) -> None:
    """Print the facts as JSON lines, retired ones too, sorted by scope and key. The same drawer gives the same bytes.

    With --json it is one document with the same content. `hikidashi import` reads the lines; docs/drawer.md explains
    them. `hikidashi export claude-memory` writes into Claude Code's own auto memory instead.
    """
    damaged: list[DamagedFact] = []
    with opened_drawers(scope) as here:
        lines = [
            fact_line(fact, versions_of(drawer.connection, fact) if versions else None)
            for drawer in sorted(here.drawers.existing(scope), key=lambda drawer: drawer.scope)
            for fact in all_facts(drawer.connection, drawer.scope, damaged=damaged)
        ]
    if as_json:
        emit_json({"facts": lines, "damaged": damaged_form(damaged)})
    else:
        for line in lines:
            emit_json(line, indent=None)
    name_damaged(damaged)


@click.command("import", cls=WithClaudeMemory)
@click.argument("file", metavar="FILE")
@click.option("--scope", type=click.Choice(get_args(Scope)), help="Put all of them there, whatever the lines say.")
@json_option
def import_command(file: str, scope: Scope | None, as_json: bool) -> None:
    """Read facts from the JSON lines of FILE (`-` reads standard input).

    Every line is checked before anything is written. A fact that is there already with the same content stays as it
    is; another one of the same key is replaced, and kept as a version. Probes do not come in. An import that is cut
    off goes on where it was when it is run again. `hikidashi import claude-memory` takes over what Claude Code's own
    auto memory holds.
    """
    lines = parse_lines(_bytes(file), scope)
    with opened_drawers("global" if lines and all(line.draft.scope == "global" for line in lines) else None) as here:
        words = ["import", file, *(["--scope", scope] if scope else [])]
        only_person(here.settings, *words, leave=lambda: leave_import(here.drawers, [line.draft for line in lines]))
        done = import_facts(here.drawers, lines)
    counts = Counter(one.action for one in done)
    left_out = sum(line.had_probe for line, one in zip(lines, done, strict=True) if one.action != "unchanged")
    if as_json:
        facts = [dataclasses.asdict(one) for one in done]
        counted = {action: counts[action] for action in ("created", "replaced", "unchanged")}
        emit_json({**counted, "probes_left_out": left_out, "facts": facts})
        return
    say(
        f"{amount(len(done), 'fact')} read: {counts['created']} created, {counts['replaced']} replaced, "
        f"{counts['unchanged']} unchanged.",
        "bold",
    )
    if left_out:
        note(f"{amount(left_out, 'probe')} did not come in: `hikidashi write … --probe` adds one that you looked at")


def _bytes(file: str) -> bytes:
    """What is in the file, or on standard input for `-`. Raises `UsageError` for what is not there or too large."""
    try:
        if file == "-":
            stream = getattr(sys.stdin, "buffer", None)  # none where a program runs us in its own process
            data = sys.stdin.read(_MAX_BYTES + 1).encode() if stream is None else stream.read(_MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                data = opened.read(_MAX_BYTES + 1)
    except OSError as exc:
        raise UsageError(f"cannot read {file} ({exc.strerror}): give a file that `hikidashi export` wrote") from exc
    if len(data) > _MAX_BYTES:
        raise UsageError(f"{file} holds more than 256 MB: split it, any line may begin a file")
    return bytes(data)
