"""What the demonstration shows of each moment of its story."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hikidashi.cli.inspect import show_commit
from hikidashi.cli.output import say, short, table
from hikidashi.cli.runs import show_run
from hikidashi.drawer.candidates import Candidate
from hikidashi.records.history import Commit, FileDiff
from hikidashi.staging.entry import Entry
from hikidashi.worker.report import RunReport

__all__ = ["Telling", "show_end", "show_opening", "show_round"]

#: Lines shown of one file's changes.
_DIFF_LINES: Final = 24
_QUOTE: Final = 64
_BODY: Final = 160
_WORD: Final = re.compile(r"\w+")

#: Why an entry is staged that brings no words of its own (design section 5, "Without a model").
_REASONS: Final = {
    ("attempt", ""): "It failed twice with one error, and passed after edits.",
    ("request", "open"): "The session ended and work was left.",
    ("request", "done"): "Finished, with a proof",
}

#: Follow from the records that changed.
_ASIDE: Final = frozenset({"memory/cleanup-log.md", "memory/summary.md"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What waited for a yes, what got it, and what a new session is given for it."""

    candidates: list[Candidate]
    #: Keys.
    approved: list[str]
    #: Prompt -> the text that stands beside it in the session.
    given: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""
        waiting = [{"id": c.id, "key": c.key, "type": c.type, "body": c.body} for c in self.candidates]
        return {"candidates": waiting, "approved": self.approved, "given": self.given}


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What happened in one moment of the story."""

    heading: str
    staged: list[Entry]
    run: RunReport
    #: The run's commits, newest first, with what they changed.
    commits: list[tuple[Commit, list[FileDiff]]]
    #: The records afterwards.
    tree: Mapping[str, bytes]
    gate: Gate | None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""
        return {
            "heading": self.heading,
            "staged": [{"kind": e.kind, "title": e.title, "because": because(e)} for e in self.staged],
            "gate": self.gate.to_dict() if self.gate is not None else None,
            "run": self.run.to_dict(),
            "commits": [
                {**commit.to_dict(), "files": [diff.to_dict() for diff in diffs]} for commit, diffs in self.commits
            ],
        }


def because(entry: Entry) -> str:
    """Why an entry was staged, with a short quote where that says more than its title."""
    said_so = "The person said so." if entry.trust == "user" else "A lasting choice was made."
    reason = _REASONS.get((entry.kind, entry.status)) or entry.why or said_so
    if (entry.kind, entry.status) == ("request", "done"):
        proofs = [line.removeprefix("- ") for line in entry.body.splitlines() if line.startswith("- ")]
        return f"{reason}: {short(_proof(proofs[0], entry.title), _QUOTE)}." if proofs else f"{reason}."
    said = set(_WORD.findall(entry.title.lower()))
    news = [word for word in _WORD.findall(entry.quote.lower()) if word not in said]
    return f"{reason} “{short(entry.quote, _QUOTE)}”" if news else reason


def _proof(line: str, title: str) -> str:
    """The proof without the command that the title names already."""
    command = line[: line.find("`", 1) + 1] if line.startswith("`") else ""
    return f"it{line.removeprefix(command)}" if command and command in title else line


def show_opening(root: Path, *, kept: bool) -> None:
    """Print what is about to be shown."""
    place = f"in {root}" if kept else "in a temporary folder"
    say("Hikidashi: from an agent's sessions to a memory that you can read", "bold")
    say(f"A made-up project, four short Claude Code sessions, {place}. No key, no network.")


def show_round(number: int, heading: str, lines: str, told: Telling) -> None:
    """Print one moment of the story."""
    say()
    say(f"{number}. {heading}", "bold cyan")
    say(lines)
    if told.staged:
        say()
        say("$ hikidashi extract", "bold magenta")
        table(("staged", "what, and why"), [(e.kind, f"{e.title}\n{because(e)}") for e in told.staged])
    if told.gate is not None:
        _show_gate(told.gate)
    say()
    say("$ hikidashi consolidate" if told.staged else "$ hikidashi consolidate --clean-up", "bold magenta")
    show_run(told.run, details=False)
    if number == 1:
        _show_files(told.tree)
    else:
        _show_changes(told.commits)


def _show_gate(gate: Gate) -> None:
    say()
    say("$ hikidashi candidates", "bold magenta")
    rows = []
    for candidate in gate.candidates:
        told = f"{candidate.key}\n{short(candidate.body, _BODY)}" if candidate.key in gate.approved else candidate.key
        rows.append((candidate.id, told))
    table(("waits", "what the sessions show"), rows)
    for key in gate.approved:
        say()
        say(f"$ hikidashi approve {key}", "bold magenta")
        say(f"{key} is in the drawer.")
    for number, (prompt, text) in enumerate(gate.given.items()):
        say()
        say(f"$ hikidashi recall {shlex.quote(prompt)}", "bold magenta")
        if number:
            say("the same" if text == next(iter(gate.given.values())) else text)
        else:
            say("A new session is asked this, and is given beside it:")
            say(text, hang="  ")
    say("No agent can say now that it has no way to deploy.", "green")


def _show_files(tree: Mapping[str, bytes]) -> None:
    say()
    say("$ tree .hikidashi", "bold magenta")
    for line in (".hikidashi/", *tree_lines(tree)):
        say(line, wrap=False)
    say()
    say("$ cat .hikidashi/memory/summary.md", "bold magenta")
    body = tree["memory/summary.md"].decode().split("---\n", 2)[-1].strip()
    for line in body.splitlines():
        if not line.startswith("<!--"):
            say(line, "bold" if line.startswith("#") else "", hang="  " if line.startswith("- ") else "")


def tree_lines(paths: Iterable[str]) -> list[str]:
    """Paths as a tree, folders with a slash behind them."""
    nested: dict[str, Any] = {}
    for path in sorted(paths):
        place = nested
        for part in path.split("/"):
            place = place.setdefault(part, {})

    def lines(place: dict[str, Any], before: str) -> Iterable[str]:
        for number, (name, inner) in enumerate(place.items(), 1):
            last = number == len(place)
            yield f"{before}{'└── ' if last else '├── '}{name}{'/' if inner else ''}"
            yield from lines(inner, before + ("    " if last else "│   "))

    return list(lines(nested, ""))


def _show_changes(commits: Sequence[tuple[Commit, list[FileDiff]]]) -> None:
    say()
    say(f"$ hikidashi log -p -n {len(commits)}", "bold magenta")
    for commit, diffs in commits:
        telling = [diff for diff in diffs if diff.old is not None and diff.path not in _ASIDE]
        show_commit(commit, telling, max_lines=_DIFF_LINES)
        others = [diff.path for diff in diffs if diff not in telling]
        if others:
            say(f"(changed as well: {', '.join(others)})", "dim")


def show_end(rounds: Sequence[Telling], leaks: Sequence[str], seconds: float, *, kept: Path | None) -> None:
    """Print what that was, and what to do next."""
    say()
    if leaks:
        say(f"A password typed in session 3 was stored in {', '.join(leaks)}: please report it.", "bold red")
    else:
        say("A password was typed in session 3: it is in no file and no version that was written.", "green")
    say(f"That took {seconds} seconds.", "green")
    say()
    say("Next, in a project where you work with Claude Code", "bold cyan")
    rows = [
        ("hikidashi init", "make a workspace; it offers your last 30 days of sessions"),
        ("hikidashi inbox", "go through what waits for your yes"),
        ("hikidashi consolidate", "work into the records what was staged"),
        ("hikidashi log -p", "what changed, and why"),
    ]
    dropped = [path for told in rounds for o in told.run.operations if o.op == "drop" for path in o.paths]
    if dropped:
        rows.append(("hikidashi restore PATH", f"bring back what clean-up dropped\n{dropped[0]}"))
    if kept is not None:
        rows.append((f"cat {kept}/.hikidashi/memory/summary.md", "this demonstration's memory"))
    table(("", ""), rows)
