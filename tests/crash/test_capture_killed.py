"""An extraction that is killed at any step loses nothing and stages nothing twice."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hikidashi.capture import reading
from hikidashi.capture.run import CHECKPOINTS
from tests.capture_sessions import folder_of_sessions
from tests.capture_workspace import Desk, desk
from tests.support.commands import Commands
from tests.transcripts import Session

DRIVER = "import sys; from tests.crash.capture_driver import main; main(*sys.argv[1:])"


class Killed(Exception):
    """Stands for the process's end."""


Kept = tuple[dict[str, bytes], list[tuple[object, ...]]]


def kept(here: Desk) -> Kept:
    """The entry files; the candidates and what was seen of them."""
    rows: list[tuple[object, ...]] = []
    for query in (
        "SELECT id, key, body, proof, sessions FROM candidates ORDER BY key",
        "SELECT key, anchor, line FROM sightings ORDER BY key, anchor",
    ):
        rows += map(tuple, here.connection.execute(query).fetchall())
    return here.staged_files(), rows


def sessions(folder: Path) -> Path:
    """Sessions that leave entries of every kind, and one that shows what can be done."""
    shown = Session(name="shown", cwd="/home/ann/shop", at=datetime(2026, 3, 1, 13, tzinfo=UTC))
    shown.user("From now on, answer in French.")
    shown.runs("aws s3 sync dist s3://shop-assets", "upload: dist/app.js to s3://shop-assets/app.js")
    shown.runs("git push", "To github.com:ann/shop.git\n   1a2b3c4..5d6e7f8  main -> main")
    folder_of_sessions(folder)
    shown.write(folder / "shown.jsonl")
    return folder


def undisturbed(tmp_path: Path, folder: Path) -> Kept:
    with desk(tmp_path / "undisturbed") as here:
        here.extract(folder)
        files, rows = kept(here)
        assert files
        assert rows
        return files, rows


def check_whole(here: Desk, folder: Path, expected: Kept) -> None:
    """A normal extract afterwards: the same as undisturbed, no row left behind, no temporary file."""
    here.extract(folder)
    assert kept(here) == expected
    assert here.states() == {"staged"}
    here.extract(folder)
    assert kept(here) == expected
    assert not list(here.workspace.home.rglob(".tmp-*"))


@pytest.mark.parametrize("step", CHECKPOINTS)
def test_an_exception_at_each_step_costs_nothing(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sessions(tmp_path / "sessions")
    expected = undisturbed(tmp_path, folder)
    monkeypatch.setattr(reading, "CHUNK_BYTES", 4_000)
    steps: list[str] = []
    with desk(tmp_path / "counted") as here:
        queue(here, folder)
        here.extract(folder, checkpoint=steps.append)
    assert step in steps
    with desk(tmp_path / "shop") as here:
        queue(here, folder)
        for count in range(1, steps.count(step) + 1):
            left = count

            def checkpoint(name: str) -> None:
                nonlocal left
                left -= name == step
                if left == 0:
                    raise Killed(name)

            with contextlib.suppress(Killed):
                here.extract(folder, checkpoint=checkpoint)
        check_whole(here, folder, expected)


def queue(here: Desk, folder: Path) -> None:
    """Another process left this folder in the queue."""
    here.connection.execute("INSERT INTO extract_queue (path, queued_at) VALUES (?, '')", (str(folder),))


#: A step and how often it is reached before the process dies.
KILLS = [(step, count) for step in CHECKPOINTS for count in (1, 4) if count == 1 or step in CHECKPOINTS[3:5]]


def test_kill_9_at_each_step_in_a_row(tmp_path: Path, run: Commands) -> None:
    folder = sessions(tmp_path / "sessions")
    expected = undisturbed(tmp_path, folder)
    killed = 0
    for step, count in KILLS:
        root = tmp_path / "shop"
        with desk(root) as here:
            queue(here, folder)
        (ended,) = run.python(DRIVER, [(root, folder, step, count)])
        assert ended.killed or (ended.code, ended.err) == (0, ""), ended
        killed += ended.killed
        if ended.killed and step == "extract:before-commit":
            with desk(root) as here:  # what was not committed left no file
                assert set(here.staged_files()) <= {f"{entry.id}.json" for entry in here.entries()}
    assert killed >= len(CHECKPOINTS) - 1
    with desk(tmp_path / "shop") as here:
        check_whole(here, folder, expected)
