"""A person edits records while a run works, between a crash and its recovery, and where a run writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hikidashi.records.history import History
from hikidashi.worker.bench import CHECKPOINTS
from tests.support.commands import Commands
from tests.support.crossed import crossed
from tests.support.prepared import Prepared, prepare
from tests.support.project import Project

SUMMARY = "memory/summary.md"
WORDS = "Ann: the ports are agreed with the network people.\n"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, run: Commands) -> Prepared:
    """One record of an earlier run, and entries that will change the summary and add records."""

    def make(root: Path) -> Project:
        project = Project.made(root, run)
        project.keep(project.choices("one", range(2)))
        run("extract", "--no-consolidate", cwd=project.root)
        run("consolidate", cwd=project.root)
        project.keep(project.choices("two", range(2, 4)))
        run("extract", "--no-consolidate", cwd=project.root)
        return project

    return prepare(tmp_path_factory, run, make)


@pytest.fixture
def project(prepared: Prepared, monkeypatch: pytest.MonkeyPatch) -> Project:
    return prepared.project(monkeypatch)


def _record(project: Project, number: int) -> str:
    return next(p for p, data in project.tree().items() if "/decisions/" in p and project.says(data.decode(), number))


def _versions(project: Project, path: str) -> str:
    return "\n".join((data or b"").decode() for _, data in History(project.workspace.history).versions(path))


#: The moments of a run at which an editor may save, from the claim to the last publication.
MOMENTS = [name for name in CHECKPOINTS if name.startswith(("run:", "publish:")) and name != "run:clean-up-published"]


@pytest.mark.parametrize(
    ("name", "which"), crossed(MOMENTS, ["a record that the run leaves alone", "the summary that it writes"])
)
def test_an_edit_at_any_moment_of_a_run_survives(project: Project, run: Commands, name: str, which: str) -> None:
    path = SUMMARY if which == "the summary that it writes" else _record(project, 0)
    run("consolidate", cwd=project.root, append_at=name, append_to=str(project.home / path), append=f"\n{WORDS}")
    run("consolidate", "--drain", cwd=project.root)
    assert (project.home / path).read_text().count(WORDS) == 1
    assert set(project.states().values()) == {"consumed"}
    for number in range(4):
        assert project.applied(number) == 1, number
    # A next run with something to do takes the edit into the history, as a person's.
    project.keep(project.choices("three", [4]))
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", cwd=project.root)
    project.assert_whole(range(5))
    assert (project.home / path).read_text().count(WORDS) == 1
    assert "person" in {commit.author for commit in History(project.workspace.history).log()}


@pytest.mark.parametrize(
    ("name", "which"),
    crossed([name for name in CHECKPOINTS if name.startswith("publish:")], ["left alone", "written", "new"]),
)
def test_an_edit_between_a_crash_and_its_recovery_survives(
    project: Project, run: Commands, name: str, which: str
) -> None:
    assert run("consolidate", cwd=project.root, kill_at=name, code=None).killed
    if which == "new":
        path = "memory/decisions/ours.md"
        text = (
            "---\ncreated_at: 2026-03-05T09:00:00.000Z\nupdated_at: 2026-03-05T09:00:00.000Z\nstatus: open\n"
            f"trust: user\n---\n\n# Ours\n\n{WORDS}"
        )
        (project.home / path).write_text(text)
    else:
        path = SUMMARY if which == "written" else _record(project, 0)
        with open(project.home / path, "a", encoding="utf-8") as stream:
            stream.write(f"\n{WORDS}")
    run("consolidate", "--drain", cwd=project.root)
    assert (project.home / path).read_text().count(WORDS) == 1
    assert set(project.states().values()) == {"consumed"}
    for number in range(4):
        assert project.applied(number) == 1, number
    project.keep(project.choices("three", [4]))
    run("extract", "--no-consolidate", cwd=project.root)
    run("consolidate", cwd=project.root)
    project.assert_whole(range(5))
    assert (project.home / path).read_text().count(WORDS) == 1
    assert WORDS in _versions(project, path)


def test_a_record_that_a_person_deletes_stays_deleted(project: Project, run: Commands) -> None:
    path = _record(project, 0)
    (project.home / path).unlink()
    run("consolidate", "--drain", cwd=project.root)
    assert not (project.home / path).exists()
    assert f"#{Path(path).stem}" not in (project.home / SUMMARY).read_text()
    assert run("restore", path, cwd=project.root)
    assert project.applied(0) == 1
