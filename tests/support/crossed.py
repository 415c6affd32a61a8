"""Two dimensions of a test, crossed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

__all__ = ["crossed"]


def crossed(many: Iterable[Any], few: Sequence[Any]) -> list[Any]:
    """Every pair, for `pytest.mark.parametrize`: a diagonal in the quick tests, the others in the slow ones.

    Each value of `many` is in the quick tests once, and so is each of `few`, which must not be longer.
    """
    many = list(many)
    assert len(many) >= len(few)
    return [
        pytest.param(one, other, marks=() if row % len(few) == column else pytest.mark.slow)
        for row, one in enumerate(many)
        for column, other in enumerate(few)
    ]
