"""`statusline`: the line that a host shows below its prompt."""

from __future__ import annotations

import sys

import click

from hikidashi.cli.context import current_folder
from hikidashi.cli.output import emit_json, json_option, say
from hikidashi.serve.statusline import folder_of, seen, shown
from hikidashi.times import now

__all__ = ["statusline_command"]


@click.command("statusline")
@json_option
def statusline_command(as_json: bool) -> None:
    """One line on this workspace: facts, candidates that wait, the last run, trouble.

    Nothing is printed outside a workspace. A host sends JSON on standard input that names the folder; on a terminal it
    is the current one. `hikidashi install claude-code --statusline` has Claude Code show it.
    """
    given = b"" if sys.stdin.isatty() else sys.stdin.buffer.read()
    form = seen(folder_of(given) or str(current_folder()), now=now())
    if as_json:
        emit_json(form)
    elif line := shown(form, now=now()):
        say(line, wrap=False)
