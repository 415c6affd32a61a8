"""Hooks find the workspace that `open_workspace` finds, in every layout, and refuse what it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.config import glance
from hikidashi.config.folders import user_folder
from hikidashi.config.machine import this_machine
from hikidashi.config.workspace import open_workspace
from hikidashi.errors import HikidashiError, NoWorkspace
from hikidashi.worker.adopt import found_workspace


def git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{a}_{b}": "a@example.org" for a in ("AUTHOR", "COMMITTER") for b in ("NAME", "EMAIL")}
    environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **who}
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.txt").write_text("a")
    git(folder, "init", "-q", "-b", "main", ".")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def plain(place: Path) -> list[Path]:
    root = place / "plain"
    (root / "a" / "b").mkdir(parents=True)
    found_workspace(root)
    return [root, root / "a" / "b", place, root / "gone", root / ".hikidashi"]


def in_git(place: Path) -> list[Path]:
    root = found_workspace(repository(place / "repo")).root
    return [root, root / "src" / "deep", root / ".git", place]


def above_git(place: Path) -> list[Path]:
    (place / "outer").mkdir()
    found_workspace(place / "outer")
    return [repository(place / "outer" / "repo") / "src", place / "outer"]


def worktree(place: Path) -> list[Path]:
    root = repository(place / "main")
    found_workspace(root)
    git(root, "worktree", "add", "-q", str(place / "linked"))
    (place / "linked" / ".hikidashi").mkdir()
    return [place / "linked", place / "linked" / "src"]


def submodule(place: Path) -> list[Path]:
    inner = repository(place / "inner")
    outer = repository(place / "super")
    git(outer, "submodule", "add", "-q", str(inner), "part")
    found_workspace(outer)
    return [outer / "part", outer / "part" / "src"]


def nested(place: Path) -> list[Path]:
    outer = repository(place / "big")
    found_workspace(outer)
    inner = repository(outer / "vendored")
    return [inner, inner / "src", outer]


def odd_git(place: Path) -> list[Path]:
    root = place / "odd"
    (root / ".git").mkdir(parents=True)  # no HEAD: git would not take it
    (root / "below").mkdir()
    found_workspace(root)
    linked = place / "linked-git"
    linked.mkdir()
    (linked / ".git").symlink_to(repository(place / "real") / ".git")
    found_workspace(linked)
    return [root / "below", linked]


def links(place: Path) -> list[Path]:
    root = place / "target"
    root.mkdir()
    found_workspace(root)
    (place / "link").symlink_to(root)
    (place / "evil").mkdir()
    (place / "evil" / ".hikidashi").symlink_to(root / ".hikidashi")
    return [place / "link", place / "evil"]


def link_inside(place: Path) -> list[Path]:
    root = place / "inside"
    root.mkdir()
    found_workspace(root)
    (root / ".hikidashi" / "extra").symlink_to(place)
    return [root]


def foreign(place: Path) -> list[Path]:
    root = place / "mine"
    root.mkdir()
    found_workspace(root)
    shutil.copytree(root, place / "copy")
    (place / "bare" / ".hikidashi").mkdir(parents=True)
    (place / "file").mkdir()
    (place / "file" / ".hikidashi").write_text("x")
    return [place / "copy", place / "bare", place / "file"]


def swapped(place: Path) -> list[Path]:
    for name in ("one", "two"):
        (place / name).mkdir()
        found_workspace(place / name)
    database = ".hikidashi/workspace.sqlite"
    shutil.copy(place / "one" / database, place / "two" / database)
    return [place / "two"]


def wide(place: Path) -> list[Path]:
    home = Path(os.environ["HOME"])
    (home / "project").mkdir()
    found_workspace(home)
    return [home, home / "project"]


LAYOUTS = (plain, in_git, above_git, worktree, submodule, nested, odd_git, links, link_inside, foreign, swapped, wide)


def _closely(cwd: Path) -> str:
    try:
        workspace = open_workspace(cwd)
    except NoWorkspace:
        return "none"
    except HikidashiError as exc:
        return f"{type(exc).__name__}: {exc}"
    return f"{workspace.root} {workspace.id} {workspace.database}"


def _at_a_glance(cwd: Path) -> str:
    try:
        place = glance.look(str(cwd))
    except HikidashiError as exc:
        return f"{type(exc).__name__}: {exc}"
    return "none" if place is None else f"{place.root} {place.id} {place.database}"


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_both_find_the_same(layout: Callable[[Path], list[Path]], tmp_path: Path) -> None:
    for cwd in layout(tmp_path):
        assert _at_a_glance(cwd) == _closely(cwd), cwd


@pytest.mark.parametrize("layout", [plain, in_git, wide], ids=lambda layout: layout.__name__)
def test_plain_layouts_need_no_closer_look(
    layout: Callable[[Path], list[Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [folder for folder in layout(tmp_path) if folder.exists()]
    monkeypatch.setattr(glance, "_look_closely", lambda cwd: pytest.fail(f"{cwd} took a closer look"))
    assert glance.look(str(folders[0])) is not None
    for folder in folders:
        glance.look(str(folder))


def test_where_git_itself_keeps_no_branch_none_is_named(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    found_workspace(root)
    place = glance.look(str(root))
    assert place is not None
    assert place.git == ""
    repository(root / "x")
    git(root, "init", "-q", ".")
    place = glance.look(str(root))
    assert place is not None
    assert place.git == str(root / ".git")


def test_the_machine_is_the_same() -> None:
    assert glance.machine_id() == this_machine().id


@pytest.mark.skipif(sys.platform == "win32", reason="XDG")
def test_the_users_folder_is_text_and_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert user_folder("data") == tmp_path / "hikidashi"
