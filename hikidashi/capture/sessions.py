"""Which transcripts to read: the workspace's own, and those that a person names."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from pathlib import Path

from hikidashi.config.registry import noted_worktrees
from hikidashi.config.territory import linked_worktrees
from hikidashi.config.workspace import Workspace
from hikidashi.errors import UsageError
from hikidashi.hosts.registry import HOSTS, recognise, transcripts_under
from hikidashi.hosts.transcript import Host, SessionFile
from hikidashi.staging.pause import paused_sessions

__all__ = ["FoundFiles", "absolute", "explicit_transcripts", "own_sessions", "transcripts_at"]

#: Transcripts with their hosts, in the order in which they are read.
FoundFiles = list[tuple[Host, SessionFile]]


def own_sessions(workspace: Workspace, since: datetime | None) -> FoundFiles:
    """The sessions that the hosts keep for this workspace: its root and its linked worktrees, removed ones too.

    Those written to at `since` or after it, all without one; never a session that its person paused.
    """
    worktrees = [*linked_worktrees(workspace.root), *noted_worktrees(workspace.root)]
    folders = dict.fromkeys([workspace.root, *worktrees])
    own = {file.path: (host, file) for host in HOSTS for folder in folders for file in host.session_files(folder)}
    oldest = 0 if since is None else int(since.timestamp() * 1e9)
    paused = paused_sessions(workspace.home)
    return _ordered(
        pair for pair in own.values() if pair[1].mtime_ns >= oldest and not (paused and _is_of(pair[1].path, paused))
    )


def _is_of(path: Path, sessions: Collection[str]) -> bool:
    """Whether a transcript is of one of these sessions: hosts name the file by it, and the folder of its sub-agents."""
    names = (*path.parts[:-1], path.stem)
    return any(name == session or name.endswith(f"-{session}") for name in names for session in sessions)


def _ordered(found: Iterable[tuple[Host, SessionFile]]) -> FoundFiles:
    """Main sessions before sub-agents, by the time of the first event: the order is the same on every call."""
    return sorted(found, key=lambda pair: (pair[1].sidechain, pair[1].started_at or "~", str(pair[1].path)))


def transcripts_at(path: Path) -> FoundFiles:
    """The transcripts of a file or folder; [] where there is none."""
    if path.is_dir():
        return transcripts_under(path)
    known = recognise(path)
    return [known] if known is not None else []


def absolute(path: Path) -> Path:
    """The path from the root on; links stay, since a transcript is known by the name that it was given."""
    return Path(os.path.abspath(path))  # noqa: PTH100  Path.absolute keeps `..`


def explicit_transcripts(paths: Sequence[Path]) -> FoundFiles:
    """The transcripts of paths that a person named. Raises `UsageError` for one that holds none."""
    found: dict[Path, tuple[Host, SessionFile]] = {}
    for path in paths:
        place = absolute(path)
        if not place.exists():
            raise UsageError(f"{path} does not exist; give a transcript or a folder that holds some")
        there = transcripts_at(place)
        if not there:
            what = "no transcripts under" if place.is_dir() else "not a transcript of a known host:"
            names = ", ".join(host.name for host in HOSTS)
            raise UsageError(f"{what} {path}; give a session file of {names} or a folder that holds some")
        found.update({file.path: (host, file) for host, file in there})
    return _ordered(found.values())
