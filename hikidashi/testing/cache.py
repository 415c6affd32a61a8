"""The prompt cache as the Messages API accounts for it.

The rules, from the API's documentation of prompt caching: an entry is written at each marked block, and holds all that
stands before its end. A marked block finds the longest entry at itself or at one of the 19 blocks before it (20 places
in all). A prefix below the model's minimum is neither written nor found, without an error. An entry lives for 5 minutes
or an hour after its last use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from hikidashi.testing.layout import Place, input_tokens, lay_out

__all__ = ["Accounted", "PromptCache", "minimum_tokens"]

#: Places that a marked block looks at, its own among them.
LOOK_BACK: Final = 20

#: Smallest prefix that is cached, by the beginning of a model's name. The first row that fits counts.
_MINIMUM: Final = (
    ("claude-opus-5", 512),
    ("claude-fable-5", 512),
    ("claude-mythos-5", 512),
    ("claude-sonnet-", 1024),
    ("claude-opus-4-8", 1024),
    ("claude-opus-4-7", 2048),
)
#: For all others: the largest minimum that any model has, so that a test is never better off than in earnest.
_LARGEST: Final = 4096


def minimum_tokens(model: str) -> int:
    """The smallest prefix in tokens that a model caches."""
    return next((least for start, least in _MINIMUM if model.startswith(start)), _LARGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounted:
    """How the input of one request splits; the four add up to all of it."""

    uncached: int
    read: int
    written_5m: int
    written_1h: int


class PromptCache:
    """Entries of one account."""

    def __init__(self, minimum: int | None = None) -> None:
        self._minimum = minimum
        #: Digest of a prefix -> when it ends, and seconds it lives after each use.
        self._entries: dict[tuple[str, bytes], tuple[float, int]] = {}
        self._known: dict[bytes, int] = {}

    def count(self, body: dict[str, Any]) -> int:
        """Tokens of a request's input."""
        return input_tokens(lay_out(body, self._known))

    def account(self, body: dict[str, Any], key: str, now: float) -> Accounted:
        """Read and write the cache for one request at Unix time `now`, and say what that makes of its input."""
        least = minimum_tokens(str(body.get("model", ""))) if self._minimum is None else self._minimum
        places = lay_out(body, self._known)
        total = input_tokens(places)
        marked = [at for at, place in enumerate(places) if place.lifetime is not None and place.tokens >= least]
        found = self._longest(places, marked, key, now, least)
        read = places[found].tokens if found >= 0 else 0
        written = {300: 0, 3600: 0}
        done = read
        for at in marked:
            place = places[at]
            lifetime = 3600 if place.lifetime == 3600 else 300
            if at > found:
                written[lifetime] += place.tokens - done
                done = place.tokens
                self._entries[key, place.digest] = (now + lifetime, lifetime)
            else:
                self._use(place, key, now)
        if found >= 0:
            self._use(places[found], key, now)
        return Accounted(
            uncached=total - read - written[300] - written[3600],
            read=read,
            written_5m=written[300],
            written_1h=written[3600],
        )

    def _longest(self, places: list[Place], marked: list[int], key: str, now: float, least: int) -> int:
        """The place of the longest entry that a marked block finds, or -1."""
        for at in reversed(marked):
            for back in range(at, max(-1, at - LOOK_BACK), -1):
                entry = self._entries.get((key, places[back].digest))
                if entry is not None and entry[0] > now and places[back].tokens >= least:
                    return back
        return -1

    def _use(self, place: Place, key: str, now: float) -> None:
        entry = self._entries.get((key, place.digest))
        if entry is not None and entry[0] > now:
            self._entries[key, place.digest] = (now + entry[1], entry[1])
