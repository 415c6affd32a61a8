"""How many random examples a property is tried with.

`make test` tries few; `make test-slow` sets HIKIDASHI_TEST_LONG=1 and tries the same properties with many.
"""

from __future__ import annotations

import os

__all__ = ["examples"]

LONG = os.environ.get("HIKIDASHI_TEST_LONG") == "1"


def examples(few: int, many: int) -> int:
    """The number for hypothesis' `max_examples`."""
    return many if LONG else few
