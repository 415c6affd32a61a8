"""Which statement's exit code a script ends with, and what builtins do to the shell."""

from __future__ import annotations

from typing import Final

from hikidashi.capture.grammar_parts import AndOr, Compound, Part, Pipeline, Script, Simple
from hikidashi.capture.grammar_reading import Code
from hikidashi.capture.grammar_state import Place, Shell, change_folder
from hikidashi.capture.grammar_wrappers import Stripped
from hikidashi.capture.vocabulary import word_list

__all__ = ["BUILTINS", "after_exit", "builtin", "chain_codes", "deciding", "ends_shell", "harmless", "wrapped"]

#: Commands that are taken to work, so that what stands behind their `&&` surely ran.
_HARMLESS: Final = word_list(
    ": alias cd clear date declare echo export local mkdir popd printf pushd pwd readonly set shopt sleep trap true",
    "typeset ulimit umask unset",
)

#: Builtins that change the shell they run in.
BUILTINS: Final = word_list(
    "cd declare exec exit export getopts local mapfile popd pushd read readarray readonly set typeset unset",
)

#: How a line writes the code of what ran before.
_CODES: Final = word_list("$? ${PIPESTATUS[0]} ${pipestatus[1]} $pipestatus[1]")

#: Levels of groups that are looked into for an `exit`.
_MAX_LOOK: Final = 6


def harmless(pipeline: Pipeline) -> bool:
    """Whether a pipeline is taken to work: it only sets something up, or says something."""
    return not pipeline.negated and all(isinstance(part, Simple) and _works(part) for part in pipeline.parts)


def _works(part: Simple) -> bool:
    if part.words:
        return part.words[0].raw in _HARMLESS
    return not any(word.scripts for _, word in part.assignments)


def _lone(pipeline: Pipeline) -> Part | None:
    return pipeline.parts[0] if len(pipeline.parts) == 1 and not pipeline.negated else None


def _words(statement: AndOr) -> list[str]:
    """The words of a statement that is one simple command; [] for any other."""
    part = _lone(statement.pipelines[0]) if not statement.operators and not statement.background else None
    return [word.raw.strip("\"'") for word in part.words] if isinstance(part, Simple) else []


def deciding(script: Script) -> tuple[int, bool, bool]:
    """Index of the statement whose code the script ends with, -1 when none decides (`exit 0`).

    `cmd; exit $?` and `cmd; rc=$?; …; exit $rc` end with the code of `cmd`, and so does
    `cmd | tail; exit ${PIPESTATUS[0]}`. Further, whether it is only the code of its first program; and whether the
    script surely gets as far as that `exit`.
    """
    last = len(script) - 1
    words = _words(script[last]) if script else []
    if not words or words[0] not in ("exit", "return"):
        return last, False, True
    code = words[1] if len(words) > 1 else "$?"
    if code in _CODES:
        return last - 1, code != "$?", True
    name = code.strip("${}")
    for number in range(last - 1, 0, -1):
        part = _lone(script[number].pipelines[0])
        for assigned, word in part.assignments if isinstance(part, Simple) and not part.words else ():
            if assigned == name:
                value, between = word.raw.strip("\"'"), script[number + 1 : last]
                if value not in _CODES or any(map(_may_exit, between)):
                    return -1, False, True
                return number - 1, value != "$?", all(map(_plain, between))
    return -1, False, True


def _plain(statement: AndOr) -> bool:
    """Whether a statement leaves `set -e` as it is."""
    parts = [part for pipeline in statement.pipelines for part in pipeline.parts]
    return all(isinstance(part, Simple) and (not part.words or part.words[0].raw != "set") for part in parts)


def _never_zero(pipeline: Pipeline, depth: int = 0) -> bool:
    """Whether a pipeline behind `||` surely ends with something else than 0: `exit 1`, `false`, `{ …; exit 1; }`."""
    part = _lone(pipeline)
    if isinstance(part, Simple) and part.words:
        words = [word.raw for word in part.words]
        if words[0] == "false":
            return True
        if words[0] not in ("exit", "return"):
            return False
        if len(words) == 1 or words[1].strip('"') == "$?":
            return depth == 0
        return words[1].isdecimal() and int(words[1][:9]) != 0
    if isinstance(part, Compound) and part.kind in ("group", "subshell") and part.scripts and depth < _MAX_LOOK:
        script = part.scripts[0]
        return bool(script) and not script[-1].operators and _never_zero(script[-1].pipelines[0], depth + 1)
    return False


def _leaves(pipeline: Pipeline, depth: int = 0) -> bool:
    """Whether a pipeline that never ends with 0 ends the whole shell too (`exit`, not `false` or a subshell)."""
    part = _lone(pipeline)
    if isinstance(part, Simple) and part.words:
        return part.words[0].raw == "exit"
    if isinstance(part, Compound) and part.kind == "group" and part.scripts and part.scripts[0] and depth < _MAX_LOOK:
        return _leaves(part.scripts[0][-1].pipelines[0], depth + 1)
    return False


def ends_shell(statement: AndOr) -> bool:
    """Whether `set -e` ends the shell whenever the statement ends with another code than 0.

    Not in a list of `&&` and `||`, nor for a group or an `if`, whose code may come from such a list inside.
    """
    if statement.operators or statement.background or statement.pipelines[0].negated:
        return False
    parts = statement.pipelines[0].parts
    return bool(parts) and (isinstance(parts[-1], Simple) or parts[-1].kind == "subshell")


def _may_exit(statement: AndOr, depth: int = 0) -> bool:
    """Whether an `exit` or `return` may stand in a branch of a statement, so that what follows may not run."""
    for number, pipeline in enumerate(statement.pipelines):
        if number and statement.operators[number - 1] == "||" and harmless(statement.pipelines[number - 1]):
            continue  # `cd x || exit 1`
        for part in pipeline.parts:
            if isinstance(part, Simple):
                if part.words and part.words[0].raw in ("exit", "return", "eval", ".", "source"):
                    return True
                continue
            inside = part.scripts if part.kind not in ("subshell", "function") and depth < _MAX_LOOK else []
            if any(_may_exit(inner, depth + 1) for script in inside for inner in script):
                return True
    return False


def builtin(words: list[str], place: Place, shell: Shell) -> None:
    """Do to the shell's state what a builtin does."""
    name = words[0]
    if name in ("cd", "pushd"):
        target = next((word for word in words[1:] if word == "-" or not word.startswith(("-", "+"))), "~")
        if name == "pushd":
            shell.stack.append(shell.folder)
        change_folder(shell, target)
    elif name == "popd":
        if shell.stack:
            shell.before, shell.folder = shell.folder, shell.stack.pop()
    elif name == "set":
        errexit, pipefail = shell.errexit, shell.pipefail
        _set(words, shell)
        if place.branch and (errexit, pipefail) != (shell.errexit, shell.pipefail):
            shell.shaky, shell.errexit, shell.pipefail = True, False, False
    elif name in ("export", "declare", "typeset", "local", "readonly"):
        _declare(words, shell)
    elif name in ("unset", "read", "mapfile", "readarray", "getopts"):
        for word in words[1:]:
            shell.known.pop(word, None)
            if name == "unset":
                shell.exported.pop(word, None)
    elif name in ("exit", "exec"):
        shell.left = True
        code = words[1] if len(words) > 1 else "$?"
        failing = place.failed if code == "$?" else code.isdecimal() and int(code[:9]) != 0
        shell.left_well |= name == "exec" or not failing


def _set(words: list[str], shell: Shell) -> None:
    for at, word in enumerate(words):
        if word[:1] in ("-", "+") and not word.startswith("--"):
            if "e" in word[1:]:
                shell.errexit = word[0] == "-"
            option = words[at + 1 : at + 2] if word.endswith("o") else []
            if option == ["pipefail"]:
                shell.pipefail = word[0] == "-"
            elif option == ["errexit"]:
                shell.errexit = word[0] == "-"


def _declare(words: list[str], shell: Shell) -> None:
    exports = words[0] == "export" or any(word.startswith("-") and "x" in word for word in words[1:])
    for word in words[1:]:
        if word.startswith("-"):
            continue
        name, given, value = word.partition("=")
        if given:
            if "$" in value or "`" in value:
                shell.known.pop(name, None)
            else:
                shell.known[name] = value
        elif name not in shell.known:
            continue
        if exports:
            shell.exported[name] = value if given else shell.known[name]


def after_exit(place: Place, shell: Shell) -> Place:
    """The place of what stands behind an `exit` that may have run."""
    if shell.left_well:
        return place._replace(sure=False, code="unknown", shell_code="unknown")
    return place._replace(sure=False)


def chain_codes(statement: AndOr, place: Place) -> list[Code]:
    """What the line's end says of each pipeline of `a && b || c`: told from the last to the first."""
    pipelines, operators = statement.pipelines, statement.operators
    codes, code = [place.code], place.code
    for number in range(len(operators) - 1, -1, -1):
        if operators[number] == "&&":
            code = "zero" if code != "unknown" else "unknown"
        else:
            codes[-1] = "unknown"
            if _never_zero(pipelines[number + 1]):
                known = place.shell_code if _leaves(pipelines[number + 1]) else code
                code = "zero" if known != "unknown" else "unknown"
            else:
                code = "unknown"
        codes.append(code)
    codes.reverse()
    return codes


def wrapped(stripped: Stripped, place: Place) -> Place:
    """What wrappers change about an end."""
    for wrapper in stripped.wrappers:
        if wrapper in ("nohup", "setsid"):
            place = place._replace(background=True)
        elif wrapper == "xargs":
            place = place._replace(sure=False, code="zero" if place.code != "unknown" else "unknown", stdin=None)
        elif wrapper == "watch":
            place = place._replace(code="unknown")
    return place
