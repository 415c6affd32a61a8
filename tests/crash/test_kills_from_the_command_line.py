"""kill -9 at every step of `extract` and of `consolidate`, then the ordinary commands: each entry exactly once.

The rules engine on sessions, from the command line on; `test_worker_kills.py` has the finer cases of a run.
"""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path

import pytest
from filelock import FileLock

from hikidashi.capture.run import CHECKPOINTS as EXTRACT
from hikidashi.records.history import History
from hikidashi.times import now
from hikidashi.worker.bench import CHECKPOINTS as RUN
from tests.support.commands import Commands
from tests.support.prepared import Prepared, prepare
from tests.support.project import Project

#: Two sessions: the first is extracted before, so that a run has something to merge with, the second is what dies.
BEFORE, NUMBERS = range(2), range(2, 5)

#: Passed only while a publication is taken back, because a person edited what it had half written.
TAKING_BACK = {"recover:journal-read", "recover:file-taken-back", "recover:taken-back"}


@pytest.fixture(scope="module")
def unread(tmp_path_factory: pytest.TempPathFactory, run: Commands) -> Prepared:
    """A record of an earlier run, and a session and a queue that wait for an extraction."""

    def make(root: Path) -> Project:
        project = Project.made(root, run)
        project.keep(project.choices("one", BEFORE))
        run("extract", "--no-consolidate", cwd=project.root)
        run("consolidate", cwd=project.root)
        two = project.choices("two", NUMBERS)
        two.runs("git commit -am ports", "[main 0fedcba] Set the ports\n 1 file changed")
        project.keep(two)
        # Another process's call that waits in the queue, which is two of the steps.
        with FileLock(project.workspace.extract_lock):
            queued = run("extract", "--no-consolidate", cwd=project.root)
            assert "Another extraction is at work" in queued.out
        return project

    return prepare(tmp_path_factory, run, make)


@pytest.fixture(scope="module")
def staged(unread: Prepared, run: Commands) -> Prepared:
    """The same, extracted."""
    return unread.then(lambda project: run("extract", "--no-consolidate", cwd=project.root))


def _finished(project: Project) -> None:
    """The ordinary commands, and what must hold after them."""
    project.run("extract", "--no-consolidate", cwd=project.root)
    project.run("consolidate", "--drain", cwd=project.root)
    project.assert_whole([*BEFORE, *NUMBERS])
    assert set(project.states().values()) == {"consumed"}
    assert "records checked: 0 errors" in project.run("lint", cwd=project.root).out
    _assert_nothing_is_taken_for_a_persons(project)
    before = project.everything()
    assert project.run("consolidate", "--json", cwd=project.root).json()["outcome"] == "idle"
    assert project.everything() == before


def _assert_nothing_is_taken_for_a_persons(project: Project) -> None:
    """What a killed run had written is the worker's: as a person's it would be protected for ever."""
    history = History(project.workspace.history)
    by_people = [commit for commit in history.log() if commit.author == "person"]
    assert {diff.path for commit in by_people for diff in history.diff(commit.id)} <= {"memory/workflow/notes.md"}


def test_every_checkpoint_is_passed_by_the_commands_that_are_killed_there(
    unread: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = unread.project(monkeypatch)
    extracted = run("extract", "--no-consolidate", cwd=project.root, note=True).passed
    consolidated = run("consolidate", "--drain", cwd=project.root, note=True).passed
    assert set(EXTRACT) <= set(extracted)
    # The two others come with a clean-up that finds something, and with a person's edit.
    assert set(RUN) - set(consolidated) == TAKING_BACK | {
        "edits:protected",
        "edits:committed",
        "run:clean-up-published",
    }


@pytest.mark.parametrize("name", EXTRACT)
def test_an_extraction_killed_at_any_checkpoint_is_finished_by_the_next(
    unread: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    project = unread.project(monkeypatch)
    assert run("extract", "--no-consolidate", cwd=project.root, kill_at=name, code=None).killed
    run("extract", "--no-consolidate", cwd=project.root)
    project.assert_whole([*BEFORE, *NUMBERS])
    _finished(project)


@pytest.mark.parametrize("name", [name for name in RUN if name not in TAKING_BACK])
def test_a_consolidation_killed_at_any_checkpoint_is_finished_by_the_next(
    staged: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    project = staged.project(monkeypatch)
    _edit(project, "memory/workflow/notes.md", "Ours.\n")
    _leave_a_done_request(project)
    assert run("consolidate", cwd=project.root, kill_at=name, code=None).killed
    _finished(project)
    assert (project.home / "memory/workflow/notes.md").read_text() == "Ours.\n"


@pytest.mark.parametrize("name", ["run:snapshot", "publish:file-replaced", "run:published"])
@pytest.mark.parametrize("asked", ["SIGTERM", "SIGHUP"])
def test_a_consolidation_that_is_asked_to_end_blames_no_entry(
    staged: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch, name: str, asked: str
) -> None:
    project = staged.project(monkeypatch)
    ended = run("consolidate", cwd=project.root, kill_at=name, kill_with=asked, code=128 + signal.Signals[asked])
    assert ended.err == "stopped; run the same command again to go on\n"
    assert not project.workspace.claim_path.exists()
    assert project.rows("SELECT run_id FROM runs WHERE outcome = 'running'") == []
    assert project.rows("SELECT id FROM entries WHERE attempts > 0") == []
    assert project.rows("SELECT value FROM meta WHERE key = 'batch_limit'") == []
    _finished(project)


@pytest.mark.parametrize("name", sorted(TAKING_BACK))
def test_taking_back_killed_at_any_checkpoint_is_finished_by_the_next(
    staged: Prepared, run: Commands, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    project = staged.project(monkeypatch)
    before = project.tree()
    assert run("consolidate", cwd=project.root, kill_at="publish:file-replaced", occurrence=3, code=None).killed
    written = [path for path, data in project.tree().items() if before.get(path) != data]
    assert len(written) == 3
    edited = next(path for path in written if path != "memory/summary.md")
    text = (project.home / edited).read_text()
    _edit(project, edited, text.replace("**Why:**", "Ann: this one is final.\n\n**Why:**"))
    assert run("consolidate", cwd=project.root, kill_at=name, code=None).killed
    run("consolidate", "--drain", cwd=project.root)
    assert "Ann: this one is final." in (project.home / edited).read_text()
    assert set(project.states().values()) == {"consumed"}
    for number in (*BEFORE, *NUMBERS):
        assert project.applied(number) >= 1, number


@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_kills_at_random_moments_in_a_row_lose_nothing(tmp_path: Path, run: Commands, kills: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    project = Project.made(tmp_path / "shop", run)
    session, killed, numbers = project.choices("one", range(2)), 0, 2
    for _ in range(kills):
        path = project.keep(session)
        command = ("extract", "--no-consolidate") if chance.random() < 0.4 else ("consolidate", "--drain")
        killed += run(*command, cwd=project.root, kill_after=chance.uniform(0.0, 0.2), code=None).killed
        assert all(project.tree().values()), f"seed {seed}"
        session.asks(
            f"Which port does service{numbers} listen on?",
            [f"port {9000 + numbers} for service{numbers}", "another one"],
            f"port {9000 + numbers} for service{numbers}",
        )
        numbers += 1
    print(f"{killed} of {kills} were killed before they ended")
    project.keep(session)
    assert path.exists()
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", "--drain", cwd=project.root)
    set_aside = _set_aside(project)
    project.assert_whole(n for n in range(numbers) if not any(project.says(body, n) for body in set_aside))
    assert set(project.states().values()) <= {"consumed", "quarantined"}, f"seed {seed}"
    assert len(set_aside) <= killed // 3, f"seed {seed}: only three runs that die over one entry alone set it aside"


def _set_aside(project: Project) -> list[str]:
    """The bodies of the entries in quarantine, as their files there hold them."""
    found = [key for key, state in project.states().items() if state == "quarantined"]
    return [json.loads((project.workspace.quarantine / f"{key}.json").read_text("utf-8"))["body"] for key in found]


def _edit(project: Project, path: str, text: str) -> None:
    file = project.home / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _leave_a_done_request(project: Project) -> None:
    """A record of the program's own that clean-up drops, committed as such."""
    text = (
        "---\ncreated_at: 2026-01-05T09:00:00.000Z\nupdated_at: 2026-01-05T09:00:00.000Z\nstatus: done\n"
        "trust: assistant\nsources:\n  - host: claude-code\n    session_id: s9\n    lines: [1, 2]\n"
        '    uuids: ["u1", "u2"]\n    at: 2026-01-05T09:00:00.000Z\n---\n\n# Move the invoices\n\nAll moved.\n'
    )
    _edit(project, "memory/requests/move-the-invoices.md", text)
    tree = {**History(project.workspace.history).tree(), "memory/requests/move-the-invoices.md": text.encode()}
    History(project.workspace.history).commit(tree, author="worker", subject="An earlier run", at=now())
