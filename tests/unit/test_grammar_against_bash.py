"""What the grammar says of random lines is held against what bash does with them.

Each program of a line is `p NUMBER CODE`, which notes that it ran and ends with that code.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from hikidashi.capture.grammar import Invocation, read_line

_BASH = shutil.which("bash")

pytestmark = pytest.mark.skipif(_BASH is None, reason="needs bash")

#: Defines `p`, here and in every bash below; the reader does not see it.
_PRELUDE = 'p() { echo "$1" >> "$LOG"; return "$2"; }; export -f p; export LOG\n'

_FILTERS = ("tail -2", "cat", "grep -q zzz", "tee /dev/null")
_ENDINGS = ("true", "false", "exit 1", "exit", "exit $?", "exit 0", "{ exit; }")


class _Lines:
    """Writes random lines."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.programs = 0

    def program(self) -> str:
        self.programs += 1
        redirect = self.random.choice(("", "", "", " > /dev/null", " 2>&1", " >&2"))
        return f"p {self.programs} {self.random.choice((0, 0, 0, 0, 1, 2))}{redirect}"

    def script(self, depth: int, statements: int = 3) -> str:
        count = self.random.randint(1, statements)
        return "".join(self.statement(depth) + self.random.choice(("; ", "\n")) for _ in range(count))[:-1].rstrip(";")

    def statement(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.1:
            return self.random.choice(("set -e", "set -o pipefail", "set -euo pipefail"))
        if kind < 0.13:
            return self.random.choice(("exit 0", "exit 1", "exit $?"))
        if kind < 0.16:
            return f"{self.command(depth)}; rc=$?; {self.command(depth)}; exit $rc"
        if kind < 0.18:
            return f"{self.command(depth)} | tail -1; exit ${{PIPESTATUS[0]}}"
        line = self.pipeline(depth)
        while self.random.random() < 0.45:
            ending = self.random.choice(_ENDINGS) if self.random.random() < 0.2 else self.pipeline(depth)
            line += f" {self.random.choice(('&&', '&&', '||'))} {ending}"
        return line

    def pipeline(self, depth: int) -> str:
        line = ("! " if self.random.random() < 0.07 else "") + self.command(depth)
        while self.random.random() < 0.2:
            line += " | " + self.random.choice((self.command(depth), *_FILTERS))
        return line

    def command(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.program()
        inside, other = self.script(depth - 1), self.script(depth - 1, 1)
        choices = [
            f"( {inside} )",
            f"{{ {inside}; }}",
            f"if {other}; then {inside}; else {self.script(depth - 1)}; fi",
            f"for i in 1 2; do {inside}; done",
            f"case a in a) {inside};; *) {other};; esac",
            f"x=$({inside})",
            f'echo "$({inside})"',
            f"while {self.program()}; do {inside}; break; done",
            f"f{self.programs}() {{ {inside}; }}; f{self.programs}",
            f"[ a = {self.random.choice('ab')} ]",
        ]
        if "'" not in inside:
            choices += [f"bash -c '{inside}'", f"bash -eo pipefail -c '{inside}'"]
        if "'" not in inside and "set" not in inside:
            choices.append(f"eval '{inside}'")
        if "EOF" not in inside:
            choices += [f"bash <<'EOF'\n{inside}\nEOF\n", f"bash <<EOF\n{inside}\nEOF\n"]
        return self.random.choice(choices)


def _untrue(invocation: Invocation, ran: set[str], ended: int) -> str:
    """What the reader said of a program that did not hold; '' when all did."""
    number, code = invocation.words[1], int(invocation.words[2])
    if invocation.ran == "surely" and number not in ran:
        return "said to run surely, did not"
    if invocation.code in ("zero", "last") and ended == 0 and (number not in ran or code != 0):
        return f"said {invocation.code}, and the line ended with 0"
    if invocation.code == "last" and number in ran and code != ended:
        return f"said last, ended with {code}, the line with {ended}"
    return ""


def _mistakes(line: str, log: Path) -> list[str] | None:
    """What the reader said of a line that bash does not confirm; None for a line that bash or the reader refuses."""
    assert _BASH is not None
    log.write_text("")
    reading = read_line(line)
    done = subprocess.run(
        [_BASH, "--norc", "-c", _PRELUDE + line],
        env={"LOG": str(log), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=20,
        check=False,
    )
    if reading.broken or b"syntax error" in done.stderr:
        return None
    ran = set(log.read_text().split())
    programs = [one for one in reading.invocations if one.words[0] == "p"]
    found = [f"p {one.words[1]}: {untrue}" for one in programs if (untrue := _untrue(one, ran, done.returncode))]
    unseen = ran - {one.words[1] for one in programs}
    return found + [f"p {number}: ran, was not seen" for number in sorted(unseen)]


def _hold(seeds: range, log: Path) -> None:
    taken = proven = 0
    for seed in seeds:
        lines = _Lines(seed)
        line = lines.script(lines.random.choice((0, 1, 1, 2)))
        mistakes = _mistakes(line, log)
        assert not mistakes, f"seed {seed}\n{line}\n{mistakes}"
        taken += mistakes is not None
        proven += sum(one.code != "unknown" for one in read_line(line).invocations if one.words[0] == "p")
    assert taken > len(seeds) * 0.7
    assert proven > taken * 0.5  # to say nothing would hold too


def test_what_is_said_of_a_line_holds_in_bash(tmp_path: Path) -> None:
    _hold(range(150), tmp_path / "log")


@pytest.mark.slow
def test_what_is_said_of_many_lines_holds_in_bash(tmp_path: Path) -> None:
    _hold(range(1_000, 6_000), tmp_path / "log")
