"""`doctor`: do the hooks and the server work, and what mends what does not."""

from __future__ import annotations

from typing import Final

import click

from hikidashi.cli.context import current_folder, only_person
from hikidashi.cli.output import emit_json, json_option, say, table
from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import open_workspace
from hikidashi.errors import HikidashiError
from hikidashi.hosts.doctor import Finding, examine, stale
from hikidashi.hosts.install import Scope, Via, install
from hikidashi.hosts.program import Program

__all__ = ["doctor_command"]

_SHOWN: Final = {"ok": "ok", "note": "note", "trouble": "TROUBLE"}


@click.command("doctor")
@click.option("--mend", is_flag=True, help="First register again what names an interpreter or folder that moved.")
@json_option
def doctor_command(mend: bool, as_json: bool) -> None:
    """Check what is registered with hosts: each hook is run, the server is asked, files and folders are looked at.

    Hooks are tried in an empty workspace made for it. Each finding comes with its mend. Exit code 1 when something
    does not work.
    """
    program = Program()
    mended = _mended(program) if mend else []
    findings = examine(current_folder(), program)
    works = all(finding.state != "trouble" for finding in findings)
    if as_json:
        emit_json({"works": works, "mended": mended, "findings": [finding.to_dict() for finding in findings]})
    else:
        for line in mended:
            say(f"Registered again: {line}", "bold")
        table(("", "", ""), [(_SHOWN[finding.state], finding.check, _told(finding)) for finding in findings])
        say("All that was looked at works." if works else "Something does not work: see TROUBLE above.", "bold")
    if not works:
        raise click.exceptions.Exit(1)


def _told(finding: Finding) -> str:
    return f"{finding.what}\nmend: {finding.mend}" if finding.mend else finding.what


def _mended(program: Program) -> list[str]:
    """Register again what names another place; the files that it stood in."""
    only_person(load_settings(None), "doctor", "--mend")
    try:
        root = open_workspace(current_folder()).root
    except HikidashiError:  # `examine` says what is wrong with it
        root = None
    again = stale(root, program)
    for host, everywhere, is_plugin in dict.fromkeys((o.host, o.everywhere, "plugins" in o.file.parts) for o in again):
        scope: Scope = "user" if everywhere else "project"
        via: Via = "plugin" if is_plugin else "settings"
        install(host, scope=scope, via=via, root=root, program=program)
    return list(dict.fromkeys(str(one.file) for one in again))
