"""The cheap look at a text that says which families of tokens are worth looking for.

Nearly all text holds no token, and a hundred searches over all of it would be slow. A token is a run of at
least twenty characters of `A-Za-z0-9` and a few signs; such runs are rare in prose and a part of logs. Only they
are searched for prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from typing import Final

from hikidashi.redact.families import CUT_LENGTH, Family

__all__ = ["MINIMUM_RUN", "Prefilter", "long_runs"]

#: No token is shorter, but for one that the end of the text cuts off: the last run counts from `_CUT_RUN` on.
MINIMUM_RUN: Final = 20
#: The shortest prefix and what must be left of the body.
_CUT_RUN: Final = 2 + CUT_LENGTH

#: Letters, digits and what else stands in tokens and their prefixes.
_RUN_CHARACTERS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/=%$")
#: Line ends and quotes do not end a run, so that the pieces of a broken token make one; they are taken out later.
_JOINTS: Final = frozenset(b"\n\"'")
_MARK: Final = bytes(ord("a") if code in _RUN_CHARACTERS | _JOINTS else ord(" ") for code in range(256))
_APART: Final = bytes(ord(" ") if code in _JOINTS else code for code in range(256))
_SPLIT: Final = bytes(code if code < 128 and chr(code).isalnum() else ord(" ") for code in range(256))
#: What may stand behind a token that the end of the text cuts off.
_AFTER_CUT: Final = b"\"'`\n\r)}] "
_NEEDLE: Final = b"a" * MINIMUM_RUN
_BACKSLASH: Final = ord("\\")


def long_runs(data: bytes) -> bytes:
    """The different runs of at least `MINIMUM_RUN` run characters, line ends and quotes in `data`, as words.

    The search runs over a copy in which every character is `a` or a space: finding twenty `a` is a fast
    substring search, where splitting the text into words would make an object of each.
    """
    marked = data.translate(_MARK)
    runs: set[bytes] = set()
    start = marked.find(_NEEDLE)
    while start >= 0:
        end = marked.find(b" ", start + MINIMUM_RUN)
        if end < 0:
            end = len(data)
        runs.add(data[start:end])
        if start and data[start - 1] == _BACKSLASH:
            runs.add(data[start + 1 : end])  # the letter of an escape such as `\n` is not part of it
        start = marked.find(_NEEDLE, end)
    tail = data.rstrip(_AFTER_CUT)
    start = marked.rfind(b" ", 0, len(tail)) + 1
    if len(tail) - start >= _CUT_RUN:
        runs.add(tail[start:])
        if start and data[start - 1] == _BACKSLASH:
            runs.add(tail[start + 1 :])
    return b" ".join(runs).translate(_APART)


class Prefilter:
    """Says which families may have a token in a text; never leaves out one that has.

    The runs are split into words of letters and digits. A prefix such as `ghp_` needs the whole word `ghp`,
    one such as `AKIA` a word that starts with it; only prefixes that pass are searched for.
    """

    def __init__(self, families: Iterable[Family]) -> None:
        #: Prefixes that are looked for in all runs, without looking at words.
        self._anywhere: list[tuple[bytes, Family]] = []
        #: The word that a prefix starts with, or the first characters of one -> prefixes.
        self._by_word: dict[bytes, list[tuple[bytes, Family]]] = {}
        self._by_head: dict[bytes, list[tuple[bytes, Family]]] = {}
        for family in families:
            for prefix in family.prefixes:
                encoded = prefix.encode()
                assert _RUN_CHARACTERS.issuperset(encoded), prefix
                word = _first_word(prefix).encode()
                if family.infix or len(prefix) < _HEAD:
                    self._anywhere.append((encoded, family))
                elif word == encoded:
                    self._by_head.setdefault(encoded[:_HEAD], []).append((encoded, family))
                else:
                    self._by_word.setdefault(word, []).append((encoded, family))
        #: All of `_anywhere` in one look, which is faster where there is little to look at.
        self._any = re.compile(b"|".join(re.escape(prefix) for prefix, _family in self._anywhere))

    def worth_looking(self, runs: bytes) -> list[Family]:
        """The families that may have a token in the text whose `long_runs` these are."""
        if not runs:
            return []
        words = set(runs.translate(_SPLIT).split())
        candidates = [self._by_word[word] for word in words & self._by_word.keys()]
        candidates += [self._by_head[head] for head in {word[:_HEAD] for word in words} & self._by_head.keys()]
        chosen: dict[int, Family] = {}
        if len(runs) > _FEW or self._any.search(runs):
            chosen = {id(family): family for prefix, family in self._anywhere if prefix in runs}
        for prefix, family in chain(*candidates):
            if prefix in runs and _entry(prefix, family.alphabet, family.length).search(runs):
                chosen[id(family)] = family
        return list(chosen.values())


@lru_cache(maxsize=1024)
def _entry(prefix: bytes, alphabet: str, length: int) -> re.Pattern[bytes]:
    """The prefix and as much of a body as a token, its first half or its head before a cut have at least."""
    least = min(CUT_LENGTH, length // 2, max(4, MINIMUM_RUN - 2 - len(prefix)))
    return re.compile(re.escape(prefix) + f"[{alphabet}]{{{least}}}".encode())


#: Runs of so many bytes are few.
_FEW: Final = 400
#: Characters of a prefix without separators that are compared with the words' first ones.
_HEAD: Final = 3


def _first_word(prefix: str) -> str:
    length = 0
    while length < len(prefix) and prefix[length].isalnum():
        length += 1
    return prefix[:length]
