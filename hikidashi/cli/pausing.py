"""`pause` and `resume`: a workspace, or one session."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

import click

from hikidashi.cli.context import opened
from hikidashi.cli.output import emit_json, json_option, plain, say, shown_time
from hikidashi.errors import UsageError
from hikidashi.staging.pause import newest_session, pause_session, paused_since, set_paused

__all__ = ["pause_command", "resume_command"]

#: The variable by which Claude Code tells its commands the session that they run in.
_SESSION_VARIABLE: Final = "CLAUDE_CODE_SESSION_ID"


def _session_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--session",
        metavar="ID",
        is_flag=False,
        flag_value="",
        help="Only this session, by its ID; without an ID the one that the command runs in, else the newest.",
    )(command)


@click.command("pause")
@_session_option
@json_option
def pause_command(session: str | None, as_json: bool) -> None:
    """Capture and consolidate nothing in this workspace until `resume`.

    With --session one session is not remembered, from its start on: nothing of it is read any more. What was taken
    from it before stays (`hikidashi inbox` rejects candidates).
    """
    _set_paused(True, session, as_json)


@click.command("resume")
@_session_option
@json_option
def resume_command(session: str | None, as_json: bool) -> None:
    """Capture and consolidate in this workspace again. With --session: remember that session again."""
    _set_paused(False, session, as_json)


def _set_paused(on: bool, session: str | None, as_json: bool) -> None:
    if session is not None:
        _set_session_paused(on, session, as_json)
        return
    with opened() as here:
        set_paused(here.connection, on)
        since = paused_since(here.connection)
    if as_json:
        emit_json({"workspace": str(here.workspace.root), "paused_at": since or None})
    elif on:
        say(f"Paused since {shown_time(since or '')} UTC: nothing is captured or consolidated.", "bold")
        say("Go on with: `hikidashi resume`")
    else:
        say("Not paused: sessions are captured and consolidated.", "bold")


def _set_session_paused(on: bool, session: str, as_json: bool) -> None:
    with opened() as here:
        home = here.workspace.home
    chosen = session or os.environ.get(_SESSION_VARIABLE, "") or newest_session(home)
    if not chosen:
        raise UsageError("no session is known here: give its ID, `hikidashi pause --session ID`")
    pause_session(home, chosen, on)
    if as_json:
        emit_json({"workspace": str(here.workspace.root), "session": chosen, "paused": on})
    elif on:
        say(f"The session {plain(chosen)} is not remembered: nothing of it is read from now on.", "bold")
        say("Take it back with: `hikidashi resume --session`")
    else:
        say(f"The session {plain(chosen)} is remembered.", "bold")
