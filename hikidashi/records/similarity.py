"""Which of many sets are nearly the same, without comparing each with each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["similar_pairs"]

#: At most this many pairs are compared, whatever comes; a thousand records of one template stay cheap.
MAX_COMPARISONS: Final = 20_000


def similar_pairs(
    sets: Sequence[frozenset[str]], threshold: float, limit: int = MAX_COMPARISONS
) -> Iterator[tuple[int, int]]:
    """Pairs (earlier, later) of indices whose Jaccard similarity is at least `threshold`.

    Prefix filtering: put each set's members in order of rarity; two sets that similar share one of the
    first `n - ceil(threshold * n) + 1` members, so only sets that meet in an index of those are compared.
    """
    frequency = Counter(member for members in sets for member in members)
    postings: dict[str, list[int]] = defaultdict(list)
    compared = 0
    for later, members in enumerate(sets):
        size = len(members)
        ordered = sorted(members, key=lambda member: (frequency[member], member))
        prefix = ordered[: size - math.ceil(threshold * size) + 1] if size else []
        candidates = {
            earlier
            for member in prefix
            for earlier in postings[member]
            if threshold * size <= len(sets[earlier]) <= size / threshold
        }
        for earlier in sorted(candidates):
            compared += 1
            if compared > limit:
                return
            common = len(sets[earlier] & members)
            if common >= threshold * (len(sets[earlier]) + size - common):
                yield earlier, later
        for member in prefix:
            postings[member].append(later)
