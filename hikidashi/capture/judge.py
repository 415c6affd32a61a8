"""Whether one call of a known tool did what it is for, judged by its exit code and its output, not by its words.

What cannot be known is nothing: a wrong yes costs a person's trust, a missed one is seen again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from hikidashi.capture import signs
from hikidashi.capture.calls import Called
from hikidashi.capture.echoed_codes import echoed_code
from hikidashi.capture.grammar import Invocation, Reading
from hikidashi.capture.toolbox import Toolbox, found
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact

__all__ = ["Judgement", "LineEnd", "judge", "line_end"]

#: Programs that show a file, as `make > log; tail log` does.
_SHOWS_FILES: Final = frozenset({"cat", "tail", "head", "grep", "rg", "less", "bat", "sed"})
_SEARCHES: Final = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack", "findstr", "Select-String"})
#: Programs that print nothing, or only what the line itself says.
_SAYS_NOTHING: Final = frozenset(
    {
        "cd",
        "pushd",
        "popd",
        "export",
        "unset",
        "set",
        "source",
        ".",
        "sleep",
        "true",
        ":",
        "mkdir",
        "chmod",
        "echo",
        "printf",
    }
)
#: Programs that pass the end of an output on.
_KEEPS_END: Final = frozenset({"tail", "tee", "cat", "ts", "nl"})
_WORD: Final = re.compile(r"[^\W_]")
_LINES: Final = re.compile(r"(?:-n?|--lines=)?(\d{1,6})")
_FAILURE_WORDS: Final = re.compile(r"fail|error|✗|✖|×|warn", re.IGNORECASE)
_TIMED_OUT: Final = "Command timed out after "

#: Characters of an output that are looked at from both ends; a summary stands near one of them.
_HEAD: Final = 8_000
_TAIL: Final = 24_000
#: What a terminal takes as colour, movement or title (ECMA-48).
_TERMINAL: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
#: Characters of a line that are looked at.
_LONG_LINE: Final = 2_400
_BLANKS: Final = re.compile(r"[ \t]{200,}")
_EMPTY_LINE: Final = re.compile(r"^[^\S\n]+$", re.MULTILINE)
_BLANK_LINES: Final = re.compile(r"\n{4,}")
#: Exit codes of a program that Ctrl+C or a `kill` ended, and of `timeout` when the time was up.
_STOPPED: Final = (130, 143)
_TIMEOUT: Final = 124
#: What is left of a word whose beginning was cut off.
_HALF_WORD: Final = re.compile(r"\A\S+")
_KEY_BEGINS: Final = "-----BEGIN "
_NO_OUTPUT: Final = "(Bash completed with no output)"

#: Commands that check and leave no artefact; a task that runs nothing else builds and tests nothing.
_ONLY_CHECKS: Final = re.compile(
    r"^(?:(?:npx|pnpm exec|bunx|yarn|uv run|poetry run) )*"
    r"(?:tsc\b.*--noEmit|vue-tsc\b.*--noEmit|eslint|prettier|biome|oxlint|stylelint|ruff|mypy|pyright|flake8|pylint"
    r"|black|echo|printf|true|exit|:|sleep|cargo (?:check|clippy|fmt)|golangci-lint|go vet|rubocop|shellcheck)\b"
)
_ECHOED: Final = re.compile(r"^(?:> |\$ )(?![\w@/.-]+@\S+ [\w:.-]+$)(?![\w@/.-]+@\S+ [\w:.-]+ /)(\S.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEnd:
    """How a whole command line ended."""

    #: None when nothing tells.
    code: int | None
    #: The host told only that it failed: `code` is 1 whatever it was.
    guessed: bool = False
    #: What it printed, without what its own `echo` printed.
    output: str
    #: The end of the output is missing.
    cut: bool
    #: The line by which a shell says that it could not run something; ''.
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of one call. `outcome` is '' for nothing, and `why` says why."""

    outcome: Literal["ok", "failed", "denied", ""]
    why: str = ""
    #: The line of the output that says it, whole: who keeps it redacts it first; else `exit code 1`, `an answer`.
    said: str = ""


def line_end(event: Event, reading: Reading) -> LineEnd | str:
    """The end of a shell call, or in a few words why nobody saw one."""
    if event.refused:
        return "it was refused before it ran"
    if event.interrupted:
        return "it was interrupted"
    if event.background:
        return "it was started in the background"
    if event.text[:60].startswith(_TIMED_OUT):
        return "it timed out"
    code = event.exit_code
    guessed = code is None
    if code is None and event.outcome != "unknown":
        code = 0 if event.outcome == "ok" else 1
    # The lines of a private key are known as such only together, and one of them may come to be quoted.
    text = _both_ends(redact(event.text) if _KEY_BEGINS in event.text else event.text)
    output = "" if text.strip() == _NO_OUTPUT else _without_echoes(_readable(_plain(text)), reading)
    if code is None and not output.strip():
        return "nothing tells how it ended"
    if code in _STOPPED or (code == _TIMEOUT and any("timeout" in one.wrappers for one in reading.invocations)):
        return "it was stopped before its end"
    cut = signs.is_cut(output) or (event.truncated and " left out " not in event.text)
    return LineEnd(code=code, guessed=guessed, output=output, cut=cut, refusal=signs.shell_refusal(output))


def _plain(text: str) -> str:
    """An output as it reads: without colours, each state of a progress line on a line of its own."""
    if "\x1b" in text:
        text = _TERMINAL.sub("", text)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _both_ends(text: str) -> str:
    """What is looked at of an output. The second piece begins with a whole word, for a half one may be a secret's."""
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD]}\n{_HALF_WORD.sub('', text[-_TAIL:])}"


def _readable(text: str) -> str:
    """An output without endless lines and endless blank lines.

    A pattern may take the square of a line's length; nobody's result is in the middle of ten thousand letters.
    """
    if len(text) > _LONG_LINE:
        lines = text.split("\n")
        if max(map(len, lines)) > _LONG_LINE:
            cut = _LONG_LINE // 3
            text = "\n".join(f"{x[: 2 * cut]} … {x[-cut:]}" if len(x) > _LONG_LINE else x for x in lines)
    if " " * 200 in text or "\t" * 200 in text:
        text = _BLANKS.sub(" ", text)
    text = _EMPTY_LINE.sub("", text)
    return _BLANK_LINES.sub("\n\n\n", text) if "\n\n\n\n" in text else text


def _without_echoes(text: str, reading: Reading) -> str:
    """An output without the lines that the command line itself had printed: they are words, not signs."""
    said = {
        part.strip()
        for invocation in reading.invocations
        if invocation.words[:1] in (("echo",), ("printf",), ("Write-Host",), ("Write-Output",))
        for word in (" ".join(w for w in invocation.words[1:] if w[:1] != "-"),)
        for part in word.replace("\\n", "\n").split("\n")
        if len(part.strip()) > 3
    }
    if not said:
        return text
    return "\n".join(line for line in text.split("\n") if line.strip() not in said)


def judge(called: Called, invocation: Invocation, end: LineEnd, reading: Reading, box: Toolbox) -> Judgement:
    """What came of one call of a line that ended with `end`."""
    if invocation.background:
        return _nothing("it was started in the background")
    if invocation.negated:
        return _nothing("its exit code is turned round")
    if called.why_nothing:
        return _nothing(called.why_nothing)
    refusal = end.refusal
    if refusal and (invocation.words[0] in refusal or "not found" not in refusal):
        return _nothing(f"the shell refused: {refusal}")
    return _Case(called, invocation, end, reading, box).judged()


def _nothing(why: str) -> Judgement:
    return Judgement(outcome="", why=why)


class _Case:
    """One call before the judge."""

    def __init__(self, called: Called, invocation: Invocation, end: LineEnd, reading: Reading, box: Toolbox) -> None:
        self.called, self.call, self.invocation, self.end = called, called.call, invocation, end
        self.code = _own_code(invocation, end)
        if self.code is None:
            self.code = echoed_code(invocation, reading, end.output)
        self.hidden = invocation.output == "gone" and not _shown_later(invocation, reading)
        self.output = "" if self.hidden else end.output
        if self.call.runs:
            self.output = signs.without_parts(self.output)
        tested = signs.without_skipped(self.output) if self.call.verb == "test" else self.output
        self.skipped, self.output = tested != self.output, tested
        self.success, self.failed = self.call.success, self.call.failed
        self.others = [other for other in reading.invocations if other is not invocation]
        self.sign = found(self.success, self.output, last=True)
        if self.call.runs and self.sign is None:
            success, failed = box.signs(self.call.verb)
            self.sign = found(success, self.output, last=True)
            # Where anything says success, one tool's word for failure may be another's for something else.
            self.failed += failed if self.sign is None and self.code != 0 else ()
        self.passed = self.sign is not None and self.code == 0

    def judged(self) -> Judgement:
        if self.call.carries and self._arrived():
            return Judgement(outcome="ok", said=self._arrival())
        denial = found(self.call.denied, self.output)
        if denial is not None and not self.passed:
            return Judgement(outcome="denied", said=signs.line_of(self.output, denial))
        failure = self._failure(passed=True)
        empty = "" if failure else self._empty()
        if empty:
            return _nothing(empty)
        failure = failure or self._failure(passed=self.passed)
        if self.code is not None and self.code not in self.call.exits:
            if self.invocation.ran == "maybe" and not failure:
                return _nothing("it failed, or something before it did")
            return Judgement(outcome="failed", said=failure or _last_line(self.output))
        if failure:
            return Judgement(outcome="failed", said=failure)
        why = self._doubt()
        if why:
            return _nothing(why)
        if self.sign is not None:
            said = signs.line_of(self.output, self.sign)
            return Judgement(outcome="ok", said=said if _WORD.search(said) else self._head())
        return Judgement(outcome="ok")

    def _head(self) -> str:
        """How a table whose ruler was the sign begins: with its columns' names. Its rows are nobody's business."""
        whole = all(words[:1] == ("head",) for words in self.invocation.filters)
        return _first_line(self.output) if whole else "an answer"

    def _arrived(self) -> bool:
        """Whether a program that carries another's output and exit code did its own part, whatever the other did."""
        if self.invocation.ran != "surely" or signs.asks(self.output):
            return False
        if self.code is not None and not (self.code and self.end.guessed):
            return self.code in self.call.exits
        told = re.search(r"\w", self.output) is not None and self._speaks_alone()
        return told and found(self.call.failed + self.call.denied, self.output) is None

    def _arrival(self) -> str:
        """How it shows that it got there, without what was printed there: that may be a file, a customer, a key."""
        if self.sign is not None:
            return signs.line_of(self.output, self.sign)
        return "an answer" if self.code is None else f"exit code {self.code}"

    def _speaks_alone(self) -> bool:
        """Whether all that the line printed came through this call."""
        return all(
            other.via or other.words in self.invocation.filters or (other.words[:1] and other.words[0] in _SAYS_NOTHING)
            for other in self.others
        )

    def _failure(self, *, passed: bool) -> str:
        """The line that tells of a failure; with `passed` mere complaints are not heard."""
        sign = found(self.failed, self.output)
        if sign is not None:
            return signs.line_of(self.output, sign)
        verb = self.call.verb
        if verb == "test":
            return signs.test_failure(self.output, passed=passed)
        if verb != "container" and signs.said_false(self.output):  # a container may print anything
            return "the answer says that it failed"
        if verb in ("build", "package") or self.call.runs:
            return signs.build_failure(self.output, passed=passed)
        return ""

    def _empty(self) -> str:
        """By which words it says that it did nothing, whatever the exit code: "no tests found" at 1 is no failure."""
        if self.skipped and self.sign is None:
            return "it skipped all its tests"
        empty = found(self.call.nothing, self.output)
        return "" if empty is None else f"it did nothing: {signs.line_of(self.output, empty)}"

    def _doubt(self) -> str:
        """Why a call without a failure shows nothing; '' when it shows success."""
        if self.sign is None:
            return self._silent_doubt()
        if self.call.runs and self.call.verb in ("build", "package") and self._only_checks():
            return "it only checks or prints"
        if self.code is None and self._selected():
            return "a filter may hide a failure"
        return ""

    def _selected(self) -> bool:
        """Whether lines that would tell of a failure may be left out of what is shown."""
        filters = [words for words in self.invocation.filters if words and not self._keeps_all(words)]
        searches = [words for words in filters if words[0] in _SEARCHES]
        if any(_inverted(words) and _tells_failures(words) for words in searches):
            return True
        others = [words for words in filters if words[0] not in _SEARCHES and words[0] not in _KEEPS_END]
        return self.call.piecewise and (
            bool(others) or not all(_inverted(words) or _tells_failures(words) for words in searches)
        )

    def _keeps_all(self, words: tuple[str, ...]) -> bool:
        """Whether a filter had nothing to leave out: fewer lines are shown than it lets through."""
        if words[0] not in ("head", "tail") or len(self.invocation.filters) > 1:
            return False
        number = next((match[1] for word in words[1:] if (match := _LINES.fullmatch(word))), "10")
        return self.output.strip("\n").count("\n") + 1 < int(number)

    def _silent_doubt(self) -> str:
        picks = {"auth": signs.picked, "deploy": signs.picked_address}.get(self.call.verb)
        if picks and self.call.success and picks(self.invocation.filters, self.output):
            return ""
        if signs.asks(self.output):
            return "it ended in a question that nobody answered"
        if self.call.verb == "test" and signs.no_tests(self.output):
            return "it found no tests"
        if not self.call.quiet:
            return "its output is not shown" if self.hidden else "its output shows no success"
        if self.code is None and not self.call.confirm:
            return "the line's exit code is not its own, and its output shows no success"
        if self.invocation.ran == "maybe" and "xargs" in self.invocation.wrappers:  # with nothing given it ran nothing
            return "nothing tells whether it ran"
        if self.end.cut:
            return "the output was cut before its end showed"
        if self.call.verb == "auth" and not self.output.strip():
            return "no data came back"
        if self.call.runs and self._only_checks():
            return "it only checks or prints"
        return ""

    def _only_checks(self) -> bool:
        """Whether all that a task says it runs are checks (`> tsc --noEmit`)."""
        told = [match[1] for match in _ECHOED.finditer(self.output[:4_000])]
        return bool(told) and all(
            all(_ONLY_CHECKS.match(part.strip()) for part in re.split(r"&&|;|\|\|", line)) for line in told
        )


def _own_code(invocation: Invocation, end: LineEnd) -> int | None:
    if invocation.code == "last":
        return end.code
    return 0 if invocation.code == "zero" and end.code == 0 else None


def _shown_later(invocation: Invocation, reading: Reading) -> bool:
    """Whether the line goes on to show the file that the output went to."""
    at = next((n for n, other in enumerate(reading.invocations) if other is invocation), -1)
    return any(other.words[:1] and other.words[0] in _SHOWS_FILES for other in reading.invocations[at + 1 :])


def _inverted(words: tuple[str, ...]) -> bool:
    return any(word == "--invert-match" or re.fullmatch(r"-[A-Za-z]*v[A-Za-z]*", word) for word in words[1:])


def _tells_failures(words: tuple[str, ...]) -> bool:
    """Whether a search is one for failures too (`grep -E "ok|FAIL"`)."""
    return _FAILURE_WORDS.search(" ".join(words[1:])) is not None


def _first_line(output: str) -> str:
    """The first line with a word."""
    return next((" ".join(x.split()).strip(" |│")[:300] for x in output[:2_000].split("\n") if _WORD.search(x)), "")


def _last_line(output: str) -> str:
    return " ".join(output.rstrip().rpartition("\n")[2].split())
