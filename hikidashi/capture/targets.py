"""On what a call worked: bucket, host, database, repository, project (design section 8)."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from hikidashi.capture.calls import Called
from hikidashi.capture.grammar import Invocation
from hikidashi.capture.toolbox import pattern
from hikidashi.redact import redact

__all__ = ["Where", "clean_target", "folder_name", "is_scratch", "main_folder", "place_name", "target_of"]

#: Characters of a target at most; a key has room for a verb besides.
MAX_TARGET: Final = 120

_SCHEME: Final = re.compile(r"\A[A-Za-z][A-Za-z0-9+.-]*://")
_CREDENTIALS: Final = re.compile(r"\A[^/@\s]*@(?=[^/\s])")
#: `git@github.com:owner/repository`, as ssh and git write it.
_SCP_LIKE: Final = re.compile(r"\A(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!\d+(?:/|\Z)|//)(.+)\Z")
#: A variable or a command whose value the line does not tell; a placeholder.
_UNTOLD: Final = re.compile(r"[$`]|<[^>]*>|\{\{|%[A-Za-z_]+%")
_REMOTE: Final = re.compile(r"^To (\S+)", re.MULTILINE)
#: What is another one the next time: an image's digest, the number of a pull request.
_NUMBERED: Final = re.compile(r"@sha256:[0-9a-f]{8,}|(?<![^-_./])(?P<request>pr|mr)[-_]?\d+(?![^-_./])")
#: In the path of a deploy, from the first part on that holds a time, a commit or an ID.
_RELEASE: Final = re.compile(
    r"/(?:[^/]*[-_.])?(?:(?:19|20)\d\d-?[01]\d-?[0-3]\d(?:[-_T.]?\d[\d.:-]{3,})?Z?|1\d{9}(?:\d{3})?"
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?=[-_./]|\Z).*\Z"
)
#: The forge that people leave out when they name a repository.
_USUAL_FORGE: Final = "github.com/"
#: The server of a database in a word that is its address, or the words of a connection.
_SERVER: Final = re.compile(
    r"\A(?:postgres|mysql|mariadb|mongodb|redis|mssql|sqlserver|clickhouse|cockroach)[\w+]*://(?:[^@/\s]*@)?([\w.-]+)"
    r"|\A(?:\w+=\S* )*host=([\w.-]+)"
)
#: How the addresses of this machine, of its containers, and of sockets begin.
_NEAR: Final = ("/", ".", "127.", "0.", "172.17.", "172.18.", "172.19.")
#: Verbs of what is done to the project's own files, in a container as beside it.
_OF_THE_PROJECT: Final = ("build", "test", "package")
_LOCAL_HOSTS: Final = ("127.0.0.1", "0.0.0.0", "[::1]", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a line ran."""

    #: Working folder; '' when unknown.
    cwd: str = ""
    #: The folder the session began in; '' when unknown.
    root: str = ""


def target_of(called: Called, invocation: Invocation, output: str, where: Where) -> str:
    """The target by the row's finders, else the project; never empty. Redacted, fit for a key."""
    if invocation.via == "container" and called.call.verb in _OF_THE_PROJECT:
        invocation = replace(invocation, host="", via="", folder="")  # the container is where the project's tools are
    for finder in (*called.call.target, "project"):
        found = _find(finder, called, invocation, output, where)
        target = clean_target(found, case_blind=called.tool.case_blind, releases=called.call.verb == "deploy")
        if target:
            if called.call.verb == "connect-db":
                target = _database(target, called, invocation)
            elsewhere = invocation.host and (finder in ("folder", "project") or _is_there(called, invocation))
            return _on(invocation.host, target) if elsewhere else target
    return clean_target(invocation.host) or called.tool.name


def _database(target: str, called: Called, invocation: Invocation) -> str:
    """A database by its name, with the server before it where that is far away: `shop` is here, too."""
    if target == "localhost":
        return f"{called.tool.name}@localhost"  # two databases of one machine are two targets
    given = (
        called.arguments.value("-h|--host"),
        invocation.environ.get("PGHOST"),
        invocation.environ.get("MYSQL_HOST"),
    )
    server = next((host for host in given if host), "") or _first_group(_SERVER, invocation.words)
    server = clean_target(server).partition(":")[0]
    far = "." in server and not server.startswith(_NEAR) and not server.endswith(".localhost")
    return f"{server}/{target}" if far and server not in target else target


def _is_there(called: Called, invocation: Invocation) -> bool:
    """Whether a name means something else on another machine: a container or a database that has the same one here."""
    return invocation.via == "ssh" and called.call.verb in ("container", "connect-db")


def _on(host: str, target: str) -> str:
    """A folder on another machine."""
    name = clean_target(host)
    return name if not target or target == name else f"{name}:{target}"


def _find(finder: str, called: Called, invocation: Invocation, output: str, where: Where) -> str:
    kind, _, rest = finder.partition(":")
    words = invocation.words[1:]
    match kind:
        case "out":
            return _group(pattern(rest), output)
        case "arg":
            return _first_group(pattern(rest), words)
        case "line":
            return _group(pattern(rest), called.arguments.text)
        case "stdin":
            return _group(pattern(rest), invocation.stdin or "")
        case "option":
            return called.arguments.value(rest) or ""
        case "env":
            return invocation.environ.get(rest, "")
        case "word":
            return _nth(called.rest, int(rest))
        case "only":
            return _nth(called.rest, int(rest)) if len(called.rest) == 1 else ""
        case "fixed":
            return rest
        case "host":
            return invocation.host
        case "git-remote":
            remote = _REMOTE.search(output)
            return remote[1] if remote else ""
        case _:
            return place_name(kind, invocation, where)


def _group(regex: re.Pattern[str], text: str) -> str:
    match = regex.search(text)
    if match is None:
        return ""
    return next((group for group in match.groups() if group), "") if match.groups() else match[0]


def _first_group(regex: re.Pattern[str], words: tuple[str, ...]) -> str:
    return next((text for text in (_group(regex, word) for word in words) if text), "")


def _nth(words: tuple[str, ...], number: int) -> str:
    return words[number] if -len(words) <= number < len(words) else ""


def place_name(kind: str, invocation: Invocation, where: Where) -> str:
    """`folder`: the name of the folder a call ran in; `project`: of its project, with the part it ran in."""
    folder = main_folder(_folder(invocation, where.cwd))
    if kind == "folder" or invocation.host:
        return folder_name(folder) if not invocation.host or invocation.folder else ""
    root = where.root
    if not root or folder_name(root) == "":
        return folder_name(folder)
    if folder == root or not folder:
        return folder_name(root)
    if folder.startswith(root + "/"):
        return f"{folder_name(root)}/{folder[len(root) + 1 :]}"
    return folder_name(folder)


#: Where programs and people put what is gone tomorrow.
_TEMPORARY: Final = re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/var/folders)/|[A-Za-z]:[/\\].*[/\\]Temp[/\\]")


#: A folder that the line made for the moment, or finds by the system's name for such.
_MADE: Final = re.compile(r"\$\(mktemp |`mktemp |\$\{?TE?MP")


def is_scratch(invocation: Invocation, where: Where) -> bool:
    """Whether a call ran in a temporary folder, though the session's project is in none."""
    if _MADE.match(invocation.folder):
        return True
    folder = _folder(invocation, where.cwd)
    return not invocation.host and _TEMPORARY.match(folder) is not None and _TEMPORARY.match(where.root) is None


def _folder(invocation: Invocation, cwd: str) -> str:
    """The folder a call ran in, as far as the line and the session tell."""
    given = invocation.folder.rstrip("/")
    if not given or _UNTOLD.search(given):
        return cwd.rstrip("/")
    if given.startswith(("/", "~")) or re.match(r"[A-Za-z]:", given):
        return given
    parts = cwd.rstrip("/").split("/")
    for part in given.split("/"):
        if part == "..":
            parts = parts[:-1] or [""]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


#: Where linked worktrees stand: in the project, in an agent's or git's own folder of it, or in one beside it.
_WORKTREE: Final = re.compile(r"(?:/\.(?:claude|git|codex|cursor))?(?:/\.?worktrees|[-_.]worktrees)/.+\Z")


@lru_cache(maxsize=256)
def main_folder(path: str) -> str:
    """A working folder, redacted, for it becomes a part of names; of a linked worktree the project it belongs to."""
    folder = redact(path.rstrip("/"))
    main = _WORKTREE.sub("", folder)
    return main if folder_name(main) else folder


def folder_name(folder: str) -> str:
    """The last part of a folder's path; '' for none."""
    return re.split(r"[/\\]", folder.rstrip("/\\"))[-1] if folder not in ("", "/", "~") else ""


@lru_cache(maxsize=512)
def clean_target(text: str, *, case_blind: bool = False, releases: bool = False) -> str:
    """A target as it stands in a key: no scheme, no credentials, no slash at the end, NFC, redacted.

    '' for what names nothing, such as a variable whose value the line does not tell. The numbers of
    pull requests and digests are no part of it, nor with `releases` a path from a time or a commit on: the next one
    goes to the same target. A target that is changed by redaction or too
    long gets a hash of what it was, so that two targets never share a key.
    """
    target = unicodedata.normalize("NFC", text).strip().strip("'\"`").rstrip(".,;:)")
    if not target or target in (".", "..", "/", "~", "-") or _UNTOLD.search(target):
        return ""
    plain, told = _plain(target, releases=releases), _plain(redact(target), releases=releases)
    if "[redacted" not in told:  # what was secret stood before the `@`
        told = redact(plain)
    shown = "".join(c if c.isprintable() and not c.isspace() else "-" for c in told)
    cut, shown = len(shown) > MAX_TARGET, shown[:MAX_TARGET]
    if case_blind:
        shown = shown.lower()
    if told != plain or cut:
        return f"{shown}-{hashlib.sha256(target.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return shown


def _plain(target: str, *, releases: bool) -> str:
    schemed = _SCHEME.match(target)
    if schemed:
        rest = target[schemed.end() :]
        host, slash, path = _CREDENTIALS.sub("", rest).partition("/")
        path, _, _ = path.partition("?")
        target = host.lower() + slash + path
    else:
        scp = _SCP_LIKE.match(target)
        if scp:
            target = f"{scp[1].lower()}/{scp[2].lstrip('/')}"
    target = target.rstrip("/").removesuffix(".git").rstrip("/")
    target = _NUMBERED.sub(lambda match: match["request"] or "", target)
    if releases:
        target = _RELEASE.sub("", target)
    if target.startswith(_USUAL_FORGE) and target.count("/") >= 2:
        target = target.removeprefix(_USUAL_FORGE)
    for local in _LOCAL_HOSTS:
        if target == local or target.startswith(local + ":"):
            target = "localhost" + target[len(local) :]
    return target
