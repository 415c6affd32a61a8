"""The private copy that an engine works on (design section 6, steps 4 and 5).

It lives in memory: no path of it can leave it, a crash throws it away, and a returned turn is the old
mapping again, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from hikidashi.records.finding import Finding
from hikidashi.records.record import Tree

__all__ = ["Change", "Check", "Lint", "Scratch"]

#: Judges a change: (tree before the phase, tree now, path -> IDs of the entries that were named for it).
#: Gives the errors of `now`; errors that stood in `before` already are not among them.
Lint = Callable[[Tree, Tree, Mapping[str, frozenset[str]]], list[Finding]]

#: Called before each turn; raises (`BudgetSpent`, `LostClaim`) when the run may not go on.
Check = Callable[[], None]

#: Bytes before and after; None where the file did not or does not exist.
Change = tuple[bytes | None, bytes | None]


def _inside(path: str) -> bool:
    parts = path.split("/")
    plain = all(part not in ("", ".", "..") and "\\" not in part and "\0" not in part for part in parts)
    return plain and len(parts) > 1 and parts[0] in ("memory", "knowledge") and path.endswith(".md")


class Scratch:
    """A tree that can be read, written and taken back turn by turn."""

    def __init__(self, tree: Tree, lint: Lint, check: Check = lambda: None) -> None:
        self._before = dict(tree)
        self._now = dict(tree)
        self._named: dict[str, frozenset[str]] = {}
        self._lint = lint
        self._check = check
        self._turn: tuple[dict[str, bytes], dict[str, frozenset[str]]] | None = None

    @property
    def before(self) -> Tree:
        """The tree as it was when the phase began."""
        return MappingProxyType(self._before)

    @property
    def tree(self) -> Tree:
        """The tree now."""
        return MappingProxyType(self._now)

    @property
    def named(self) -> Mapping[str, frozenset[str]]:
        """Path -> IDs of the entries that were named when it was written in this phase."""
        return MappingProxyType(self._named)

    def read(self, path: str) -> str | None:
        """The text of `path`, None when there is no such file."""
        data = self._now.get(path)
        return None if data is None else data.decode("utf-8", "replace")

    def write(self, path: str, text: str, entry_ids: Iterable[str] = ()) -> None:
        """Set the text of `path`; `entry_ids` are the entries whose content it takes in.

        Raises `ValueError` for a path that is no Markdown file under `memory/` or `knowledge/`.
        """
        if not _inside(path):
            raise ValueError(f"{path} is not a Markdown file under memory/ or knowledge/")
        self._now[path] = text.encode("utf-8")
        self._named[path] = self._named.get(path, frozenset()) | frozenset(entry_ids)

    def delete(self, path: str) -> None:
        """Take `path` away (clean-up only; the linter refuses it in integration)."""
        self._now.pop(path, None)

    def begin_turn(self) -> None:
        """Remember the state that `end_turn` may return to. Raises what the run's check raises (budget, claim)."""
        self._check()
        self._turn = (dict(self._now), dict(self._named))

    def end_turn(self) -> list[Finding]:
        """Judge the turn: no new errors keep it and give []; else it is taken back and they are given."""
        if self._turn is None:
            raise RuntimeError("end_turn without begin_turn")
        (before, named), self._turn = self._turn, None
        if before == self._now:
            return []
        findings = self._lint(self._before, self._now, self._named)
        if findings:
            self._now, self._named = before, named
        return findings

    def abandon_turn(self) -> None:
        """Take the turn back without judging it."""
        if self._turn is None:
            raise RuntimeError("abandon_turn without begin_turn")
        (self._now, self._named), self._turn = self._turn, None

    def changes(self) -> dict[str, Change]:
        """Path -> bytes before and after, for each file that differs from the start of the phase."""
        paths = sorted(self._before.keys() | self._now.keys())
        pairs = {path: (self._before.get(path), self._now.get(path)) for path in paths}
        return {path: pair for path, pair in pairs.items() if pair[0] != pair[1]}
