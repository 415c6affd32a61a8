"""Programs that run others inside: shells with `-c`, `eval`, `ssh host …`, `docker exec …`, `kubectl exec … --`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hikidashi.capture.grammar_reading import Dialect, Via
from hikidashi.capture.grammar_wrappers import Stripped
from hikidashi.capture.vocabulary import word_list

__all__ = ["Call", "inner_calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a program runs: a script for a shell, or words for a program."""

    script: str | None = None
    words: tuple[str, ...] = ()
    dialect: Dialect = "sh"
    host: str = ""
    via: Via = ""
    stdin: str | None = None
    wrappers: tuple[str, ...] = ()
    errexit: bool = False
    pipefail: bool = False
    #: It goes on when the program that started it has ended (`docker exec -d`, `ssh -f`).
    background: bool = False
    #: `eval`: it changes the shell it stands in.
    same_shell: bool = False


_SHELLS: Final = word_list("bash sh zsh dash ksh ash fish")


def _shell(words: list[str], stdin: str | None) -> Call | None:
    """`bash -lc '…'`, `bash <<EOF`, `bash -s`; None for a script file, whose text is not here."""
    errexit = pipefail = False
    takes_text = False
    at = 1
    while at < len(words) and words[at][:1] in ("-", "+") and words[at] not in ("-", "--"):
        word = words[at]
        at += 1
        if word.startswith("--"):
            at += word in ("--rcfile", "--init-file")
            continue
        flags = word[1:] if word[0] == "-" else ""
        errexit |= "e" in flags
        takes_text |= "c" in flags
        if "o" in word[1:] or "O" in word[1:]:
            pipefail |= words[at : at + 1] == ["pipefail"]
            at += 1
        if "s" in flags and not takes_text:
            return Call(script=stdin, errexit=errexit, pipefail=pipefail) if stdin is not None else None
    at += words[at : at + 1] in (["-"], ["--"])
    if takes_text and at < len(words):
        name = f"{words[0]} -c"
        return Call(script=words[at], stdin=stdin, wrappers=(name,), errexit=errexit, pipefail=pipefail)
    if at >= len(words) and stdin is not None:
        return Call(script=stdin, wrappers=(words[0],), errexit=errexit, pipefail=pipefail)
    return None


def _eval(words: list[str], stdin: str | None) -> Call | None:
    text = " ".join(words[1:])
    if not text or text[0] in "$`":
        return None
    return Call(script=text, wrappers=("eval",), stdin=stdin, same_shell=True)


def _su(words: list[str], stdin: str | None) -> Call | None:
    """`su - user -c '…'`."""
    for at, word in enumerate(words[:-1]):
        if word in ("-c", "--command"):
            return Call(script=words[at + 1], wrappers=("su -c",), stdin=stdin)
    return None


#: Options of ssh whose next word is their value (ssh(1)).
_SSH_VALUES: Final = frozenset("-" + letter for letter in "bBcDEeFIiJLlmOopPQRSWw")


def _ssh(words: list[str], stdin: str | None) -> Call | None:
    """`ssh [options] [user@]host [command …]`: ssh joins the command's words with blanks for the shell over there."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        if word in ("-N", "-V", "-O", "-Q", "-G") or (len(word) > 2 and word[1:].isalpha() and "N" in word):
            return None
        at += (
            2 if word in _SSH_VALUES or (word[-2:-1] != "o" and f"-{word[-1]}" in _SSH_VALUES and len(word) < 5) else 1
        )
    if at >= len(words):
        return None
    host, rest = words[at], words[at + 1 :]
    while rest and rest[0].startswith("-"):  # options may stand behind the host too
        rest = rest[2:] if rest[0] in _SSH_VALUES else rest[1:]
    if rest:
        return Call(script=" ".join(rest), host=host, via="ssh", stdin=stdin, background="-f" in words[:at])
    return Call(script=stdin, host=host, via="ssh") if stdin is not None else None


#: Options of `exec` whose next word is their value (docker, podman, docker compose, kubectl).
_EXEC_VALUES: Final = word_list(
    "-e --env --env-file -u --user -w --workdir --index --detach-keys -c --container -n --namespace --context",
    "--kubeconfig --cluster -f --filename -p --project-name --file --profile --project-directory -H --host",
    "--pod-running-timeout --name -v --volume --label --entrypoint --publish",
)

_EXECUTORS: Final = word_list("docker podman nerdctl docker-compose podman-compose kubectl oc")


def _container(words: list[str], stdin: str | None) -> Call | None:
    """`docker exec web cmd`, `docker compose exec|run web cmd`, `kubectl exec pod -- cmd`."""
    at, seen = 1, False
    while at < len(words):
        word = words[at]
        if word.startswith("-"):
            if word == "--":
                break
            at += 2 if word in _EXEC_VALUES else 1
        elif seen:
            break
        elif word == "exec" or (word == "run" and "compose" in (*words[1:at], words[0].partition("-")[2])):
            seen = True
            at += 1
        elif word in ("compose", "container", "k", "kubectl"):
            at += 1
        else:
            return None
    if not seen or at >= len(words):
        return None
    rest = words[at:]
    if words[0] in ("kubectl", "oc"):
        behind = rest.index("--") + 1 if "--" in rest else 1
    else:
        behind = 1
    inner = tuple(rest[behind:])
    if not inner or rest[0] == "--":
        return None
    background = words[0] not in ("kubectl", "oc") and not {"-d", "--detach"}.isdisjoint(words[:at])
    return Call(words=inner, host=rest[0], via="container", stdin=stdin, background=background)


def _powershell(words: list[str], stdin: str | None) -> Call | None:
    """`powershell -NoProfile -Command "…"`."""
    for at, word in enumerate(words[:-1]):
        if word.lower() in ("-command", "-c", "/c", "/command"):
            return Call(script=" ".join(words[at + 1 :]), dialect="powershell", wrappers=(words[0],))
    return None


def _cmd(words: list[str], stdin: str | None) -> Call | None:
    """`cmd /c "…"`; Git Bash writes `//c`."""
    for at, word in enumerate(words[:-1]):
        if word.lower() in ("/c", "//c", "/k"):
            return Call(script=" ".join(words[at + 1 :]), dialect="cmd", wrappers=("cmd",))
    return None


_READERS: Final[dict[str, Callable[[list[str], str | None], Call | None]]] = {
    **dict.fromkeys(_SHELLS, _shell),
    **dict.fromkeys(_EXECUTORS, _container),
    "eval": _eval,
    "su": _su,
    "ssh": _ssh,
    "autossh": _ssh,
    "powershell": _powershell,
    "pwsh": _powershell,
    "cmd": _cmd,
}


def inner_calls(stripped: Stripped, stdin: str | None) -> list[Call]:
    """What the program runs inside, as far as its words and what it is fed show it."""
    if stripped.script is not None:
        return [Call(script=stripped.script, wrappers=(), stdin=stdin)]
    reader = _READERS.get(stripped.words[0])
    call = reader(stripped.words, stdin) if reader else None
    return [call] if call is not None and (call.script is not None or call.words) else []
