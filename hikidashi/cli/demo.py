"""`demo`: the whole way on small sessions that ship with the package, in a temporary workspace."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

from hikidashi.capture.run import extract
from hikidashi.cli.context import Opened, opened
from hikidashi.cli.demo_view import Gate, Telling, show_end, show_opening, show_round
from hikidashi.cli.output import emit_json, json_option
from hikidashi.config.machine import this_machine
from hikidashi.drawer.candidates import ranked, waiting
from hikidashi.drawer.decisions import approve
from hikidashi.drawer.store import Drawer
from hikidashi.errors import UsageError
from hikidashi.recall.inject import block
from hikidashi.recall.match import recall
from hikidashi.recall.question import Question
from hikidashi.records.history import History
from hikidashi.times import Clock
from hikidashi.worker.adopt import found_workspace
from hikidashi.worker.engines import engine_factory
from hikidashi.worker.run import consolidate

__all__ = ["demo_command"]

_SESSIONS: Final = Path(__file__).parent / "demo_sessions"

#: What people ask a new session after the yes.
_PROMPTS: Final = ("デプロイして", "deploy it")

#: A password that is typed in the third session. It must reach no file.
_PASSWORD: Final = "correct-horse-battery"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """A moment of the story: which sessions are new then, and when it is."""

    heading: str
    lines: str
    sessions: tuple[str, ...]
    at: datetime
    #: What the keys of the candidates begin with to which the person says yes; '' for none.
    yes_to: str = ""


_STORY: Final = (
    _Round(
        heading="March: three sessions",
        lines="The agent deploys the site. A week later, in a new session, it says that it cannot: it has forgotten. "
        "Then a search page is planned, and left half done.",
        yes_to="deploy:",
        sessions=("1-first-deploy", "2-the-accident", "3-search-page"),
        at=datetime(2026, 3, 17, 9, tzinfo=UTC),
    ),
    _Round(
        heading="Two weeks later: a change of mind",
        lines="A fourth session decides otherwise. What it replaces stays, and names its successor.",
        sessions=("4-change-of-mind",),
        at=datetime(2026, 3, 31, 9, tzinfo=UTC),
    ),
    _Round(
        heading="In July: clean-up",
        lines="Nothing new was said. What is outdated goes, each time with a reason and a way back.",
        sessions=(),
        at=datetime(2026, 7, 6, 9, tzinfo=UTC),
    ),
)


@click.command("demo")
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="Leave the workspace in this new folder."
)
@json_option
def demo_command(keep: Path | None, as_json: bool) -> None:
    """See the whole way on small sessions, in a temporary workspace.

    Nothing of yours is read or changed; no key and no network is used.
    """
    started = time.monotonic()
    with _own_home(keep) as root:
        if not as_json:
            show_opening(root, kept=keep is not None)
        found_workspace(root, clock=lambda: _STORY[0].at)
        with opened(root) as here:
            rounds = []
            for number, part in enumerate(_STORY, 1):
                told = _play(here, part)
                rounds.append(told)
                if not as_json:
                    show_round(number, part.heading, part.lines, told)
            files = sorted(path.relative_to(root).as_posix() for path in here.workspace.home.rglob("*.md"))
            leaks = _files_with(_PASSWORD, here)
        seconds = round(time.monotonic() - started, 1)
    if as_json:
        forms = [told.to_dict() for told in rounds]
        emit_json({"rounds": forms, "files": files, "password_found_in": leaks, "seconds": seconds})
    else:
        show_end(rounds, leaks, seconds, kept=root if keep is not None else None)


@contextmanager
def _own_home(keep: Path | None) -> Iterator[Path]:
    """A folder of its own, and a registry of its own: the person's workspaces and settings stay out of it."""
    if keep is not None and keep.exists():
        raise UsageError(f"{keep} exists already: name a new folder")
    root = None if keep is None else keep.absolute()
    base = Path(tempfile.mkdtemp(prefix="hikidashi-demo-"))
    before = dict(os.environ)
    for variable in ("HOME", "USERPROFILE", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA"):
        os.environ[variable] = str(base / "home")
    for variable in [name for name in os.environ if name.startswith("HIKIDASHI_")]:
        del os.environ[variable]
    root = root or base / "blyck"
    try:
        _make(root)
        yield root
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(base, ignore_errors=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as exc:
        raise UsageError(f"cannot make {folder} ({exc.strerror}): name a folder that can be made") from exc


def _play(here: Opened, part: _Round) -> Telling:
    def clock() -> datetime:
        return part.at

    extracted = None
    if part.sessions:
        paths = [_SESSIONS / f"{name}.jsonl" for name in part.sessions]
        extracted = extract(here.workspace, here.settings, here.connection, paths=paths, clock=clock)
    gate = _decide(here, part, clock) if part.yes_to else None
    report = consolidate(
        here.workspace,
        here.settings,
        here.connection,
        engine_factory("rules", here.settings, clock=clock),
        clean_up_only=not part.sessions,
        clock=clock,
    )
    history = History(here.workspace.history)
    commits = [commit for commit in history.log(10) if commit.id in report.last.commits.values()]
    return Telling(
        heading=part.heading,
        staged=extracted.new if extracted is not None else [],
        run=report.last,
        commits=[(commit, history.diff(commit.id)) for commit in commits],
        tree=history.tree(),
        gate=gate,
    )


def _decide(here: Opened, part: _Round, clock: Clock) -> Gate:
    """The person says yes, and a new session asks for what it is about."""
    drawer = Drawer(here.connection, "workspace", clock)
    candidates = ranked(waiting(here.connection), part.at)
    wanted = [candidate for candidate in candidates if candidate.key.startswith(part.yes_to)]
    approve(drawer, [candidate.id for candidate in wanted], clock=clock)
    given = {}
    for prompt in _PROMPTS:
        found = recall(
            Question(prompt, project=here.workspace.root.name),
            {"workspace": here.connection},
            top_k=here.settings.recall.top_k,
            max_tokens=here.settings.recall.max_tokens,
            now=part.at,
            machine_id=this_machine().id,
        )
        facts, rules = ([match.fact for match in matches] for matches in (found.facts, found.rules))
        given[prompt] = block(facts, rules, now=part.at, machine_id=this_machine().id)
    return Gate(candidates=candidates, approved=[candidate.key for candidate in wanted], given=given)


def _files_with(text: str, here: Opened) -> list[str]:
    """Where `text` stands: files of the workspace, and every version of every record."""
    needle = text.encode()
    home = here.workspace.home
    files = [path for path in sorted(home.rglob("*")) if path.is_file()]
    found = [path.relative_to(home).as_posix() for path in files if needle in path.read_bytes()]
    history = History(here.workspace.history)
    versions: list[tuple[str, dict[str, Any]]] = [(c.id, dict(history.tree(c.id))) for c in history.log(100)]
    return found + [f"{commit}:{path}" for commit, tree in versions for path, data in tree.items() if needle in data]
