"""Whatever a host, a project or a disk does to a hook: exit code 0 within a second, one JSON object or nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hikidashi.serve.host_event import EVENTS
from tests.support.hooks import HOOK, Answer, Project, fire, run_hook

#: The hook's own deadline is below a second; what else the machine does comes on top.
SECONDS = 2.5


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / 'a project\'s "folder"')


def event(name: str, cwd: object, **values: Any) -> bytes:
    form = {"hook_event_name": name, "session_id": "s", "cwd": cwd, "prompt": "deploy it", "last_assistant_message": ""}
    return json.dumps({**form, "agent_type": "x", "agent_id": "a", **values}).encode()


def holds(answer: Answer) -> None:
    assert answer.code == 0
    assert answer.seconds < SECONDS
    assert "Traceback" not in answer.err


INPUTS: dict[str, Callable[[str, str], bytes]] = {
    "empty": lambda name, cwd: b"",
    "blank": lambda name, cwd: b" \n\t",
    "no keys": lambda name, cwd: b"{}",
    "a list": lambda name, cwd: b"[1, 2]",
    "a number": lambda name, cwd: b"7",
    "cut": lambda name, cwd: event(name, cwd)[:-9],
    "no text": lambda name, cwd: b"\xff\xfe\x00\x80{",
    "deep": lambda name, cwd: b"[" * 200_000,
    "deep inside": lambda name, cwd: b'{"prompt":' + b"[" * 200_000,
    "BOM": lambda name, cwd: b"\xef\xbb\xbf" + event(name, cwd),
    "UTF-16": lambda name, cwd: event(name, cwd).decode().encode("utf-16"),
    "two objects": lambda name, cwd: event(name, cwd) + b"\n" + event(name, cwd),
    "5 MB": lambda name, cwd: event(
        name, cwd, prompt="deploy " * 700_000, last_assistant_message="I cannot " * 100_000
    ),
    "wrong types": lambda name, cwd: event(name, [cwd], session_id=7, prompt={"a": 1}, transcript_path=3, source=[]),
    "nulls": lambda name, cwd: event(name, None, session_id=None, prompt=None, transcript_path=None),
    "unknown fields": lambda name, cwd: event(name, cwd, effort={"level": "high"}, unknown=[{"a": None}]),
    "no such folder": lambda name, cwd: event(name, "/no/such/folder"),
    "a NUL in the folder": lambda name, cwd: event(name, "/tmp/a\0b"),
    "an endless folder": lambda name, cwd: event(name, "/a" * 100_000),
    "half a surrogate": lambda name, cwd: event(name, cwd, prompt="deploy \ud800", session_id="\udfff"),
    "another event": lambda name, cwd: event("PreToolUse", cwd),
}


@pytest.mark.parametrize("name", EVENTS)
def test_no_input_brings_a_hook_down(project: Project, name: str) -> None:
    for make in INPUTS.values():
        answer = run_hook(name, make(name, str(project.root)), project.root)
        holds(answer)


def test_an_event_that_is_read_is_answered_in_every_encoding(project: Project) -> None:
    for number, kind in enumerate(("BOM", "UTF-16", "5 MB", "unknown fields")):
        given = INPUTS[kind]("UserPromptSubmit", str(project.root)).replace(b'"s"', f'"s{number}"'.encode())
        if kind == "UTF-16":
            given = event("UserPromptSubmit", str(project.root), session_id="u").decode().encode("utf-16")
        assert "`deploy:lantern`" in run_hook("UserPromptSubmit", given, project.root).context, kind


@pytest.mark.parametrize("given", [b"", b'{"prompt"', None], ids=["nothing", "a part", "an event"])
def test_an_input_that_is_never_closed_keeps_nobody_waiting(project: Project, given: bytes | None) -> None:
    given = event("UserPromptSubmit", str(project.root)) if given is None else given
    began = time.monotonic()
    command = [sys.executable, "-I", "-S", str(HOOK), "UserPromptSubmit"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(given)
        process.stdin.flush()
        out = process.stdout.read()
        assert process.wait(10) == 0
    assert time.monotonic() - began < SECONDS
    assert (b"deploy:lantern" in out) == given.endswith(b"}")


@pytest.mark.parametrize("closed", ["0", "1", "2", "0 1 2"])
def test_streams_that_the_host_closed_cost_nothing_else(project: Project, closed: str) -> None:
    closing_them = " ".join(f"{number}<&-" for number in closed.split())
    script = f'exec "{sys.executable}" -I -S "{HOOK}" SessionStart {closing_them}'
    given = event("SessionStart", str(project.root))
    before = project.workspace.database.read_bytes()[:16]
    done = subprocess.run(["sh", "-c", script], input=given, capture_output=True, timeout=20, check=False)
    assert done.returncode == 0
    assert project.workspace.database.read_bytes()[:16] == before
    assert project.query("PRAGMA integrity_check") == [("ok",)]


def test_a_reader_that_went_away_is_no_error(project: Project) -> None:
    command = [sys.executable, "-I", "-S", str(HOOK), "SessionStart"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(event("SessionStart", str(project.root)))
        process.stdin.close()
        assert process.wait(20) == 0
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("name", EVENTS)
def test_a_folder_without_a_workspace_is_answered_nothing(tmp_path: Path, name: str) -> None:
    answer = fire(name, tmp_path, prompt="deploy it")
    assert (answer.said, answer.err) == (None, "")
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_that_nobody_trusted_is_named_once_a_session(project: Project, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(project.root, clone)
    for name in EVENTS:
        answer = fire(name, clone, prompt="deploy it")
        holds(answer)
        assert answer.context == ""
        assert ("`hikidashi trust`" in answer.err) == (name == "SessionStart")
    assert not (clone / ".hikidashi" / "sessions").exists()


def _broken(project: Project, how: str) -> None:
    database = project.workspace.database
    if how == "corrupt":
        database.write_bytes(b"SQLite format 3\0" + os.urandom(20_000))
    elif how == "no database":
        database.write_bytes(b"not a database at all")
    elif how == "empty":
        database.write_bytes(b"")
    elif how == "gone":
        database.unlink()
    elif how == "a folder":
        database.unlink()
        database.mkdir()
    elif how == "newer":
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA user_version = 999")
    elif how == "no index":
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("DROP TABLE recall_names")
            connection.execute("DROP TABLE runs")
    for suffix in ("-wal", "-shm"):
        if how in ("corrupt", "no database", "empty"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)


@pytest.mark.parametrize("how", ["corrupt", "no database", "empty", "gone", "a folder", "newer", "no index"])
def test_a_database_that_cannot_be_used_is_said_in_one_line(project: Project, how: str) -> None:
    _broken(project, how)
    for name in EVENTS:
        answer = project.fire(name, prompt="deploy it", agent_type="x")
        holds(answer)
        assert answer.context == "" or (how, name) == ("no index", "SubagentStart")  # it asks for nothing by name
        if name == "SessionStart":
            assert answer.err.startswith("hikidashi: ")
        if how == "newer" and name == "SessionStart":
            assert "upgrade hikidashi" in (answer.said or {})["systemMessage"]


def test_a_writer_at_work_delays_no_turn_and_its_uses_are_noted_later(project: Project) -> None:
    with closing(sqlite3.connect(project.workspace.database, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        answer = project.prompt("deploy it")
        assert "`deploy:lantern`" in answer.context
        assert answer.seconds < SECONDS
        assert project.query("SELECT count(*) FROM usage_events") == [(0,)]
        spool = project.workspace.home / "workspace.sqlite.spool"
        assert len(spool.read_text().splitlines()) == 1
        writer.execute("COMMIT")
    assert project.prompt("deploy it", session_id="session-2").context
    assert not list(project.workspace.home.glob("*.spool*"))
    uses = "SELECT session_id, count(*) FROM usage_events GROUP BY session_id ORDER BY session_id"
    assert project.query(uses) == [("session-1", 2), ("session-2", 2)]


def test_a_database_that_is_locked_against_readers_costs_no_turn(project: Project) -> None:
    with closing(sqlite3.connect(project.workspace.database, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = DELETE").fetchone()
        writer.execute("BEGIN EXCLUSIVE")
        for name in EVENTS:
            answer = project.fire(name, prompt="deploy it")
            holds(answer)
            assert answer.context == ""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="mounting takes root")
def test_a_read_only_disk_costs_no_turn(project: Project, tmp_path: Path) -> None:
    mounted = subprocess.run(["mount", "--bind", project.root, project.root], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("this machine mounts nothing")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", project.root], check=True)
        for name in EVENTS:
            holds(project.fire(name, prompt="deploy it"))
    finally:
        subprocess.run(["umount", project.root], check=True)


def test_a_folder_of_sessions_that_takes_no_files_costs_a_repetition_only(project: Project) -> None:
    (project.workspace.home / "sessions").write_text("in the way")
    for _ in range(2):
        assert "`deploy:lantern`" in project.prompt("deploy it").context


@pytest.mark.parametrize("kind", ["cut", "another form", "a link"])
def test_a_damaged_memory_of_the_session_costs_a_repetition_only(project: Project, tmp_path: Path, kind: str) -> None:
    assert project.prompt("deploy it").context
    (file,) = (project.workspace.home / "sessions").glob("*.json")
    if kind == "cut":
        file.write_bytes(file.read_bytes()[:20])
    elif kind == "another form":
        file.write_text('{"given": {"a": 1}, "raised": 7, "settings": [], "machine": 3, "start": "x"}')
    else:
        target = tmp_path / "target"
        target.write_text("{}")
        file.unlink()
        file.symlink_to(target)
    assert "`deploy:lantern`" in project.prompt("deploy it").context
    holds(project.fire("SessionStart", source="resume"))
    if kind == "a link":
        assert target.read_text() == "{}"


def test_modules_and_variables_of_the_project_are_not_asked(project: Project, tmp_path: Path) -> None:
    """A project may hold modules named like ours or like Python's own, and set what it likes."""
    traps = tmp_path / "traps"
    traps.mkdir()
    for name in ("hikidashi", "json", "sqlite3", "config", "serve", "sitecustomize", "usercustomize", "re", "datetime"):
        for folder in (traps, project.root):
            (folder / f"{name}.py").write_text("import os\nos.write(1, b'trap'); os._exit(3)\n")
    environ = {
        "PYTHONPATH": str(traps),
        "PYTHONSTARTUP": str(traps / "json.py"),
        "PYTHONHOME": str(traps),
        "PYTHONVERBOSE": "1",
        "PYTHONDEVMODE": "1",
        "PYTHONWARNINGS": "always",
        "PYTHONMALLOCSTATS": "1",
        "PYTHONPROFILEIMPORTTIME": "1",
        "LANG": "xx_XX.no-such",
        "LC_ALL": "C",
        "PYTHONIOENCODING": "ascii",
        "HIKIDASHI_RECALL_TOP_K": "many",
        "HIKIDASHI_NO_SUCH": "1",
        **{f"NOISE_{number}": "x" * 1_000 for number in range(50)},
    }
    answer = project.prompt("デプロイして", environ=environ)
    assert "`deploy:lantern`" in answer.context
    assert answer.err == ""


@pytest.mark.parametrize("name", ["HIKIDASHI_DISABLE", "HIKIDASHI_WORKER"])
def test_switched_off_or_in_our_own_session_a_hook_does_nothing(project: Project, name: str) -> None:
    for event_name in EVENTS:
        answer = project.fire(event_name, prompt="deploy it", environ={name: "1"})
        assert (answer.said, answer.err) == (None, "")
    assert not (project.workspace.home / "sessions").exists()
    assert not (project.workspace.home / "worker.log").exists()
    assert project.prompt("deploy it", environ={name: "0"}).context


def test_the_command_is_the_same_hook_whatever_it_is_given(project: Project) -> None:
    root = str(HOOK.parents[2])
    for arguments in (["UserPromptSubmit"], [], ["--no-such", "x"]):
        done = subprocess.run(
            [sys.executable, "-m", "hikidashi", "hook", *arguments],
            input=event("UserPromptSubmit", str(project.root), session_id="-".join(arguments)),
            env={**os.environ, "PYTHONPATH": root},
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0
        assert b"deploy:lantern" in done.stdout
        assert done.stderr == b""
