"""Whether a command passed, and the line that says what went wrong."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.capture import verdicts
from hikidashi.capture.families import Family
from hikidashi.capture.verdicts import error_line, judge, pass_line, signature, visible
from hikidashi.hosts.transcript import Event


def ended(output: str, **fields: Any) -> Event:
    values: dict[str, Any] = {"outcome": "ok", **fields}
    return Event(kind="tool_result", line=1, uuid="u", at="", session_id="s", role="tool", text=output, **values)


VERDICTS: list[tuple[Family, bool, str, dict[str, Any], str]] = [
    ("test", True, "12 passed in 0.3s", {}, "passed"),
    ("test", True, "1 failed, 11 passed", {"outcome": "failed", "exit_code": 1}, "failed"),
    ("test", False, "2 failed, 10 passed", {}, "failed"),  # `| tail` hid the exit code
    ("test", False, "ok  \texample.org/pay\t0.2s", {}, "passed"),
    ("test", False, "some output without a summary", {}, "unknown"),
    ("test", True, "no tests ran in 0.01s", {}, "unknown"),
    ("test", True, "No tests found, exiting with code 0", {}, "unknown"),
    ("test", True, "--- FAIL: TestPay (0.0s)", {}, "unknown"),  # FAIL text at exit 0
    ("build", True, "compiled", {}, "passed"),
    ("build", False, "Failed to compile.", {}, "failed"),
    ("build", False, "whatever", {}, "unknown"),
    ("build", True, "", {"outcome": "failed"}, "failed"),
    ("push", True, "To example.org:a/b\n   1a2b3c4..5d6e7f8  main -> main", {}, "passed"),
    ("push", True, "Everything up-to-date", {}, "unknown"),
    ("deploy", True, "started", {"outcome": "unknown", "background": True}, "unknown"),
    ("test", True, "", {"outcome": "failed", "refused": True}, "unknown"),
    ("test", True, "", {"outcome": "failed", "interrupted": True}, "unknown"),
    ("test", True, "Command timed out after 2m 0.0s 3 failed", {"outcome": "failed"}, "unknown"),
]


@pytest.mark.parametrize(("family", "counts", "output", "fields", "verdict"), VERDICTS)
def test_a_verdict_needs_something_that_says_it(
    family: Family, counts: bool, output: str, fields: dict[str, Any], verdict: str
) -> None:
    assert judge(ended(output, **fields), family, counts, visible(output)) == verdict


@pytest.mark.parametrize(("output", "line"), [
    ("> next build\n\nFailed to compile.\n\n./src/a.ts\nModule not found: Can't resolve 'left-pad'",
     "Module not found: Can't resolve 'left-pad'"),
    ("Traceback (most recent call last):\n  File \"a.py\", line 1\n    x\nKeyError: 'DATABASE_URL'\n",
     "KeyError: 'DATABASE_URL'"),
    ("collected 2 items\na.py F.\n____ test_a ____\nE   redis.ConnectionError: refused\n1 failed",
     "E   redis.ConnectionError: refused"),
    ("pkg/pay.go:12:3: ineffectual assignment to total (ineffassign)\n1 issues",
     "pkg/pay.go:12:3: ineffectual assignment to total (ineffassign)"),
    ("_____ ERROR at setup of test_a _____\nfixture 'cart' came too late", "ERROR at setup of test_a"),
    ("all good\n0 errors", ""),
    ("[lint] ERROR task failed", ""),
    ("", ""),
])  # fmt: skip
def test_the_error_line_says_what_went_wrong_or_is_empty(output: str, line: str) -> None:
    assert error_line(output) == line


def test_two_runs_of_one_error_have_one_signature() -> None:
    first = signature("/home/ann/shop/src/pay.py:12: ValueError: bad id 7f3a9c2b11 at 10:31:02")
    second = signature("/home/bob/work/src/pay.py:14: ValueError: bad id 99aa0b1c22 at 11:00:00")
    assert first == second
    assert signature("ValueError: bad id") != signature("KeyError: bad id")


def test_colours_and_progress_lines_are_not_seen() -> None:
    assert visible("\x1b[31mError: no\x1b[0m\n10%\r20%\rdone") == "Error: no\ndone"
    assert visible("Exit code 2\nboom") == "boom"


def test_the_pass_line_is_the_last_that_says_so() -> None:
    assert pass_line("3 passed\nmore\n===== 12 passed in 0.3s =====\nbye") == "12 passed in 0.3s"
    assert pass_line("nothing") == ""


PIECES = (
    "12 passed", "5 tests failed", "3 failures", "FAIL", "FAILED", "ok", "OK", "OK (", "ok  \tpay", "PASS", "0 fail",
    "all 3 tests passed", "Test Suites: 2 passed", "BUILD SUCCESS", "E   ", "exit code: 1", "exited with code 2",
    "src/a.ts error TS2322", "make[1]: ***", "✖ 3 problems", "error: script ", "no issues found", "İ", "look", " ",
    "\n", "\n", "\n",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_looking_for_words_first_finds_what_the_search_alone_finds(output: str) -> None:
    found = verdicts._on_line(verdicts._TESTS_FAILED, output, output, verdicts._FAIL_MARKS)
    assert found == bool(verdicts._TESTS_FAILED.search(output))
    found = verdicts._on_line(verdicts._BUILD_FAILED, output, output, verdicts._BUILD_MARKS)
    assert found == bool(verdicts._BUILD_FAILED.search(output))
    assert verdicts._says_passed(output) == bool(verdicts._TESTS_PASSED.search(output))
    assert verdicts._says_no_tests(output) == bool(verdicts._NO_TESTS.search(output))
