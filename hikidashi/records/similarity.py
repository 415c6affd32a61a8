"""Which of many sets are nearly the same, without comparing each with each."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final

__all__ = ["similar_pairs"]

#: At most this many pairs are compared, whatever comes; a thousand records of one template stay cheap.
MAX_COMPARISONS: Final = 20_000


def similar_pairs(
    sets: Sequence[frozenset[str]],
    threshold: float,
    confirm: Callable[[int, int], bool],
    limit: int = MAX_COMPARISONS,
) -> Iterator[tuple[int, int]]:
    """Pairs (earlier, later) of indices whose Jaccard similarity is at least `threshold` and that `confirm` takes.

    Each index comes at most once as the later one, and none that did comes as an earlier one: of many alike
    each is paired with the first. Prefix filtering: put each set's members in order of rarity; two sets that
    similar share one of the first `n - ceil(threshold * n) + 1` members, so only sets that meet in an index
    of those are compared.
    """
    frequency = Counter(member for members in sets for member in members)
    by_rarity = sorted(frequency, key=lambda member: (frequency[member], member))
    rank = {member: number for number, member in enumerate(by_rarity)}
    postings: dict[int, list[int]] = defaultdict(list)
    for later, members in enumerate(sets):
        size = len(members)
        ordered = sorted(rank[member] for member in members)
        prefix = ordered[: size - math.ceil(threshold * size) + 1] if size else []
        candidates = {earlier for member in prefix for earlier in postings[member]}
        for earlier in sorted(candidates):
            if limit <= 0:
                return
            limit -= 1
            common = len(sets[earlier] & members)
            if common >= threshold * (len(sets[earlier]) + size - common) and confirm(earlier, later):
                yield earlier, later
                break
        else:
            for member in prefix:
                postings[member].append(later)
