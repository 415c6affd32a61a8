"""What a command works with: the workspace of the current folder, its settings, its open database."""

from __future__ import annotations

import contextlib
import shlex
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hikidashi.cli.output import warn
from hikidashi.config.settings import Settings, load_settings
from hikidashi.config.workspace import Workspace, open_workspace
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.db.network import network_warning
from hikidashi.drawer.fact import Scope
from hikidashi.drawer.person import Left, require_person
from hikidashi.drawer.places import Drawers
from hikidashi.drawer.rescan import rescan_if_due, rescan_warning
from hikidashi.errors import NoWorkspace, UsageError

__all__ = ["Opened", "OpenedDrawers", "current_folder", "only_person", "opened", "opened_drawers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """An open workspace."""

    workspace: Workspace
    settings: Settings
    connection: sqlite3.Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDrawers:
    """The drawers of a place."""

    settings: Settings
    drawers: Drawers
    #: None where only the user's own drawer is at hand.
    workspace: Workspace | None


def current_folder() -> Path:
    """Where the command was started. Raises `UsageError` when that folder is gone."""
    try:
        return Path.cwd()
    except OSError as exc:
        raise UsageError("the current folder does not exist any more: change to another one") from exc


@contextlib.contextmanager
def opened(folder: Path | None = None) -> Iterator[Opened]:
    """Open the workspace of `folder` (the current one by default).

    Raises `NoWorkspace`, `UntrustedWorkspace`, `BadSettings`, `CorruptData`, and `UsageError` as
    `current_folder` does.
    """
    workspace = open_workspace(folder or current_folder())
    settings = load_settings(workspace)
    connection = connect(workspace.database)
    try:
        migrate(connection)
        warn(network_warning(workspace.database))
        yield Opened(workspace=workspace, settings=settings, connection=connection)
    finally:
        connection.close()


@contextlib.contextmanager
def opened_drawers(scope: Scope | None = None) -> Iterator[OpenedDrawers]:
    """Open the workspace's drawer and the user's own one; a pass of decay is made when it is due.

    With the scope `global` it works outside a workspace, too. Raises as `opened` does.
    """
    with contextlib.ExitStack() as stack:
        try:
            here = stack.enter_context(opened())
        except NoWorkspace:
            if scope != "global":
                raise
            settings, workspace, connection = load_settings(None), None, None
        else:
            settings, workspace, connection = here.settings, here.workspace, here.connection
        drawers = stack.enter_context(Drawers(connection))
        warn(rescan_warning([rescan_if_due(drawer.connection) for drawer in drawers.existing()]))
        drawers.decay(stale_days=settings.drawer.stale_days, retired_days=settings.drawer.retired_days)
        yield OpenedDrawers(settings=settings, drawers=drawers, workspace=workspace)
        warn(drawers.warning)


def only_person(
    settings: Settings, *words: str, folder: Path | None = None, leave: Callable[[], Left] | None = None
) -> None:
    """Refuse what is a person's alone to an agent (`GateClosed`), naming the line for the person's own terminal.

    `words`: the command and its arguments as they were given. `folder`: where it holds, the current one by default.
    `leave`: see `require_person`.
    """
    place = str(folder or current_folder())
    require_person(settings, lambda line: shlex.join(("hikidashi", "-C", place, *line)), words, leave=leave)
