"""Things in the wrong place inside `.hikidashi/`: one line that names them and the mend, never a fault of ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hikidashi.records import library
from tests.support.command import hikidashi


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    assert hikidashi("init", cwd=folder).code == 0
    return folder


@pytest.mark.parametrize("command", ["status", "consolidate", "init"])
@pytest.mark.parametrize("name", ["staging", "memory", "history.git"])
def test_a_file_in_a_folders_place_is_one_line_with_the_mend(project: Path, name: str, command: str) -> None:
    place = project / ".hikidashi" / name
    shutil.rmtree(place)
    place.write_text("mine")
    ran = hikidashi(command, cwd=project)
    assert "internal error" not in ran.err
    assert ran.err.count("\n") <= 1
    if ran.code:
        assert ran.code in (8, 12)
        assert "move" in ran.err
    assert place.read_text() == "mine"


def test_init_inside_a_workspaces_own_folder_makes_no_second_one(project: Path) -> None:
    for inner in (".hikidashi", ".hikidashi/memory", ".hikidashi/history.git"):
        ran = hikidashi("init", cwd=project / inner)
        assert ran.code == 2
        assert f"run `hikidashi init` in {project}" in ran.err
        assert not (project / inner / ".hikidashi").exists()


def test_a_missing_database_is_called_missing(project: Path) -> None:
    (project / ".hikidashi" / "workspace.sqlite").unlink()
    ran = hikidashi("status", cwd=project)
    assert ran.code == 5
    assert "its database is missing" in ran.err


def test_a_record_that_is_deleted_while_it_is_listed_is_simply_gone(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".hikidashi" / "memory" / "decisions" / "a.md").write_text("a")
    read = library._read_file

    def deleted_first(file: Path, path: str, loaded: library.LoadedTree) -> None:
        file.unlink()
        read(file, path, loaded)

    monkeypatch.setattr(library, "_read_file", deleted_first)
    assert hikidashi("status", cwd=project).code == 0
