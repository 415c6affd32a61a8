"""Keys that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rapidfuzz import fuzz, process

from hikidashi.errors import NoSuchFact

__all__ = ["missing_fact", "near_keys"]

#: How many near keys are named at most, and how like (0 to 100) they must be.
_NAMED: Final = 5
_LIKE: Final = 60.0


def near_keys(key: str, keys: Iterable[str]) -> list[str]:
    """The keys that are most like `key`, best first, at most five."""
    folded = {found: found.casefold() for found in keys}
    matches = process.extract(key.casefold(), folded, scorer=fuzz.WRatio, limit=_NAMED, score_cutoff=_LIKE)
    return [found for _, _, found in matches]


def missing_fact(key: str, keys: Iterable[str]) -> NoSuchFact:
    """The error for a key that is not there, naming keys like it."""
    near = near_keys(key, keys)
    mend = f"did you mean {' or '.join(near)}?" if near else "`hikidashi facts` lists the keys"
    return NoSuchFact(f"no fact has the key {key}: {mend}")
