"""Making a workspace (`init`) and taking over one that was found (`trust`), design section 3, "Trust".

A new `.hikidashi/` is built beside its place and renamed in whole, so that it is there complete or not at
all. The registry is written by whoever holds one lock in the user's data folder.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal

import filelock

from hikidashi.atomic import FILE_MODE, make_folder, storage_errors, sync_folder, write_atomic
from hikidashi.config.folders import shown
from hikidashi.config.registry import (
    Registration,
    is_same_folder,
    register,
    registered,
    registrations,
    registry_folder,
    unregister,
)
from hikidashi.config.settings import refused_settings
from hikidashi.config.workspace import (
    HOME_NAME,
    Workspace,
    find_root,
    founding_place,
    is_link,
    open_workspace,
    parent_workspace,
    remember_worktrees,
    stored_id,
)
from hikidashi.db.connection import connect, database_errors, queries, transaction
from hikidashi.db.migrations import migrate
from hikidashi.errors import Busy, CorruptData, NoWorkspace, StorageFailure, UntrustedWorkspace, UsageError
from hikidashi.records.history import History
from hikidashi.records.library import load_tree
from hikidashi.times import Clock, format_time, now
from hikidashi.worker.foreign import Survey, keep_records, survey, take_out_links

__all__ = ["PRIVATE", "SHARED", "TrustReport", "found_workspace", "preview_trust", "trust_workspace"]

_SQL: Final = queries("meta")

#: `.hikidashi/.gitignore` of a workspace that stays on this machine.
PRIVATE: Final = "# Made by Hikidashi. `hikidashi init --shared` lets the records through.\n*\n"

#: The same after `hikidashi init --shared`.
SHARED: Final = """\
# Made by Hikidashi: records and settings go into the project's git, everything else stays here.
*
!/.gitignore
!/config.toml
!/memory/
!/memory/**
!/knowledge/
!/knowledge/**
.tmp-*
"""

_FOLDERS: Final = ("memory/decisions", "memory/requests", "memory/workflow", "knowledge", "staging/quarantine")
_LOCK_SECONDS: Final = 60.0

#: A `.hikidashi/` while it is built; one that is older than the time below was left by a killed `init`.
_BUILDING: Final = ".hikidashi-new-"
_BUILDING_NAME: Final = re.compile(re.escape(_BUILDING) + r"[0-9a-f]{12}")
_LEFT_OVER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustReport:
    """What `trust` did, or with `preview_trust` would do. Paths are relative to `.hikidashi/`, with `/`."""

    root: Path
    #: None in a preview.
    workspace: Workspace | None
    #: `already`: it was trusted. `own`: yours, moved here or with links taken out; all of it is kept.
    #: `records`: a stranger's (or a copy, or without its database): only its records are kept.
    kind: Literal["already", "own", "records"]
    #: Where an `own` one was before.
    moved_from: Path | None = None
    #: Records that are kept.
    adopted: tuple[str, ...] = ()
    set_aside: tuple[str, ...] = ()
    #: The folder that holds them now; None when nothing was set aside.
    aside: Path | None = None
    #: Symlinks that were taken out; what they led to is untouched.
    links: tuple[str, ...] = ()
    #: Settings in its config.toml that are refused, one line each.
    refused_settings: tuple[str, ...] = field(default=())


@contextlib.contextmanager
def _registry_lock() -> Iterator[None]:
    """Held while a workspace is made or taken over; the system lets go of it when the process dies."""
    make_folder(registry_folder())
    lock = filelock.FileLock(registry_folder() / ".lock", timeout=_LOCK_SECONDS, mode=FILE_MODE)
    with storage_errors(f"lock {shown(registry_folder())}"):
        try:
            lock.acquire()
        except filelock.Timeout as exc:
            raise Busy("another `hikidashi init` or `trust` is at work; try again in a minute") from exc
    try:
        yield
    finally:
        lock.release()


def found_workspace(root: Path, *, shared: bool = False, clock: Clock = now) -> Workspace:
    """Make the workspace of the folder `root`, or give the one that is there.

    In a linked worktree it is made in the main worktree, in a submodule in the superproject: the result's
    `root` says where. `shared` lets records through to the project's git, now or later. Safe when many
    do it at once. Raises `UsageError` where none can be, `UntrustedWorkspace` when a `.hikidashi/` is there
    that this user never trusted, `Busy`, `CorruptData`, `StorageFailure`.
    """
    place = _place_for(root)
    home = place / HOME_NAME
    with _registry_lock():
        _clear_left_overs(place, clock)
        with storage_errors(f"look into {shown(home)}"):
            if home.is_dir() and not any(home.iterdir()):
                home.rmdir()
        if home.exists():
            workspace = open_workspace(place)
            _fill(workspace.home, workspace.id, clock)
        else:
            workspace = _build(place, clock)
        if shared:
            _write_gitignore(workspace.home, SHARED)
        remember_worktrees(workspace)
    return workspace


def _place_for(root: Path) -> Path:
    if not root.is_dir():
        raise UsageError(f"{shown(root)} is not a folder: give the folder of a project")
    place = founding_place(root)
    if place is None:
        raise UsageError(
            f"{shown(root)} is in a linked worktree whose repository is not there or does not list it: "
            "run `git worktree repair` in the repository, then `hikidashi init` again"
        )
    if HOME_NAME in place.parts:
        project = place
        while HOME_NAME in project.parts:
            project = project.parent
        raise UsageError(
            f"{shown(place)} is inside a workspace's own {HOME_NAME}/: run `hikidashi init` in {shown(project)}"
        )
    home = place / HOME_NAME
    if is_link(home):
        raise UsageError(f"{shown(home)} is a symlink and is not followed: delete the link and run `hikidashi init`")
    if home.exists():
        if not home.is_dir():
            raise UsageError(f"{shown(home)} is a file: move it away and run `hikidashi init` again")
        return place
    above = parent_workspace(place)
    if above is not None:
        raise UsageError(
            f"{shown(place)} belongs to the workspace {shown(above)} already: "
            "use that one, or run `hikidashi init` in a repository of its own"
        )
    return place


def _build(place: Path, clock: Clock) -> Workspace:
    """Build a new `.hikidashi/` aside, enter it in the registry, and rename it into place."""
    workspace = Workspace(root=place, id=secrets.token_hex(16))
    building = place / f"{_BUILDING}{secrets.token_hex(6)}"
    try:
        make_folder(building)
        _write_gitignore(building, PRIVATE)
        _fill(building, workspace.id, clock)
        register(Registration(id=workspace.id, root=place, created_at=format_time(clock())))
        with storage_errors(f"make {shown(workspace.home)}"):
            building.rename(workspace.home)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    sync_folder(place)
    return workspace


def _fill(home: Path, workspace_id: str, clock: Clock) -> None:
    """Make what is missing of `home`: folders, .gitignore, database, history. What is there stays."""
    for folder in _FOLDERS:
        make_folder(home / folder)
    if not (home / ".gitignore").exists():
        _write_gitignore(home, PRIVATE)
    database = home / "workspace.sqlite"
    with contextlib.closing(connect(database)) as connection, database_errors(database):
        migrate(connection)
        with transaction(connection):
            for key, value in (("workspace_id", workspace_id), ("created_at", format_time(clock()))):
                connection.execute(_SQL["add_meta"], {"key": key, "value": value})
    History(home / "history.git").create()


def _write_gitignore(home: Path, text: str) -> None:
    file = home / ".gitignore"
    if not file.is_file() or file.read_bytes() != text.encode():
        write_atomic(file, text.encode())


def _gitignore_text(home: Path) -> str:
    file = home / ".gitignore"
    return "" if is_link(file) or not file.is_file() else file.read_text("utf-8", "replace")


def _clear_left_overs(place: Path, clock: Clock) -> None:
    oldest = (clock() - _LEFT_OVER).timestamp()
    with storage_errors(f"clear what a killed `init` left in {shown(place)}"):
        for folder in place.glob(f"{_BUILDING}*"):
            if not (_BUILDING_NAME.fullmatch(folder.name) and folder.is_dir()) or is_link(folder):
                continue
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder)


def _untrusted_home(cwd: Path) -> Path:
    root = find_root(cwd)
    if root is None:
        raise NoWorkspace(f"no {HOME_NAME}/ belongs to {shown(cwd)}: run `hikidashi init` in the project's folder")
    if is_link(root / HOME_NAME):
        raise UntrustedWorkspace(
            f"{shown(root / HOME_NAME)} is a symlink and is not followed: delete the link, then run `hikidashi init`"
        )
    return root


def _trusted(root: Path) -> Workspace | None:
    try:
        return open_workspace(root)
    except (UntrustedWorkspace, CorruptData):  # these are what `trust` mends
        return None


def _own_registration(root: Path) -> Registration | None:
    """The registration of this very workspace, made here or at a place where it no longer is."""
    try:
        found = stored_id(root / HOME_NAME / "workspace.sqlite")
    except (CorruptData, StorageFailure):  # then it cannot say whose it is
        return None
    for entry in registrations():
        gone = not (entry.root / HOME_NAME).exists()  # still there: this one is a copy
        if entry.id == found and (gone or is_same_folder(entry.root, root)):
            return entry
    return None


def preview_trust(cwd: Path) -> TrustReport:
    """What `trust_workspace` would do, without a change. Raises like it."""
    root = _untrusted_home(cwd)
    home = root / HOME_NAME
    refused = tuple(refused_settings(home / "config.toml")) if not is_link(home / "config.toml") else ()
    workspace = _trusted(root)
    if workspace is not None:
        return TrustReport(root=root, workspace=workspace, kind="already", refused_settings=refused)
    found = survey(home)
    own = _own_registration(root)
    if own is not None:
        links = tuple(link for link in found.links if "/" not in link)
        moved_from = None if is_same_folder(own.root, root) else own.root
        return TrustReport(
            root=root, workspace=None, kind="own", moved_from=moved_from, links=links, refused_settings=refused
        )
    return _records_report(root, None, found, None, refused)


def _records_report(
    root: Path, workspace: Workspace | None, found: Survey, aside: Path | None, refused: tuple[str, ...]
) -> TrustReport:
    return TrustReport(
        root=root,
        workspace=workspace,
        kind="records",
        adopted=tuple(found.records),
        set_aside=tuple(found.aside),
        aside=aside if found.aside else None,
        links=tuple(found.links),
        refused_settings=refused,
    )


def trust_workspace(root: Path, *, clock: Clock = now) -> TrustReport:
    """Take over the `.hikidashi/` that belongs to `root`; the report says what was kept.

    Of a stranger's only records are kept, committed to a new history as `vcs` (they came with the project's
    files, nobody here has vouched for them, so they are not protected as a person's words). One of this user
    that was moved keeps everything. Raises `NoWorkspace`, `UntrustedWorkspace` when `.hikidashi` itself is a
    link, `Busy`, `StorageFailure`; until all is done the folder stays untrusted.
    """
    place = _untrusted_home(root)
    with _registry_lock():
        plan = preview_trust(place)
        if plan.kind == "already":
            return plan
        own = _own_registration(place) if plan.kind == "own" else None
        if own is not None:
            return _take_back(plan, own, clock)
        return _take_records(place, plan.refused_settings, clock)


def _take_back(plan: TrustReport, own: Registration, clock: Clock) -> TrustReport:
    workspace = Workspace(root=plan.root, id=own.id)
    take_out_links(workspace.home, list(plan.links))
    _fill(workspace.home, workspace.id, clock)
    register(Registration(id=own.id, root=plan.root, created_at=own.created_at))
    if plan.moved_from is not None:
        unregister(plan.moved_from)
    remember_worktrees(workspace)
    return TrustReport(
        root=plan.root,
        workspace=workspace,
        kind="own",
        moved_from=plan.moved_from,
        links=plan.links,
        refused_settings=plan.refused_settings,
    )


def _take_records(root: Path, refused: tuple[str, ...], clock: Clock) -> TrustReport:
    workspace = Workspace(root=root, id=secrets.token_hex(16))
    home = workspace.home
    stale = registered(root)
    if stale is not None:  # of a workspace that was here before; it vouches for nothing any more
        unregister(stale.root)
    found = survey(home)
    rules = "" if ".gitignore" in found.aside else _gitignore_text(home)
    if rules not in ("", PRIVATE, SHARED):
        found.aside.append(".gitignore")  # it might let the database through to the project's git
    aside = _aside_folder(home, clock)
    keep_records(home, found, aside)
    _write_gitignore(home, SHARED if re.search(r"^!/?memory/", rules, re.MULTILINE) else PRIVATE)
    _fill(home, workspace.id, clock)
    if found.records:
        count = len(found.records)
        subject = f"Adopt {count} record{'s' if count != 1 else ''} found in this folder"
        History(workspace.history).commit(load_tree(workspace), author="vcs", subject=subject, at=clock())
    register(Registration(id=workspace.id, root=root, created_at=format_time(clock())))
    remember_worktrees(workspace)
    return _records_report(root, workspace, found, aside, refused)


def _aside_folder(home: Path, clock: Clock) -> Path:
    name = f"set-aside-{clock():%Y%m%dT%H%M%SZ}"
    taken = {entry.name for entry in home.iterdir()}
    number = 2
    while name in taken:
        name = f"set-aside-{clock():%Y%m%dT%H%M%SZ}-{number}"
        number += 1
    return home / name
