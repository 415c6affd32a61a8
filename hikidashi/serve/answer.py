"""From an event to its answer. Standard library only; each event loads what it needs and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from hikidashi.config.glance import look
from hikidashi.errors import HikidashiError, UntrustedWorkspace
from hikidashi.serve.host_event import EVENTS, HostEvent, Reply

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from hikidashi.serve.place import Here

__all__ = ["answer"]


def answer(event: HostEvent, send: Callable[[Reply], object], environ: Mapping[str, str] = os.environ) -> str:
    """Answer an event through `send`, then note what was given; gives one line on what does not work, '' for nothing.

    Nothing is sent in our own worker's sessions, with HIKIDASHI_DISABLE set, or outside a workspace. Raises
    `HikidashiError` with one line where the workspace cannot be used.
    """
    if event.name not in EVENTS or not event.cwd or _is_set(environ, "HIKIDASHI_WORKER", "HIKIDASHI_DISABLE"):
        return ""
    if event.name == "Stop":  # nearly every message ends here, before anything is looked for
        from hikidashi.serve.guarding import claims_inability

        if not claims_inability(event):
            return ""
    try:
        place = look(event.cwd)
    except UntrustedWorkspace:
        if event.name == "SessionStart":  # said once a session, not on each turn
            raise
        return ""
    if place is None:
        return ""
    from hikidashi.serve.place import opened

    try:
        with opened(event, place) as here:
            if here.is_older:
                return _updated(here)
            reply = _answered(here)
            send(reply)
            for act in reply.after:
                act()
            return here.problem
    except HikidashiError as exc:
        if event.name == "SessionStart":
            send(Reply(to_person=f"Hikidashi gives nothing here: {exc}"))
        raise


def _is_set(environ: Mapping[str, str], *names: str) -> bool:
    return any(environ.get(name, "0") not in ("", "0") for name in names)


def _answered(here: Here) -> Reply:
    name = here.event.name
    if name == "UserPromptSubmit":
        from hikidashi.serve.turn import at_prompt

        return at_prompt(here)
    if name == "SessionStart":
        from hikidashi.serve.opening import at_start

        reply = at_start(here)
        if here.event.source in ("", "startup", "clear"):
            reply.after.append(lambda: _look_for_tails(here))
        return reply
    if name == "SubagentStart":
        from hikidashi.serve.opening import at_subagent_start

        return at_subagent_start(here)
    if name == "Stop":
        from hikidashi.serve.guarding import at_stop

        return at_stop(here)
    from hikidashi.serve.ending import read_later

    here.save(transcript=here.event.transcript)
    read_later(here)
    return Reply()


def _updated(here: Here) -> str:
    """After an update: the extraction brings the database up to date first. Gives the line for the log."""
    from hikidashi.serve.ending import read_later

    what = "the workspace's database is of an older version"
    try:
        started = read_later(here)
    except OSError:
        started = False
    return f"{what}, and is brought up to date now" if started else f"{what}: run `hikidashi status` once"


def _look_for_tails(here: Here) -> None:
    from hikidashi.serve.ending import read_what_nobody_reported

    try:
        read_what_nobody_reported(here)
    except OSError as exc:
        here.problem = here.problem or f"cannot start the extraction: {exc.strerror}"
