"""All hosts, and whose transcript a file is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hikidashi.hosts import claude_code, codex
from hikidashi.hosts.transcript import Host, SessionFile

__all__ = ["HOSTS", "recognise", "transcripts_under"]

#: The hosts in the order in which a file is offered to them.
HOSTS: Final[tuple[Host, ...]] = (claude_code.HOST, codex.HOST)

#: How transcripts are named; other files are not opened.
_SUFFIXES: Final = (".jsonl",)


def recognise(path: Path) -> tuple[Host, SessionFile] | None:
    """The host whose transcript `path` is, judged by its first lines; None when no host knows it."""
    for host in HOSTS:
        session_file = host.recognises(path)
        if session_file:
            return host, session_file
    return None


def transcripts_under(folder: Path) -> list[tuple[Host, SessionFile]]:
    """The transcripts of any host under `folder`: main sessions before sub-agents, oldest first.

    The order is the same on every call. Links to folders are not followed.
    """
    found: list[tuple[Host, SessionFile]] = []
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            known = recognise(Path(place, name)) if name.endswith(_SUFFIXES) else None
            if known:
                found.append(known)
    return sorted(found, key=lambda known: (known[1].sidechain, known[1].started_at or "~", str(known[1].path)))
