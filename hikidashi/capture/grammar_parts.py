"""What a shell text is made of: statements, and-or lists, pipelines, commands, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["AndOr", "Compound", "Kind", "Part", "Pipeline", "Redirect", "Script", "Simple", "Word"]

#: Kinds of commands that hold scripts.
Kind = Literal["subshell", "group", "if", "loop", "case", "function", "test"]


@dataclass(slots=True)
class Word:
    """One word as it is written, and the scripts its substitutions run."""

    raw: str
    scripts: Sequence[Script] = ()


@dataclass(slots=True)
class Redirect:
    """`2> file`, `<<< text`: the descriptor as written ('' for none), the operator, the word after it."""

    descriptor: str
    operator: str
    target: Word


@dataclass(slots=True)
class Simple:
    """A simple command: assignments, words, redirections."""

    words: list[Word] = field(default_factory=list)
    assignments: list[tuple[str, Word]] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


@dataclass(slots=True)
class Compound:
    """A command that holds scripts: `( … )`, `{ …; }`, `if`, loops, `case`, a function, `[[ … ]]`."""

    kind: Kind
    #: In their order: of `if` and loops the condition first.
    scripts: list[Script] = field(default_factory=list)
    #: Words that stand in its head (`for x in …`, `case …`).
    words: list[Word] = field(default_factory=list)
    #: A function's name, a loop's variable.
    name: str = ""
    redirects: list[Redirect] = field(default_factory=list)


Part = Simple | Compound


@dataclass(slots=True)
class Pipeline:
    """Commands joined by `|`."""

    parts: list[Part] = field(default_factory=list)
    negated: bool = False


@dataclass(slots=True)
class AndOr:
    """Pipelines joined by `&&` and `||`: one operator fewer than pipelines."""

    pipelines: list[Pipeline]
    operators: list[str]
    background: bool = False


Script = list[AndOr]
