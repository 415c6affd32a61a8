"""`install` and `uninstall`: telling a host about Hikidashi, and taking that back."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from hikidashi.cli.context import current_folder, only_person
from hikidashi.cli.output import emit_json, json_option, note, say, table
from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import open_workspace
from hikidashi.errors import NoWorkspace
from hikidashi.hosts.host_file import Change
from hikidashi.hosts.install import HostName, Installation, Scope, Via, install, uninstall
from hikidashi.hosts.program import Program
from hikidashi.hosts.registered import elsewhere

__all__ = ["install_command", "uninstall_command"]

_HOSTS: Final = click.Choice(("claude-code", "codex"))
_SCOPE_HELP: Final = "You in every project (the default), or this project on this machine."
_PROGRAM_HELP: Final = "Claude Code's program, where `claude` is not on the PATH."

_NAMES: Final = {"claude-code": "Claude Code", "codex": "Codex"}


@click.command("install")
@click.argument("host", type=_HOSTS, metavar="claude-code|codex")
@click.option("--scope", type=click.Choice(("user", "project")), default="user", help=_SCOPE_HELP)
@click.option(
    "--via",
    type=click.Choice(("settings", "plugin")),
    default="settings",
    help="Write into the host's settings (the default), or have Claude Code install a plugin, which brings skills.",
)
@click.option("--statusline", is_flag=True, help="Have Claude Code show `hikidashi statusline`, where it shows none.")
@click.option("--program", metavar="FILE", help=_PROGRAM_HELP)
@json_option
def install_command(
    host: HostName, scope: Scope, via: Via, statusline: bool, program: str | None, as_json: bool
) -> None:
    """Register the hooks (and the MCP server, where there is one) with a host.

    What else stands in its settings keeps every byte, and a copy of each file is kept. Run it again after Python or
    Hikidashi has moved: the paths are put right, and nothing is registered twice. Sessions that run go on as they are.
    """
    only_person(load_settings(None), "install", host)
    root = _root(scope)
    done = install(
        host,
        scope=scope,
        via=via,
        root=root,
        program=Program(),
        statusline=statusline,
        claude=program,
    )
    others = elsewhere(done, root)
    if as_json:
        emit_json({**done.to_dict(), "elsewhere": list(map(str, others))})
        return
    say(f"{_NAMES[host]} runs Hikidashi's hooks from its next session on, in workspaces only.", "bold")
    rows = [("hooks", ", ".join(done.hooks)), ("server", "registered" if done.server else "not in this version")]
    if done.plugin:
        rows.append(("skills", "/hikidashi:inbox, /hikidashi:status"))
    table(("", ""), [*rows, *_files(done)])
    if statusline and not done.statusline:
        note("another status line is set, and stays; `hikidashi statusline` prints ours, for your own")
    for file in others:
        note(f"{file} registers Hikidashi too, so it runs twice: `hikidashi uninstall {host}`, with the other --scope")
    if host == "codex":
        note("Codex runs a new hook only once you trust it: start `codex`, type /hooks, look at them, and trust them")
    say(f"Check it with: `hikidashi doctor`. Take it out with: `hikidashi uninstall {host}`")


@click.command("uninstall")
@click.argument("host", type=_HOSTS, metavar="claude-code|codex")
@click.option("--scope", type=click.Choice(("user", "project")), default="user", help=_SCOPE_HELP)
@click.option("--program", metavar="FILE", help=_PROGRAM_HELP)
@json_option
def uninstall_command(host: HostName, scope: Scope, program: str | None, as_json: bool) -> None:
    """Take hooks, server, status line and plugin out of a host's settings again; everything else in them stays.

    A file that nobody changed since gets back the bytes that it had. Your workspaces, facts and records stay.
    """
    only_person(load_settings(None), "uninstall", host)
    root = _root(scope)
    done = uninstall(host, scope=scope, root=root, claude=program)
    others = elsewhere(done, root)
    if as_json:
        emit_json({**done.to_dict(), "elsewhere": list(map(str, others))})
        return
    if done.plugin or any(change.changed for change in done.files):
        say(f"Taken out of {_NAMES[host]}'s settings. Workspaces, facts and records stay.", "bold")
        table(("", ""), _files(done))
    else:
        say(f"Nothing of Hikidashi was in {_NAMES[host]}'s settings ({scope}).", "bold")
    for file in others:
        note(f"{file} still registers Hikidashi: run it again with the other --scope")


def _root(scope: Scope) -> Path | None:
    """The project's folder; None outside a workspace for the user's own scope."""
    try:
        return open_workspace(current_folder()).root
    except NoWorkspace:
        if scope == "project":
            raise
        return None


def _files(done: Installation) -> list[tuple[str, str]]:
    def told(change: Change) -> str:
        if not change.changed:
            return f"{change.path}\nnothing to change"
        return f"{change.path}\nbefore: {change.backup}" if change.backup else f"{change.path}\nnew"

    return [("file", told(change)) for change in done.files if change.changed or done.via == "settings"]
