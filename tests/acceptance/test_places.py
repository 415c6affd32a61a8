"""Where workspaces are and whose sessions they take: odd names, worktrees that go, folders of one name, `$HOME`."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import Commands
from tests.support.project import Project, slug

NAMES = [
    "with space",
    'it\'s "quoted"',
    "プロジェクト",
    "café-Ünï",
    "line\nbreak",
    "-dash",
    "per%cent;semi$(x)",
    "e\u0301 decomposed",
]


def _git(*arguments: str, cwd: Path) -> None:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, run: Commands) -> Project:
    """A repository with one commit and a workspace."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    project = Project.made(tmp_path / "repo", run, init=False)
    _git("init", ".", cwd=project.root)
    _git("commit", "--allow-empty", "-m", "Begin", cwd=project.root)
    run("init", cwd=project.root)
    return project


@pytest.mark.parametrize("name", NAMES)
def test_a_project_of_any_name_goes_the_whole_way(tmp_path: Path, run: Commands, name: str) -> None:
    project = Project.made(tmp_path / name, run)
    project.keep(project.choices("one", range(2)))
    (project.root / "deep er").mkdir()
    project.keep(project.choices("two", range(2, 4), cwd=project.root / "deep er"))
    run("extract", "--no-consolidate", cwd=project.root / "deep er")
    run("consolidate", cwd=project.root)
    project.assert_whole(range(4))
    assert len(project.states()) == 4
    assert run("status", "--json", cwd=project.root).json()["workspace"] == str(project.root)
    run("lint", cwd=project.root)
    path = next(path for path in project.tree() if "/decisions/" in path)
    (project.home / path).unlink()
    run("restore", path, cwd=project.root)
    assert (project.home / path).exists()


def test_ten_inits_at_once_make_one_workspace(tmp_path: Path, run: Commands) -> None:
    project = Project.made(tmp_path / "shop", run, init=False)
    project.keep(project.choices("one", range(2)))
    ended = run.race([(["init", "--json"], project.root)] * 10)
    assert {one.expect(0).json()["id"] for one in ended} == {ended[0].json()["id"]}
    assert [path.name for path in project.root.iterdir()] == [".hikidashi"]
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", cwd=project.root)
    project.assert_whole(range(2))


def test_ten_inits_that_extract_at_once_stage_each_entry_once(tmp_path: Path, run: Commands) -> None:
    project = Project.made(tmp_path / "shop", run, init=False)
    for number in range(6):
        project.keep(project.choices(f"session {number}", [number]))
    ended = run.race([(["init", "--yes", "--json"], project.root)] * 10)
    new = [entry["id"] for one in ended for entry in (one.expect(0).json()["extracted"] or {"entries": []})["entries"]]
    assert len(new) == len(set(new))
    run("extract", "--no-consolidate", cwd=project.root)
    project.assert_whole(range(6))


def test_folders_with_one_base_name_and_one_slug_stay_apart(tmp_path: Path, run: Commands) -> None:
    pairs = [("a/x", "b/x"), ("p/a-b", "p/a/b"), ("q/one.two", "q/one-two")]
    number = 0
    for one, other in pairs:
        projects = []
        for place in (one, other):
            project = Project.made(tmp_path / place, run)
            project.keep(project.choices(f"in {place}", [number]))
            projects.append((project, number))
            number += 1
        for project, own in projects:
            run("extract", "--no-consolidate", cwd=project.root)
            assert len(project.staged_files()) == 1, project.root
            project.assert_whole([own])
    assert slug(tmp_path / "p/a-b") == slug(tmp_path / "p/a/b")


def test_a_nested_workspace_takes_its_own_sessions_only(tmp_path: Path, run: Commands) -> None:
    outer = Project.made(tmp_path / "outer", run)
    inner = Project.made(tmp_path / "outer" / "inner", run)
    outer.keep(outer.choices("outside", [0]))
    inner.keep(inner.choices("inside", [1]))
    # Started outside, gone inside: each event belongs to the workspace that holds its own folder.
    moved = outer.choices("both", [2])
    moved.cwd = str(inner.root)
    moved.asks("Which port does service3 listen on?", ["port 9003 for service3", "none"], "port 9003 for service3")
    moved.cwd = str(outer.root)
    outer.keep(moved)
    for project in (outer, inner):
        run("extract", "--no-consolidate", cwd=project.root)
    outer.assert_whole([0, 2])
    inner.assert_whole([1])
    assert len(outer.states()) == 2
    assert "Which port does service3" not in "".join(str(row) for row in outer.rows("SELECT content FROM entries"))


@pytest.mark.parametrize("from_main", [True, False])
def test_sessions_of_a_linked_worktree_are_the_main_one_s_also_when_it_is_gone(
    repository: Project, tmp_path: Path, run: Commands, from_main: bool
) -> None:
    tree = tmp_path / "work tree"
    _git("worktree", "add", str(tree), "-b", "side", cwd=repository.root)
    repository.keep(repository.choices("main", [0]))
    repository.keep(repository.choices("side", [1], cwd=tree))
    run("extract", "--no-consolidate", cwd=repository.root if from_main else tree)
    run("consolidate", cwd=repository.root)
    assert not (tree / ".hikidashi").exists()
    repository.assert_whole([0, 1])

    # Two more sessions there, then the worktree is removed, before anybody extracted them.
    repository.keep(repository.choices("late", [2], cwd=tree))
    repository.keep(repository.choices("later", [3], cwd=tree / "src"))
    _git("worktree", "remove", "--force", str(tree), cwd=repository.root)
    assert not tree.exists()
    before = repository.everything()
    run("extract", "--no-consolidate", cwd=repository.root)
    assert repository.everything() == before, "what was remembered stays"
    run("consolidate", cwd=repository.root)
    repository.assert_whole([0, 1, 2, 3])


def test_home_is_a_workspace_only_for_sessions_started_right_there(home: Path, run: Commands) -> None:
    outside = Project(home.resolve(), run)
    run("status", cwd=home, code=4)
    run("init", cwd=home)
    below = home / "some" / "project"
    below.mkdir(parents=True)
    run("status", cwd=home)
    for command in ("status", "extract", "consolidate"):
        assert "hikidashi init" in run(command, cwd=below, code=4).err
    outside.keep(outside.choices("at home", [0]))
    outside.keep(outside.choices("below", [1], cwd=below))
    run("extract", "--no-consolidate", cwd=home)
    outside.assert_whole([0])
    assert len(outside.states()) == 1
    # Its own `init` makes the project below one of its own.
    project = Project(below.resolve(), run)
    run("init", cwd=below)
    run("extract", "--no-consolidate", cwd=below)
    project.assert_whole([1])
    assert os.environ["HOME"] == str(home)
