"""Where a server's call works: the workspace of its folder, with settings and drawers, opened for each call anew.

So a server that runs for days sees a workspace that was made, moved or distrusted meanwhile, and holds no lock.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hikidashi.config.settings import Settings, load_settings
from hikidashi.config.workspace import Workspace, open_workspace
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.drawer.places import Drawers
from hikidashi.drawer.rescan import rescan_if_due
from hikidashi.serve.given import Session

__all__ = ["Here", "is_paused", "opened_here"]

#: A call waits so long for another writer; hosts give up on a call after a minute or more.
_BUSY_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Here:
    """A workspace, open."""

    workspace: Workspace
    settings: Settings
    drawers: Drawers


@contextlib.contextmanager
def opened_here(folder: Path) -> Iterator[Here]:
    """Open the workspace of `folder`; a pass of decay and of newer redaction rules is made when it is due.

    Raises `NoWorkspace`, `UntrustedWorkspace`, `BadSettings`, `Busy`, `CorruptData`, `StorageFailure`.
    """
    workspace = open_workspace(folder)
    settings = load_settings(workspace)
    with contextlib.closing(connect(workspace.database, busy_seconds=_BUSY_SECONDS)) as connection:
        migrate(connection)
        with Drawers(connection) as drawers:
            for drawer in drawers.existing():
                rescan_if_due(drawer.connection)
            drawers.decay(stale_days=settings.drawer.stale_days, retired_days=settings.drawer.retired_days)
            yield Here(workspace=workspace, settings=settings, drawers=drawers)


def is_paused(workspace: Workspace, session_id: str) -> bool:
    """Whether the person asked that this session is not remembered: then no use is noted, and nothing proposed."""
    return bool(session_id) and Session(str(workspace.home), session_id).paused
