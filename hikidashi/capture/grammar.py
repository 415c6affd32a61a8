"""Shell lines taken apart by a real grammar: which programs ran, and what the line's end says of each.

It reads for judging, never for running. What cannot be known from the text alone (a variable's value, the
branch an `if` took) is said as unknown instead of guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Invocation", "Reading", "read_line"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One program as a line calls it, with wrappers (`sudo`, `env`, `npx`, `time` …) taken off."""

    #: Program (without its folder) and arguments, unquoted; an expansion stays as it is written (`$HOME`).
    words: tuple[str, ...]
    #: Wrappers and runners taken off, outermost first: ("sudo", "npx").
    wrappers: tuple[str, ...] = ()
    #: Assignments in front of it.
    environ: dict[str, str] = field(default_factory=dict)
    #: The folder that `cd` before it led to, as written; '' for the line's own.
    folder: str = ""
    #: Where it ran: '' here, else the target of `ssh`, `docker exec`, `kubectl exec`.
    host: str = ""
    via: Literal["", "ssh", "container"] = ""
    #: Text fed to it by a heredoc or here-string; None when nothing is.
    stdin: str | None = None
    #: What its exit code had to be, as far as the line's own exit code tells:
    #:   zero     if the line ended with 0, so did this
    #:   last     it is the line's last word: its code is the line's, zero or not
    #:   unknown  a filter, `|| true`, `;` or a condition hides it
    code: Literal["zero", "last", "unknown"] = "unknown"
    #: Whether it ran at all: `maybe` in a branch, a loop, behind `||`, or after something that may have failed.
    ran: Literal["surely", "maybe"] = "surely"
    #: What became of its output: `shown`, `filtered` (`| tail`, `| grep`: a part is shown), `gone` (a file,
    #: /dev/null, `$(…)`).
    output: Literal["shown", "filtered", "gone"] = "shown"
    #: The programs its output was piped through, in order.
    filters: tuple[tuple[str, ...], ...] = ()
    #: Started with `&`, `nohup`, `setsid`: nobody saw its end.
    background: bool = False
    #: Under `!`.
    negated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A line as it was read."""

    invocations: tuple[Invocation, ...]
    #: The grammar found an error: nothing in the line is sure.
    broken: bool = False
    dialect: Literal["sh", "powershell", "cmd"] = "sh"


def read_line(text: str) -> Reading:
    """Take a command line apart."""
    raise NotImplementedError
