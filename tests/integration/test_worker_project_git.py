"""A shared workspace in the project's git: who brought a text, and no run in the middle of a git command."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dulwich.repo import Repo

from hikidashi.worker.edits import commit_edits
from hikidashi.worker.ledger import protected_blobs
from hikidashi.worker.project import find_project
from tests.support.workshop import Workshop, old_path

WHO = b"Somebody <somebody@example.invalid>"


class Checkout:
    """A repository with a shared workspace, in `folder` of it."""

    def __init__(self, top: Path, folder: str = "") -> None:
        self.top = top
        (top / folder).mkdir(parents=True, exist_ok=True)
        self.repo = Repo.init(str(top))
        self.workshop = Workshop(top / folder)
        self.workshop.keep_old(1, 2)

    def commit(self, *paths: str) -> None:
        home = self.workshop.workspace.home.relative_to(self.top.resolve())
        worktree = self.repo.get_worktree()
        worktree.stage([str(home / path) for path in paths])
        worktree.commit(message=b"Records", committer=WHO, author=WHO)

    def close(self) -> None:
        self.workshop.close()
        self.repo.close()


@pytest.fixture(params=["", "packages/app"], ids=["top", "below"])
def checkout(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path / "repository", request.param)
    yield checkout
    checkout.close()


def _authors(workshop: Workshop) -> list[str]:
    return [commit.author for commit in workshop.history.log()]


@pytest.mark.parametrize("packed", [False, True], ids=["loose", "packed"])
def test_what_equals_head_came_with_the_project_and_protects_nothing(checkout: Checkout, packed: bool) -> None:
    workshop = checkout.workshop
    text = workshop.read(old_path(1)).replace("Once true.", "A colleague says so.")
    workshop.write(old_path(1), text)
    checkout.commit(old_path(1), old_path(2))
    if packed:
        checkout.repo.object_store.pack_loose_objects()
        checkout.repo.refs.pack_refs(all=True)
    workshop.write(old_path(2), workshop.read(old_path(2)) + "\nMine.\n")
    edits = commit_edits(workshop.bench())
    assert (edits.vcs, edits.person, edits.notices) == ([old_path(1)], [old_path(2)], [])
    assert _authors(workshop) == ["person", "vcs", "worker"]
    assert set(protected_blobs(workshop.connection)) == {old_path(2)}
    assert workshop.history.tree() == workshop.tree()


def test_a_checkout_that_takes_a_record_away_lifts_no_protection(checkout: Checkout) -> None:
    workshop = checkout.workshop
    checkout.commit(old_path(2))
    workshop.write(old_path(1), workshop.read(old_path(1)) + "\nMine.\n")
    commit_edits(workshop.bench())
    (workshop.workspace.home / old_path(1)).unlink()  # HEAD does not have it either
    assert commit_edits(workshop.bench()).vcs == [old_path(1)]
    assert set(protected_blobs(workshop.connection)) == {old_path(1)}


def test_in_a_private_workspace_every_edit_is_a_persons(checkout: Checkout) -> None:
    workshop = checkout.workshop
    (checkout.top / "README").write_text("x")
    checkout.repo.get_worktree().stage(["README"])
    checkout.repo.get_worktree().commit(message=b"Start", committer=WHO, author=WHO)
    (workshop.workspace.home / old_path(1)).unlink()
    edits = commit_edits(workshop.bench())
    assert (edits.vcs, edits.person) == ([], [old_path(1)])


def test_a_repository_that_cannot_be_read_is_said_and_edits_count_as_a_persons(checkout: Checkout) -> None:
    workshop = checkout.workshop
    checkout.commit(old_path(1))
    head = checkout.repo.head()
    (checkout.top / ".git/objects" / head[:2].decode() / head[2:].decode()).unlink()
    workshop.write(old_path(1), workshop.read(old_path(1)) + "\nMine.\n")
    edits = commit_edits(workshop.bench())
    assert edits.person == [old_path(1)]
    assert "cannot be read" in edits.notices[0]


BUSY = ["index.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge/", "rebase-apply/"]


@pytest.mark.parametrize("mark", BUSY)
def test_a_run_waits_while_git_is_at_work(checkout: Checkout, mark: str) -> None:
    workshop = checkout.workshop
    checkout.commit(old_path(1))
    ids = workshop.stage(1)
    place = checkout.top / ".git" / mark
    place.mkdir() if mark.endswith("/") else place.write_text("")
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 3:
            place.rmdir() if mark.endswith("/") else place.unlink()

    assert workshop.run(sleep=sleep).outcome == "done"
    assert len(slept) == 3
    workshop.assert_whole(ids)


def test_a_git_command_that_begins_during_the_run_holds_the_publication_back(checkout: Checkout) -> None:
    workshop = checkout.workshop
    checkout.commit(old_path(1))
    ids = workshop.stage(1)
    lock = checkout.top / ".git/index.lock"
    seen: list[bool] = []

    def sleep(seconds: float) -> None:
        seen.append("memory/decisions/choice-1.md" in workshop.tree())
        lock.unlink()

    assert workshop.run(meanwhile=lambda: lock.touch(), sleep=sleep).outcome == "done"
    assert seen == [False]
    workshop.assert_whole(ids)


def test_a_lock_that_git_left_behind_ends_as_busy_and_says_which(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hikidashi.worker.phases.PROJECT_WAIT_SECONDS", 0.0)
    workshop = checkout.workshop
    checkout.commit(old_path(1))
    ids = workshop.stage(1)
    (checkout.top / ".git/index.lock").touch()
    report = workshop.run(sleep=lambda seconds: None)
    assert report.outcome == "busy"
    assert "index.lock" in report.message
    workshop.assert_whole(ids)
    (checkout.top / ".git/index.lock").unlink()
    assert workshop.run().outcome == "done"


def test_a_private_workspace_does_not_wait_for_git(checkout: Checkout) -> None:
    (checkout.top / ".git/index.lock").touch()
    checkout.workshop.stage(1)
    assert checkout.workshop.run(sleep=lambda seconds: pytest.fail("it waited")).outcome == "done"


def test_a_submodules_pointer_is_followed(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path / "repository")
    checkout.commit(old_path(1))
    checkout.repo.close()
    (checkout.top / ".git").rename(tmp_path / "elsewhere")
    (checkout.top / ".git").write_text("gitdir: ../elsewhere\n")
    project = find_project(checkout.workshop.workspace)
    assert project is not None
    assert project.tracks_records()
    assert project.head_texts([old_path(1), old_path(2)]) == {
        old_path(1): checkout.workshop.tree()[old_path(1)],
        old_path(2): None,
    }
    checkout.workshop.close()


def test_without_git_there_is_no_project(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path / "plain")
    assert find_project(workshop.workspace) is None
    workshop.close()


def test_a_damaged_project_repository_stops_no_run_and_blames_no_entry(checkout: Checkout) -> None:
    workshop = checkout.workshop
    checkout.commit(old_path(1))
    for file in (checkout.top / ".git" / "objects").rglob("*"):
        if file.is_file():
            file.chmod(0o600)
            file.write_bytes(file.read_bytes()[:10] + b"garbage")
    workshop.write(old_path(1), workshop.read(old_path(1)) + "\nMine.\n")
    workshop.stage(1)
    report = workshop.run()
    assert report.outcome == "done"
    assert any("changed records count as a person's" in notice for notice in report.notices)
    assert old_path(1) in protected_blobs(workshop.connection)
