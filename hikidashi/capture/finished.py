"""Proofs that something was finished: a pull request, a push, a deployment, a commit, tests that passed after edits."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from hikidashi.capture.passages import Passage, Place

__all__ = ["Proof", "ProofKind", "Proofs", "commit_of", "is_housekeeping", "pull_request_of", "pushed_refs", "telling"]

ProofKind = Literal["pr", "merge", "deploy", "publish", "push", "commit", "test", "build"]

#: Best first: what a line about finished work is named after, and the order of its proofs.
RANK: Final[tuple[ProofKind, ...]] = ("pr", "merge", "deploy", "publish", "push", "commit", "test", "build")

#: Proofs kept; commits beyond are counted.
MAX_PROOFS: Final = 12

_COMMIT: Final = re.compile(r"^\[([^\]\s]+)(?: \([^)]*\))? ([0-9a-f]{7,40})\] (.+)$", re.MULTILINE)
_REF: Final = re.compile(
    r"^[ \t]*(?:[+*!=-][ \t]+)?(?:[0-9a-f]{6,}\.{2,3}[0-9a-f]{6,}|\[new (?:branch|tag)\]|\+"
    r" [0-9a-f]{6,}\.{2,3}[0-9a-f]{6,})\s+(\S+)\s+->\s+(\S+)",
    re.MULTILINE,
)
_PULL: Final = re.compile(r"https?://[\w.-]+/[\w./-]+/(?:pull|merge_requests|pullrequest)/\d+")
_TITLE: Final = re.compile(
    r"--title[ =](?:\"((?:\\.|[^\"\\])*)\"|'([^']*)')|(?:^|\s)-t (?:\"((?:\\.|[^\"\\])*)\"|'([^']*)')"
)
_HOUSEKEEPING: Final = re.compile(
    r"^\W*(?:chore|style|wip|fixup!|squash!|merge|initial(?: commit)?$|bump|format|lint|trigger|force)\b"
    r"|^(?:\w+(?:\([^)]*\))?!?: )?(?:fix|address|apply|resolve|incorporate|handle)\b.{0,20}\b(?:lint|typos?"
    r"|formatting|review|comments?|feedback|nits?|conflicts?)\b",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(r"\b(?:feat|feature|add|adds|implement|introduce|create|support)\b", re.IGNORECASE)
_ASIDE: Final = re.compile(
    r"^\W*(?:docs?|test|tests|ci|build|refactor|document|update (?:readme|docs|changelog|claude\.md))\b|\bREADME\b",
    re.IGNORECASE,
)


def commit_of(output: str) -> tuple[str, str, str] | None:
    """(branch, abbreviated hash, subject) of the last commit that git reports in `output`."""
    found = None
    for match in _COMMIT.finditer(output):
        found = match
    return (found.group(1), found.group(2), found.group(3).strip()) if found else None


def pushed_refs(output: str) -> str:
    """The remote ref that git says was updated; '' when none was."""
    match = _REF.search(output)
    return match.group(2) if match else ""


def pull_request_of(command: str, output: str) -> tuple[str, str] | None:
    """(URL, title) of a pull request that was opened."""
    match = _PULL.search(output)
    if match is None:
        return None
    title = _TITLE.search(command)
    return match.group(), next((g for g in title.groups() if g), "") if title else ""


def is_housekeeping(subject: str) -> bool:
    """Whether a commit's subject says nothing about the work."""
    return bool(_HOUSEKEEPING.match(subject)) or len(subject) < 12


def telling(subject: str) -> int:
    """How much a commit's subject says about the work, best 0: something new, a change, an aside, housekeeping."""
    if is_housekeeping(subject):
        return 3
    if _ASIDE.search(subject):
        return 2
    return 0 if _CHANGE.search(subject) else 1


@dataclass(slots=True)
class Proof:
    """One proof; `what` names the work (None when the proof does not), `line` is the proof in one line."""

    kind: ProofKind
    what: Passage | None
    line: Passage
    #: Number of the prompt during which it came.
    prompt: int

    @property
    def place(self) -> Place:
        """Where it stands."""
        return self.line.place


class Proofs:
    """The proofs of a session, in order."""

    def __init__(self) -> None:
        self.items: list[Proof] = []
        self.commits = 0

    def add(self, kind: ProofKind, what: str, line: str | Callable[[], str], place: Place, prompt: int) -> None:
        """One more proof; the same line again only moves to the end. `line` may be made later."""
        told = Passage(line, place, 240) if isinstance(line, str) else Passage.later(line, place, 240)
        proof = Proof(kind, Passage(what, place, 160) if what else None, told, prompt)
        if kind == "commit":
            self.commits += 1
        if kind in ("test", "build", "push"):
            self.items = [
                old for old in self.items if old.kind != kind or (kind == "push" and old.line.text != proof.line.text)
            ]
        self.items.append(proof)
        while len(self.items) > MAX_PROOFS:
            worst = max(self.items[:-1], key=lambda old: RANK.index(old.kind))
            self.items.remove(worst)

    def failed(self, kind: ProofKind) -> None:
        """A later run of that kind failed: it proves nothing any more."""
        self.items = [old for old in self.items if old.kind != kind]

    def ranked(self) -> list[Proof]:
        """Best first, newest first within a kind."""
        return sorted(self.items, key=lambda proof: (RANK.index(proof.kind), -proof.place.line))

    def to_state(self) -> list[Any]:
        """The JSON form."""
        return [
            self.commits,
            [[p.kind, p.what.to_state() if p.what else None, p.line.to_state(), p.prompt] for p in self.items],
        ]

    @classmethod
    def from_state(cls, data: Any) -> Proofs:
        """Read `to_state`'s form."""
        proofs = cls()
        proofs.commits = data[0]
        for kind, what, line, prompt in data[1]:
            proofs.items.append(
                Proof(kind, Passage.from_state(what) if what else None, Passage.from_state(line), prompt)
            )
        return proofs
