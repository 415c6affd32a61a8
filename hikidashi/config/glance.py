"""Finding the workspace of a session at a glance, as hooks do on every turn. Standard library only, and little of it.

`open_workspace` has the rules and answers every case; its modules alone take longer to load than a turn's facts to be
found. Here the plain cases are answered with `os` and nothing else: no workspace, or one in a plain git folder or in
none, made by this user. Whatever is not plain (worktrees, submodules, links, a folder that is gone, a workspace that
is not trusted) is left to `open_workspace`. A test compares the two in all layouts.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import sys

from hikidashi.config.user_paths import home_path, user_path
from hikidashi.errors import Busy, NoWorkspace, StorageFailure
from hikidashi.file_uri import file_uri

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["LINUX_MACHINE_ID", "MACHINE_PERSON", "Place", "digest", "look", "machine_id"]

#: systemd's, and the older place of D-Bus.
LINUX_MACHINE_ID: Final = ("/etc/machine-id", "/var/lib/dbus/machine-id")
#: The constant of this program that a machine's own id is hashed with.
MACHINE_PERSON: Final = b"hikidashi-mach"

_HOME_NAME: Final = ".hikidashi"
_MAX_PATH: Final = 4_096
_BUSY_SECONDS: Final = 0.2


class Place:
    """A trusted workspace, as a hook needs it."""

    def __init__(self, root: str, workspace_id: str, git: str) -> None:
        #: The project folder, resolved.
        self.root: Final = root
        self.id: Final = workspace_id
        #: The `.git` folder that its branch is read from; '' for none.
        self.git: Final = git
        #: `.hikidashi/` itself, and the database in it.
        self.home: Final = _join(root, _HOME_NAME)
        self.database: Final = _join(self.home, "workspace.sqlite")


def look(cwd: str) -> Place | None:
    """The trusted workspace of a session in `cwd`, None when none belongs to it.

    Raises `UntrustedWorkspace`, `Busy`, `CorruptData` and `StorageFailure` as `open_workspace` does.
    """
    if len(cwd) > _MAX_PATH or "\0" in cwd:
        return None
    folder = os.path.realpath(cwd)
    if _is_folder(_lstat(folder)):
        plain, git, top = _plain_git(folder)
        if plain:
            root = _walk(folder, top)
            if root is None:
                return None
            place = _trusted(root, git)
            if place is not None:
                return place
    return _look_closely(cwd)


def _look_closely(cwd: str) -> Place | None:
    from pathlib import Path

    from hikidashi.config.workspace import open_workspace

    try:
        workspace = open_workspace(Path(cwd))
    except NoWorkspace:
        return None
    git = _join(str(workspace.root), ".git")
    return Place(str(workspace.root), workspace.id, git if _is_folder(_lstat(git)) else "")


def _join(*parts: str) -> str:
    return os.sep.join((parts[0].rstrip(os.sep), *parts[1:]))


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):  # what we cannot see is not there
        return None


def _is_folder(status: os.stat_result | None) -> bool:
    return status is not None and stat.S_ISDIR(status.st_mode)


def _plain_git(folder: str) -> tuple[bool, str, str]:
    """Whether `folder` has a plain git folder or none; that git folder and the one it lies in, '' for none."""
    git = top = ""
    place = folder
    while True:
        found = _join(place, ".git")
        status = _lstat(found)
        if status is not None:
            if git or not _is_folder(status):
                return False, "", ""  # a repository inside another one, a worktree, a submodule, a link
            if _lstat(_join(found, "HEAD")) is not None:
                git, top = found, place
                if _lstat(_join(git, "commondir")) is not None:
                    return False, "", ""
        parent = os.path.dirname(place)
        if parent == place:
            return True, git, top
        place = parent


def _walk(folder: str, top: str) -> str | None:
    """The folder upwards that holds `.hikidashi/`, as `config.workspace` walks."""
    place = folder
    while True:
        parent = os.path.dirname(place)
        if _holds_home(place) and (place == folder or not (place == parent or place in _wide_folders())):
            return place
        if place in (top, parent):
            return None
        place = parent


def _holds_home(place: str) -> bool:
    status = _lstat(_join(place, _HOME_NAME))
    return status is not None and (stat.S_ISDIR(status.st_mode) or _is_link(status))


def _is_link(status: os.stat_result) -> bool:
    return stat.S_ISLNK(status.st_mode) or bool(getattr(status, "st_reparse_tag", 0))


def _wide_folders() -> set[str]:
    """Folders that hold everything, resolved (`config.workspace._wide_folders`)."""
    wide = [*map(os.environ.get, ("TMPDIR", "TEMP", "TMP")), "/tmp", "/var/tmp", "/private/tmp"]
    with contextlib.suppress(StorageFailure):  # no home folder: then it cannot be a workspace either
        wide.append(home_path())
    return {os.path.realpath(folder) for folder in wide if folder}


def _trusted(root: str, git: str) -> Place | None:
    """The workspace, if all about it is as it should be; None where that takes a closer look."""
    home = _lstat(_join(root, _HOME_NAME))
    entry = _registered(root)
    if home is None or _is_link(home) or not entry:
        return None
    place = Place(root, entry, git)
    try:
        with os.scandir(place.home) as found:
            names = {item.name for item in found if not item.is_symlink() or _raise_link()}
    except OSError:
        return None
    if sys.platform == "win32" or f"{os.path.basename(place.database)}-journal" in names:
        return None  # junctions; a write that a killed process left half done
    return place if _stored_id(place.database) == entry else None


def _raise_link() -> bool:
    raise OSError("a link")


def _registered(root: str) -> str:
    """The id in the registration of a root; '' for none under its own name."""
    name = digest(os.fsencode(root))[:32] + ".json"
    try:
        with open(_join(user_path("data"), "workspaces", name), "rb") as file:
            data = json.loads(file.read())
    except (OSError, ValueError, StorageFailure):
        return ""
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        return ""
    return data.get("id", "") if data.get("root") == root else ""


def _stored_id(database: str) -> str | None:
    try:
        uri = f"{file_uri(database)}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            row = connection.execute("SELECT value FROM meta WHERE key = 'workspace_id'").fetchone()
        finally:
            connection.close()
    except sqlite3.Error as exc:
        if getattr(exc, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Busy(f"{database} is locked by another process; try again in a moment") from exc
        return None
    return row[0] if row is not None and isinstance(row[0], str) else None


def digest(data: bytes) -> str:
    """SHA-256 in hex. `hashlib` loads OpenSSL for it, which takes longer than a look-up."""
    for name in ("_sha2", "_sha256"):
        try:
            return str(__import__(name).sha256(data).hexdigest())
        except ImportError:
            continue
    from hashlib import sha256

    return sha256(data).hexdigest()


def machine_id() -> str:
    """The id of this machine as `config.machine` has it; '' when none can be told."""
    if sys.platform == "linux":
        for name in LINUX_MACHINE_ID:
            try:
                with open(name, encoding="ascii") as file:
                    text = file.read().strip()
            except (OSError, UnicodeDecodeError):
                continue
            if len(text) == 32 and set(text) <= set("0123456789abcdefABCDEF") and text.strip("0"):
                from _blake2 import blake2b

                return str(blake2b(text.lower().encode(), digest_size=16, person=MACHINE_PERSON).hexdigest())
    from hikidashi.config.machine import this_machine

    try:
        return this_machine().id
    except StorageFailure:
        return ""
