"""Which git root a folder belongs to, read from files, without a git process. Standard library only.

The rules are those of design section 3, "Finding it": a submodule belongs to its superproject, a linked
worktree to the main one, worktrees of a bare repository to the folder that holds it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hikidashi.config.registry import noted_worktree, registrations

__all__ = ["Territory", "linked_worktrees", "real_path", "removed_worktree", "territory"]

#: A `.git` file, `commondir` or `config` that is larger is not read.
_MAX_BYTES: Final = 1 << 20

#: A submodule of a worktree of a submodule and so on; a circle of `.git` files ends here.
_MAX_STEPS: Final = 16

_SECTION: Final = re.compile(r"\s*\[\s*([A-Za-z0-9.-]+)\s*(?:\"(?:[^\"\\]|\\.)*\"\s*)?\]")
_KEY: Final = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?))?\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Territory:
    """Where to look for `.hikidashi/` for one folder."""

    #: The walk up starts here: the folder itself, or its place in the main worktree or superproject.
    start: Path
    #: The last folder to look at; None where there is no git.
    top: Path | None
    #: The linked worktree that the folder lies in.
    worktree: Path | None = None
    #: The folder is in a linked worktree or a submodule, so that it cannot hold a workspace itself.
    moved: bool = False


def real_path(path: Path | str) -> Path:
    """`path` absolute, with every symlink on the way resolved; it need not exist."""
    return Path(os.path.realpath(path))


def _exists(path: Path) -> bool:
    try:
        os.lstat(path)
    except OSError:  # also: not permitted, name too long; what we cannot see is not there
        return False
    return True


def _text(file: Path) -> str | None:
    """The start of a small file as the file system would decode it, None when there is none to read."""
    try:
        if not file.is_file():
            return None
        with open(file, "rb") as stream:
            return os.fsdecode(stream.read(_MAX_BYTES))
    except OSError:
        return None


def _git_top(folder: Path) -> Path | None:
    """The nearest folder upwards that has a `.git` which git itself would take."""
    for place in (folder, *folder.parents):
        dot_git = place / ".git"
        if _exists(dot_git / "HEAD") or _text(dot_git) is not None:
            return place
    return None


def _git_folder(top: Path) -> Path | None:
    """The git folder of a worktree: `.git` itself, or where the file `.git` points; it may be missing."""
    dot_git = top / ".git"
    text = _text(dot_git)
    if text is None:
        return real_path(dot_git)
    if not text.startswith("gitdir:"):
        return None
    # only the end is stripped: a path may hold newlines and begin with a blank
    target = text.removeprefix("gitdir:").removeprefix(" ").rstrip("\r\n")
    return real_path(top / target)


def _git_setting(common: Path, key: str) -> str | None:
    """`core.<key>` of a git folder's own configuration (the plain forms that git writes)."""
    value, section = None, ""
    for line in ((_text(common / "config") or "") + "\n" + (_text(common / "config.worktree") or "")).splitlines():
        if header := _SECTION.match(line):
            section = header[1].lower()
        elif section == "core" and (pair := _KEY.match(line)) and pair[1].lower() == key:
            value = "true" if pair[2] is None else pair[2].strip('"')
    return value


def _main_worktree(common: Path) -> tuple[Path, bool] | None:
    """The folder whose `.hikidashi/` the worktrees of `common` use, and whether the repository is bare."""
    if common.name == ".git":
        return common.parent, False
    if (worktree := _git_setting(common, "worktree")) is not None:
        main = real_path(common / worktree)
        return (main, False) if _git_folder(main) == common else None
    if (_git_setting(common, "bare") or "").lower() in ("true", "yes", "on", "1"):
        return common.parent, True
    # made with --separate-git-dir: nothing in there names the worktree, but the registry may know it
    for entry in registrations():
        if _text(entry.root / ".git") is not None and _git_folder(entry.root) == common:
            return entry.root, False
    return None


def _is_linked(git: Path) -> bool:
    return _text(git / "commondir") is not None or (git.parent.name == "worktrees" and not _exists(git))


def _owner(top: Path, git: Path) -> tuple[Path, bool] | None:
    """`_main_worktree` of a linked worktree at `top`; None when its repository is gone or knows nothing of it."""
    commondir = _text(git / "commondir")
    if commondir is None:  # pruned; a `.git` file alone (from an archive, say) may not claim somebody's memory
        main = noted_worktree(top)
        return None if main is None else (main, False)
    back = _text(git / "gitdir")
    if back is None:
        return None
    there = real_path(git / back.rstrip("\r\n"))
    if there != real_path(top / ".git") and _exists(there):
        return None  # that entry belongs to another worktree; one that is gone was this one, moved
    return _main_worktree(real_path(git / commondir.rstrip("\r\n")))


def _is_submodule(top: Path, git: Path) -> bool:
    outer = _git_top(top.parent)
    if outer is None:
        return False
    outer_git = _git_folder(outer)
    if outer_git is not None and git.is_relative_to(outer_git / "modules"):
        return True
    # an old submodule keeps a `.git` folder of its own; only .gitmodules names it
    path = top.relative_to(outer).as_posix()
    lines = (_text(outer / ".gitmodules") or "").splitlines()
    return any(
        (pair := _KEY.match(line)) and pair[1] == "path" and (pair[2] or "").strip('"') == path for line in lines
    )


def territory(folder: Path) -> Territory | None:
    """Where to look for the workspace of a resolved folder; None in a linked worktree without a repository."""
    place, worktree, moved = folder, None, False
    for _ in range(_MAX_STEPS):
        top = _git_top(place)
        if top is None:
            return Territory(start=place, top=None, worktree=worktree, moved=moved)
        git = _git_folder(top)
        if git is None:
            return Territory(start=place, top=top, worktree=worktree, moved=moved)
        if _is_linked(git):
            owner = _owner(top, git)
            if owner is None:
                return None
            main, bare = owner
            worktree, moved = worktree or top, True
            if bare:
                return Territory(start=main, top=main, worktree=worktree, moved=True)
            place = main / place.relative_to(top)
        elif top.parent != top and _is_submodule(top, git):
            place, moved = top.parent, True
        else:
            return Territory(start=place, top=top, worktree=worktree, moved=moved)
    return None


def linked_worktrees(root: Path) -> list[Path]:
    """The linked worktrees that the repository of a main worktree lists, removed but unpruned ones too."""
    git = _git_folder(root)
    if git is None:
        return []
    found = []
    for entry in sorted((git / "worktrees").glob("*/gitdir")):
        text = _text(entry)
        if text is not None:
            found.append(real_path(entry.parent / text.rstrip("\r\n")).parent)
    return found


def removed_worktree(folder: Path) -> Path | None:
    """For a folder that is gone: its place in the main worktree, if it lay in a linked worktree we know of."""
    gone = [place for place in (folder, *folder.parents) if not _exists(place)]
    for place in gone:
        main = noted_worktree(place)
        if main is not None:
            return main / folder.relative_to(place)
    if gone:
        for entry in registrations():
            for place in linked_worktrees(entry.root):
                if place in gone:
                    return entry.root / folder.relative_to(place)
    return None
