"""The one error tree of the package. Standard library only.

Each class is a situation that a caller can act on, and each has the exit code that the command line
ends with. The message is one line and ends with the mend ("run `hikidashi init`").

    HikidashiError                1   anything that has no class of its own
    ├── UsageError                2   the command was called wrongly
    ├── Busy                      3   another process holds the claim or the extractor's lock
    ├── NoWorkspace               4   no .hikidashi/ was found from here
    ├── UntrustedWorkspace        5   .hikidashi/ is here but this user never trusted it
    ├── BadSettings               6   a settings file or variable is wrong
    ├── LintErrors                7   records break the linter's rules
    ├── CorruptData               8   a database, history or journal cannot be read (or is newer than us)
    ├── BudgetSpent               9   a run would pass its budget
    ├── Conflict                 10   a person changed what a run was about to write, twice
    ├── ModelFailure             11   the model could not be used
    ├── StorageFailure           12   the disk is full, read-only or refuses
    ├── LostClaim                13   another process took this run's claim
    ├── GateClosed               14   an agent may not do this; a candidate waits for the person instead
    ├── SecretRefused            15   a text that was to be kept holds a secret
    ├── NoSuchFact               16   the drawer holds no fact (or the gate no candidate) of that name
    └── ProbeFailed              17   a probe did not confirm its fact
"""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import ClassVar

__all__ = [
    "BadSettings",
    "BudgetSpent",
    "Busy",
    "Conflict",
    "CorruptData",
    "GateClosed",
    "HikidashiError",
    "LintErrors",
    "LostClaim",
    "ModelFailure",
    "NoSuchFact",
    "NoWorkspace",
    "ProbeFailed",
    "SecretRefused",
    "StorageFailure",
    "UntrustedWorkspace",
    "UsageError",
]


class HikidashiError(Exception):
    """Something went wrong that the person at the terminal can read in one line."""

    exit_code: ClassVar[int] = 1


class UsageError(HikidashiError):
    """The command was called with arguments that do not fit."""

    exit_code = 2


class Busy(HikidashiError):
    """Another live process is doing this; nothing was changed."""

    exit_code = 3


class NoWorkspace(HikidashiError):
    """No `.hikidashi/` folder belongs to this place."""

    exit_code = 4


class UntrustedWorkspace(HikidashiError):
    """A `.hikidashi/` folder is here that this user never made or trusted; it stays inert."""

    exit_code = 5


class BadSettings(HikidashiError):
    """A settings file or a `HIKIDASHI_*` variable has an unknown key, a wrong type or a forbidden key."""

    exit_code = 6


class LintErrors(HikidashiError):
    """Records break the linter's rules."""

    exit_code = 7


class CorruptData(HikidashiError):
    """A file of ours cannot be read: damaged, or written by a newer version."""

    exit_code = 8


class BudgetSpent(HikidashiError):
    """A run has used the turns, the time or the tokens that it may use."""

    exit_code = 9


class Conflict(HikidashiError):
    """A person changed a record that a run was about to write; the person's text stays."""

    exit_code = 10


class ModelFailure(HikidashiError):
    """The model could not be used, or this version cannot use one.

    `kind` is one of auth, billing, overloaded, network, content: the part behind `failed:` in a run's outcome.
    `reason` says more where a caller can act on it. Of kind `content`: `too-long` (the request passes the model's
    window or the server's limit), `max-tokens`, `context-window`, `refusal` (how the answer stopped), `unreadable`
    (no answer of the form asked for, three times), `too-slow` (it began to come and did not end in time),
    `refused-request` (the server calls the request wrong). Of kind `auth`: `not-found` (no such model or address),
    `redirect`, `no-key`. Else ''.
    `again`: the same request may succeed a little later. `wait`: the seconds that the server asked for, None when it
    said nothing. `at_work`: the server had taken up the request, so that it may be this one that it fails on.
    """

    exit_code = 11

    def __init__(
        self,
        message: str,
        *,
        kind: str = "network",
        reason: str = "",
        again: bool = False,
        wait: float | None = None,
        at_work: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.reason = reason
        self.again = again
        self.wait = wait
        self.at_work = at_work


class StorageFailure(HikidashiError):
    """The file system refused: full, read-only, over quota, no permission."""

    exit_code = 12


class LostClaim(HikidashiError):
    """Another process took over this run's claim; this run published nothing more."""

    exit_code = 13


class GateClosed(HikidashiError):
    """The command is the person's alone, and it was run inside an agent's session."""

    exit_code = 14


class SecretRefused(HikidashiError):
    """A text that a person or agent wanted kept holds a secret; nothing was written."""

    exit_code = 15


class NoSuchFact(HikidashiError):
    """No fact has that key, or no candidate that ID."""

    exit_code = 16


class ProbeFailed(HikidashiError):
    """A probe ran and did not confirm its fact, or could not run."""

    exit_code = 17
