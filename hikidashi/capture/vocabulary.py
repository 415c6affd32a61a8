"""Word lists as running text: short to read and to extend."""

from __future__ import annotations

__all__ = ["word_list"]


def word_list(*lines: str) -> frozenset[str]:
    """The words of the lines, each once."""
    return frozenset(" ".join(lines).split())
