"""Word lists as running text: short to read and to extend."""

from __future__ import annotations

__all__ = ["contains_any", "word_list"]


def word_list(*lines: str) -> frozenset[str]:
    """The words of the lines, each once."""
    return frozenset(" ".join(lines).split())


def contains_any(text: str, marks: tuple[str, ...]) -> bool:
    """Whether one of the marks is in `text`: the cheap look before a search with many alternatives."""
    for mark in marks:  # noqa: SIM110  a loop costs half of what `any` does
        if mark in text:
            return True
    return False
