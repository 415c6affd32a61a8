"""Which workspace a session belongs to, and that a strange one stays shut."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.config import registry, workspace
from hikidashi.config.registry import Registration, noted_worktree, register, registered, registry_folder
from hikidashi.config.workspace import find_root, open_workspace
from hikidashi.errors import Busy, CorruptData, NoWorkspace, UntrustedWorkspace

ID = "0123456789abcdef0123456789abcdef"


def make_home(root: Path, workspace_id: str = ID) -> Path:
    """A `.hikidashi/` with a database, known to nobody."""
    home = root / ".hikidashi"
    home.mkdir(parents=True)
    connection = sqlite3.connect(home / "workspace.sqlite")
    connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    connection.execute("INSERT INTO meta VALUES ('workspace_id', ?)", (workspace_id,))
    connection.commit()
    connection.close()
    return home


def make_trusted(root: Path, workspace_id: str = ID) -> Path:
    home = make_home(root, workspace_id)
    register(Registration(id=workspace_id, root=root, created_at="2026-05-03T09:30:00.000Z"))
    return home


def one_line(error: BaseException) -> str:
    assert "\n" not in str(error)
    return str(error)


def test_a_session_deep_in_the_project_finds_its_workspace(tmp_path: Path) -> None:
    make_trusted(tmp_path / "p")
    deep = tmp_path / "p" / "a" / "b"
    deep.mkdir(parents=True)
    assert find_root(deep) == tmp_path / "p"
    found = open_workspace(deep)
    assert (found.root, found.id) == (tmp_path / "p", ID)
    assert found.quarantine == tmp_path / "p" / ".hikidashi" / "staging" / "quarantine"


def test_no_workspace_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NoWorkspace, match="hikidashi init") as caught:
        open_workspace(tmp_path / "nothing\nhere")
    one_line(caught.value)


@pytest.mark.parametrize("name", ["with space", "qu'o\"te", "new\nline", "引き出し", "🗄️", "a%20b?c#d", " lead", "-rf"])
def test_folder_names_of_any_kind(tmp_path: Path, name: str) -> None:
    make_trusted(tmp_path / name)
    (tmp_path / name / name).mkdir()
    assert open_workspace(tmp_path / name / name).root == tmp_path / name


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse names that are no Unicode")
def test_a_folder_name_that_is_no_unicode(tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"caf\xe9")
    make_trusted(root)
    assert open_workspace(root).root == root


def test_two_folders_with_one_base_name_stay_apart(tmp_path: Path) -> None:
    make_trusted(tmp_path / "one" / "app", "1" * 32)
    make_trusted(tmp_path / "two" / "app", "2" * 32)
    assert open_workspace(tmp_path / "one" / "app").id == "1" * 32
    assert open_workspace(tmp_path / "two" / "app").id == "2" * 32


def test_the_walk_stops_at_the_git_root(tmp_path: Path) -> None:
    make_trusted(tmp_path)
    (tmp_path / "clone" / ".git").mkdir(parents=True)
    (tmp_path / "clone" / "src").mkdir()
    assert find_root(tmp_path / "clone" / "src") == tmp_path  # an empty .git is none: git ignores it as well
    (tmp_path / "clone" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert find_root(tmp_path / "clone" / "src") is None
    assert find_root(tmp_path) == tmp_path


def test_the_nearest_workspace_of_a_repository_wins(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    make_home(tmp_path)
    make_home(tmp_path / "packages" / "a")
    assert find_root(tmp_path / "packages" / "a") == tmp_path / "packages" / "a"
    assert find_root(tmp_path / "packages") == tmp_path


def test_home_is_a_workspace_only_for_sessions_right_there(home: Path) -> None:
    make_trusted(home)
    (home / "src" / "project").mkdir(parents=True)
    assert find_root(home) == home
    assert open_workspace(home).root == home
    assert find_root(home / "src" / "project") is None
    assert find_root(home / "src") is None


def test_a_temporary_folder_is_one_only_right_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    make_home(tmp_path)
    (tmp_path / "x").mkdir()
    assert find_root(tmp_path) == tmp_path
    assert find_root(tmp_path / "x") is None
    make_home(tmp_path / "x")
    (tmp_path / "x" / "y").mkdir()
    assert find_root(tmp_path / "x" / "y") == tmp_path / "x"


def test_a_symlinked_parent_leads_to_the_same_workspace(tmp_path: Path) -> None:
    make_trusted(tmp_path / "private" / "tmp" / "p")
    (tmp_path / "tmp").symlink_to(tmp_path / "private" / "tmp")
    assert open_workspace(tmp_path / "tmp" / "p") == open_workspace(tmp_path / "private" / "tmp" / "p")
    assert len(list(registry_folder().iterdir())) == 1


def test_another_spelling_of_one_folder_is_the_same_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a file system that folds case, `P` and `p` are one folder; here a link stands in for that.
    make_trusted(tmp_path / "Project")
    (tmp_path / "project").symlink_to(tmp_path / "Project")
    monkeypatch.setattr("hikidashi.config.territory.real_path", lambda path: Path(path))
    monkeypatch.setattr("hikidashi.config.workspace.real_path", lambda path: Path(path))
    found = open_workspace(tmp_path / "project")
    assert found.root == tmp_path / "Project"


@pytest.mark.parametrize("cwd", ["/no/such/place", "a\0b", "/" + "x" * 5000, "/" + "x/" * 3000, "", "/dev/null/x"])
def test_a_folder_that_cannot_be_has_no_workspace(cwd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_root(Path(cwd)) is None


def test_a_deleted_subfolder_still_belongs_to_the_project(tmp_path: Path) -> None:
    make_trusted(tmp_path / "p")
    assert find_root(tmp_path / "p" / "deleted" / "since") == tmp_path / "p"


def test_without_a_registration_nothing_inside_is_opened(tmp_path: Path) -> None:
    home = make_home(tmp_path / "clone")
    opened: list[str] = []
    watching = True

    def watch(event: str, args: tuple[object, ...]) -> None:
        if watching and event in ("open", "sqlite3.connect", "os.scandir", "os.listdir") and str(home) in str(args[0]):
            opened.append(f"{event} {args[0]}")

    sys.addaudithook(watch)
    try:
        with pytest.raises(UntrustedWorkspace, match="hikidashi trust") as caught:
            open_workspace(tmp_path / "clone")
    finally:
        watching = False
    one_line(caught.value)
    assert opened == []


def replace_database(home: Path) -> None:
    with sqlite3.connect(home / "workspace.sqlite") as connection:
        connection.execute("UPDATE meta SET value = 'another'")
    connection.close()


def empty_database(home: Path) -> None:
    (home / "workspace.sqlite").write_bytes(b"")


def remove_database(home: Path) -> None:
    (home / "workspace.sqlite").unlink()


def link_database(home: Path) -> None:
    (home / "workspace.sqlite").rename(home.parent / "elsewhere.sqlite")
    (home / "workspace.sqlite").symlink_to(home.parent / "elsewhere.sqlite")


def link_memory(home: Path) -> None:
    (home / "memory").symlink_to("/etc")


def dangling_link(home: Path) -> None:
    (home / "publish.journal").symlink_to("/nowhere")


def link_home(home: Path) -> None:
    home.rename(home.parent / "real")
    home.symlink_to(home.parent / "real")


def damage_registration(home: Path) -> None:
    next(registry_folder().iterdir()).write_bytes(b"\x00{")


def forge_registration(home: Path) -> None:
    file = next(registry_folder().iterdir())
    file.write_text(json.dumps({"id": ID, "root": "/somewhere/else", "created_at": ""}))


@pytest.mark.parametrize(
    "damage",
    [
        replace_database,
        empty_database,
        remove_database,
        link_database,
        link_memory,
        dangling_link,
        link_home,
        damage_registration,
        forge_registration,
    ],
)
def test_what_is_not_as_we_left_it_is_refused_with_the_mend(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    home = make_trusted(tmp_path / "p")
    assert open_workspace(tmp_path / "p").id == ID
    damage(home)
    with pytest.raises(UntrustedWorkspace) as caught:
        open_workspace(tmp_path / "p")
    line = one_line(caught.value)
    assert "`hikidashi trust`" in line or "`hikidashi init`" in line


def test_a_moved_folder_is_untrusted(tmp_path: Path) -> None:
    make_trusted(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    with pytest.raises(UntrustedWorkspace, match="hikidashi trust"):
        open_workspace(tmp_path / "new")


def test_a_damaged_database_is_corrupt_data(tmp_path: Path) -> None:
    home = make_trusted(tmp_path / "p")
    (home / "workspace.sqlite").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(CorruptData, match="hikidashi trust") as caught:
        open_workspace(tmp_path / "p")
    one_line(caught.value)


def test_a_locked_database_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = make_trusted(tmp_path / "p")
    monkeypatch.setattr(workspace, "_BUSY_SECONDS", 0.05)
    other = sqlite3.connect(home / "workspace.sqlite", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Busy, match="try again"):
        open_workspace(tmp_path / "p")
    other.close()


def test_a_file_of_that_name_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / ".hikidashi").write_text("not a folder")
    assert find_root(tmp_path) is None


def test_registry_files_are_private_and_named_by_the_path(tmp_path: Path) -> None:
    import hashlib

    register(Registration(id=ID, root=tmp_path, created_at=""))
    file = registry_folder() / (hashlib.sha256(os.fsencode(tmp_path)).hexdigest()[:32] + ".json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert registry_folder().stat().st_mode & 0o777 == 0o700
    assert json.loads(file.read_text()) == {"id": ID, "root": str(tmp_path), "created_at": ""}
    assert registered(tmp_path) == Registration(id=ID, root=tmp_path, created_at="")
    registry.unregister(tmp_path)
    assert registered(tmp_path) is None


def test_a_note_about_another_path_is_not_taken(tmp_path: Path) -> None:
    registry.note_worktree(tmp_path / "a", tmp_path)
    assert noted_worktree(tmp_path / "a") == tmp_path
    assert noted_worktree(tmp_path / "b") is None


def test_opening_works_in_an_isolated_interpreter_without_third_party_modules(tmp_path: Path) -> None:
    make_trusted(tmp_path / "p")
    source = Path(workspace.__file__).parents[2]
    code = (
        f"import sys; sys.path.insert(0, {str(source)!r})\n"
        "from pathlib import Path\n"
        "from hikidashi.config.workspace import open_workspace\n"
        f"print(open_workspace(Path({str(tmp_path / 'p')!r})).id)\n"
        "stdlib = sys.stdlib_module_names\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} - stdlib - {'hikidashi', '__main__'}))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [ID, "[]"]
