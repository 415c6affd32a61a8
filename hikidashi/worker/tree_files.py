"""Single record files of the live tree: read, compared and replaced without following a link.

`records.library.load_tree` reads the tree as a whole; publication and recovery look at one path at a time,
just before they replace it.
"""

from __future__ import annotations

import stat
from typing import Final, Literal

from hikidashi.atomic import (
    TEMP_PREFIX,
    is_temporary,
    make_folder,
    remove_file,
    storage_errors,
    sync_folder,
    write_atomic,
)
from hikidashi.config.workspace import Workspace
from hikidashi.worker.scratch import Change

__all__ = ["FOREIGN", "PathState", "path_state", "put", "sweep_temporaries"]

#: Where a live path stands in a publication: `before` it, `after` it, or holding what somebody else put there.
PathState = Literal["before", "after", "foreign"]

FOREIGN: Final = object()


def _live_bytes(workspace: Workspace, path: str) -> object:
    """The file's bytes (`bytes`), None when there is none, `FOREIGN` for a link, a folder or a link on the way."""
    place = workspace.home
    with storage_errors(f"read {workspace.home / path}"):
        for part in path.split("/"):
            place = place / part
            try:
                mode = place.lstat().st_mode
            except (FileNotFoundError, NotADirectoryError):
                return None
            if stat.S_ISLNK(mode):
                return FOREIGN
        return place.read_bytes() if stat.S_ISREG(mode) else FOREIGN


def path_state(workspace: Workspace, path: str, change: Change) -> PathState:
    """Whether the live file holds the bytes of before, of after, or neither (a person's)."""
    live = _live_bytes(workspace, path)
    before, after = change
    if live is FOREIGN:
        return "foreign"
    if live == before:
        return "before"
    return "after" if live == after else "foreign"


def put(workspace: Workspace, path: str, data: bytes | None) -> None:
    """Set the live file to `data`; None deletes it. Emptied folders stay."""
    target = workspace.home / path
    if data is None:
        if target.parent.is_dir():
            remove_file(target)
            sync_folder(target.parent)
        return
    make_folder(target.parent)
    write_atomic(target, data)


def sweep_temporaries(workspace: Workspace) -> int:
    """Delete temporary files that killed writers left among the records and beside the journal; how many."""
    found = list(workspace.home.glob(f"{TEMP_PREFIX}*-{workspace.journal.name}"))
    for folder in (workspace.memory, workspace.knowledge):
        found += folder.rglob(f"{TEMP_PREFIX}*")
    ours = [path for path in found if is_temporary(path.name) and path.is_file() and not path.is_symlink()]
    for path in ours:
        remove_file(path)
    return len(ours)
