"""kill -9 at every step of a run, and then an ordinary run: nothing lost, nothing twice, nothing half-written."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hikidashi.atomic import Step, observed
from hikidashi.errors import Busy, LostClaim, StorageFailure
from hikidashi.worker.bench import CHECKPOINTS
from tests.support.crossed import crossed
from tests.support.workshop import Workshop, decision_path, old_path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="os.fork and SIGKILL")

ROOT = Path(__file__).resolve().parents[2]


class Driver:
    """The forking process of `driver.py`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:0] = {[str(ROOT)]!r}; "
             f"import runpy; runpy.run_path({str(Path(__file__).with_name('driver.py'))!r}, run_name='__main__')"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip

    def ask(self, root: Path, **job: object) -> dict[str, Any]:
        """Do a job in a process of its own and say how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"root": str(root), **job}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def end(self, root: Path, **job: object) -> int | None:
        """The job's exit code, None when it was killed."""
        answer = self.ask(root, **job)
        return None if answer["killed"] else int(answer["code"])

    def kill(self, root: Path, **job: object) -> bool:
        """Whether the job was killed; one that came to its end must have ended well."""
        code = self.end(root, **job)
        assert code in (None, 0), code
        return code is None

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    driver.close()


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    workshop = Workshop(tmp_path / "project")
    workshop.keep_old(1, 2, 3)
    yield workshop
    workshop.close()


def _prepared(root: Path) -> tuple[Workshop, list[str]]:
    """Two entries, records for clean-up to drop, and a person's note that was never committed."""
    workshop = Workshop(root)
    workshop.keep_old(1, 2)
    workshop.write("memory/workflow/notes.md", "Ours.\n")
    return workshop, workshop.stage(1, 2)


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The checkpoints that an undisturbed run passes, in order."""
    names: list[str] = []
    workshop, _ = _prepared(tmp_path_factory.mktemp("pilot"))
    workshop.run(checkpoint=names.append)
    workshop.close()
    return names


def test_an_undisturbed_run_passes_every_checkpoint_but_those_of_taking_back(passed: list[str]) -> None:
    assert set(CHECKPOINTS) - set(passed) == {"recover:journal-read", "recover:file-taken-back", "recover:taken-back"}
    assert set(passed) <= set(CHECKPOINTS)


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_run_killed_at_any_checkpoint_is_finished_or_taken_up_by_the_next(
    driver: Driver, tmp_path: Path, passed: list[str], name: str
) -> None:
    for occurrence in range(1, passed.count(name) + 1):
        workshop, ids = _prepared(tmp_path / str(occurrence))
        assert driver.kill(workshop.workspace.root, checkpoint=name, occurrence=occurrence)
        assert workshop.drain().exit_code == 0
        workshop.assert_whole(ids)
        assert set(workshop.states().values()) == {"consumed"}
        assert workshop.read("memory/workflow/notes.md") == "Ours.\n"
        phases = [commit.trailers.get("Phase", ("",))[0] for commit in workshop.history.log()]
        dead_with_its_batch = _between(name, "run:started", "publish:guarded") and occurrence == 1
        assert phases.count("integration") == (2 if dead_with_its_batch else 1), "then half of it, and the rest"
        workshop.close()


def _between(name: str, first: str, last: str) -> bool:
    places = [CHECKPOINTS.index(one) for one in (first, name, last)]
    return places == sorted(places)


def test_a_run_that_is_killed_over_its_entries_takes_half_as_many_until_the_one_at_fault_stands_alone(
    driver: Driver, workshop: Workshop
) -> None:
    ids = workshop.stage(1, 2, 3, 4, 5)
    for _ in range(6):  # as a system does that is short of memory
        assert driver.kill(workshop.workspace.root, checkpoint="run:materials")
    batches = [json.loads(row["batch"]) for row in workshop.connection.execute("SELECT batch FROM runs ORDER BY rowid")]
    assert batches == [ids[:5], ids[:2], ids[:1], ids[:1], ids[:1], ids[1:2]]
    assert workshop.states()[ids[0]] == "quarantined"
    assert (workshop.workspace.quarantine / f"{ids[0]}.json").exists()
    assert workshop.drain().exit_code == 0
    workshop.assert_whole(ids[1:])
    assert [workshop.states()[one] for one in ids[1:]] == ["consumed"] * 4


@pytest.mark.parametrize(
    ("name", "edited"),
    crossed([name for name in CHECKPOINTS if name.startswith(("recover:", "publish:"))], [False, True]),
)
def test_recovery_killed_at_any_checkpoint_is_recovered_by_the_next(
    driver: Driver, workshop: Workshop, name: str, edited: bool
) -> None:
    ids = workshop.stage(1, 2)
    root = workshop.workspace.root
    assert driver.kill(root, checkpoint="publish:file-replaced", occurrence=2)
    if edited:
        workshop.write(decision_path(1), "A person's own words.\n")
    driver.kill(root, checkpoint=name)  # not all are passed on both ways; then it simply ran through
    if edited:
        assert workshop.read(decision_path(1)).startswith("A person's own words.")
    workshop.drain()
    workshop.assert_whole(ids if not edited else ids[1:])
    if edited:
        assert (
            "A person's own words."
            in b"".join(text for _, text in workshop.history.versions(decision_path(1)) if text).decode()
        )


@pytest.mark.parametrize("kills", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_kills_at_random_moments_in_a_row_lose_nothing(driver: Driver, workshop: Workshop, kills: int) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    root, ids = workshop.workspace.root, []
    for round_ in range(kills):
        ids += workshop.stage(2 * round_ + 1, 2 * round_ + 2)
        driver.kill(root, after_seconds=chance.uniform(0.0, 0.12))
        tree = workshop.tree()
        assert all(data for data in tree.values()), f"seed {seed}"
    assert workshop.drain().exit_code == 0, f"seed {seed}"
    set_aside = [one for one, state in workshop.states().items() if state == "quarantined"]
    assert len(set_aside) <= kills // 3, f"seed {seed}: only three runs that die over one entry alone set it aside"
    assert all((workshop.workspace.quarantine / f"{one}.json").exists() for one in set_aside), f"seed {seed}"
    workshop.assert_whole(one for one in ids if one not in set_aside)
    assert set(workshop.states().values()) <= {"consumed", "quarantined"}, f"seed {seed}"


@pytest.mark.parametrize("name", ["restore:protected", "restore:written", "edits:committed"])
def test_a_restore_killed_half_way_is_taken_for_a_persons_edit(driver: Driver, workshop: Workshop, name: str) -> None:
    text = workshop.read(old_path(1))
    workshop.stage(1)
    workshop.run()
    assert old_path(1) not in workshop.tree()
    workshop.write("memory/workflow/notes.md", "Ours.\n")
    assert driver.kill(workshop.workspace.root, restore=old_path(1), checkpoint=name)
    ids = workshop.stage(2)  # without one, a run is idle and leaves the edit uncommitted
    workshop.drain()
    if name == "restore:written":
        assert workshop.read(old_path(1)) == text
    workshop.assert_whole(ids)


def _steps(tmp_path: Path) -> int:
    """How many steps of writes a run does."""
    workshop, _ = _prepared(tmp_path / "pilot")
    steps: list[Step] = []
    with observed(lambda step, path: steps.append(step)):
        workshop.drain()
    workshop.close()
    return len(steps)


def _some(count: int, number: int) -> list[int]:
    """A random choice of steps: over time all are tried, each time in seconds."""
    return sorted(random.SystemRandom().sample(range(1, count + 1), number))


def _survives(workshop: Workshop, ids: list[str], moment: object) -> None:
    report = workshop.drain()
    assert report.exit_code == 0, moment
    workshop.assert_whole(ids)
    assert set(workshop.states().values()) == {"consumed"}, moment
    assert workshop.read("memory/workflow/notes.md") == "Ours.\n"
    workshop.close()


@pytest.mark.parametrize("how_many", [6, pytest.param(0, marks=pytest.mark.slow, id="all")])
def test_a_run_killed_between_any_two_steps_of_its_writes(driver: Driver, tmp_path: Path, how_many: int) -> None:
    count = _steps(tmp_path)
    assert count > 60
    for step in _some(count, how_many or count):
        workshop, ids = _prepared(tmp_path / str(step))
        assert driver.kill(workshop.workspace.root, step=step), step
        _survives(workshop, ids, step)


@pytest.mark.parametrize("error", ["full", "read-only"])
@pytest.mark.parametrize("how_many", [4, pytest.param(0, marks=pytest.mark.slow, id="all")])
def test_a_disk_that_fails_from_any_step_on_is_one_clear_error_and_loses_nothing(
    driver: Driver, tmp_path: Path, how_many: int, error: str
) -> None:
    count = _steps(tmp_path)
    for step in _some(count, how_many or count):
        workshop, ids = _prepared(tmp_path / str(step))
        code = driver.end(workshop.workspace.root, fail=step, error=error)
        # Where only renames and deletions are left to do, a full disk does not matter; where all is done but the
        # release, the claim stays, as a dead process's.
        done = not workshop.workspace.journal.exists() and set(workshop.states().values()) == {"consumed"}
        assert code == StorageFailure.exit_code or (code == 0 and (error == "full" or done)), (step, code)
        _survives(workshop, ids, (step, error))


@pytest.mark.parametrize("starters", [2, 8, pytest.param(50, marks=pytest.mark.slow)])
def test_runs_that_start_at_once_take_turns(driver: Driver, workshop: Workshop, starters: int) -> None:
    ids = workshop.stage(*range(1, 6))
    codes = driver.ask(workshop.workspace.root, together=starters)["codes"]
    assert set(codes) <= {0, Busy.exit_code}
    assert 0 in codes
    workshop.assert_whole(ids)
    assert set(workshop.states().values()) == {"consumed"}
    phases = [commit.trailers.get("Phase", ("",))[0] for commit in workshop.history.log()]
    assert phases.count("integration") == 1


@pytest.mark.parametrize("name", ["run:snapshot", "run:integrated", "run:checked"])
def test_a_run_that_slept_through_its_own_end_publishes_nothing(driver: Driver, workshop: Workshop, name: str) -> None:
    ids = workshop.stage(1, 2)
    sleeper = driver.ask(workshop.workspace.root, stop=name)["stopped"]
    workshop.workspace.claim_path.unlink()  # as if it had been judged hung and taken over
    assert [run.consumed for run in workshop.drain().runs] == [1, 1]
    tip = workshop.history.tip()
    answer = driver.ask(workshop.workspace.root, **{"continue": sleeper})
    assert answer["code"] == LostClaim.exit_code
    assert workshop.history.tip() == tip
    workshop.assert_whole(ids)
