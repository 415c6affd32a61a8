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
from typing import Final

import click

from hikidashi.capture.run import ExtractReport, extract
from hikidashi.cli.context import Opened, opened
from hikidashi.cli.inspect import show_commit_body, show_diffs
from hikidashi.cli.output import amount, emit_json, json_option, say, table
from hikidashi.records.history import Commit, History
from hikidashi.staging.entry import Entry
from hikidashi.worker.adopt import found_workspace
from hikidashi.worker.engines import engine_factory
from hikidashi.worker.report import RunReport
from hikidashi.worker.run import consolidate

__all__ = ["demo_command"]

_SESSIONS: Final = Path(__file__).parent / "demo_sessions"

#: Why an entry of each kind is staged, in words (design section 5, "Without a model").
_REASONS: Final = {
    ("decision", ""): "a lasting choice was made",
    ("attempt", ""): "one command failed twice with one error, then passed after edits",
    ("request", "open"): "the session ended and work was left",
    ("request", "done"): "work was finished, and something proves it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """A moment of the story: which sessions are new then, and when it is."""

    heading: str
    sessions: tuple[str, ...]
    at: datetime


_STORY: Final = (
    _Round(
        heading="March: three sessions of Mika's project. In the second one the agent says that it cannot deploy",
        sessions=("1-first-deploy", "2-the-accident", "3-search-page"),
        at=datetime(2026, 3, 17, 9, tzinfo=UTC),
    ),
    _Round(
        heading="Two weeks later: a fourth session changes a decision",
        sessions=("4-change-of-mind",),
        at=datetime(2026, 3, 31, 9, tzinfo=UTC),
    ),
    _Round(
        heading="Three months later: nothing new, but clean-up tidies what is outdated, and says why",
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
    """See the whole way on small sessions, in a temporary workspace (nothing of yours is read or changed)."""
    started = time.monotonic()
    with _own_home(keep) as root, _rounds(root) as here:
        rounds = [_play(here, part, quiet=as_json) for part in _STORY]
        files = sorted(p.relative_to(here.workspace.home).as_posix() for p in here.workspace.home.rglob("*.md"))
        seconds = round(time.monotonic() - started, 1)
    if as_json:
        emit_json({"rounds": rounds, "files": files, "seconds": seconds})
        return
    say(f"\nThat took {seconds} seconds, no key and no network.", style="bold")
    if keep is not None:
        say(f"The workspace is in {root}: read {root}/.hikidashi/memory/summary.md")
    say("Next, in a project where you work with Claude Code:")
    say("  hikidashi init          make a workspace, and offer the sessions of the last 30 days")
    say("  hikidashi consolidate   work what was staged into the records")
    say("  hikidashi log -p        what changed, and why")


@contextmanager
def _own_home(keep: Path | None) -> Iterator[Path]:
    """A folder of its own, and a registry of its own: the person's workspaces and settings stay out of it."""
    if keep is not None and keep.exists():
        raise click.UsageError(f"{keep} exists already: name a new folder")
    base = Path(tempfile.mkdtemp(prefix="hikidashi-demo-"))
    for variable in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "LOCALAPPDATA"):
        os.environ[variable] = str(base / "home")
    for variable in [name for name in os.environ if name.startswith("HIKIDASHI_")]:
        del os.environ[variable]
    root = base / "blyck" if keep is None else keep.absolute()
    try:
        root.mkdir(parents=True)
        yield root
    finally:
        shutil.rmtree(base, ignore_errors=True)


@contextmanager
def _rounds(root: Path) -> Iterator[Opened]:
    found_workspace(root, clock=lambda: _STORY[0].at)
    with opened(root) as here:
        yield here


def _play(here: Opened, part: _Round, *, quiet: bool) -> dict[str, object]:
    def clock() -> datetime:
        return part.at

    if not quiet:
        say(f"\n{part.heading}", style="bold cyan")
    extracted = None
    if part.sessions:
        paths = [_SESSIONS / f"{name}.jsonl" for name in part.sessions]
        extracted = extract(here.workspace, here.settings, here.connection, paths=paths, clock=clock)
    factory = engine_factory("rules", here.settings, clock=clock)
    report = consolidate(
        here.workspace, here.settings, here.connection, factory, clean_up_only=not part.sessions, clock=clock
    )
    run = report.last
    history = History(here.workspace.history)
    commits = [commit for commit in history.log(10) if commit.id in run.commits.values()]
    if not quiet:
        if extracted is not None:
            _show_staged(extracted)
        _show_run(here, run, history, commits, with_diff=not part.sessions)
    return {
        "heading": part.heading,
        "staged": [entry.title for entry in extracted.new] if extracted else [],
        "run": run.to_dict(),
    }


def _show_staged(extracted: ExtractReport) -> None:
    def because(entry: Entry) -> str:
        return _REASONS.get((entry.kind, entry.status), entry.kind) + (f": “{entry.quote}”" if entry.quote else "")

    table(("staged", "what", "because"), [(e.kind, e.title, because(e)) for e in extracted.new])


def _show_run(here: Opened, run: RunReport, history: History, commits: list[Commit], *, with_diff: bool) -> None:
    if run.consumed:
        say(f"\nConsolidated: {amount(run.consumed, 'entry', 'entries')} worked in. The summary now:\n")
        _show_summary((here.workspace.memory / "summary.md").read_text(encoding="utf-8"))
    if not with_diff:
        return
    for commit in reversed(commits):
        say(f"\n$ hikidashi log -p\n{commit.id[:10]}  {commit.author}  {commit.subject}", style="bold")
        show_commit_body(commit)
        show_diffs(history.diff(commit.id))


def _show_summary(text: str) -> None:
    body = text.split("---\n", 2)[-1]
    for line in body.splitlines():
        if not line.startswith("<!--"):
            say(f"    {line}", style="bold" if line.startswith("#") else "")
