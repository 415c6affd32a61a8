"""A workspace: where it is, whose it is, what lies where in it. Standard library only, since hooks open it.

`find_root` answers where (design section 3, "Finding it"), `open_workspace` also whether this user made or
trusted it ("Trust"). Without a match in the trust registry nothing inside `.hikidashi/` is opened at all.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hikidashi.config.folders import config_folder, data_folder, home_folder, shown
from hikidashi.config.registry import note_worktree, registered
from hikidashi.config.territory import Territory, linked_worktrees, real_path, removed_worktree, territory
from hikidashi.errors import Busy, CorruptData, HikidashiError, NoWorkspace, StorageFailure, UntrustedWorkspace

__all__ = [
    "HOME_NAME",
    "Workspace",
    "config_folder",
    "data_folder",
    "find_root",
    "founding_place",
    "is_link",
    "open_workspace",
    "parent_workspace",
    "remember_worktrees",
    "stored_id",
]

#: The name of the folder that makes a folder a workspace.
HOME_NAME: Final = ".hikidashi"

_BUSY_SECONDS: Final = 5.0
_MAX_PATH: Final = 4096

#: IO_REPARSE_TAG_MOUNT_POINT; `stat` has it on Windows only.
_JUNCTION: Final = 0xA0000003

_NO_ACCESS: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY)


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace that this user made or trusted, and where its parts are."""

    #: The project folder, resolved.
    root: Path
    #: 32 hex characters; the registry and the database hold the same.
    id: str

    @property
    def home(self) -> Path:
        """`.hikidashi/` itself."""
        return self.root / HOME_NAME

    @property
    def memory(self) -> Path:
        """Summary, decisions, requests, workflow."""
        return self.home / "memory"

    @property
    def knowledge(self) -> Path:
        """Knowledge records."""
        return self.home / "knowledge"

    @property
    def staging(self) -> Path:
        """Entry files, one an activity."""
        return self.home / "staging"

    @property
    def quarantine(self) -> Path:
        """Entry files that no run is to take again."""
        return self.staging / "quarantine"

    @property
    def claim_path(self) -> Path:
        """The file that says which process consolidates."""
        return self.staging / "consolidation.lock"

    @property
    def guard_path(self) -> Path:
        """Locked while the claim is taken and while a run publishes."""
        return self.staging / ".guard"

    @property
    def extract_lock(self) -> Path:
        """Locked by the one extractor at a time."""
        return self.home / "extract.lock"

    @property
    def model_lock(self) -> Path:
        """Locked by the one process at a time that has a model read sessions; nobody waits for it."""
        return self.home / "model.lock"

    @property
    def database(self) -> Path:
        """`workspace.sqlite`."""
        return self.home / "workspace.sqlite"

    @property
    def history(self) -> Path:
        """The bare repository that keeps every version of the records."""
        return self.home / "history.git"

    @property
    def journal(self) -> Path:
        """What a publication is about to do, while it does it."""
        return self.home / "publish.journal"

    @property
    def config_file(self) -> Path:
        """The settings that a project may carry."""
        return self.home / "config.toml"

    @property
    def log_file(self) -> Path:
        """Where background workers write."""
        return self.home / "worker.log"


def is_link(path: Path) -> bool:
    """Whether `path` itself is a symlink (or, on Windows, a junction)."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == _JUNCTION


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError:  # a name too long, a folder we may not look into: nothing of ours is there
        return False


def _holds_home(folder: Path) -> bool:
    home = folder / HOME_NAME
    return is_link(home) or _is_folder(home)  # a link is found, so that opening it can say what is wrong


def _wide_folders() -> Iterator[Path]:
    """Folders that hold everything: they are workspaces only for sessions started right there."""
    with contextlib.suppress(StorageFailure):  # no home folder: then it cannot be a workspace either
        yield real_path(home_folder())
    # not tempfile.gettempdir(): that writes a file to try the folder, in every hook
    for temporary in (*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp", "/private/tmp"):
        if temporary:
            yield real_path(temporary)


def _walk(start: Path, top: Path | None, cwd: Path) -> Path | None:
    wide = frozenset(_wide_folders())
    for folder in (start, *start.parents):
        if _holds_home(folder) and (folder == cwd or not (folder in wide or folder == folder.parent)):
            return folder
        if folder == top:
            return None
    return None


def _locate(cwd: Path) -> tuple[Path, Territory] | None:
    """The resolved folder and where to look for its workspace."""
    if len(str(cwd)) > _MAX_PATH:  # no system holds such a folder, and the look-ups grow with its depth
        return None
    try:
        folder = real_path(cwd)
    except ValueError:  # a NUL in a path that a damaged transcript gave
        return None
    folder = removed_worktree(folder) or folder
    where = territory(folder)
    return None if where is None else (folder, where)


def _find(cwd: Path) -> tuple[Path | None, Path | None]:
    """The workspace's folder, and the linked worktree through which it was found."""
    located = _locate(cwd)
    if located is None:
        return None, None
    folder, where = located
    return _walk(where.start, where.top, folder), where.worktree


def find_root(cwd: Path) -> Path | None:
    """The folder that holds the `.hikidashi/` of a session in `cwd`, None when there is none.

    `cwd` need not exist any more. Nobody has looked yet whether the folder found is trusted.
    """
    return _find(cwd)[0]


def founding_place(folder: Path) -> Path | None:
    """Where `init` in `folder` makes the workspace: right there, but for a linked worktree or a submodule in
    the main worktree or superproject. None in a linked worktree whose repository is gone."""
    located = _locate(folder)
    if located is None:
        return None
    place, where = located
    return where.top or where.start if where.moved else place


def parent_workspace(place: Path) -> Path | None:
    """The workspace of the same git root that `place` lies in already, None when there is none."""
    located = _locate(place)
    if located is None or located[1].top is None or located[1].top == located[1].start:
        return None
    return _walk(located[1].start.parent, located[1].top, located[0])


def _is_read_only(folder: Path) -> bool:
    """Whether the folder's file system takes no writes; False where the platform cannot say."""
    if sys.platform == "win32":
        return False
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def _translated(exc: sqlite3.DatabaseError, code: int, database: Path) -> HikidashiError:
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Busy(f"{shown(database)} is locked by another process; try again in a moment")
    unfinished = getattr(exc, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):
        return StorageFailure(
            f"cannot open {shown(database)}: {exc}; the disk failed or is full: check it and run the same command again"
        )
    if code in _NO_ACCESS and _is_read_only(database.parent):  # a log beside it is needed even for reading
        return StorageFailure(
            f"cannot open {shown(database)}: the file system is read-only; remount it writable and try again"
        )
    if code in _NO_ACCESS and not unfinished:
        if not os.access(database.parent, os.W_OK):
            return StorageFailure(
                f"cannot open {shown(database)}: its folder is read-only to you; remount the file system writable, or "
                "give your user write access, and run the same command again"
            )
        return StorageFailure(f"cannot open {shown(database)}: {exc}; give your user access and try again")
    return CorruptData(
        f"{shown(database)} cannot be read ({exc}); run `hikidashi trust` to set it aside and make a new one"
    )


def stored_id(database: Path) -> str | None:
    """`meta.workspace_id` of a workspace's database, opened read-only; None when it has none.

    Raises `Busy` while another process locks it, `CorruptData` when it is no database of ours.
    """
    if is_link(database) or not database.is_file():
        return None
    try:
        uri = f"{database.as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA trusted_schema = OFF")  # it may be a stranger's: run nothing it brings
            row = connection.execute("SELECT value FROM meta WHERE key = 'workspace_id'").fetchone()
    except sqlite3.DatabaseError as exc:
        code = getattr(exc, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_ERROR:  # no such table, no such column: not (yet) a workspace's
            return None
        raise _translated(exc, code, database) from exc
    return row[0] if row is not None and isinstance(row[0], str) else None


def _undo_unfinished(database: Path) -> None:
    """Undo what a process that was killed left half written, in a place that this user trusts.

    Only on a network file system, where the database has a rollback journal, and a reader alone may not do it.
    """
    try:
        if not database.with_name(database.name + "-journal").stat().st_size or is_link(database):
            return
    except OSError:  # no journal: this is how it nearly always is
        return
    with (
        contextlib.suppress(sqlite3.DatabaseError),  # reading it says what is wrong
        contextlib.closing(sqlite3.connect(database, timeout=_BUSY_SECONDS)) as connection,
    ):
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()


def _refuse_links(home: Path) -> None:
    with os.scandir(home) as entries:
        links = sorted(entry.name for entry in entries if is_link(Path(entry.path)))
    if links:
        raise UntrustedWorkspace(
            f"{shown(home / links[0])} is a symlink, and nothing in {HOME_NAME}/ may be one: "
            "replace it by the real file or folder, or run `hikidashi trust` to have it taken out"
        )


def open_workspace(cwd: Path) -> Workspace:
    """The trusted workspace of a session in `cwd`.

    Raises `NoWorkspace` when no `.hikidashi/` belongs to it, `UntrustedWorkspace` when this user neither made
    nor trusted the one that does, `Busy`, `CorruptData` or `StorageFailure` when its database cannot be read.
    """
    root, worktree = _find(cwd)
    if root is None:
        raise NoWorkspace(f"no {HOME_NAME}/ belongs to {shown(cwd)}: run `hikidashi init` in the project's folder")
    home = root / HOME_NAME
    if is_link(home):
        raise UntrustedWorkspace(
            f"{shown(home)} is a symlink and is not followed: delete the link, then run `hikidashi init`"
        )
    entry = registered(root)
    if entry is None:
        raise UntrustedWorkspace(
            f"{shown(home)} was not made by you in this place and stays inert: look at it, then run `hikidashi trust`"
        )
    try:
        _refuse_links(home)
    except OSError as exc:
        raise StorageFailure(
            f"cannot list {shown(home)}: {exc.strerror}; give your user access to it and run the same command again"
        ) from exc
    database = home / "workspace.sqlite"
    _undo_unfinished(database)
    if (found := stored_id(database)) != entry.id:
        missing = not database.exists()
        why = "its database is missing" if missing else "its database is " + ("another's" if found else "empty")
        raise UntrustedWorkspace(
            f"{shown(home)} may not be the one that you made here ({why}) and stays inert: "
            "look at it, then run `hikidashi trust`"
        )
    workspace = Workspace(root=entry.root, id=entry.id)
    if worktree is not None:
        with contextlib.suppress(StorageFailure):  # only needed once the worktree is gone; reading works without
            note_worktree(worktree, workspace.root)
    return workspace


def remember_worktrees(workspace: Workspace) -> int:
    """Note every linked worktree of the workspace's repository, so that sessions in one that is removed later
    still find it. Gives how many there are. Raises `StorageFailure`."""
    paths = linked_worktrees(workspace.root)
    for path in paths:
        note_worktree(path, workspace.root)
    return len(paths)
