"""Words of a text for search and comparison: folded, with bigrams where a language writes no spaces."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache
from typing import Final

from hikidashi.records.record import REMEMBERED

__all__ = ["fold", "kept_share", "query_terms", "terms"]

#: Kana, Han (with extensions) and Hangul, after NFKC.
_CJK: Final = (
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
#: Vowel signs and accents that are no letters for `re` but belong to the word.
_MARKS: Final = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f\u0900-\u0dff\u0e31-\u0e4e"
_WORD: Final = f"[^\\W_{_CJK}]+(?:[{_MARKS}]+[^\\W_{_CJK}]*)*"
_RUN: Final = re.compile(f"[{_CJK}]+|{_WORD}")
_UNIT: Final = re.compile(f"[{_CJK}]|{_WORD}")
_ASCII: Final = re.compile("[a-z0-9]+")
_IS_CJK: Final = re.compile(f"[{_CJK}]")


def fold(text: str) -> str:
    """`text` without the differences of case, width and composition."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def terms(text: str) -> list[str]:
    """The terms to index, in order, repeated as often as they stand there.

    Words between spaces and signs; of Chinese, Japanese and Korean runs the bigrams, and the last
    character, so that each character starts a term.
    """
    folded = fold(text)
    if folded.isascii():
        return _ASCII.findall(folded)
    found: list[str] = []
    for run in _RUN.findall(folded):
        if _IS_CJK.match(run):
            found += [run[i : i + 2] for i in range(len(run))]
        else:
            found.append(run)
    return found


def query_terms(text: str) -> list[tuple[str, bool]]:
    """The terms to look for, each once, and whether a longer term that starts with it is a hit too."""
    wanted: dict[str, bool] = {}
    for run in _RUN.findall(fold(text)):
        if not _IS_CJK.match(run):
            wanted[run] = len(run) > 1
        elif len(run) == 1:
            wanted[run] = True
        else:
            wanted.update({run[i : i + 2]: False for i in range(len(run) - 1)})
    return list(wanted.items())


@lru_cache(maxsize=REMEMBERED)
def _units(text: str) -> Counter[str]:
    folded = fold(text)
    return Counter((_ASCII if folded.isascii() else _UNIT).findall(folded))


def kept_share(before: str, after: str) -> float:
    """How much of a text stands in another, 0 to 1: by words (single characters in CJK), weighed by length.

    Order does not count, so moved text is kept text; padding does not help, so replaced text is lost text.
    """
    if before == after:
        return 1.0
    old, new = _units(before), _units(after)
    total = sum(len(unit) * count for unit, count in old.items())
    if total == 0:
        return 1.0
    return sum(len(unit) * min(count, new[unit]) for unit, count in old.items()) / total
