"""The cheap look at a text that says which families of tokens are worth looking for.

Nearly all text holds no token, and a hundred searches over all of it would be slow. A token contains a run of
at least fifteen characters of `A-Za-z0-9_-.~`; such runs are rare in prose and a small part of logs. Only they
are searched for prefixes, with one pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from hikidashi.redact.families import CUT_LENGTH, Family

__all__ = ["MINIMUM_RUN", "Prefilter", "long_runs"]

#: The shortest prefix that counts as one (3) and what must follow it.
MINIMUM_RUN: Final = 3 + CUT_LENGTH

_RUN_CHARACTERS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~")
_MARK: Final = bytes(ord("a") if code in _RUN_CHARACTERS else ord(" ") for code in range(256))
_NEEDLE: Final = b"a" * MINIMUM_RUN


def long_runs(data: bytes) -> str:
    """The runs of at least `MINIMUM_RUN` run characters in `data`, each after a space.

    The search runs over a copy in which every character is `a` or a space: finding fifteen `a` is a fast
    substring search, where splitting the text into words would make an object of each.
    """
    marked = data.translate(_MARK)
    runs: list[bytes] = [b" "]
    start = marked.find(_NEEDLE)
    while start >= 0:
        end = marked.find(b" ", start + MINIMUM_RUN)
        if end < 0:
            end = len(data)
        runs.append(data[start:end])
        start = marked.find(_NEEDLE, end)
    return b" ".join(runs).decode("ascii")


class Prefilter:
    """Says which families may have a token in a text; never leaves out one that has."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._everywhere: list[tuple[str, Family]] = []
        self._by_root: dict[str, list[Family]] = {}
        in_runs: list[tuple[str, Family]] = []
        for family in families:
            for prefix in family.prefixes:
                seen_in_runs = not family.base64 and _RUN_CHARACTERS.issuperset(prefix.encode())
                (in_runs if seen_in_runs else self._everywhere).append((prefix, family))
        prefixes = {prefix for prefix, _ in in_runs}
        roots = {prefix for prefix in prefixes if not any(prefix.startswith(p) for p in prefixes - {prefix})}
        inner = {prefix for prefix, family in in_runs if family.infix}
        for prefix, family in in_runs:
            root = next(root for root in roots if prefix.startswith(root))
            if family not in self._by_root.setdefault(root, []):
                self._by_root[root].append(family)
        self._pattern = re.compile("|".join(_branch(first, roots, inner) for first in sorted({r[0] for r in roots})))

    def worth_looking(self, text: str, runs: str) -> list[Family]:
        """The families to look for in `text`; `runs` are its `long_runs`."""
        chosen: dict[int, Family] = {}
        for root in set(self._pattern.findall(runs)):
            for family in self._by_root[root]:
                chosen[id(family)] = family
        for prefix, family in self._everywhere:
            if prefix in text:
                chosen[id(family)] = family
        return list(chosen.values())


def _branch(first: str, roots: set[str], inner: set[str]) -> str:
    """The alternative for all roots with one first letter.

    The letter comes first, so that the engine can skip to it; then the check that a word starts with it (or
    follows an escape such as `\\n`, whose backslash is a space here), then the rest. Roots that stand in the
    middle of a token are not checked.
    """
    letter = re.escape(first)
    boundary = f"(?:(?<![A-Za-z0-9]{letter})|(?<=[^A-Za-z0-9][nrtbf]{letter}))"
    own = sorted(root for root in roots if root[0] == first)
    starts = "|".join(re.escape(root[1:]) for root in own if root not in inner)
    middles = "|".join(re.escape(root[1:]) for root in own if root in inner)
    parts = [f"{boundary}(?:{starts})" if starts else "", f"(?:{middles})" if middles else ""]
    return f"{letter}(?:{'|'.join(part for part in parts if part)})"
