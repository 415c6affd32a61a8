"""What kind of work a command is: the table behind "hard outcomes" and proofs."""

from __future__ import annotations

import re
from typing import Final, Literal

from hikidashi.capture.shell import Command, Segment
from hikidashi.capture.vocabulary import contains_any, word_list

__all__ = ["HARD", "Family", "family_of", "is_inspection", "may_matter", "only_looks"]

#: What a command is for. `look` only reads; `other` is anything that is not in the table.
Family = Literal[
    "test",
    "build",
    "lint",
    "deploy",
    "publish",
    "push",
    "commit",
    "pr",
    "migrate",
    "install",
    "edit",
    "run",
    "look",
    "other",
]

#: Families whose failure means that work is left.
HARD: Final = word_list(
    "build deploy lint migrate pr publish push test",
)

_TEST: Final = word_list(
    "ava ctest gotestsum jest minitest mocha nox pest phpunit py.test pytest rspec tox unittest vitest",
)
_LINT: Final = word_list(
    "biome clippy eslint flake8 golangci-lint mypy oxlint pylint pyright rubocop ruff shellcheck stylelint",
    "svelte-check vue-tsc",
)
_LOOK: Final = word_list(
    "ls cat head tail grep egrep rg find fd tree less more wc stat file du df ps top env printenv which whereis",
    "type pwd whoami id uname hostname date echo printf sleep true test [ diff cmp sort uniq awk jq cut nl",
    "strings xxd od lsof netstat ss ip ifconfig ping dig nslookup history man help kill pkill killall cd pushd",
    "popd export source . mkdir for while until if then else elif fi do done case esac function select eval { } (",
    ") [[ ! in let local read trap touch rm cp mv ln chmod chown open code tmux screen pgrep xargs tee nproc free",
    "uptime base64 md5sum sha256sum",
)

#: First words -> family; the longest that fits wins.
_PREFIXES: Final[dict[tuple[str, ...], Family]] = {
    ("go", "test"): "test", ("cargo", "test"): "test", ("cargo", "nextest"): "test", ("dotnet", "test"): "test",
    ("flutter", "test"): "test", ("dart", "test"): "test", ("swift", "test"): "test", ("deno", "test"): "test",
    ("mix", "test"): "test", ("playwright", "test"): "test", ("cypress", "run"): "test", ("node", "--test"): "test",
    ("bun", "test"): "test", ("mvn", "test"): "test", ("mvn", "verify"): "test", ("php", "artisan", "test"): "test",
    ("rails", "test"): "test", ("rake", "test"): "test", ("rake", "spec"): "test", ("zig", "build", "test"): "test",
    ("manage.py", "test"): "test", ("python", "manage.py", "test"): "test", ("python3", "manage.py", "test"): "test",
    ("tsc",): "build", ("next", "build"): "build", ("vite", "build"): "build", ("go", "build"): "build",
    ("go", "vet"): "lint", ("cargo", "build"): "build", ("cargo", "check"): "build", ("cargo", "clippy"): "lint",
    ("cargo", "fmt"): "lint", ("mvn", "package"): "build", ("mvn", "install"): "build", ("mvn", "compile"): "build",
    ("docker", "build"): "build", ("docker", "buildx"): "build", ("docker", "compose", "build"): "build",
    ("docker-compose", "build"): "build", ("dotnet", "build"): "build", ("flutter", "build"): "build",
    ("flutter", "analyze"): "lint", ("dart", "analyze"): "lint", ("webpack",): "build", ("cmake", "--build"): "build",
    ("xcodebuild",): "build", ("swift", "build"): "build", ("astro", "build"): "build", ("nuxt", "build"): "build",
    ("zig", "build"): "build", ("prettier", "--check"): "lint", ("astro", "check"): "lint",
    ("terraform", "validate"): "lint",
    ("vercel",): "deploy", ("fly", "deploy"): "deploy", ("flyctl", "deploy"): "deploy", ("railway", "up"): "deploy",
    ("kubectl", "apply"): "deploy", ("helm", "upgrade"): "deploy", ("helm", "install"): "deploy",
    ("terraform", "apply"): "deploy", ("serverless", "deploy"): "deploy", ("sls", "deploy"): "deploy",
    ("firebase", "deploy"): "deploy", ("wrangler", "deploy"): "deploy", ("wrangler", "publish"): "deploy",
    ("netlify", "deploy"): "deploy", ("gcloud", "app", "deploy"): "deploy", ("gcloud", "run", "deploy"): "deploy",
    ("aws", "s3", "sync"): "deploy",
    ("aws", "ecs", "update-service"): "deploy", ("aws", "lambda", "update-function-code"): "deploy",
    ("gcloud", "functions", "deploy"): "deploy", ("az", "webapp", "up"): "deploy", ("az", "webapp", "deploy"): "deploy",
    ("heroku", "container:release"): "deploy", ("surge",): "deploy", ("cdk", "deploy"): "deploy",
    ("git", "push", "heroku"): "deploy", ("sam", "deploy"): "deploy", ("ansible-playbook",): "deploy",
    ("cap", "deploy"): "deploy",
    ("supabase", "functions", "deploy"): "deploy", ("docker", "stack", "deploy"): "deploy", ("eb", "deploy"): "deploy",
    ("npm", "publish"): "publish", ("pnpm", "publish"): "publish", ("yarn", "publish"): "publish",
    ("twine", "upload"): "publish", ("cargo", "publish"): "publish", ("gem", "push"): "publish",
    ("docker", "push"): "publish", ("gh", "release", "create"): "publish", ("uv", "publish"): "publish",
    ("poetry", "publish"): "publish", ("vsce", "publish"): "publish",
    ("git", "push"): "push", ("git", "commit"): "commit", ("gh", "pr", "create"): "pr", ("glab", "mr", "create"): "pr",
    ("alembic", "upgrade"): "migrate", ("prisma", "migrate"): "migrate", ("prisma", "db"): "migrate",
    ("rails", "db:migrate"): "migrate", ("flyway",): "migrate", ("drizzle-kit", "push"): "migrate",
    ("drizzle-kit", "migrate"): "migrate", ("supabase", "db", "push"): "migrate", ("knex", "migrate:latest"): "migrate",
    ("python", "manage.py", "migrate"): "migrate", ("python3", "manage.py", "migrate"): "migrate",
    ("php", "artisan", "migrate"): "migrate",
    ("npm", "install"): "install", ("npm", "i"): "install", ("npm", "ci"): "install", ("pnpm", "install"): "install",
    ("pnpm", "add"): "install", ("yarn", "install"): "install", ("yarn", "add"): "install",
    ("bun", "install"): "install",
    ("bun", "add"): "install", ("pip", "install"): "install", ("pip3", "install"): "install", ("uv", "sync"): "install",
    ("uv", "add"): "install", ("uv", "pip", "install"): "install", ("poetry", "install"): "install",
    ("poetry", "add"): "install", ("cargo", "add"): "install", ("go", "get"): "install",
    ("go", "mod", "tidy"): "install",
    ("apt", "install"): "install", ("apt-get", "install"): "install", ("brew", "install"): "install",
    ("composer", "install"): "install", ("composer", "require"): "install", ("bundle", "install"): "install",
    ("flutter", "pub"): "install",
    ("apply_patch",): "edit", ("patch",): "edit",
    ("docker", "compose", "up"): "run", ("docker-compose", "up"): "run", ("docker", "run"): "run",
}  # fmt: skip

#: `npm run X`, `make X`: the name of the task tells.
_TASK_RUNNERS: Final = word_list(
    "bun composer deno gmake gradle gradlew just make mise npm nx pnpm rake task turbo yarn",
)
_TASKS: Final[tuple[tuple[str, Family], ...]] = (
    ("test", "test"), ("spec", "test"), ("e2e", "test"), ("verify", "test"), ("typecheck", "lint"),
    ("type-check", "lint"),
    ("lint", "lint"), ("vet", "lint"), ("deploy", "deploy"), ("publish", "publish"), ("release", "publish"),
    ("migrate", "migrate"), ("build", "build"), ("assemble", "build"), ("compile", "build"), ("check", "test"),
    ("dist", "build"), ("bundle", "build"), ("package", "build"),
    ("fmt", "lint"), ("format", "lint"), ("install", "install"),
)  # fmt: skip


def _task_family(words: list[str]) -> Family:
    tasks = [w for w in words[1:] if not w.startswith("-") and w not in ("run", "exec", "task")]
    for task in tasks[:1]:
        for name, family in _TASKS:
            if name in task.lower():
                return family
    if not tasks and words[0] in ("make", "gmake"):
        return "build"
    return "other"


def _segment_family(segment: Segment) -> Family:
    program, words = segment.program, segment.words
    if program == "git" and len(words) > 3 and words[1] == "-C":
        return _segment_family(Segment(words=["git", *words[3:]]))
    for length in (3, 2, 1):
        found = _PREFIXES.get((program, *words[1:length]))
        if found is not None and len(words) >= length:
            return (
                "look" if program == "vercel" and words[1:2] and words[1].isalpha() and words[1] != "deploy" else found
            )
    if program == "aws" and words[1:3] == ["s3", "cp"] and "--recursive" in words:
        return "deploy"
    if program in _TEST:
        return "test"
    if program in _LINT:
        return "lint"
    if (program in ("sed", "perl") and any(w.startswith(("-i", "-pi")) for w in words[1:3])) or (
        program in ("cat", "tee") and segment.heredoc
    ):
        return "edit"
    if program in _TASK_RUNNERS:
        return _task_family([program, *words[1:]])
    return "look" if program in _LOOK or (program == "git" and len(words) > 1) else "other"


#: A command of one simple part: nothing is joined to it, nothing is written.
_SIMPLE: Final = re.compile(
    r"\s*(?:cd [^;&|<>\n]+ && *)?([\w./~-]+)(?: [^;&|<>\n]*)?(?:\| *(?:head|tail|wc|grep"
    r"|sort)\b[^;&|<>\n]*)?\s*"
)


def only_looks(line: str) -> bool:
    """A quick test for the many lines that only read and search, before they are taken apart."""
    match = _SIMPLE.fullmatch(line, 0, 400) if len(line) < 400 else None
    return match is not None and match.group(1).rpartition("/")[2] in _LOOK and "-i" not in line


def _needs() -> dict[str, tuple[str, ...]]:
    """Program -> one of which texts its line has when its family is any but `look` and `other`; () for any line."""
    needs: dict[str, set[str]] = {}
    for first, *rest in _PREFIXES:
        needs.setdefault(first, set()).add(rest[0] if rest else "")
    needs["aws"].add("s3")
    found = {program: () if "" in second else tuple(sorted(second)) for program, second in needs.items()}
    found |= dict.fromkeys((*_TEST, *_LINT, *_TASK_RUNNERS), ())
    return found | {"sed": ("-i", "-pi"), "perl": ("-i", "-pi"), "cat": ("<<",), "tee": ("<<",)}


_NEEDS: Final = _needs()
_NAMES: Final = re.compile(r"[\w.+-]+")


def may_matter(line: str) -> bool:
    """Whether a line may be of a family besides `look` and `other`: a quick test, sure only when it denies."""
    if len(line) > 600:
        return True
    for name in _NEEDS.keys() & set(_NAMES.findall(line)):
        if not _NEEDS[name] or contains_any(line, _NEEDS[name]):
            return True
    return False


def family_of(command: Command) -> tuple[Family, Segment]:
    """The family of a line and the segment that it is of: a hard one, if any is in it, else that of `main`."""
    best: tuple[Family, Segment] = (_segment_family(command.main), command.main)
    if best[0] in HARD or len(command.segments) == 1:
        return best
    for segment in command.segments:
        family = _segment_family(segment)
        if family in HARD or family == "commit":
            best = (family, segment)  # the last one: `git commit && git push` is a push
    return best


#: Flags that make a command only say what it would do.
_DRY: Final = word_list(
    "--collect-only --dry-run --help --list --listTests --noEmit=false --version -h -n",
)


def is_inspection(family: Family, segment: Segment) -> bool:
    """Whether the command changes and proves nothing (`--help`, `--dry-run`, listing)."""
    if family == "look":
        return True
    return any(word in _DRY and not (word == "-n" and family in ("test", "lint")) for word in segment.words[1:6])
