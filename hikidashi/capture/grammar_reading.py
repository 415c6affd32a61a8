"""What a shell line was read as: the records that `grammar.read_line` gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Code", "Dialect", "Invocation", "Output", "Reading", "Via"]

Code = Literal["zero", "last", "unknown"]
Output = Literal["shown", "filtered", "gone"]
Via = Literal["", "ssh", "container"]
Dialect = Literal["sh", "powershell", "cmd"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One program as a line calls it, with wrappers (`sudo`, `env`, `npx`, `time` …) taken off."""

    #: Program (without its folder) and arguments, unquoted. A variable that the line itself set is filled in; any
    #: other expansion stays as it is written (`$HOME`).
    words: tuple[str, ...]
    #: Wrappers and runners taken off, outermost first: ("sudo", "npx"), ("uv run", "python -m").
    wrappers: tuple[str, ...] = ()
    #: Assignments in front of it, and those exported before it in the line.
    environ: dict[str, str] = field(default_factory=dict)
    #: The folder that `cd` before it led to, as written; '' for the line's own.
    folder: str = ""
    #: Where it ran: '' here, else the target of `ssh`, `docker exec`, `kubectl exec`.
    host: str = ""
    via: Via = ""
    #: Text fed to it by a heredoc, a here-string, or a literal `echo`/`cat` it is piped from; None when nothing is.
    stdin: str | None = None
    #: What its exit code had to be, as far as the line's own exit code tells:
    #:   zero     if the line ended with 0, this ran and ended with 0
    #:   last     the same; and if it ran, its code is the line's, zero or not
    #:   unknown  a filter, `|| true`, `;`, `!` or a condition hides it
    code: Code = "unknown"
    #: Whether it ran whatever the line's exit code is. `maybe` in a branch, a loop, behind `||`, on another machine,
    #: or after something that may have failed (`cd`, `export` and their like are taken to work). With `code` zero or
    #: last and an exit code 0 it ran, though `maybe` stands here.
    ran: Literal["surely", "maybe"] = "surely"
    #: What became of its output: `shown`, `filtered` (`| tail`, `| grep`: a part is shown), `gone` (a file,
    #: /dev/null, `$(…)`).
    output: Output = "shown"
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
    #: The grammar found an error, or the line was too long: nothing in it is sure, and something may be missing.
    broken: bool = False
    dialect: Dialect = "sh"
