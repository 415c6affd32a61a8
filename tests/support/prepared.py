"""A home and a project that are made once, and put back as they were for each test that wants them.

What most tests of disasters begin with is the same: a project with sessions, extracted, perhaps consolidated. The
commands that lead there cost more than what the test is about. They run once; the folders are kept beside, and
come back to the same paths, with their times and modes, so that nothing in them notices.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.commands import Commands
from tests.support.project import Project

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `prepare` made; `project` puts it back."""

    root: Path
    run: Commands
    kept: Path

    def project(self, monkeypatch: pytest.MonkeyPatch) -> Project:
        """The project as it was when it was made, with the home it was made in."""
        now = self.kept.parent / "now"
        shutil.rmtree(now)
        shutil.copytree(self.kept, now, symlinks=True)
        _be_at_home(monkeypatch, now)
        return Project(self.root, self.run)

    def then(self, act: Callable[[Project], object]) -> Prepared:
        """The same after one thing more was done; both can be put back, at the same place."""
        with pytest.MonkeyPatch.context() as patch:
            act(self.project(patch))
        kept = self.kept.with_name(f"{self.kept.name}-and-more")
        shutil.copytree(self.kept.parent / "now", kept, symlinks=True)
        return Prepared(self.root, self.run, kept)


def prepare(
    factory: pytest.TempPathFactory, run: Commands, make: Callable[[Path], Project], name: str = "shop"
) -> Prepared:
    """Let `make` make a project in a folder called `name`, with a home of its own, and keep both."""
    place = factory.mktemp("prepared").resolve()
    with pytest.MonkeyPatch.context() as patch:
        _be_at_home(patch, place / "now")
        project = make(place / "now" / name)
    shutil.copytree(place / "now", place / "kept", symlinks=True)
    return Prepared(project.root, run, place / "kept")


def _be_at_home(patch: pytest.MonkeyPatch, place: Path) -> None:
    home = place / "home"
    home.mkdir(parents=True, exist_ok=True)
    for variable in ("HOME", "USERPROFILE"):
        patch.setenv(variable, str(home))
