"""The trust registry: which workspace folders this user made or trusted. Standard library only.

One file a workspace root in the user's data folder, `workspaces/<32 hex>.json` = {id, root, created_at}; the
name is the start of the SHA-256 of the resolved root path (design section 3, "Trust"). Beside it
`worktrees/<32 hex>.json` = {path, root} remembers linked worktrees, so that a session's lines still find
their workspace after the worktree was removed.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from hikidashi.atomic import make_folder, remove_file, write_atomic
from hikidashi.config.folders import data_folder

__all__ = [
    "Registration",
    "is_same_folder",
    "note_worktree",
    "noted_worktree",
    "noted_worktrees",
    "register",
    "registered",
    "registrations",
    "registry_folder",
    "unregister",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """One workspace that this user made or trusted."""

    #: 32 hex characters, random; the same stands in `meta.workspace_id` of the workspace's database.
    id: str
    #: The resolved path of the project folder.
    root: Path
    #: ISO 8601.
    created_at: str


def registry_folder() -> Path:
    """Where the registry's files are."""
    return data_folder() / "workspaces"


def _name(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".json"


def _read(file: Path) -> dict[str, str] | None:
    """The mapping in `file`; None when there is none, or when it is damaged: that vouches for nothing."""
    try:
        data = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return None
    if isinstance(data, dict) and all(isinstance(value, str) for value in data.values()):
        return data
    return None


def _write(file: Path, data: dict[str, str]) -> None:
    make_folder(file.parent)
    # ASCII only: a path that is no valid Unicode keeps its surrogates as escapes and comes back as it was
    write_atomic(file, json.dumps(data, indent=1).encode("ascii") + b"\n")


def _registration(file: Path) -> Registration | None:
    data = _read(file)
    if data is None or not (data.get("id") and data.get("root")):
        return None
    return Registration(id=data["id"], root=Path(data["root"]), created_at=data.get("created_at", ""))


def is_same_folder(one: Path, other: Path) -> bool:
    """Whether both paths lead to one existing folder now."""
    try:
        return one.samefile(other)
    except OSError:
        return False


def registrations() -> list[Registration]:
    """All workspaces of this user, in the order of their files' names."""
    files = sorted(registry_folder().glob("*.json"))
    return [found for found in map(_registration, files) if found is not None]


def registered(root: Path) -> Registration | None:
    """The registration of a resolved root path.

    When no file has the path's name, one whose root is the same folder is taken: on a file system that folds
    case or normalises names, one folder has many spellings.
    """
    found = _registration(registry_folder() / _name(root))
    if found is not None and found.root == root:
        return found
    return next((entry for entry in registrations() if is_same_folder(entry.root, root)), None)


def register(registration: Registration) -> None:
    """Write the registration of its root, replacing an older one. Raises `StorageFailure`."""
    root = registration.root
    data = {"id": registration.id, "root": str(root), "created_at": registration.created_at}
    _write(registry_folder() / _name(root), data)


def unregister(root: Path) -> None:
    """Forget the registration of `root`, if there is one. Raises `StorageFailure`."""
    remove_file(registry_folder() / _name(root))


def note_worktree(path: Path, root: Path) -> None:
    """Remember that the linked worktree at `path` belongs to the main worktree at `root`."""
    file = data_folder() / "worktrees" / _name(path)
    data = {"path": str(path), "root": str(root)}
    if _read(file) != data:
        _write(file, data)


def noted_worktrees(root: Path) -> list[Path]:
    """The linked worktrees of the main worktree at `root` that are remembered, removed ones too."""
    found = [_read(file) for file in sorted((data_folder() / "worktrees").glob("*.json"))]
    return [Path(data["path"]) for data in found if data and data.get("root") == str(root) and data.get("path")]


def noted_worktree(path: Path) -> Path | None:
    """The main worktree of a linked worktree that was at `path`, None when nobody remembers one."""
    data = _read(data_folder() / "worktrees" / _name(path))
    if data is None or data.get("path") != str(path) or "root" not in data:
        return None
    return Path(data["root"])
