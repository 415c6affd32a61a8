"""Whatever is wrong: one line that says the mend, the exit code of its class, and nothing lost."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from hikidashi.times import now
from tests.support.command import hikidashi, put_demo_sessions, snapshot


@pytest.fixture
def project(tmp_path: Path, home: Path) -> Path:
    """A workspace with staged entries and a record of its own."""
    folder = tmp_path / "a 'quoted' プロジェクト"
    folder.mkdir()
    put_demo_sessions(home, folder)
    assert hikidashi("init", "--yes", cwd=folder).code == 0
    return folder


def _nothing(project: Path, home: Path) -> None:
    pass


def _user_settings(text: str) -> Callable[[Path, Path], None]:
    def write(project: Path, home: Path) -> None:
        (home / ".config" / "hikidashi").mkdir(parents=True)
        (home / ".config" / "hikidashi" / "config.toml").write_text(text, encoding="utf-8")

    return write


def _workspace_settings(text: str) -> Callable[[Path, Path], None]:
    def write(project: Path, home: Path) -> None:
        (project / ".hikidashi" / "config.toml").write_text(text, encoding="utf-8")

    return write


def _no_workspace(project: Path, home: Path) -> None:
    shutil.move(project / ".hikidashi", home / "elsewhere")


def _untrusted(project: Path, home: Path) -> None:
    shutil.rmtree(home / ".local" / "share" / "hikidashi")


def _newer_database(project: Path, home: Path) -> None:
    with sqlite3.connect(project / ".hikidashi" / "workspace.sqlite") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()


def _broken_database(project: Path, home: Path) -> None:
    for path in (project / ".hikidashi").glob("workspace.sqlite*"):
        path.unlink()
    (project / ".hikidashi" / "workspace.sqlite").write_bytes(b"not a database " * 100)


def _broken_history(project: Path, home: Path) -> None:
    history = project / ".hikidashi" / "history.git"
    shutil.rmtree(history)
    (history / "refs" / "heads").mkdir(parents=True)
    (history / "refs" / "heads" / "main").write_text("nonsense\n")
    (history / "HEAD").write_text("ref: refs/heads/main\n")


def _symlink(project: Path, home: Path) -> None:
    (project / ".hikidashi" / "config.toml").symlink_to(home)


#: (id, what is wrong, command line, exit code, error's kind, what its line must say).
CASES: list[tuple[str, Callable[[Path, Path], None], str, int, str, str]] = [
    ("no workspace", _no_workspace, "status", 4, "NoWorkspace", "run `hikidashi init`"),
    ("no workspace, extract", _no_workspace, "extract", 4, "NoWorkspace", "run `hikidashi init`"),
    ("nothing to trust", _no_workspace, "trust", 4, "NoWorkspace", "run `hikidashi init`"),
    ("untrusted", _untrusted, "consolidate", 5, "UntrustedWorkspace", "run `hikidashi trust`"),
    ("untrusted, restore", _untrusted, "restore memory/summary.md", 5, "UntrustedWorkspace", "run `hikidashi trust`"),
    ("trust unanswered", _untrusted, "trust", 2, "UsageError", "run `hikidashi trust --yes`"),
    ("symlink", _symlink, "status", 5, "UntrustedWorkspace", "run `hikidashi trust`"),
    ("unknown key", _user_settings("[worker]\nbatch = 3\n"), "status", 6, "BadSettings", ", line 2: "),
    (
        "wrong type",
        _user_settings('[worker]\nbatch_entries = "x"\n'),
        "extract",
        6,
        "BadSettings",
        "config.toml, line 2: ",
    ),
    ("no TOML", _user_settings("[worker\n"), "consolidate", 6, "BadSettings", "correct that line"),
    (
        "not this file's",
        _workspace_settings('[memory]\nengine = "rules"\n'),
        "lint",
        6,
        "BadSettings",
        "a workspace may not: move it",
    ),
    ("newer database", _newer_database, "status", 8, "CorruptData", "upgrade hikidashi"),
    ("newer database, extract", _newer_database, "extract", 8, "CorruptData", "upgrade hikidashi"),
    ("broken database", _broken_database, "consolidate", 8, "CorruptData", "run `hikidashi trust`"),
    ("broken history", _broken_history, "log", 8, "CorruptData", "history"),
    ("engine of later", _nothing, "consolidate --engine anthropic", 11, "ModelFailure", "--engine rules"),
    ("engine of none", _nothing, "consolidate --engine gpt", 2, "UsageError", "see `hikidashi consolidate --help`"),
    ("both", _nothing, "consolidate --drain --clean-up", 2, "UsageError", "leave one of them out"),
    ("command", _nothing, "consolidat", 2, "UsageError", "see `hikidashi --help`"),
    ("option", _nothing, "status --jsn", 2, "UsageError", "see `hikidashi status --help`"),
    ("argument", _nothing, "show", 2, "UsageError", "see `hikidashi show --help`"),
    ("number", _nothing, "log -n 0", 2, "UsageError", "see `hikidashi log --help`"),
    ("folder", _nothing, "-C /nowhere/at/all status", 2, "UsageError", "see `hikidashi --help`"),
    ("no run yet", _nothing, "show last", 2, "UsageError", "run `hikidashi consolidate`"),
    ("no such run", _nothing, "requeue 01ZZZ", 2, "UsageError", "`hikidashi log`"),
    ("no record", _nothing, "restore ../../etc/passwd", 2, "UsageError", "give a path like memory/"),
    ("never there", _nothing, "restore memory/decisions/never.md", 2, "UsageError", "`hikidashi log -p`"),
    ("not ours to lint", _nothing, "lint /etc", 2, "UsageError", "memory/ or knowledge/"),
    ("no such path", _nothing, "extract /nowhere/at/all", 2, "UsageError", "give a transcript"),
    ("no transcript", _nothing, "extract .hikidashi/workspace.sqlite", 2, "UsageError", "give a session file"),
    ("demo's folder", _nothing, "demo --keep .", 2, "UsageError", "name a new folder"),
]


@pytest.mark.parametrize(
    ("break_it", "line", "code", "kind", "mend"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_one_line_with_the_mend(
    project: Path, home: Path, break_it: Callable[[Path, Path], None], line: str, code: int, kind: str, mend: str
) -> None:
    break_it(project, home)
    before = snapshot(project)
    for arguments in (line.split(), [*line.split(), "--json"]):
        ran = hikidashi(*arguments, cwd=project)
        assert ran.code == code, ran
        assert ran.err.startswith("error: "), ran
        assert ran.err.count("\n") == 1, ran
        assert mend in ran.err, ran
    # Asking for JSON, the same stands on standard output, alone.
    assert ran.json == {"error": {"kind": kind, "message": ran.err.removeprefix("error: ")[:-1], "exit_code": code}}
    assert snapshot(project) == before


def test_an_unknown_variable_is_said_and_a_text_answer_prints_nothing_else(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIKIDASHI_WORKER_BATCH", "3")
    ran = hikidashi("status", cwd=project)
    assert (ran.code, ran.out) == (6, "")
    assert "HIKIDASHI_WORKER_BATCH" in ran.err


@pytest.mark.parametrize("name", ["status", "init", "trust", "extract", "lint"])
def test_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    real = Path.cwd

    def removed() -> Path:
        gone.rmdir()
        return real()

    monkeypatch.setattr(Path, "cwd", staticmethod(removed))
    ran = hikidashi(name, cwd=gone)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: the current folder does not exist any more: change to another one\n"


def test_lint_errors_have_their_code_and_come_before_warnings(project: Path) -> None:
    bad = project / ".hikidashi" / "memory" / "decisions" / "no-front-matter.md"
    bad.write_text("just text\n", encoding="utf-8")
    ran = hikidashi("lint", cwd=project)
    assert ran.code == 7
    assert "memory/decisions/no-front-matter.md:1" in ran.out
    found = hikidashi("lint", str(bad), "--json", cwd=project)
    assert found.code == 7
    assert (found.json["records"], found.json["errors"]) == (1, 1)
    assert [finding["path"] for finding in found.json["findings"]] == ["memory/decisions/no-front-matter.md"]
    # A record that is broken stops nothing else.
    assert hikidashi("consolidate", cwd=project).code == 0
    assert bad.read_text(encoding="utf-8") == "just text\n"
    assert "no-front-matter.md is read-only" in hikidashi("status", cwd=project).out


def test_a_run_under_way_is_busy_and_takes_nothing(project: Path) -> None:
    from hikidashi.config.workspace import open_workspace
    from hikidashi.staging.claim import take_claim

    held = take_claim(open_workspace(project), "01ARZ3NDEKTSV4RRFFQ69G5FAV", max_seconds=900, clock=now)
    try:
        before = snapshot(project)
        ran = hikidashi("consolidate", "--json", cwd=project)
        assert (ran.code, ran.json["outcome"], ran.json["consumed"]) == (3, "busy", 0)
        assert "busy" in hikidashi("consolidate", cwd=project).out
        status = hikidashi("status", "--json", cwd=project).json
        assert status["claim"]["alive"] is True
        assert status["idle_reason"] is None
        assert hikidashi("restore", "memory/summary.md", cwd=project).code == 3
        assert snapshot(project) == before
    finally:
        held.release()
    assert hikidashi("consolidate", cwd=project).code == 0
