"""A throwaway workspace for benchmarks: its own home, so that the person's data folder is never touched."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hikidashi.config.settings import Settings, load_settings
from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.worker.adopt import found_workspace

__all__ = ["throwaway_workspace"]


@contextlib.contextmanager
def throwaway_workspace() -> Iterator[tuple[Workspace, Settings, sqlite3.Connection]]:
    """A new workspace, its settings and its open database; all gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="hikidashi-bench-") as folder:
        home = Path(folder) / "home"
        root = home / "project"
        root.mkdir(parents=True)
        kept = {name: os.environ.get(name) for name in ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
        os.environ["HOME"] = os.environ["USERPROFILE"] = str(home)
        os.environ.pop("XDG_DATA_HOME", None)
        os.environ.pop("XDG_CONFIG_HOME", None)
        try:
            workspace = found_workspace(root)
            with contextlib.closing(connect(workspace.database)) as connection:
                migrate(connection)
                yield workspace, load_settings(workspace, environ={}), connection
        finally:
            for name, value in kept.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
