"""A shell line is taken apart as the shell would, and says of each program only what its end proves."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from hikidashi.capture.grammar import Invocation, read_line


def _brief(invocation: Invocation) -> str:
    """`zero?: make all`: the code, `?` for maybe, what is not usual about it, and the words."""
    mark = invocation.code + ("?" if invocation.ran == "maybe" else "")
    if invocation.output != "shown":
        mark += f" {invocation.output}"
    for name in ("background", "negated"):
        if getattr(invocation, name):
            mark += f" {name}"
    return f"{mark}: {shlex.join(invocation.words)}"


def _read(line: str) -> list[str]:
    reading = read_line(line)
    assert not reading.broken, line
    return [_brief(invocation) for invocation in reading.invocations]


#: Line -> its programs.
ENDS = {
    "make all": ["last: make all"],
    "": [],
    "# only a word": [],
    "A=1": [],
    "cd web && npm test": ["zero: cd web", "last: npm test"],
    "npm run build && npm test": ["zero: npm run build", "last?: npm test"],
    "a; b": ["unknown: a", "last: b"],
    "a\nb": ["unknown: a", "last: b"],
    "a || b": ["unknown: a", "unknown?: b"],
    "a || true": ["unknown: a", "unknown?: true"],
    "a && b || c": ["unknown: a", "unknown?: b", "unknown?: c"],
    "a && echo OK || echo FAIL": ["unknown: a", "unknown?: echo OK", "unknown?: echo FAIL"],
    "a || exit 1": ["zero: a", "unknown?: exit 1"],
    "a || { echo no; exit 1; }\nb": ["zero: a", "unknown?: echo no", "unknown?: exit 1", "last?: b"],
    "cd x || exit 1; b": ["zero: cd x", "unknown?: exit 1", "last: b"],
    "a; echo $?": ["unknown: a", "last: echo '$?'"],
    'a; echo "exit: $?"': ["unknown: a", "last: echo 'exit: $?'"],
    "a; exit 0": ["unknown: a", "unknown: exit 0"],
    "a; exit $?": ["last: a", "unknown: exit '$?'"],
    "a; rc=$?; tail log; exit $rc": ["last: a", "unknown: tail log", "unknown: exit '$rc'"],
    "set -e; a; b": ["unknown: set -e", "zero: a", "last?: b"],
    "set -e\na && b\nc": ["unknown: set -e", "unknown: a", "unknown?: b", "last?: c"],
    "a | tail -3": ["unknown filtered: a", "last: tail -3"],
    "set -o pipefail; a | tail -3": ["unknown: set -o pipefail", "last filtered: a", "zero: tail -3"],
    "set -o pipefail; a | grep x": ["unknown: set -o pipefail", "zero filtered: a", "zero: grep x"],
    "a 2>&1 | tee log": ["unknown: a", "last: tee log"],
    "a | grep -q x": ["unknown gone: a", "last: grep -q x"],
    "! a": ["unknown negated: a"],
    "a &": ["unknown background: a"],
    "nohup a > log 2>&1 &": ["unknown gone background: a"],
    "a & b": ["unknown background: a", "last: b"],
    "( a; b )": ["unknown: a", "last: b"],
    "{ a; b; } > log": ["unknown gone: a", "last gone: b"],
    "f() { a; }": [],
    "f() { a; }; f": ["last: f", "unknown?: a"],
    "if a; then b; else c; fi": ["unknown: a", "unknown?: b", "unknown?: c"],
    "for x in 1 2; do a; done": ["unknown?: a"],
    "while a; do b; done": ["unknown: a", "unknown?: b"],
    "case $x in y) a;; *) b;; esac": ["unknown?: a", "unknown?: b"],
    "test -f x || a": ["unknown: test -f x", "unknown?: a"],
    "[ -f x ] && a": ["last?: a"],
    "x=$(a) && b": ["zero gone: a", "last?: b"],
    "echo $(a)": ["unknown gone: a", "last: echo '$(a)'"],
    "diff <(a) <(b)": ["unknown gone: a", "unknown gone: b", "last: diff '<(a)' '<(b)'"],
    "a > f": ["last gone: a"],
    "a >/dev/null 2>&1": ["last gone: a"],
    "a 2>/dev/null": ["last: a"],
    "a &> f": ["last gone: a"],
    "a >&2": ["last: a"],
    "trap 'rm x' EXIT; a": ["unknown: trap 'rm x' EXIT", "last: a"],
    "arr=(a b); ((x = 1)); a": ["last: a"],
}


@pytest.mark.parametrize("line", ENDS)
def test_what_the_end_of_a_line_proves(line: str) -> None:
    assert _read(line) == ENDS[line]


#: Line, the place of one of its invocations, and what must hold of that.
DETAILS: list[tuple[str, int, dict[str, Any]]] = [
    ("sudo -u web env A=b npx --yes wrangler@3 deploy", 0, {
        "words": ("wrangler", "deploy"), "wrappers": ("sudo", "env", "npx"), "environ": {"A": "b"},
    }),
    ("psql shop <<EOF\nselect 1;\nEOF", 0, {"words": ("psql", "shop"), "stdin": "select 1;\n"}),
    ("echo 'select 1' | psql shop", 1, {"words": ("psql", "shop"), "stdin": "select 1\n"}),
    ("psql shop <<< 'select 1'", 0, {"stdin": "select 1"}),
    ("ssh -p 2222 ops@web1 'cd /srv; make'", 2, {
        "words": ("make",), "host": "ops@web1", "via": "ssh", "folder": "/srv", "code": "last", "ran": "maybe",
    }),
    ("docker compose exec -T db psql -c 'select 1'", 1, {
        "words": ("psql", "-c", "select 1"), "host": "db", "via": "container",
    }),
    ("docker compose run --rm -e CI=1 api pytest -q", 1, {"words": ("pytest", "-q"), "host": "api"}),
    ("coverage run --branch -m pytest -q", 0, {"words": ("pytest", "-q"), "wrappers": ("coverage run",)}),
    ("npx c8 -r text mocha", 0, {"words": ("mocha",), "wrappers": ("npx", "c8")}),
    ("kubectl exec -it web-1 -n shop -- sh -c 'ls /srv'", 2, {"words": ("ls", "/srv"), "host": "web-1"}),
    ("(cd a && b); c", 2, {"folder": ""}),
    ("a | head -2 | wc -l", 0, {"filters": (("head", "-2"), ("wc", "-l"))}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "place", "holds"), DETAILS)
def test_what_is_known_of_one_call(line: str, place: int, holds: dict[str, Any]) -> None:
    invocation = read_line(line).invocations[place]
    assert {name: getattr(invocation, name) for name in holds} == holds


def test_a_heredoc_that_only_writes_a_script_runs_nothing_of_it() -> None:
    assert _read("cat > run.sh <<'EOF' && chmod +x run.sh\nmake deploy\nEOF\n") == [
        "zero gone: cat",
        "last?: chmod +x run.sh",
    ]


@pytest.mark.parametrize("line", ["make && ./till", 'cd app && "$tool" build', "make & ./watch", "make |& ./filter"])
def test_a_program_behind_two_ampersands_makes_no_line_of_powershell(line: str) -> None:
    assert read_line(line).dialect == "sh"


@pytest.mark.parametrize("line", ['& "C:/tools/till.exe" build', "cd app; & ./build.ps1"])
def test_the_call_operator_makes_one(line: str) -> None:
    assert read_line(line).dialect == "powershell"
