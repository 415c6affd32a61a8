"""What a session did: its tool results, read into attempts, proofs, the task list and the last hard outcome."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Literal

from hikidashi.capture.attempts import TRACKED, Attempts, Solved
from hikidashi.capture.families import HARD, Family, family_of, is_inspection, may_matter, only_looks
from hikidashi.capture.finished import commit_of, pull_request_of, pushed_refs
from hikidashi.capture.passages import Passage, Place, cut, one_line
from hikidashi.capture.requests import Ending, Hard
from hikidashi.capture.shell import MAX_COMMAND, Command, Segment, exit_counts, plain, read_command
from hikidashi.capture.verdicts import Verdict, error_line, judge, pass_line, visible
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact

__all__ = ["EDIT_TOOLS", "SHELL_TOOLS", "Work"]

SHELL_TOOLS: Final = frozenset({"Bash", "shell", "shell_command", "exec_command", "run_shell_command"})
EDIT_TOOLS: Final = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


#: Families whose output says more than their exit code.
_TOLD: Final = HARD | {"commit"}


#: So much of a command is read beyond what is parsed, that a secret on the border is seen whole.
_SLACK: Final = 2_000


@dataclass(slots=True)
class _Run:
    """One command as it ended."""

    family: Family
    #: The command in one line, redacted: what makes two runs one command, and what is shown of it.
    text: str
    verdict: Verdict
    output: str
    #: The whole command line.
    line: str
    place: Place


class Work:
    """Takes tool results, one after the other."""

    def __init__(self, attempts: Attempts, ending: Ending) -> None:
        self.attempts = attempts
        self.ending = ending

    @property
    def diagnoses(self) -> bool:
        """Whether a change would be told with what the assistant said before it."""
        return bool(self.attempts.failures)

    def edited(self, event: Event, said: Passage | None) -> None:
        """A file was written; some hosts write several (`files`) in one call."""
        name = event.input.get("file_path") or event.input.get("notebook_path")
        if event.outcome != "ok" or not isinstance(name, str):
            return
        files = event.input.get("files")
        for file in files if isinstance(files, list) else [name]:
            self.attempts.changed(_file_name(str(file)) if self.diagnoses else "", said)
            self._counted(event)

    def _counted(self, event: Event) -> None:
        if not event.sidechain:
            self.ending.edits += 1
            self.ending.uncommitted += 1
            self.ending.turn.changes += 1

    def read(self, event: Event) -> tuple[Command, Family, Segment] | None:
        """The shell command of a result; None when nothing comes of it: it only looked, or it may have any end."""
        line = event.input.get("command")
        if not isinstance(line, str):
            return None
        line = line[: MAX_COMMAND + _SLACK]
        if (event.outcome != "failed" and not event.exit_code) or _is_open(event):
            passed = (event.outcome == "ok" or event.exit_code == 0) and self.attempts.may_end(line)
            if not passed and not _may_matter(line):
                return None
        return _read(line)

    def ran(
        self, event: Event, run: tuple[Command, Family, Segment], place: Place, said: Passage | None
    ) -> tuple[Solved | None, str]:
        """A shell command ended. Gives the attempt that it ended and the key of a failure to remember."""
        command, family, segment = run
        if family == "edit":
            name = _written(segment)
            if event.outcome == "ok" and name.rpartition("/")[2] and not name.startswith("/tmp/"):
                self.attempts.changed(_file_name(name) if self.diagnoses else "", said)
                self._counted(event)
            return None, ""
        counts = exit_counts(command, segment)
        told = event.outcome != "ok" or family in _TOLD
        output = _output(event.text) if told else ""
        verdict = judge(event, family, counts, output)
        ended = _Run(family, plain(segment), verdict, output, str(event.input["command"]), place)
        if told and not event.sidechain:
            self._prove(ended)
        return self._attempt(ended, said)

    def _attempt(self, run: _Run, said: Passage | None) -> tuple[Solved | None, str]:
        if run.family not in TRACKED or run.verdict == "unknown":
            return None, ""
        if run.verdict == "failed":
            failure = self.attempts.failed(run.text, error_line(run.output), run.place)
            return None, failure.sign if failure else ""
        solved = self.attempts.passed(run.text, run.place)
        if solved and run.family == "test":
            solved.proof = pass_line(run.output)
        if run.family == "install":
            self.attempts.changed(f"`{cut(run.text, 80)}`" if self.diagnoses else "", said)
        return solved, ""

    def _prove(self, run: _Run) -> None:
        """Proofs and the last hard outcome, of the session's own commands."""
        end, place = self.ending, run.place
        if run.family in ("commit", "push", "pr"):
            self._prove_shipping(run)
        if run.verdict == "failed" and run.family in HARD:
            error = Passage.later(partial(_error, run.output), place, 300)
            end.hard = Hard(run.family, Passage(run.text, place, 300), error, end.prompts)
            if run.family in ("test", "build"):
                end.proofs.failed("test" if run.family == "test" else "build")
        elif run.verdict == "passed":
            if end.hard is not None and (run.family == end.hard.family or run.family in ("commit", "push", "pr")):
                end.hard = None
            if run.family in ("test", "build") and end.edits:
                kind: Literal["test", "build"] = "test" if run.family == "test" else "build"
                end.proofs.add(kind, "", partial(_passed, run.text, kind, run.output), place, end.prompts)
            elif run.family == "deploy" or run.family == "publish":
                end.proofs.add(run.family, "", f"`{cut(run.text, 140)}` succeeded", place, end.prompts)

    def _prove_shipping(self, run: _Run) -> None:
        end, place = self.ending, run.place
        commit = commit_of(run.output)
        if commit is not None:
            branch, name, subject = commit
            end.proofs.add("commit", subject, f"commit {name[:8]} on {branch}: {subject}", place, end.prompts)
            end.uncommitted = 0
        if run.family == "push" and run.verdict == "passed":
            ref = pushed_refs(run.output)
            if ref:
                end.proofs.add("push", "", f"pushed to {ref}", place, end.prompts)
        if run.family == "pr":
            pull = pull_request_of(redact(run.line), run.output)
            if pull is not None:
                url, title = pull
                end.proofs.add("pr", title, f"pull request opened: {url}", place, end.prompts)


def _is_open(event: Event) -> bool:
    """Whether the call has no end to judge."""
    return event.refused or event.interrupted or event.background


_may_matter: Final = lru_cache(maxsize=1_024)(may_matter)


@lru_cache(maxsize=1_024)  # the same few commands are most of a day's work
def _read(line: str) -> tuple[Command, Family, Segment] | None:
    if only_looks(line):
        return None
    found = _parsed(line)
    if found is None:
        return None  # as it would be without its secrets: they are no programs
    # Redacted as it was typed: parsing takes away the quotes and blanks that give a secret away.
    clean = redact(line)
    return found if clean == line else _parsed(clean)


def _parsed(line: str) -> tuple[Command, Family, Segment] | None:
    command = read_command(line[:MAX_COMMAND])
    if command is None:
        return None
    family, segment = family_of(command)
    return None if is_inspection(family, segment) else (command, family, segment)


def _passed(shown: str, kind: str, output: str) -> str:
    """The proof that a test or build passed."""
    said = pass_line(output) if kind == "test" else ""
    return f"`{cut(shown, 100)}` passed" + (f": {cut(one_line(said), 100)}" if said else "")


def _error(output: str) -> str:
    return one_line(error_line(output))


def _output(text: str) -> str:
    """What is seen of an output; a secret of several lines is taken out while it is still whole."""
    return visible(redact(text) if "-----BEGIN" in text else text)


def _written(segment: Segment) -> str:
    """The file that an editing command wrote; '' when it is not told."""
    return segment.writes or (segment.words[-1] if segment.program in ("sed", "perl", "tee") else "")


@lru_cache(maxsize=512)  # the same few files
def _file_name(path: str) -> str:
    """The last part of a path, redacted before it is cut."""
    return redact(path).rpartition("/")[2][:80]
