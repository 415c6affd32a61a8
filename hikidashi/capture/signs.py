"""Signs that outputs have whatever the tool: of shells, test runners, questions, hosts that cut.

The tools' own signs are rows of the tool table; what is here belongs to no tool, or to all of one verb.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "asks",
    "build_failure",
    "is_cut",
    "line_of",
    "no_tests",
    "picked",
    "picked_address",
    "said_false",
    "shell_refusal",
    "test_failure",
    "without_parts",
    "without_skipped",
]

#: What hosts put in the place of what they leave out.
_LEFT_OUT: Final = re.compile(
    r"\[(?:…|\.\.\.) ?[\d,]+ (?:characters|lines|chars)\b[^\]]*\]\s*\Z|\A\s*<persisted-output>"
)

_SHELL_REFUSAL: Final = re.compile(
    r"^(?:[\w./() -]{0,60}:(?: ?(?:line )?\d+:)? )?(?:command not found: |(?P<name>[^\s:]+): (?:command )?not found$)"
    r"|^.{0,80}: command not found"
    r"|^.{0,80}(?:syntax error near unexpected token|parse error near|unexpected EOF while looking for"
    r"|unmatched [\"'`]|no matches found: |bad substitution|syntax error: unexpected)"
    r"|is not recognized as (?:an internal or external command|the name of a cmdlet)"
    r"|^env: .{1,80}: No such file or directory"
    r"|^(?:service|Service) \"\S+\" is not running|^OCI runtime exec failed"  # docker compose exec, docker exec
    r"|^Error(?: response from daemon)?: (?:No such container|[Cc]ontainer \S+ is not running)"
    r"|^Error from server \(NotFound\): pods? \"",
    re.MULTILINE,
)

#: A question at the very end: nobody answered it.
_ASKS: Final = re.compile(
    r"(?:[\[(](?:y/n|yes/no|y/N|Y/n|yes/No|Yes/no)[\])]\s*[:?]?\s*\S{0,3}"
    r"|\b(?:continue|proceed|overwrite|are you sure|ok to proceed)\b[^.\n]{0,60}\?\s*"
    r"|^(?:[^\n]*\b)?(?:password|passphrase|username|otp|one-time code|verification code)[^\n:]{0,60}:\s*"
    r"|[●○◉◯] [^\n]{1,40} / [●○◉◯] [^\n]{1,40}"
    r"|^\? [^\n]{3,120}(?:›|»|>|\?|:)[^\n]{0,80})\s*\Z",
    re.MULTILINE | re.IGNORECASE,
)

#: The way to the values of an answer, by a name that a refusal has no value for, or to their number.
_PATH: Final = re.compile(
    r"\.[\w.\[\]-]*(?<![\w])"
    r"(?!(?:messages?|errors?|detail|status|code|success|ok|type|title|reason|documentation_url|request_id)\b)\w+"
    r"(?:\[\])?(?P<counts> ?\| ?length)?"
)
#: A line with a value, none of those that a refusal gives.
_VALUE: Final = re.compile(
    r"(?!null$|true$|false$|jq: |parse error|.*(?:unauthori[sz]ed|forbidden|invalid|denied|expired|error))"
    r"\S[^\n]{0,200}",
    re.IGNORECASE,
)

#: A line that only draws the frame of a question.
_FRAME: Final = re.compile(r"^[\s│├└┌─╰╭|]*$")

_NO_TESTS: Final = re.compile(
    r"no tests? (?:found|ran|run|were run|to run|files? found|collected|matched|specified)|no test (?:files|suites?) "
    r"|^collected 0 items|^(?:ran|running) 0 tests(?! *\n+running [1-9])|\b0 tests? (?:found|ran|collected)"
    r"|no test specified|No tests are available|no such test|Tests run: 0,[^\n]*\n(?!.*Tests run: [1-9])"
    r"|^0 examples",
    re.MULTILINE | re.IGNORECASE,
)

#: The part of a workspace whose line it is, as task runners put it in front: `[@shop/web]: `, `web:test: `,
#: `packages/web test: `.
_PART: Final = re.compile(
    r"^(?:\[[@\w/.-]{1,60}\]: ?|[@\w/.-]{1,60}:[a-z][\w:-]{0,40}: "
    r"|[@\w/.-]{1,60} (?:test|build|package|publish|deploy)[\w:-]{0,30}: )(?=[ \w✓✔✗✖#=])",
    re.MULTILINE,
)

#: A summary of a run in which every test was skipped, put off, or expected to fail.
_ALL_SKIPPED: Final = re.compile(
    r"^(?:=+ )?(?:[1-9]\d* (?:skipped|xfailed|xpassed|deselected|warnings?)(?:, )?)+ in [\d.:]+s.*"  # pytest
    r"|^Ran (?P<ran>\d+) tests? in [\d.]+s\s+OK \((?:skipped|expected failures)=(?P=ran)\)"  # unittest
    r"|^(?P<told>\d+) (?:tests?|examples?), 0 failures, (?P=told) (?:excluded|skipped|pending|invalid)\b.*"
    r"|^(?P<runs>\d+) (?:runs|tests), \d+ assertions, 0 failures, 0 errors, (?P=runs) skips.*"
    r"|^\s*(?:Tests|Test Files|Test Suites):? +(?:[1-9]\d* (?:skipped|todo|pending)(?:,? (?:\| )?)?)+"
    r"(?:\d+ total|\(\d+\)|\(0 assertions\)|$)"  # jest, vitest, pest
    r"|^(?:OK, but [^\n]*\n)?Tests: (?P<all>\d+), Assertions: \d+, (?:Skipped|Incomplete): (?P=all)\."
    r"|^\s*Executed (?P<cases>\d+) tests?, with (?P=cases) tests? skipped.*"
    r"|^test result: ok\. 0 passed; 0 failed.*"
    r"|^\s*(?:- )?[1-9]\d* (?:tests? )?(?:skipped|pending)$"
    r"|^ *0 pass\n(?:.*\n){0,4}?Ran \d+ tests? across.*"  # bun
    r"|^\s*(?:ok \| )?0 pass(?:ed|ing)?\b.*|^(?:[#ℹ] )pass 0$"
    r"|^[sx]+(?: +\[ *\d+%\])?$",
    re.MULTILINE,
)

#: A summary that counts failures: it holds whatever the exit code.
_TESTS_FAILED: Final = re.compile(
    r"(?<![\w.#,-])[1-9]\d*(?:,\d{3})* (?:tests? |specs? |suites? |examples? |scenarios? )?"
    r"(?:failed|failing|failures?|errored)\b"
    r"(?! (?:attempt|request|login|retr|as expected))"
    r"|\b(?:failed|failures|errors)[:=] *[1-9]\d*\b|^# fail(?:ed)? [1-9]|^not ok \d"
    r"|^(?:FAIL|FAILED|FAILURES!|ERRORS!)(?:\b|$)|^\s*--- FAIL|test result: FAILED|^=+ (?:FAILURES|ERRORS) ="
    r"|^(?:ERROR|FAILED) \S+(?:::|\.py|\.rb|\.ts|\.js)|ELIFECYCLE|^ImportError while loading|errors? during collection"
    r"|^(?:=+ )?[1-9]\d* errors? in \d|^(?=\S*[FE])[.sxXFE]{4,}(?:\s|$)|BUILD (?:FAILED|FAILURE)|\bTests? failed\b",
    re.MULTILINE,
)
#: What a failing run shows, and a passing one may log too.
_TESTS_COMPLAIN: Final = re.compile(
    r"^\s*(?:✗|✖|✘|❌|×|✕) |^E   |^npm (?:ERR!|error)|^(?:\s*)AssertionError|Traceback \(most recent call last\)"
    r"|error Command failed|^error: script \"|^error: |^Error: Cannot find module",
    re.MULTILINE,
)
#: A line about something that passed, whatever words its name holds.
_PASSED_LINE: Final = re.compile(r"^\s*(?:✓|✔|√|ok \d|PASS\b|--- PASS|test .{1,200} \.\.\. ok)|\bPASSED\b")

_BUILD_FAILED: Final = re.compile(
    r"\berror TS\d+|^error(?:\[\w+\])?: |Failed to compile|[Bb]uild failed|BUILD FAIL|ELIFECYCLE|^npm (?:ERR!|error) "
    r"|error Command failed|^error: script \"|^make(?:\[\d+\])?: \*\*\*|exited with (?:code |exit code:? )?[1-9]"
    r"|^FAILURE: |✖ [1-9]\d* problem|^\S{0,80}fatal error:|compilation terminated|^\S+:\d+:\d+: (?:fatal )?error:"
    r"|undefined reference to",
    re.MULTILINE,
)
_BUILD_COMPLAINS: Final = re.compile(
    r"^\s*(?:ERROR|Error)(?: in |:| \()|Traceback \(most recent call last\)|Module not found|^\s*✖ |^\[?error\]? ",
    re.MULTILINE,
)

_SAID_FALSE: Final = re.compile(
    r"\"(?:success|ok|successful)\"\s*:\s*false|\"(?:status|result)\"\s*:\s*\"(?:error|fail(?:ed|ure)?)\""
    r"|\A\s*\{\s*\"(?:error|errors)\"\s*:\s*(?!null|\[\]|\{\}|\"\")",
    re.IGNORECASE,
)


def is_cut(output: str) -> bool:
    """Whether the end of an output is not shown; what is left out of its middle hides no result."""
    return ("]" in output[-40:] or "<persisted" in output[:40]) and _LEFT_OUT.search(output) is not None


#: A word of each kind of line that the patterns above look for: most outputs have none.
_REFUSAL_WORDS: Final = (
    "not found", "syntax error", "parse error", "unexpected EOF", "unmatched", "no matches", "bad substitution",
    "not recognized", "No such file", "is not running", "exec failed", "No such container", "(NotFound): pod",
)  # fmt: skip


def shell_refusal(output: str) -> str:
    """The line by which a shell says that it ran nothing of a name; '' when none does."""
    if not any(word in output for word in _REFUSAL_WORDS):
        return ""
    match = _SHELL_REFUSAL.search(output)
    return line_of(output, match) if match else ""


def asks(output: str) -> bool:
    """Whether an output ends in a question to the person."""
    lines = output[-2_000:].rstrip().split("\n")
    while lines and _FRAME.match(lines[-1]):
        lines.pop()
    end = "\n".join(lines[-3:])
    return _ASKS.search(end) is not None


def picked(filters: tuple[tuple[str, ...], ...], output: str) -> bool:
    """Whether all that `jq` was to pick out of an answer (`jq -r .login`) was there; of a refusal it picks `null`."""
    if len(filters) != 1 or filters[0][:1] != ("jq",):
        return False
    asked = [word for word in filters[0][1:] if word[:1] != "-"]
    path = _PATH.fullmatch(asked[0]) if len(asked) == 1 else None
    if path is None:
        return False
    lines = output.strip().split("\n")
    if path["counts"]:  # of nothing it counts 0
        return re.fullmatch(r"[1-9]\d*", lines[0]) is not None and len(lines) == 1
    return all(_VALUE.fullmatch(line) for line in lines)


def picked_address(filters: tuple[tuple[str, ...], ...], output: str) -> bool:
    """Whether `jq` picked the address out of an answer (`jq -r .deploy_url`)."""
    return picked(filters, output) and re.fullmatch(r"\"?https://\S+", output.strip()) is not None


def no_tests(output: str) -> bool:
    """Whether a test runner says that it found nothing to run."""
    return _NO_TESTS.search(output) is not None


def without_skipped(output: str) -> str:
    """An output without the summaries of runs in which no test ran to its end: they say OK of nothing."""
    return _ALL_SKIPPED.sub("", output)


def without_parts(output: str) -> str:
    """An output of a task runner without the names of a workspace's parts in front of its lines."""
    return _PART.sub("", output)


def test_failure(output: str, *, passed: bool) -> str:
    """A line that says that a test failed; '' when none does.

    With `passed` (the exit code and a summary say so) only counts of failures are heard: a passing test may log
    an error.
    """
    for match in _TESTS_FAILED.finditer(output):
        told = line_of(output, match)
        if not _PASSED_LINE.search(told):
            return told
    complaint = None if passed else _TESTS_COMPLAIN.search(output)
    return line_of(output, complaint) if complaint else ""


def build_failure(output: str, *, passed: bool) -> str:
    """A line that says that a build failed; '' when none does. `passed` as in `test_failure`."""
    match = _BUILD_FAILED.search(output) or (None if passed else _BUILD_COMPLAINS.search(output))
    return line_of(output, match) if match else ""


def said_false(output: str) -> bool:
    """Whether an answer in JSON says that it failed."""
    start = output.lstrip()[:1]
    return start in ("{", "[") and _SAID_FALSE.search(output) is not None


def line_of(text: str, match: re.Match[str]) -> str:
    """The line of `text` that a match is about, whole (a half secret is none to the redaction), without its frame."""
    found = match.group()
    at = match.start() + len(found) - len(found.lstrip())
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    return " ".join(text[start : end if end >= 0 else len(text)].split()).strip(" =-─━*│|")
