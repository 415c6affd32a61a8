"""`mcp`: the server that a host starts. It imports nothing that the server's first answer does not need."""

from __future__ import annotations

from pathlib import Path

import click

from hikidashi.errors import UsageError
from hikidashi.serve.mcp import serve

__all__ = ["mcp_command"]


@click.command("mcp")
def mcp_command() -> None:
    """Serve this workspace's memory to a host, over standard input and output (Model Context Protocol).

    A host starts it: docs/mcp.md says how each is told to. It works on the workspace of the current folder; -C names
    another one.
    """
    try:
        folder = Path.cwd()
    except OSError as exc:
        raise UsageError("the current folder does not exist any more: change to another one") from exc
    serve(folder)
