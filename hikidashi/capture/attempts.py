"""Attempts: one command that failed twice with one error, then passed after something was changed.

A failure that is repeated without a change between (to read more of the output) is the same failure. Red,
edit, green is a day's work and leaves nothing. A failure also counts when another session met it (`signals`).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any, Final

from hikidashi.capture.families import Family
from hikidashi.capture.passages import Passage, Place, clean, one_line
from hikidashi.capture.verdicts import signature

__all__ = ["Attempts", "Failure", "Solved", "command_key"]

#: Commands and files that are remembered; the ones used longest ago are forgotten first.
MAX_FAILURES: Final = 12
MAX_EDITS: Final = 6

#: Families in which a failure is worth remembering.
TRACKED: Final[frozenset[Family]] = frozenset(
    {"test", "build", "deploy", "publish", "push", "commit", "migrate", "install", "run", "other"}
)


#: Slips that a compiler points at: mended in a minute, met by nobody again.
_SLIP: Final = re.compile(
    r"never used|unused|possibly '?(?:undefined|null)|implicitly has an? '?any|is not assignable|no-unused"
    r"|prettier|unexpected any|expected \d+ arguments|does not exist on type"
    r"|is declared but|eslint|^\d+:\d+ +(?:error|warning)|unescaped-entities|has no exported member|undefined:"
    r" \w+$|cannot find module '\.|cannot use .{1,60} as ",
    re.IGNORECASE,
)


def command_key(text: str) -> str:
    """The key under which two runs are one command."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _program(shown: str) -> str:
    """The program of a command as it is shown; '' when it may be written otherwise in the command itself."""
    name = shown.partition(" ")[0]
    return "" if "[redacted" in name else name.rstrip("…")


@dataclass(slots=True)
class Failure:
    """One command with one error signature."""

    key: str
    sign: str
    command: Passage
    error: Passage
    last: Place
    count: int = 1
    #: Number of the last change before the last failure that was counted.
    change: int = 0
    #: What the assistant said last before it changed something.
    diagnosis: Passage | None = None
    edits: list[str] = field(default_factory=list)
    #: The program that failed, as it stands in the command; '' when that is not known.
    program: str = ""
    #: The same command failed with something else since: what was changed later did not mend this.
    gone: bool = False

    def to_state(self) -> list[Any]:
        """The JSON form."""
        said = self.diagnosis.to_state() if self.diagnosis else None
        parts = [self.command.to_state(), self.error.to_state(), self.last.to_state()]
        return [
            self.key,
            self.sign,
            *parts,
            self.count,
            self.change,
            said,
            [clean(name) for name in self.edits],
            self.gone,
        ]

    @classmethod
    def from_state(cls, data: Any) -> Failure:
        """Read `to_state`'s form."""
        key, sign, command, error, last, count, change, said, edits, gone = data
        return cls(
            key=key,
            sign=sign,
            command=Passage.from_state(command),
            program=_program(command[0]),
            error=Passage.from_state(error),
            last=Place.from_state(last),
            count=count,
            change=change,
            diagnosis=Passage.from_state(said) if said else None,
            edits=list(edits),
            gone=gone,
        )


@dataclass(slots=True)
class Solved:
    """A failure that is over."""

    failure: Failure
    passed: Place
    #: It failed once here: an attempt only if another session met the same failure.
    needs_signal: bool
    #: The line that says that it passed; '' for none.
    proof: str = ""


class Attempts:
    """The failures of a session and what was changed since."""

    def __init__(self) -> None:
        self.failures: dict[str, Failure] = {}
        #: Number of changes so far: edits of files, installed packages.
        self.changes = 0

    def changed(self, name: str, said: Passage | None) -> None:
        """A file was edited (or a package installed); `said` is what the assistant said before."""
        self.changes += 1
        for failure in self.failures.values():
            if failure.gone:
                continue
            if name not in failure.edits and len(failure.edits) < MAX_EDITS:
                failure.edits.append(name)
            if said is not None:
                failure.diagnosis = said

    def failed(self, text: str, error: str, place: Place) -> Failure | None:
        """The command `text` failed with the line `error`: the failure, None when `error` says nothing."""
        sign = signature(error)
        if len(sign) < 6 or _SLIP.search(error):
            return None
        key = command_key(text)
        name = command_key(key + sign)
        for other in self.failures.values():
            other.gone = other.gone or (other.key == key and other.sign != name and bool(other.edits))
        known = self.failures.pop(name, None)
        if known is None:
            known = Failure(
                key=key,
                sign=name,
                command=Passage(text, place, 200),
                program=_program(text),
                error=Passage(one_line(error), place, 240),
                last=place,
                change=self.changes,
            )
        else:
            if self.changes > known.change:
                known.count += 1
                known.change = self.changes
            known.last = place
            known.gone = False
        self.failures[name] = known
        while len(self.failures) > MAX_FAILURES:
            del self.failures[next(iter(self.failures))]
        return known

    def may_end(self, line: str) -> bool:
        """Whether a command line that passed may be one that failed before: a quick test, sure only when it denies."""
        return any(failure.program in line for failure in self.failures.values())

    def passed(self, text: str, place: Place) -> Solved | None:
        """`text` passed: its failures that are over now, at most the most stubborn one."""
        if not self.failures:
            return None
        key = command_key(text)
        over = [name for name, failure in self.failures.items() if failure.key == key]
        gone = [self.failures.pop(name) for name in over]
        solved = [failure for failure in gone if failure.edits and self.changes > failure.change]
        if not solved:
            return None
        worst = max(solved, key=lambda failure: failure.count)
        return Solved(failure=worst, passed=place, needs_signal=worst.count < 2)

    def to_state(self) -> list[Any]:
        """The JSON form."""
        return [self.changes, [failure.to_state() for failure in self.failures.values()]]

    @classmethod
    def from_state(cls, data: Any) -> Attempts:
        """Read `to_state`'s form."""
        attempts = cls()
        attempts.changes = data[0]
        for item in data[1]:
            failure = Failure.from_state(item)
            attempts.failures[failure.sign] = failure
        return attempts
