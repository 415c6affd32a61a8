"""Slugs: a record's file name without `.md`, which is its ID (design section 7)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container
from datetime import datetime
from typing import Final

from hikidashi.times import parse_time

__all__ = ["MAX_SLUG", "free_slug", "is_slug", "make_slug"]

MAX_SLUG: Final = 64

_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")
#: Windows opens a device for these names, whatever the extension.
_DEVICES: Final = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
#: Latin letters that Unicode does not take apart into a letter and an accent.
_LETTERS: Final = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ŋ": "n"}
)
#: A title with fewer Latin letters than this share gets a dated slug: `api` says nothing of a Japanese sentence.
_LATIN_SHARE: Final = 0.3


def is_slug(text: str) -> bool:
    """Whether `text` may be a record's file name: the pattern of design section 7, and no Windows device."""
    return _SLUG.fullmatch(text) is not None and text not in _DEVICES


def make_slug(title: str, kind: str, at: str | datetime, unique: str) -> str:
    """The slug of a new record.

    Latin letters lose their accents, other characters part words; cut at a word to 64 characters. A title
    with no (or hardly any) Latin letters gives `<kind>-<yyyymmdd>-<6 hex of unique>`. Whether the slug is
    taken is the caller's matter (`free_slug`). Raises `ValueError` when `at` is not a time.
    """
    folded = title.casefold().translate(_LETTERS)
    letters = [c for c in folded if c.isalpha()]
    plain = "".join(c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c))
    plain = re.sub(r"['’`]", "", plain.translate(_LETTERS))
    latin = sum(1 for c in plain if "a" <= c <= "z")
    slug = _cut(re.sub(r"[^a-z0-9]+", "-", plain).strip("-"), MAX_SLUG)
    if not latin or latin < _LATIN_SHARE * len(letters):
        day = (parse_time(at) if isinstance(at, str) else at).strftime("%Y%m%d")
        return f"{kind}-{day}-{hashlib.sha256(unique.encode('utf-8', 'surrogatepass')).hexdigest()[:6]}"
    return slug if is_slug(slug) else f"{kind}-{slug}"


def free_slug(slug: str, taken: Container[str]) -> str:
    """`slug`, or with `-2`, `-3`, … the first that is not taken; at most 64 characters."""
    candidate, number = slug, 1
    while candidate in taken:
        number += 1
        ending = f"-{number}"
        candidate = _cut(slug, MAX_SLUG - len(ending)) + ending
    return candidate


def _cut(slug: str, length: int) -> str:
    """At most `length` characters, whole words if the first one fits."""
    if len(slug) <= length:
        return slug
    head, _, _ = slug[: length + 1].rpartition("-")
    return head.strip("-") or slug[:length]
