"""Real git repositories of every layout: a session's folder finds the one workspace it belongs to."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hikidashi.config.registry import Registration, register
from hikidashi.config.workspace import (
    Workspace,
    find_root,
    founding_place,
    parent_workspace,
    remember_worktrees,
)

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=_ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", ".")
    (folder / "src").mkdir()
    (folder / "src" / "a.txt").write_text("a")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def home_in(folder: Path) -> Path:
    (folder / ".hikidashi").mkdir()
    return folder


def trust(folder: Path) -> Workspace:
    register(Registration(id="1" * 32, root=folder, created_at=""))
    return Workspace(root=folder, id="1" * 32)


@pytest.mark.parametrize("name", ["wt", "with space", "new\nline", "引き出し 🗄️", "it's"])
def test_a_linked_worktree_uses_the_main_worktrees_workspace(tmp_path: Path, name: str) -> None:
    main = home_in(repository(tmp_path / f"main {name}"))
    git(main, "worktree", "add", "-q", "-b", "x", f"../{name}")
    assert find_root(tmp_path / name) == main
    assert find_root(tmp_path / name / "src") == main
    home_in(tmp_path / name)  # a committed, shared .hikidashi/ is checked out there as well
    assert find_root(tmp_path / name) == main
    assert founding_place(tmp_path / name / "src") == main


def test_a_nested_workspace_is_found_from_the_same_folder_of_a_linked_worktree(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    home_in(main)
    home_in(main / "src")
    git(main, "worktree", "add", "-q", "../wt")
    assert find_root(tmp_path / "wt" / "src") == main / "src"
    assert find_root(tmp_path / "wt") == main


def test_a_removed_worktree_is_remembered(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    workspace = trust(main)
    for name in ("wt", "other"):
        git(main, "worktree", "add", "-q", f"../{name}")
    assert remember_worktrees(workspace) == 2
    git(main, "worktree", "remove", "--force", "../wt")
    assert not (tmp_path / "wt").exists()
    assert find_root(tmp_path / "wt" / "src") == main
    assert find_root(tmp_path / "wt") == main
    assert find_root(tmp_path / "never") is None
    repository(tmp_path / "wt")  # the place is used again, by something else
    assert find_root(tmp_path / "wt" / "src") is None


def test_a_worktree_deleted_without_telling_git_is_found_through_its_repository(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    trust(main)
    git(main, "worktree", "add", "-q", "../wt")
    shutil.rmtree(tmp_path / "wt")
    assert find_root(tmp_path / "wt" / "src") == main


def test_a_worktree_inside_the_repository_is_found_after_it_was_removed(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    git(main, "worktree", "add", "-q", ".agent/worktrees/x")
    assert find_root(main / ".agent" / "worktrees" / "x" / "src") == main
    git(main, "worktree", "remove", ".agent/worktrees/x")
    assert find_root(main / ".agent" / "worktrees" / "x" / "src") == main


def test_a_pruned_worktree_that_is_still_there_belongs_only_where_it_is_remembered(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    git(main, "worktree", "add", "-q", "../wt")
    home_in(tmp_path / "wt")
    shutil.rmtree(main / ".git" / "worktrees" / "wt")
    assert find_root(tmp_path / "wt" / "src") is None
    git(main, "worktree", "add", "-q", "-b", "y", "../again")
    remember_worktrees(trust(main))
    shutil.rmtree(main / ".git" / "worktrees" / "again")
    assert find_root(tmp_path / "again" / "src") == main


def test_a_moved_worktree_still_belongs(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    git(main, "worktree", "add", "-q", "../wt")
    (tmp_path / "wt").rename(tmp_path / "elsewhere")
    assert find_root(tmp_path / "elsewhere") == main


def test_a_git_file_from_an_archive_cannot_claim_anothers_workspace(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    trust(main)
    git(main, "worktree", "add", "-q", "../wt")
    evil = tmp_path / "unpacked"
    evil.mkdir()
    shutil.copy(tmp_path / "wt" / ".git", evil / ".git")
    assert find_root(evil) is None
    (evil / ".git").write_text(f"gitdir: {main}/.git/worktrees/none\n")
    assert find_root(evil) is None
    # a repository of its own that names somebody's folder as its work tree
    git(evil.parent, "init", "-q", "--bare", "evil.git")
    git(evil.parent / "evil.git", "config", "core.bare", "false")
    git(evil.parent / "evil.git", "config", "core.worktree", str(main))
    admin = tmp_path / "evil.git" / "worktrees" / "x"
    admin.mkdir(parents=True)
    (admin / "commondir").write_text("../..\n")
    (admin / "gitdir").write_text(f"{evil}/.git\n")
    (evil / ".git").write_text(f"gitdir: {admin}\n")
    assert find_root(evil) is None


def test_a_submodule_belongs_to_its_superproject(tmp_path: Path) -> None:
    library = repository(tmp_path / "library")
    inner = repository(tmp_path / "inner")
    git(library, "submodule", "--quiet", "add", str(inner), "deep/inner")
    git(library, "commit", "-q", "-m", "inner")
    main = repository(tmp_path / "main")
    git(main, "submodule", "--quiet", "add", str(library), "vendor/lib")
    git(main, "submodule", "--quiet", "update", "--init", "--recursive")
    git(main, "commit", "-q", "-m", "lib")
    submodule = main / "vendor" / "lib"
    assert find_root(submodule / "src") is None
    home_in(submodule)  # it carries one, but is not at home here
    assert find_root(submodule / "src") is None
    home_in(main)
    assert find_root(submodule / "src") == main
    assert find_root(submodule / "deep" / "inner" / "src") == main
    assert founding_place(submodule / "src") == main
    git(main, "worktree", "add", "-q", "../wt")
    git(tmp_path / "wt", "submodule", "--quiet", "update", "--init")
    assert find_root(tmp_path / "wt" / "vendor" / "lib" / "src") == main
    git(submodule, "worktree", "add", "-q", "-b", "z", str(tmp_path / "sub wt"))
    assert find_root(tmp_path / "sub wt" / "src") == main


def test_a_submodule_of_the_old_kind_belongs_too_but_a_nested_clone_does_not(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    repository(main / "old sub")
    repository(main / "clone")
    (main / ".gitmodules").write_text('[submodule "s"]\n\tpath = old sub\n\turl = ../s\n')
    assert find_root(main / "old sub" / "src") == main
    assert find_root(main / "clone" / "src") is None


def test_worktrees_of_a_bare_repository_use_its_parent_folder(tmp_path: Path) -> None:
    source = repository(tmp_path / "source")
    project = tmp_path / "project"
    project.mkdir()
    git(project, "clone", "-q", "--bare", str(source), ".bare")
    (project / ".git").write_text("gitdir: ./.bare\n")
    git(project, "worktree", "add", "-q", "main")
    git(project, "worktree", "add", "-q", "-b", "f", "../far")
    assert find_root(project / "main") is None
    home_in(project)
    home_in(project / "main")
    for folder in (project, project / "main", project / "main" / "src", tmp_path / "far" / "src", project / ".bare"):
        assert find_root(folder) == project, folder
    assert founding_place(project / "main") == project
    git(project / ".bare", "config", "extensions.worktreeConfig", "true")
    git(project / ".bare", "config", "--unset", "core.bare")
    (project / ".bare" / "config.worktree").write_text("[core]\n\tbare\n")
    assert find_root(project / "main" / "src") == project


def test_a_repository_with_a_git_folder_elsewhere_is_found_from_its_worktrees_once_known(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q", "--separate-git-dir", "../apart.git", ".")
    git(main, "commit", "-q", "--allow-empty", "-m", "first")
    git(main, "worktree", "add", "-q", "../wt")
    home_in(main)
    assert find_root(main) == main
    assert find_root(tmp_path / "wt") is None
    trust(main)
    assert find_root(tmp_path / "wt") == main


@pytest.mark.parametrize("content", ["", "gitdir:", "gitdir: \n", "nonsense\n", "gitdir: .git\n", "gitdir: ../..\n"])
def test_a_damaged_git_file_is_a_root_and_no_crash(tmp_path: Path, content: str) -> None:
    home_in(tmp_path)
    project = tmp_path / "p"
    (project / "src").mkdir(parents=True)
    (project / ".git").write_text(content)
    assert find_root(project / "src") is None
    home_in(project)
    assert find_root(project / "src") == project


def test_git_files_in_a_circle_end(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for one, other in ((a, b), (b, a)):
        admin = one / "admin" / ".git" / "worktrees" / "w"
        admin.mkdir(parents=True)
        (one / ".git").write_text(f"gitdir: {admin}\n")
        (admin / "gitdir").write_text(f"{one}/.git\n")
        (admin / "commondir").write_text(f"{other}/.git\n")
    assert find_root(a) is None


def test_where_init_would_nest_the_workspace_above_is_named(tmp_path: Path) -> None:
    main = home_in(repository(tmp_path / "main"))
    assert parent_workspace(main / "src") == main
    assert parent_workspace(main) is None
    outside = tmp_path / "plain"
    (outside / "below").mkdir(parents=True)
    home_in(outside)
    assert parent_workspace(outside / "below") is None
    assert founding_place(outside / "below") == outside / "below"
