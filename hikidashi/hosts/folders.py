"""Whether a session's folder lies in another one, as the two are written."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable

__all__ = ["is_within"]


def is_within(folders: Iterable[str], roots: Iterable[str]) -> bool:
    """Whether one of `folders` is one of `roots` or lies below it."""
    plain = [_plain(root) for root in roots]
    return any(inner == root or inner.startswith(root + "/") for inner in map(_plain, folders) for root in plain)


def _plain(folder: str) -> str:
    """A path in the one spelling in which two names of a folder are compared."""
    spelled = unicodedata.normalize("NFC", os.path.normcase(folder)).replace("\\", "/")
    return spelled.rstrip("/") if len(spelled) > 1 else ""
