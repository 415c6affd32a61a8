"""`hook`: what a host calls; the same as running `hikidashi/serve/hook.py` with the bare interpreter."""

from __future__ import annotations

import click

__all__ = ["hook_command"]


@click.command("hook", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("event", required=False, default="")
def hook_command(event: str) -> None:
    """What the host calls at EVENT (SessionStart, UserPromptSubmit, Stop, PreCompact, SessionEnd, SubagentStart).

    The event's JSON comes on standard input. It ends with exit code 0 in every case, with at most one JSON object on
    standard output. Hosts run the same file with the bare interpreter, which starts ten times as fast.
    """
    from hikidashi.serve.hook import main

    main([event])
