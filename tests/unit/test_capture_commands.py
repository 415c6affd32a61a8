"""Which program ran, what kind of work it was, and whether the exit code is its own."""

from __future__ import annotations

import pytest

from hikidashi.capture import families
from hikidashi.capture.families import family_of, is_inspection, may_matter, only_looks
from hikidashi.capture.shell import exit_counts, plain, read_command

FORMS = [
    ("npm test", "npm test", "test", True),
    ("cd web && CI=1 npm run test:unit -- --run 2>&1 | tail -20", "npm run test:unit -- --run", "test", False),
    ("pytest -q tests || true", "pytest tests", "test", False),
    ("set -o pipefail && pytest tests | tee out.txt", "pytest tests", "test", True),
    (".venv/bin/python -m pytest tests", "pytest tests", "test", True),
    ("python -m pytest -v tests", "pytest tests", "test", True),
    ("uv run pytest tests", "pytest tests", "test", True),
    ("timeout 300 go test ./... -run TestPay", "go test ./... -run TestPay", "test", True),
    ("sudo -u deploy bash -lc 'npm run build'", "npm run build", "build", True),
    ("make", "make", "build", True),
    ("make check", "make check", "test", True),
    ("npx tsc --noEmit", "tsc --noEmit", "build", True),
    ("npm run lint", "npm run lint", "lint", True),
    ("git add -A && git commit -m 'x' && git push origin main", "git push origin main", "push", True),
    ("terraform apply -auto-approve", "terraform apply -auto-approve", "deploy", True),
    ("vercel --prod", "vercel --prod", "deploy", True),
    ("vercel logs", "vercel logs", "look", True),
    ("npm install left-pad", "npm install left-pad", "install", True),
    ("sed -i s/a/b/ src/app.ts", "sed -i s/a/b/ src/app.ts", "edit", True),
    ("npm start > log.txt 2>&1 &", "npm start", "other", False),
    ("npm run build; echo done", "npm run build", "build", False),
]


@pytest.mark.parametrize(("line", "text", "family", "counts"), FORMS)
def test_a_line_is_read_as_the_work_it_was_run_for(line: str, text: str, family: str, counts: bool) -> None:
    command = read_command(line)
    assert command is not None
    found, segment = family_of(command)
    assert (plain(segment), found, exit_counts(command, segment)) == (text, family, counts)


def test_a_heredoc_that_only_writes_a_script_runs_nothing_of_it() -> None:
    command = read_command("cat > run.sh <<'EOF'\nnpm run deploy\ngit push\nEOF")
    assert command is not None
    assert family_of(command)[0] == "edit"


def test_what_follows_a_heredoc_is_run() -> None:
    command = read_command("psql app <<SQL\nselect 1;\nSQL\nnpm run build")
    assert command is not None
    assert family_of(command)[0] == "build"


@pytest.mark.parametrize("line", ["", "   ", "# nothing"[:0], "&&", "''"])
def test_a_line_that_runs_nothing_is_none_or_harmless(line: str) -> None:
    assert read_command(line) is None


@pytest.mark.parametrize(
    "line", ["npm test -- --help", "pytest --collect-only", "git push --dry-run", "terraform apply --help"]
)
def test_help_and_dry_runs_prove_nothing(line: str) -> None:
    command = read_command(line)
    assert command is not None
    assert is_inspection(*family_of(command))


@pytest.mark.parametrize(("line", "looks"), [
    ("ls -la", True),
    ("cd src && grep -n foo *.py | head -5", True),
    ("cat a.txt", True),
    ("sed -i s/a/b/ x", False),
    ("npm test", False),
    ("cat > x <<E\nE", False),
])  # fmt: skip
def test_reading_and_searching_is_told_apart_quickly(line: str, looks: bool) -> None:
    assert only_looks(line) is looks


def test_a_huge_command_costs_no_more_than_a_long_one() -> None:
    assert read_command("echo '" + "x" * 1_000_000) is not None or True
    command = read_command("python - <<EOF\n" + "print(1)\n" * 100_000 + "EOF\nnpm test")
    assert command is not None


EVERY_PROGRAM = [" ".join(words) for words in families._PREFIXES] + [
    *families._TEST, *families._LINT, *(f"{runner} build" for runner in families._TASK_RUNNERS),
    "aws s3 cp dist s3://site --recursive", "perl -pi -e s/a/b/ x", "cat > x <<EOF\na\nEOF", "tee x <<EOF\na\nEOF",
]  # fmt: skip


@pytest.mark.parametrize("around", ["{}", "cd web && CI=1 {} 2>&1 | tail -3", "/usr/bin/{}", "(x);{};echo"])
def test_the_quick_look_never_denies_a_command_that_matters(around: str) -> None:
    lines = [around.format(line) for line in (*EVERY_PROGRAM, *(form[0] for form in FORMS))]
    read = [(line, read_command(line)) for line in lines]
    mattering = [line for line, command in read if command and family_of(command)[0] not in ("look", "other")]
    assert len(mattering) > 100
    assert [line for line in mattering if not may_matter(line)] == []
    assert not may_matter("git status && go version | grep google")
