"""Every test runs in a home of its own, on loopback only, with no key and no host's marker.

Reaching the real home's agent folders or a network address is an error, not a skip.

Most of the suite's waiting would be for a disk: each write of the program is flushed, and no test cuts the power. So
temporary folders are on a memory disk where there is a large one; `HIKIDASHI_TEST_DISK=1` leaves them on the real one.
"""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from hikidashi.drawer import person
from hikidashi.testing import forbid_real_requests
from tests.support.commands import Commands

_REAL_HOME = Path.home().resolve()
_FORBIDDEN = tuple(
    str(_REAL_HOME / part)
    for part in (
        ".claude",
        ".codex",
        ".gemini",
        ".config/hikidashi",
        ".local/share/hikidashi",
        "Library/Application Support/hikidashi",
    )
)
_MARKERS = ("ANTHROPIC_", "CLAUDE", "CODEX_", "GEMINI_", "OPENAI_", "HIKIDASHI_", "XDG_")
_HOSTS = frozenset(marker.variable for marker in person.MARKERS)

_MEMORY_DISK = Path("/dev/shm")
_ENOUGH_BYTES = 2_000_000_000


def _use_memory_disk() -> None:
    """Let temporary folders be on the memory disk, for this process and for those that it starts."""
    if os.environ.get("HIKIDASHI_TEST_DISK") or "PYTEST_DEBUG_TEMPROOT" in os.environ or sys.platform != "linux":
        return
    if _MEMORY_DISK.is_dir() and os.access(_MEMORY_DISK, os.W_OK):
        disk = os.statvfs(_MEMORY_DISK)
        if disk.f_bavail * disk.f_frsize > _ENOUGH_BYTES and not disk.f_flag & os.ST_NOEXEC:  # tests make programs
            os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = str(_MEMORY_DISK)


def _scrub_environment() -> None:
    # Else every process of a test compiles the program anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    home = tempfile.mkdtemp(prefix="hikidashi-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for name in list(os.environ):
        if (name.startswith(_MARKERS) or name in _HOSTS) and not name.startswith("HIKIDASHI_TEST_"):
            del os.environ[name]
    os.environ["HOME"] = os.environ["USERPROFILE"] = home


def _guard(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(args[0], str) and args[0].startswith(_FORBIDDEN):
        raise RuntimeError(f"a test reached the real home: {args[0]}")


# Where many tests share a processor, how long one example takes says nothing.
settings.register_profile("busy machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy machine")
_use_memory_disk()
_scrub_environment()
forbid_real_requests()
sys.addaudithook(_guard)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Endless folders; pytest's own numbering looks through all earlier ones each time."""
    folder = tmp_path_factory.mktemp("homes")
    return (folder / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def home(homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder, fresh for each test."""
    folder = next(homes)
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    for variable in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA"):  # they would lead out of it
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture(autouse=True)
def nobody_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person runs the commands of a test, whoever runs the suite; real processes see `tests.support.detached`."""
    monkeypatch.setattr(person, "system_ancestors", lambda: ())


@pytest.fixture(scope="session")
def run() -> Iterator[Commands]:
    """The command line, in forked processes that can be killed at any step."""
    if sys.platform == "win32":
        pytest.skip("os.fork and SIGKILL")
    with Commands() as commands:
        yield commands


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The labelled real sessions beside the project; tests that need them skip where they are absent."""
    # A linked worktree may stand one folder deeper than the checkout itself.
    for parent in Path(__file__).resolve().parents[2:4]:
        folder = parent / "shared" / "corpus" / "capture"
        if folder.is_dir():
            return folder
    pytest.skip("the corpus of real sessions is not beside this checkout")
