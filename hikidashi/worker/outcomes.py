"""How a run ended, and what that means: for the exit code, and for the entries it held."""

from __future__ import annotations

from typing import Any, Final, get_args

from hikidashi.errors import (
    BudgetSpent,
    Busy,
    Conflict,
    HikidashiError,
    LintErrors,
    LostClaim,
    ModelFailure,
)
from hikidashi.worker.report import Outcome

__all__ = ["CONTENT_FAILURES", "FAILURES", "exit_code", "outcome_of"]

#: Outcomes that a further run would not mend by itself: coalescing and draining stop there.
FAILURES: Final = frozenset(get_args(Outcome)) - {"done", "partial", "idle"}

#: Outcomes that count against the entries of the batch (design section 6, step 9).
CONTENT_FAILURES: Final = frozenset({"aborted-lint", "failed:content"})

_BY_ERROR: Final[tuple[tuple[type[HikidashiError], Outcome], ...]] = (
    (Busy, "busy"),
    (LintErrors, "aborted-lint"),
    (BudgetSpent, "budget"),
    (Conflict, "conflict"),
    (LostClaim, "lost-claim"),
)

_CODES: Final[dict[Outcome, int]] = {
    "done": 0,
    "partial": 0,
    "idle": 0,
    "crashed": HikidashiError.exit_code,
    **{outcome: error.exit_code for error, outcome in _BY_ERROR},
}


def outcome_of(error: HikidashiError) -> Outcome | None:
    """The outcome that `error` gives a run; None for errors that belong to no outcome and are raised."""
    if isinstance(error, ModelFailure):
        failed: Any = f"failed:{error.kind}"
        return failed if failed in get_args(Outcome) else "failed:network"
    for known, outcome in _BY_ERROR:
        if isinstance(error, known):
            return outcome
    return None


def exit_code(outcome: Outcome) -> int:
    """What the command line ends with: the code of the error class that the outcome stands for, else 0."""
    return _CODES.get(outcome, ModelFailure.exit_code)
