"""Wrappers and runners: programs that only run another one, and how their own words end.

Tables, not cleverness: a wrapper's options that take a value are listed, because else the value would be taken for
the program. The lists follow the manual pages of each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from hikidashi.capture.vocabulary import word_list

__all__ = ["Stripped", "program_name", "strip"]


@dataclass(frozen=True, slots=True)
class _Wrapper:
    #: Options whose next word is their value.
    values: frozenset[str] = frozenset()
    #: Words of its own before the program (`timeout 60`, `flock file`).
    own: int = 0
    #: Takes assignments before the program.
    assigns: bool = False
    #: Its options end with `--`, and the program stands behind that.
    dashes: bool = False
    #: Runs packages: `pkg@1.2` names the version, the name may be scoped (`@org/tool`).
    packages: bool = False
    #: With one of these options it asks or does something itself.
    asks: frozenset[str] = frozenset()
    #: Options whose value is a shell line.
    script: frozenset[str] = frozenset()


def _wrapper(values: str = "", *, asks: str = "", script: str = "", own: int = 0, **flags: bool) -> _Wrapper:
    return _Wrapper(
        values=frozenset(values.split()),
        asks=frozenset(asks.split()),
        script=frozenset(script.split()),
        own=own,
        **flags,
    )


_NPX: Final = _wrapper("-p --package -w --workspace --registry", packages=True, script="-c --call")
_UV: Final = (
    "--with --with-editable --with-requirements --extra --group --only-group --no-group --env-file --python -p"
    " --project --directory --package --index --index-url --extra-index-url --default-index --from"
    " --config-file --cache-dir"
    " --link-mode --refresh-package --upgrade-package -P --index-strategy --python-platform --constraints"
)

#: Programs, or a program and its sub-command, that run what stands behind them.
_WRAPPERS: Final[dict[str, _Wrapper]] = {
    "sudo": _wrapper("-u -g -h -p -C -r -t -T -U -D -R --user --group --chdir", assigns=True, asks="-l -v -V --list"),
    "doas": _wrapper("-u -C"),
    "env": _wrapper("-u -C --unset --chdir", assigns=True, script="-S --split-string"),
    "cross-env": _wrapper(assigns=True),
    "env-cmd": _wrapper("-f --file -e --environments -r"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n --class --classdata"),
    "time": _wrapper("-f -o --format --output"),
    "timeout": _wrapper("-k -s --kill-after --signal", own=1),
    "gtimeout": _wrapper("-k -s --kill-after --signal", own=1),
    "taskset": _wrapper(own=1),
    "nohup": _wrapper(),
    "setsid": _wrapper(),
    "stdbuf": _wrapper("-i -o -e"),
    "unbuffer": _wrapper(),
    "chronic": _wrapper(),
    "caffeinate": _wrapper("-t -w"),
    "winpty": _wrapper(),
    "wsl": _wrapper("-d -u --distribution --user --cd", asks="-l --list --install --shutdown --update --status -t"),
    "xvfb-run": _wrapper("-n -s -e -f --server-args"),
    "command": _wrapper(asks="-v -V"),
    "builtin": _wrapper(),
    "exec": _wrapper("-a"),
    "noglob": _wrapper(),
    "watch": _wrapper("-n --interval"),
    "flock": _wrapper("-w -E --timeout --conflict-exit-code", own=1, script="-c --command"),
    "xargs": _wrapper("-n -I -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file --replace"),
    "sshpass": _wrapper("-p -f -d -P"),
    "proxychains": _wrapper("-f"),
    "proxychains4": _wrapper("-f"),
    "corepack": _wrapper(packages=True, asks="--version"),
    "npx": _NPX,
    "pnpx": _NPX,
    "bunx": _NPX,
    "bun x": _NPX,
    "npm exec": _NPX,
    "npm x": _NPX,
    "pnpm exec": _wrapper("-C --dir --filter -F"),
    "pnpm dlx": _wrapper("--package", packages=True),
    "yarn exec": _wrapper(),
    "yarn dlx": _wrapper("-p --package", packages=True),
    "uv run": _wrapper(_UV, asks="--script -s --gui-script"),
    "uvx": _wrapper(_UV + " -w", packages=True),
    "uv tool run": _wrapper(_UV + " -w", packages=True),
    "pipx run": _wrapper("--spec --python --pip-args --index-url", packages=True),
    "poetry run": _wrapper("-C --directory -P --project"),
    "pipenv run": _wrapper(),
    "hatch run": _wrapper("-i --include -x --exclude"),
    "rye run": _wrapper("--pyproject"),
    "pdm run": _wrapper("-p --project -s --site-packages"),
    "pixi run": _wrapper("-e --environment --manifest-path"),
    "conda run": _wrapper("-n -p --name --prefix --cwd"),
    "mamba run": _wrapper("-n -p --name --prefix --cwd"),
    "micromamba run": _wrapper("-n -p --name --prefix --cwd"),
    "bundle exec": _wrapper(),
    "composer exec": _wrapper("-d --working-dir"),
    "dotenv": _wrapper("-e -f -c -v -p --file", asks="list get set unset"),
    "dotenv run": _wrapper(),
    "dotenvx run": _wrapper("-f -fk -e --env-file --env --env-keys-file --convention", dashes=True),
    "op run": _wrapper("--env-file --account", dashes=True),
    "doppler run": _wrapper("-p -c -t --project --config --token", dashes=True, script="--command"),
    "infisical run": _wrapper("--env --path --projectId --token --tags -e", dashes=True, script="--command -c"),
    "varlock run": _wrapper("--env --path -p", dashes=True),
    "teller run": _wrapper("-c --config", dashes=True),
    "chamber exec": _wrapper(dashes=True),
    "aws-vault exec": _wrapper("-d --duration -n --no-session -b --backend -t --mfa-token --region", own=1),
    "aws-okta exec": _wrapper("-t --assume-role-ttl", own=1),
    "envchain": _wrapper(own=1, asks="--set --list --unset"),
    "direnv exec": _wrapper(own=1),
    "coverage run": _wrapper("--rcfile --source --omit --include --concurrency --context --data-file"),
    "nyc": _wrapper("-r --reporter --require --report-dir", asks="report merge instrument"),
    "c8": _wrapper("-r --reporter -x --exclude -n --include --reports-dir -o", asks="report check-coverage"),
    "xcrun": _wrapper("--sdk -sdk --toolchain -toolchain", asks="--find -f --show-sdk-path --show-sdk-version"),
    "mise exec": _wrapper("-C --cd -j --jobs", dashes=True, script="-c --command"),
    "mise x": _wrapper("-C --cd -j --jobs", dashes=True, script="-c --command"),
    "rtx exec": _wrapper(dashes=True, script="-c --command"),
    "asdf exec": _wrapper(),
    "rbenv exec": _wrapper(),
    "pyenv exec": _wrapper(),
    "nodenv exec": _wrapper(),
    "fnm exec": _wrapper("--using"),
    "volta run": _wrapper("--node --npm --yarn --pnpm"),
    "nix develop": _wrapper(asks="--help"),
    "nix-shell": _wrapper("-p -I -A --arg --argstr", script="--run --command", asks="--help"),
    "devbox run": _wrapper("-c --config -e --env --env-file"),
}

#: Sub-commands of two words whose first word alone tells nothing.
_FIRST_WORDS: Final = frozenset(key.split()[0] for key in _WRAPPERS)

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON: Final = re.compile(r"(?:python|pypy)[\d.]*|py|python[\d.]*w")
_VERSION: Final = re.compile(r"(?<=[^@/])@[^/@]*$")

#: Programs met most, which wrap nothing: a shortcut.
_COMMON: Final = word_list(
    "awk cat cd chmod cp curl cut docker echo export find gh git go grep head jq kill ls make mkdir mv printf ps psql",
    "pwd rg rm sed sleep sort ssh tail tee test touch true wc",
)

#: Layers of wrappers that are taken off.
_MAX_LAYERS: Final = 12


@dataclass(slots=True)
class Stripped:
    """What is left of a command's words when its wrappers are off."""

    words: list[str]
    wrappers: list[str] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    #: A shell line that the outermost remaining wrapper runs (`flock f -c '…'`); then `words` is the wrapper's own.
    script: str | None = None


def program_name(word: str) -> str:
    """A program without its folder and without the ending that Windows gives it."""
    if "/" in word or "\\" in word:
        word = word.rstrip("/").replace("\\", "/").rpartition("/")[2] or word
    if word[-4:].lower() in (".exe", ".cmd", ".bat") and len(word) > 4:
        word = word[:-4]
    return word


def _find(words: list[str], name: str) -> tuple[str, int]:
    """The key of the wrapper that `words` starts with and how many words that is; ('', 0) for none."""
    for length in (3, 2):
        if len(words) > length:
            key = " ".join([name, *words[1:length]])
            if key in _WRAPPERS:
                return key, length
    return (name, 1) if name in _WRAPPERS else ("", 0)


def _python_module(words: list[str]) -> int:
    """Index of the module after `-m` of a Python call; 0 when there is none."""
    at = 1
    while at < len(words) - 1:
        word = words[at]
        if word == "-m":
            return at + 1
        if not word.startswith("-") or word == "-c":
            return 0
        at += 2 if word in ("-X", "-W") else 1
    return 0


def _past_options(words: list[str], at: int, wrapper: _Wrapper, found: Stripped) -> int:
    """Index of the first word that is no option, value or assignment of the wrapper; -1 when it asks something."""
    own = wrapper.own
    if wrapper.dashes and "--" in words[at:] and not wrapper.script.intersection(words[at:]):
        return words.index("--", at) + 1
    while at < len(words):
        word = words[at]
        if word in wrapper.asks:
            return -1
        if word in wrapper.script and at + 1 < len(words):
            found.script = words[at + 1]
            return at
        if word == "--":
            at += 1
            if not own:
                break
        elif word.startswith("-") and len(word) > 1:
            at += 2 if word in wrapper.values else 1
        elif wrapper.assigns and _ASSIGNMENT.match(word):
            name, _, value = word.partition("=")
            found.environ[name] = value
            at += 1
        elif own:
            own -= 1
            at += 1
        else:
            break
    return at


def _nix_develop(words: list[str]) -> int:
    """Index of what `nix develop … -c` runs; -1 when it opens a shell."""
    for at, word in enumerate(words[:-1]):
        if word in ("-c", "--command"):
            return at + 1
    return -1


def _layer(found: Stripped) -> bool:
    """Take one wrapper off; False when there is none."""
    words = found.words
    name = program_name(words[0])
    if _PYTHON.fullmatch(name):
        at, key = _python_module(words), "python -m"
        if not at:
            return False
        packages = False
    else:
        if name not in _FIRST_WORDS:
            return False
        key, length = _find(words, name)
        if not key:
            return False
        wrapper = _WRAPPERS[key]
        packages = wrapper.packages
        at = _nix_develop(words) if key == "nix develop" else _past_options(words, length, wrapper, found)
        if found.script is not None:
            found.wrappers.append(key)
            return False
        if key == "xargs" and at >= len(words):
            return False
    if at < 0 or at >= len(words):
        return False
    found.wrappers.append(key)
    found.words = words[at:]
    if packages:
        found.words[0] = _VERSION.sub("", found.words[0])
    return True


def strip(words: list[str]) -> Stripped:
    """Take wrappers and runners off a command's words. `words` must not be empty."""
    found = Stripped(words=words)
    if words[0] in _COMMON:
        return found
    for _ in range(_MAX_LAYERS):
        if not _layer(found):
            break
    first = found.words[0]
    if not (first.startswith("@") and found.wrappers):  # `npx @org/tool`: the scope is a part of the name
        found.words = [program_name(first), *found.words[1:]]
    return found
