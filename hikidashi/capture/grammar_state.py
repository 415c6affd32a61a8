"""What a shell carries from one command to the next, and what a command's place says of its end."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hikidashi.capture.grammar_parts import Compound, Part, Redirect, Script, Simple
from hikidashi.capture.grammar_reading import Code, Output, Via
from hikidashi.capture.grammar_wrappers import program_name
from hikidashi.capture.vocabulary import word_list

__all__ = ["SHOW_ALL", "Place", "Shell", "change_folder", "filter_output", "filter_words", "redirected", "worse"]


class Place(NamedTuple):
    """Where a command stands: everything about its end that is known from outside."""

    code: Code = "last"
    #: The same for the shell it runs in: what `exit` in it means for the line.
    shell_code: Code = "last"
    #: It ran, whatever the line's exit code is.
    sure: bool = True
    output: Output = "shown"
    filters: tuple[tuple[str, ...], ...] = ()
    background: bool = False
    negated: bool = False
    #: `set -e` does not look at it: it stands in a condition, or before `&&` or `||`.
    tested: bool = False
    host: str = ""
    via: Via = ""
    wrappers: tuple[str, ...] = ()
    stdin: str | None = None
    #: The file its output went to, and whether it was added to what stood there.
    file: tuple[str, bool, int] | None = None
    #: It stands in a branch of its shell: what it sets may not be set behind it.
    branch: bool = False
    #: It stands behind `||`: what ran before it failed.
    failed: bool = False
    #: The code is that of the pipeline's first program (`exit ${PIPESTATUS[0]}`).
    head: bool = False


@dataclass(slots=True)
class Shell:
    """State of one shell; a subshell works on a copy."""

    folder: str = ""
    before: str = ""
    stack: list[str] = field(default_factory=list)
    exported: dict[str, str] = field(default_factory=dict)
    #: Variables whose value the line shows.
    known: dict[str, str] = field(default_factory=dict)
    errexit: bool = False
    pipefail: bool = False
    functions: dict[str, Script] = field(default_factory=dict)
    #: `exec > file`: what became of all later output.
    output: Output = "shown"
    #: An `exit` that may have run is behind us: what follows may not have run; and if it may have ended the shell with
    #: 0, a line's end with 0 proves nothing of what follows.
    left: bool = False
    left_well: bool = False
    #: A branch that may not have run changed `set -e` or `pipefail`.
    shaky: bool = False

    def copy(self) -> Shell:
        """The state of a subshell."""
        return Shell(
            folder=self.folder,
            before=self.before,
            stack=list(self.stack),
            exported=dict(self.exported),
            known=dict(self.known),
            errexit=self.errexit,
            pipefail=self.pipefail,
            functions=dict(self.functions),
            output=self.output,
            left=self.left,
            left_well=self.left_well,
            shaky=self.shaky,
        )

    def learn(self, branch: Shell) -> None:
        """Take over from a branch what holds for the whole shell: it may have been left there."""
        self.left |= branch.left
        self.left_well |= branch.left_well
        self.functions.update(branch.functions)
        if branch.shaky > self.shaky or branch.errexit != self.errexit or branch.pipefail != self.pipefail:
            self.shaky, self.errexit, self.pipefail = True, False, False


def change_folder(shell: Shell, target: str) -> None:
    """Do what `cd target` does to the folder, as far as the text tells."""
    if target == "-":
        shell.folder, shell.before = shell.before, shell.folder
        return
    shell.before = shell.folder
    absolute = target.startswith(("/", "~", "$")) or target[1:3] in (":\\", ":/")
    if absolute or not shell.folder:
        shell.folder = posixpath.normpath(target) if target.startswith(("/", ".")) else target
    else:
        shell.folder = posixpath.normpath(posixpath.join(shell.folder, target))
    if shell.folder == ".":
        shell.folder = ""


_BADNESS: Final = {"shown": 0, "filtered": 1, "gone": 2}


def worse(one: Output, other: Output) -> Output:
    """Of two fates of an output, the one that leaves less."""
    return one if _BADNESS[one] >= _BADNESS[other] else other


def redirected(redirects: list[Redirect], unquoted: Callable[[str], str]) -> str:
    """The file that redirections send standard output to; '' when it stays where it was."""
    for redirect in redirects:
        operator = redirect.operator
        if operator[:1] not in (">", "&") or redirect.descriptor not in ("", "1"):
            continue
        target = redirect.target.raw
        if operator in (">&", "&>") and (target.isdecimal() or target == "-"):
            continue
        file = unquoted(target)
        if file not in ("/dev/stderr", "/dev/stdout", "/dev/tty", "/dev/fd/1", "/dev/fd/2"):
            return file or "/dev/null"
    return ""


#: Filters that show all they get.
SHOW_ALL: Final = word_list("bat cat less more nl pee sponge tee ts")


def filter_words(part: Part, unquoted: Callable[[str], str]) -> tuple[str, ...]:
    """The words of what an output is piped through; the keyword of a loop or group."""
    if isinstance(part, Compound):
        return (part.kind,)
    words = [unquoted(word.raw) for word in part.words]
    return (program_name(words[0]), *words[1:]) if words else ()


def filter_output(part: Part, words: tuple[str, ...], unquoted: Callable[[str], str]) -> Output:
    """What is left of an output that is piped through `part`."""
    if redirected(part.redirects, unquoted):
        return "gone"
    if isinstance(part, Simple) and words:
        if words[0] in SHOW_ALL:
            return "shown"
        if words[0] in ("grep", "egrep", "fgrep", "rg") and any(_quiet(word) for word in words[1:]):
            return "gone"
        if words[0] in (":", "true", "pbcopy", "xclip", "clip"):
            return "gone"
    return "filtered"


def _quiet(word: str) -> bool:
    return word in ("--quiet", "--silent") or (word[:1] == "-" and word[1:2] != "-" and "q" in word)
