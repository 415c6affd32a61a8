"""A shell line is taken apart as the shell would, and says of each program only what its end proves."""

from __future__ import annotations

import shlex
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hikidashi.capture.grammar import MAX_PARSED, Invocation, Reading, read_line
from tests.support.commands import Commands
from tests.support.examples import examples


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
    ("cd 'my app' && cd src; make", 2, {"folder": "my app/src"}),
    ("cd /srv/a && cd .. && make", 2, {"folder": "/srv"}),
    ("cd a; cd -; make", 2, {"folder": ""}),
    ("cd; make", 1, {"folder": "~"}),
    ("pushd a && make && popd && ls", 1, {"folder": "a"}),
    ("pushd a && make && popd && ls", 3, {"folder": ""}),
    ("(cd a && b); c", 1, {"folder": "a"}),
    ("(cd a && b); c", 2, {"folder": ""}),
    ("cd $(git rev-parse --show-toplevel) && make", 2, {"folder": "$(git rev-parse --show-toplevel)"}),
    ("A=1 B='x y' make -s", 0, {"words": ("make", "-s"), "environ": {"A": "1", "B": "x y"}}),
    ("export STAGE=live; make", 1, {"environ": {"STAGE": "live"}}),
    ("STAGE=live; make", 0, {"environ": {}}),
    ("export A=1 && unset A && make", 2, {"environ": {}}),
    ("B=till-web; aws s3 sync out s3://$B/${B}.d", 0, {"words": ("aws", "s3", "sync", "out", "s3://till-web/till-web.d")}),
    ("OPTS='-a -b'; make $OPTS \"$OPTS\"", 0, {"words": ("make", "-a", "-b", "-a -b")}),
    ("B=$(date); make $B", 1, {"words": ("make", "$B")}),
    ("for B in 1 2; do make $B; done", 0, {"words": ("make", "$B")}),
    ("make $HOME \"$HOME/x\" '$HOME'", 0, {"words": ("make", "$HOME", "$HOME/x", "$HOME")}),
    ("a \"it's\" 'a \"b\"' c\\ d e\"f\"'g' $'h\\ni' \"\\$x\"", 0, {
        "words": ("a", "it's", 'a "b"', "c d", "efg", "h\ni", "$x"),
    }),
    ("make \\\n  --jobs 2 \\\n  all # not; this", 0, {"words": ("make", "--jobs", "2", "all"), "code": "last"}),
    ("arr=(a b); make ${arr[@]} $((1 + 2)) x{1,2}", 0, {"words": ("make", "${arr[@]}", "$((1 + 2))", "x{1,2}")}),
    ("/usr/local/bin/till --x", 0, {"words": ("till", "--x")}),
    ("./scripts/deploy.sh live", 0, {"words": ("deploy.sh", "live")}),
    # what is fed
    ("psql shop <<EOF\nselect 1;\nEOF", 0, {"words": ("psql", "shop"), "stdin": "select 1;\n"}),
    ("T=till; psql <<EOF\nselect \\$1 from $T\nEOF", 0, {"stdin": "select $1 from till\n"}),
    ("psql <<'EOF'\nselect $1\nEOF", 0, {"stdin": "select $1\n"}),
    ("psql <<-EOF\n\tselect 1\n\tEOF\n", 0, {"stdin": "select 1\n"}),
    ("psql -h db <<EOF -U till 2>&1 | tail -1\nselect 1\nEOF", 0, {
        "words": ("psql", "-h", "db", "-U", "till"), "stdin": "select 1\n", "filters": (("tail", "-1"),),
    }),
    ("python3 - <<'PY'\nprint('a; b')\nPY", 0, {"words": ("python3", "-"), "stdin": "print('a; b')\n"}),
    ("psql shop <<< 'select 1'", 0, {"stdin": "select 1"}),
    ("echo 'select 1' | psql shop", 1, {"words": ("psql", "shop"), "stdin": "select 1\n"}),
    ("printf 'a\\nb\\n' | sort", 1, {"stdin": "a\nb\n"}),
    ("cat <<EOF | psql\nselect 1\nEOF", 1, {"stdin": "select 1\n"}),
    ("cat dump.sql | psql", 1, {"stdin": None}),
    ("git commit -m \"$(cat <<'EOF'\nMend `till`; it's $5\nEOF\n)\" && git push", 1, {
        "words": ("git", "commit", "-m", "Mend `till`; it's $5"), "code": "zero",
    }),
    # what becomes of the output
    ("a | head -2 | wc -l", 0, {"filters": (("head", "-2"), ("wc", "-l")), "output": "filtered"}),
    ("a | tee log | tail -1", 0, {"filters": (("tee", "log"), ("tail", "-1")), "output": "filtered"}),
    ("a | cat", 0, {"output": "shown"}),
    ("(a; b) | tail -1", 0, {"output": "filtered", "filters": (("tail", "-1"),)}),
    ("{ a | tail -1; } | cat", 0, {"filters": (("tail", "-1"), ("cat",)), "output": "filtered"}),
    ("a > log 2>&1; tail -5 log", 0, {"output": "filtered", "filters": (("tail", "-5", "log"),)}),
    ("a > log 2>&1; cat log", 0, {"output": "shown", "filters": ()}),
    ("a > log; b > log; cat log", 0, {"output": "gone"}),
    ("a > log; b >> log; cat log", 0, {"output": "shown"}),
    ("a > log; cat log > other", 0, {"output": "gone"}),
    ("exec > log; a", 0, {"output": "gone"}),
    ("a | while read l; do echo $l; done", 0, {"filters": (("loop",),), "output": "filtered"}),
    # another place
    ("ssh -p 22 ops@web1 'cd /srv; make'", 0, {"words": ("ssh", "-p", "22", "ops@web1", "cd /srv; make"), "host": ""}),
    ("ssh -p 2222 ops@web1 'cd /srv; make'", 2, {
        "words": ("make",), "host": "ops@web1", "via": "ssh", "folder": "/srv", "code": "last", "ran": "maybe",
    }),
    ("cd app && ssh -i key -o StrictHostKeyChecking=no web1 docker ps -a", 2, {
        "words": ("docker", "ps", "-a"), "host": "web1", "folder": "",
    }),
    ("ssh web1 bash -s <<'EOF'\nset -e\nmake\nls\nEOF", 3, {"words": ("make",), "host": "web1", "code": "zero"}),
    ("ssh web1 <<'EOF'\nmake\nEOF", 1, {"words": ("make",), "host": "web1", "code": "last"}),
    ("ssh web1 'make' | tail -1", 1, {"output": "filtered", "code": "unknown"}),
    ("ssh web1 'nohup make &'", 1, {"background": True, "host": "web1"}),
    ("ssh web1 sudo docker exec db psql", 2, {"words": ("psql",), "host": "db", "via": "container"}),
    ("docker exec -it -e A=b -w /app web npm test", 1, {
        "words": ("npm", "test"), "host": "web", "via": "container", "code": "last",
    }),
    ("docker exec -d web npm start", 1, {"background": True}),
    ("docker compose -f live.yml exec -T db psql -c 'select 1'", 1, {
        "words": ("psql", "-c", "select 1"), "host": "db", "via": "container",
    }),
    ("docker-compose exec db sh -lc 'cd /x && make'", 3, {"words": ("make",), "folder": "/x", "host": "db"}),
    ("kubectl -n shop exec -it deploy/web -c app -- sh -c 'ls /srv'", 2, {
        "words": ("ls", "/srv"), "host": "deploy/web", "wrappers": ("sh -c",),
    }),
    # scripts in quotes
    ("bash -lc 'cd web && npm test'", 2, {"words": ("npm", "test"), "folder": "web", "wrappers": ("bash -c",)}),
    ("bash -euo pipefail -c 'a | tail -1; b'", 1, {"words": ("a",), "code": "zero", "output": "filtered"}),
    ("sudo bash -c 'a'", 1, {"wrappers": ("sudo", "bash -c")}),
    ("eval 'cd x; make'; ls", 3, {"words": ("ls",), "folder": "x"}),
    ("bash <<'EOF'\na\nb\nEOF", 2, {"words": ("b",), "code": "last"}),
    ("flock lock -c 'a b'", 1, {"words": ("a", "b")}),
    ("su - ops -c 'a'", 1, {"words": ("a",), "wrappers": ("su -c",)}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "place", "holds"), DETAILS)
def test_what_is_known_of_one_call(line: str, place: int, holds: dict[str, Any]) -> None:
    invocation = read_line(line).invocations[place]
    assert {name: getattr(invocation, name) for name in holds} == holds


#: What is written -> the wrappers taken off, and what they run.
WRAPPED = {
    "sudo -E -u web make": ("sudo", "make"),
    "sudo -l": ("", "sudo -l"),
    "doas make": ("doas", "make"),
    "env -u X A=b make": ("env", "make"),
    "nice -n 10 make": ("nice", "make"),
    "time -p make": ("time", "make"),
    "timeout -k 5 60s make -j": ("timeout", "make -j"),
    "stdbuf -oL make": ("stdbuf", "make"),
    "command make": ("command", "make"),
    "command -v make": ("", "command -v make"),
    "exec make": ("exec", "make"),
    "watch -n 2 make": ("watch", "make"),
    "flock -n lock make": ("flock", "make"),
    "find . | xargs -n1 -I{} make {}": ("xargs", "make '{}'"),
    "npx --yes wrangler@3 deploy": ("npx", "wrangler deploy"),
    "npx -p typescript tsc": ("npx", "tsc"),
    "npx --version": ("", "npx --version"),
    "npx @till/cli@2.1 up": ("npx", "@till/cli up"),
    "bunx cowsay hi": ("bunx", "cowsay hi"),
    "npm exec -- eslint .": ("npm exec", "eslint ."),
    "pnpm exec tsc": ("pnpm exec", "tsc"),
    "pnpm dlx @till/cli@1 up": ("pnpm dlx", "@till/cli up"),
    "yarn exec tsc": ("yarn exec", "tsc"),
    "yarn dlx tsc": ("yarn dlx", "tsc"),
    "uv run --with x python -m pytest -q": ("uv run > python -m", "pytest -q"),
    "uvx --from till ruff@latest check": ("uvx", "ruff check"),
    "pipx run twine upload dist/*": ("pipx run", "twine upload 'dist/*'"),
    "poetry run pytest": ("poetry run", "pytest"),
    "pipenv run pytest": ("pipenv run", "pytest"),
    "hatch run pytest": ("hatch run", "pytest"),
    "rye run pytest": ("rye run", "pytest"),
    "pdm run pytest": ("pdm run", "pytest"),
    "bundle exec rspec": ("bundle exec", "rspec"),
    "python3.12 -W error -m pytest": ("python -m", "pytest"),
    "python manage.py test": ("", "python manage.py test"),
    "python -c 'print(1)' -m x": ("", "python -c 'print(1)' -m x"),
    "dotenv -e .env -- make": ("dotenv", "make"),
    "dotenvx run -f .env.live -- npm run deploy": ("dotenvx run", "npm run deploy"),
    "op run --env-file=.env -- make": ("op run", "make"),
    "doppler run -p till -- make": ("doppler run", "make"),
    "infisical run --env=live -- make": ("infisical run", "make"),
    "aws-vault exec live -- terraform apply": ("aws-vault exec", "terraform apply"),
    "direnv exec . make": ("direnv exec", "make"),
    "mise exec node@22 -- npm test": ("mise exec", "npm test"),
    "mise x -- npm test": ("mise x", "npm test"),
    "asdf exec make": ("asdf exec", "make"),
    "nix develop .#ci --command make all": ("nix develop", "make all"),
    "nix run .#deploy": ("", "nix run '.#deploy'"),
    "devbox run make": ("devbox run", "make"),
    "corepack pnpm install": ("corepack", "pnpm install"),
    "docker run --rm node npm test": ("", "docker run --rm node npm test"),
    "wsl -e make": ("wsl", "make"),
    "npm run deploy": ("", "npm run deploy"),
}


@pytest.mark.parametrize("line", WRAPPED)
def test_wrappers_are_taken_off(line: str) -> None:
    reading = read_line(line)
    last = reading.invocations[-1]
    assert (" > ".join(last.wrappers), shlex.join(last.words)) == WRAPPED[line]
    assert not reading.broken


#: Windows lines -> the dialect and the programs.
WINDOWS = {
    '$env:STAGE = "live"; Get-ChildItem | Select-Object -First 5': (
        "powershell",
        ["unknown filtered: Get-ChildItem", "zero: Select-Object -First 5"],
    ),
    "npm test\nif ($LASTEXITCODE -eq 0) {\n  npm publish }": (
        "powershell",
        ["unknown: npm test", "unknown?: npm publish"],
    ),
    "npm test; $LASTEXITCODE": ("powershell", ["unknown: npm test"]),
    "npm run build; if (-not $?) { exit 1 }; npm publish": (
        "powershell",
        ["unknown: npm run build", "unknown?: exit 1", "zero?: npm publish"],
    ),
    "aws s3 sync out `\n  s3://till": ("powershell", ["zero: aws s3 sync out s3://till"]),
    "& 'C:\\Program Files\\nodejs\\npm.cmd' publish 2>&1 | Select-String ok": (
        "powershell",
        ["unknown filtered: npm publish", "zero: Select-String ok"],
    ),
    "$out = npm test 2>&1 | Out-String; Write-Host $out": (
        "powershell",
        ["unknown gone: npm test", "unknown: Out-String", "zero: Write-Host '$out'"],
    ),
    "npm test 2>&1 | Tee-Object log.txt; Get-Date": (
        "powershell",
        ["unknown: npm test", "unknown: Tee-Object log.txt", "zero: Get-Date"],
    ),
    "try { npm publish } catch { Write-Error x }": ("powershell", ["unknown?: npm publish", "unknown?: Write-Error x"]),
    '$body = @"\nnpm publish\n"@\nInvoke-RestMethod -Body $body': (
        "powershell",
        ["zero: Invoke-RestMethod -Body '$body'"],
    ),
    "'npm publish' | Set-Content C:\\a\\b.txt": ("powershell", ["zero: Set-Content 'C:\\a\\b.txt'"]),
    "Start-Process npm start": ("powershell", ["zero background: Start-Process npm start"]),
    "dir /b && npm run build": ("cmd", ["zero: dir /b", "zero?: npm run build"]),
    "set STAGE=live&& echo %PATH%": ("cmd", ["zero: set STAGE=live", "zero?: echo %PATH%"]),
    "@echo off\r\nnpm publish\r\nif errorlevel 1 exit /b 1": (
        "cmd",
        ["unknown: @echo off", "unknown: npm publish", "unknown?: exit /b 1"],
    ),
    "if exist out (rd /s /q out) else npm test": ("cmd", ["unknown?: rd /s /q out", "unknown?: npm test"]),
    "cd /d D:\\till && npm test": ("cmd", ["zero: cd /d 'D:\\till'", "zero?: npm test"]),
    "start /b npm start": ("cmd", ["zero background: npm start"]),
    'powershell -NoProfile -Command "npm test; npm publish"': (
        "sh",
        ["last: powershell -NoProfile -Command 'npm test; npm publish'", "unknown: npm test", "zero: npm publish"],
    ),
    'cmd.exe /c "dir /b & npm test"': ("sh", ["last: cmd /c 'dir /b & npm test'", "unknown: dir /b", "zero: npm test"]),
    "date +%Y%m%d && git log --format=%an -- C.md": (
        "sh",
        ["zero: date +%Y%m%d", "last: git log --format=%an -- C.md"],
    ),
    "echo 'Get-Item x' && ls /b": ("sh", ["zero: echo 'Get-Item x'", "last: ls /b"]),
}


@pytest.mark.parametrize("line", WINDOWS)
def test_windows_lines_do_not_mislead(line: str) -> None:
    dialect, programs = WINDOWS[line]
    reading = read_line(line)
    assert (reading.dialect, [_brief(one) for one in reading.invocations]) == (dialect, programs)


#: Lines that no shell takes, or too hard ones -> programs that are seen all the same.
BROKEN = {
    "make; ls (": ["unknown?: make", "unknown?: ls"],
    "echo 'a": ["unknown?: echo"],
    "make &&": ["unknown?: make"],
}


@pytest.mark.parametrize("line", BROKEN)
def test_nothing_is_sure_in_a_broken_line(line: str) -> None:
    reading = read_line(line)
    assert reading.broken
    assert [_brief(one) for one in reading.invocations][: len(BROKEN[line])] == BROKEN[line]


def test_place_holders_in_angle_brackets_are_words() -> None:
    assert _read("TOKEN=<secret> make && git push <remote name>") == ["zero: make", "last?: git push '<remote name>'"]


def test_a_command_ends_with_its_line_behind_a_long_pipe() -> None:
    assert _read("a | b | c\nd 2>&1\n! e") == [
        "unknown filtered: a",
        "unknown filtered: b",
        "unknown: c",
        "unknown: d",
        "unknown negated: e",
    ]


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


#: Pieces of lines; between them stand blanks.
_WORDS = """a A=b if then else fi for while do done case esac ;; *) in f() [[ ]] ! time # exit set -e; eval sudo xargs
' " ` $( $(( )) ) ( { } ; && | || & > 2>&1 <( ${ ${x $x ; \\ <<< << <<EOF <<-'E' EOF @{ <b> %PATH% rc=$? $env:X"""
PIECES = (
    *_WORDS.split(),
    *("\n", "\nEOF\n", "\\\n", "\r\n", "\t", "\0", "\ud800", "é", "bash -c ", "ssh h ", "docker exec c ", "cmd /c "),
    *("$env:X = ", "Get-Item ", "exit $?", "for i in x; do ", "if a; then ", "{ a; }"),
)


def _sound(reading: Reading) -> None:
    """What holds of any reading."""
    for invocation in reading.invocations:
        assert invocation.words and invocation.words[0]
        " ".join((*invocation.words, invocation.stdin or "")).encode()  # no lone surrogates
        if reading.broken:
            assert (invocation.code, invocation.ran) == ("unknown", "maybe")
        if invocation.output == "filtered":
            assert invocation.filters


@settings(max_examples=examples(40, 2_000), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join)))
def test_any_text_is_read(text: str) -> None:
    _sound(read_line(text))


def test_characters_far_out_end_no_process_and_come_back_whole(run: Commands) -> None:
    code = (
        "import sys; from hikidashi.capture.grammar import read_line\n"
        "for text in ('{\\U000d053b?', 'a{\\U00031860', '\\u00bf{\\U000d053bR\\x96?'):\n    read_line(text)"
    )
    ended = run.python(code, [[]] * 4)  # what memory lies there is another in each process
    assert [(one.code, one.err) for one in ended] == [(0, "")] * 4
    (invocation,) = read_line("git commit -m '{🚀 lift-off'").invocations
    assert invocation.words == ("git", "commit", "-m", "{🚀 lift-off")


HARD = {
    "brackets": "(" * 10_000,
    "closed brackets": "(" * 9_000 + "make" + ")" * 9_000,
    "substitutions": "echo " + "$(" * 9_000,
    "pipes": "a|" * 9_999,
    "bars": "|" * 20_000,
    "nul": "\0" * 20_000,
    "returns": "\r\n" * 20_000,
    "quotes": "'\"" * 10_000,
    "heredocs": "cat <<A;" * 2_500,
    "doubling": "A=" + "x" * 200 + "\n" + "A=$A$A\n" * 500 + "echo $A",
    "scripts in scripts": "A=" + "x" * 290 + ";" + 'bash -c "$A$A$A$A$A$A$A$A";' * 600,
    "functions": "f() { " + "make;" * 2_000 + "}; " + "f;" * 2_000,
    "functions in functions": "f() { f; f; f; f; }; f",
    "evals": "eval " * 2_000 + "a",
    "windows": "$env:A = 1; " + "a { " * 4_000,
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
def test_hard_lines_cost_little(text: str) -> None:
    started = time.process_time()
    reading = read_line(text)
    assert time.process_time() - started < 3  # ten times what is needed
    _sound(reading)
    assert sum(len(word) for one in reading.invocations for word in one.words) < 3_000_000


def test_of_a_line_that_is_too_long_the_beginning_is_read() -> None:
    reading = read_line("make deploy; " + "echo a; " * MAX_PARSED)
    assert reading.broken
    assert reading.invocations[0].words == ("make", "deploy")


def test_a_long_heredoc_makes_no_line_too_long() -> None:
    reading = read_line("cat > big.csv <<EOF\n" + "1,2,3\n" * 50_000 + "EOF\nmake")
    assert not reading.broken
    assert [one.words for one in reading.invocations] == [("cat",), ("make",)]


def test_a_line_is_read_quickly() -> None:
    """Well under a millisecond, so that a session's thousand lines cost no second."""
    lines = ["cd web && npm test 2>&1 | tail -20", "git add -A && git commit -m 'Mend' && git push", "ls -la"]
    read_line(lines[0])
    times = []
    for _ in range(50):
        started = time.process_time()
        for line in lines:
            read_line(line)
        times.append(time.process_time() - started)
    assert min(times) / len(lines) < 0.001
