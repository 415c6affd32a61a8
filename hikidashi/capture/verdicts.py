"""How a command ended, judged by exit code and output, and the line that says so.

Hosts differ in what they record (older ones no exit code), and a filter behind a pipe hides a failure. So a
verdict is `passed` or `failed` only when something says it; all else is `unknown` and counts as neither.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from hikidashi.capture.families import Family
from hikidashi.capture.vocabulary import contains_any
from hikidashi.hosts.transcript import Event
from hikidashi.redact import redact

__all__ = ["Verdict", "error_line", "judge", "pass_line", "signature", "visible"]

Verdict = Literal["passed", "failed", "unknown"]

#: Characters looked at from both ends of an output.
_HEAD: Final = 6_000
_TAIL: Final = 6_000

_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")

_EXIT: Final = re.compile(r"\A(?:Error: )?Exit code \d+\n?")

_TESTS_PASSED: Final = re.compile(
    r"\b[1-9]\d* (?:tests? )?(?:passed|passing|pass)\b|^ok\s+\S|test result: ok|\ball (?:\d+ )?tests? pass(?:ed)?\b"
    r"|^OK(?: \(|$)|BUILD SUCCESS|^PASS\b|\b0 fail(?:ed|ures?)?\b|Test Suites:.* passed|no issues found|\d+"
    r" examples?, 0 failures",
    re.MULTILINE | re.IGNORECASE,
)
_TESTS_FAILED: Final = re.compile(
    r"\b[1-9]\d* (?:tests? )?(?:failed|failing|fail)\b|\b[1-9]\d* (?:failures?|errors?)\b|^FAIL\b|--- FAIL|test"
    r" result: FAILED"
    r"|^FAILED|BUILD FAILED|^E   |Traceback \(most recent|npm ERR!|ELIFECYCLE|exited with code [1-9]|command not"
    r" found"
    r"|error: script |\bexit (?:status|code):? [1-9]",
    re.MULTILINE,
)
_NO_TESTS: Final = re.compile(
    r"no tests? (?:found|ran|to run|files?)|0 tests? (?:found|ran)|\[no test files\]|collected 0 items|no test suite",
    re.IGNORECASE,
)
_BUILD_FAILED: Final = re.compile(
    r"^.{0,80}\berror(?:\[\w+\]|:| TS\d+)|Failed to compile|BUILD FAILED|npm ERR!|ELIFECYCLE|Build failed|command"
    r" not found"
    r"|Traceback \(most recent|^make(?:\[\d+\])?: \*\*\*|exited with code [1-9]|✖ [1-9]\d* problem",
    re.MULTILINE,
)

_ERROR: Final = re.compile(
    r"\b(?:error|err!|failed|failure|fatal|exception|panic|cannot|can't|could not|couldn't|not found|no such"
    r"|denied|undefined"
    r"|unexpected|invalid|refused|timed? ?out|unable|missing|unresolved|unknown|not recognized|does not exist|is"
    r" not|rejected|FAIL)\b"
    r"|✖|✕|✗|❌|(?:Error|Exception)\b",
    re.IGNORECASE,
)
_NOT_AN_ERROR: Final = re.compile(
    r"\b(?:0|no) (?:errors?|failures?|failed)\b|^\s*(?:\d+ )?warnings?\b|\bwarn(?:ing)?:|exit code \d+|^\s*at |^>"
    r" |deprecated|^\$ "
    r"|^=+|^-+$|npm (?:error|ERR!) (?:code|A complete log|path|command|errno)|^\+|ELIFECYCLE|^\s*$",
    re.IGNORECASE,
)

#: `file:line: message` of compilers and linters.
_COMPILER: Final = re.compile(r"^\S{1,200}(?::\d+(?::\d+)?:? |\(\d+,\d+\): )\S", re.MULTILINE)

#: Lines that say that something failed, not what.
_GENERIC: Final = re.compile(
    r"^\W*(?:\[[\w:-]+\] )?(?:failed to compile|build failed|tests? failed|error task failed|command failed"
    r"|compilation failed|errors?|failed|fail"
    r"|error: (?:script|command|process|task|build|lint|test)\b.*(?:exit|failed).*|failures?|(?:found )?\d+"
    r" (?:errors?|failed|failures?|problems?|issues?)\b.*"
    r"|failed \(.*\).*|error occurred.*|exit status \d+|.*exited with (?:exit )?(?:code|status) \d+.*|.*returned"
    r" non-zero exit status.*"
    r"|checking validity of types.*|linting.*|running .*|fail\s+\S+\s+[\d.]+s|\S+::\S+ (?:failed|error).*|test"
    r" session starts|short test summary.*|captured (?:stdout|stderr|log).*|nested?|at line.*)\W*$",
    re.IGNORECASE,
)

#: The line that a report draws before and behind a heading: `____ ERROR at setup of test_x ____`.
_RULED: Final = re.compile(r"^[_=*-]{3,}\s+|\s+[_=*-]{3,}$")

#: Characters of an error line that tell it from others; the search for folders is quadratic in a word's length.
_SIGNED: Final = 1_000
_NUMBER: Final = re.compile(r"\d+")
_HEX: Final = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,}\b")
_FOLDERS: Final = re.compile(r"(?:[\w.~@+-]*/)+([\w.@+-]+)")


def visible(text: str) -> str:
    """Both ends of an output as a person sees them: no colour codes, no progress lines, no exit-code line."""
    if len(text) > _HEAD + _TAIL:
        text = text[:_HEAD] + "\n" + text[-_TAIL:]
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n"))
    return _EXIT.sub("", text, count=1)


#: Where `_TESTS_PASSED` matches, the line has one of these, in small letters; `^ok` is looked for on its own.
_PASS_MARKS: Final = ("pass", "build success", "0 fail", "no issues found")
_FAIL_MARKS: Final = (
    " fail", " error", "FAIL", "\nE   ", "Traceback (most recent", "npm ERR!", "ELIFECYCLE", "exited with code ",
    "command not found", "error: script ", "exit status", "exit code",
)  # fmt: skip
_NO_TEST_MARKS: Final = ("no test", "0 test", "collected 0 items")
_BUILD_MARKS: Final = (
    "error", "Failed to compile", "BUILD FAILED", "npm ERR!", "ELIFECYCLE", "Build failed", "command not found",
    "Traceback (most recent", "make", "exited with code ", "✖",
)  # fmt: skip
_ERROR_MARKS: Final = (
    "err", "fail", "fatal", "exception", "panic", "cannot", "can't", "could", "no such", "not", "denied", "undefined",
    "unexpected", "invalid", "refused", "time", "unable", "missing", "unresolved", "unknown", "rejected",
    "✖", "✕", "✗", "❌",
)  # fmt: skip


def _on_line(pattern: re.Pattern[str], text: str, marked: str, marks: tuple[str, ...]) -> bool:
    """Whether `pattern`, which matches only on lines with one of the marks, is in `text`.

    The marks are looked for in `marked`, which is `text` or its small letters: a search for a word is fifty times
    as fast as one for many alternatives, and most outputs are long and have none of them.
    """
    if len(marked) != len(text):  # a letter that becomes two when it is small
        return pattern.search(text) is not None
    for mark in marks:
        place = 0 if mark[0] == "\n" and marked.startswith(mark[1:]) else marked.find(mark)
        while place >= 0:
            start = place + 1 if marked[place] == "\n" else marked.rfind("\n", 0, place) + 1
            end = marked.find("\n", start)
            end = len(text) if end < 0 else end
            if pattern.search(text, start, end):
                return True
            place = marked.find(mark, end)
    return False


def _says_passed(output: str) -> bool:
    low = output.lower()
    if _on_line(_TESTS_PASSED, output, low, _PASS_MARKS):
        return True
    return (low.startswith("ok") or "\nok" in low) and _TESTS_PASSED.search(output) is not None


def _says_no_tests(output: str) -> bool:
    return contains_any(output.lower(), _NO_TEST_MARKS) and _NO_TESTS.search(output) is not None


def judge(event: Event, family: Family, counts: bool, output: str) -> Verdict:
    """The verdict on a call of `family`; `counts`: the exit code is the command's; `output`: from `visible`."""
    if event.refused or event.interrupted or event.background or "timed out after" in output[:40]:
        return "unknown"
    if event.outcome == "unknown" and event.exit_code is None:
        return "unknown"
    failed = event.outcome == "failed" or (event.exit_code or 0) != 0
    if family == "test":
        return _judge_tests(failed, counts, output)
    if failed:
        return "failed"
    if family in ("build", "lint", "migrate", "deploy", "publish"):
        if _on_line(_BUILD_FAILED, output, output, _BUILD_MARKS) and not (counts and family == "lint"):
            return "failed" if not counts else "unknown"
        return "passed" if counts else "unknown"
    if family == "push":
        return "passed" if "->" in output and "rejected]" not in output else "unknown"
    return "passed" if counts else "unknown"


def _judge_tests(failed: bool, counts: bool, output: str) -> Verdict:
    if len(output) > 3_000:  # the summary stands at the end
        output = output[:500] + "\n" + output[-2_500:]
    if _says_no_tests(output) and not _says_passed(output):
        return "unknown"
    if failed:
        return "failed"
    if _on_line(_TESTS_FAILED, output, output, _FAIL_MARKS):
        return "unknown" if counts else "failed"
    if counts or _says_passed(output):
        return "passed"
    return "unknown"


def error_line(output: str) -> str:
    """The first line of an output that says what went wrong; '' when none does (`Build failed` says nothing)."""
    lines = output.split("\n")
    if "Traceback (most recent" in output:
        trace = next((n for n, line in enumerate(lines) if line.startswith("Traceback (most recent")), len(lines))
        for line in lines[trace + 1 :]:
            if line and not line[0].isspace():
                return line.strip()
    if output.startswith("E   ") or "\nE   " in output:
        return next(line.strip() for line in lines if line.startswith("E   "))
    for line in lines:
        if contains_any(line.lower(), _ERROR_MARKS) and _ERROR.search(line):
            told = line.strip()
            if len(told) < 600 and not _NOT_AN_ERROR.search(told) and not _GENERIC.match(told):
                return _RULED.sub("", told)
    place = _COMPILER.search(output)
    if place is None:
        return ""
    return output[place.start() : (output + "\n").index("\n", place.end())].strip()[:600]


def pass_line(output: str) -> str:
    """The line of an output that says that it passed, redacted before it is cut; '' when none does."""
    for line in reversed(output[-3_000:].split("\n")):
        if _says_passed(line):
            return redact(line).strip(" =-─━*\t")[:200]
    return ""


def signature(line: str) -> str:
    """An error line without what changes from run to run: folders, numbers, hashes, case."""
    text = _FOLDERS.sub(r"\1", line[:_SIGNED].lower())
    text = _HEX.sub("#", text)
    return " ".join(_NUMBER.sub("#", text).split())[:200]
