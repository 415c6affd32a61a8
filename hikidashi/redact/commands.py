"""Secrets on command lines: options of well-known commands, `--password X`, `config set token X`, what is piped
into `--password-stdin`, `.netrc` lines, `IDENTIFIED BY 'X'`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.identifiers import Strength, judge_name
from hikidashi.redact.literals import BARE_LINE, QUOTE, Form, judged, quoted
from hikidashi.redact.places import command_before
from hikidashi.redact.values import is_placeholder, is_variable

__all__ = ["find_options", "find_secret_commands", "find_settings"]

_VALUE: Final = r"(?P<quote>\\?[\"'])?(?P<secret>(?(quote)[^\"'\n\\]{1,256}|[^\s\"'`;|&<>\\]{1,256}))"
_PAIR: Final = (
    r"(?P<quote>\\?[\"'])?(?P<user>[^\s:\"'\\/]{0,128}):(?P<secret>(?(quote)[^\"'\n\\]{1,256}|[^\s\"'`;|&<>\\]{1,256}))"
)
_COOKIE_OPTION: Final = re.compile(r"-b[ \t]{0,4}[\"'\\]{0,4}(?P<secret>[\w.\-%]{1,80}=[^\n\"'`\\]{4,4096}+)")
_USER_OPTION: Final = re.compile(
    rf"(?:-[a-zA-Z]{{0,6}}u|--user|--proxy-user|-U|-a|--auth)(?:[ \t=]{{1,4}}|(?=[\"'\\])|(?<=u)){_PAIR}"
)
_GLUED: Final = re.compile(rf"-p{_VALUE}")
_SPACED: Final = re.compile(rf"-[a-zA-Z]{{0,6}}(?P<flag>[pPaw])[ \t]{{1,4}}{_VALUE}")
#: Short options that take a password, and long ones with a single dash (PowerShell).
_OPTION: Final = re.compile(r" -(?:[a-z]{4,40}+(?=[ \t])|[a-z]{0,6}[upawbs](?![a-z])|u|p|-user|-proxy-user|-auth)")
#: `-p 8080:80` publishes a port.
_PORTS: Final = re.compile(r"[\d.]*:?[\d.]+:[\d.]+(?:/tcp|/udp)?|\d{1,5}")
#: Commands whose option takes `user:password`, a password glued to `-p`, or one after a space.
_TAKES_PAIR: Final = ("curl", "http ", "https ", "xh ", "wget")
_TAKES_GLUED: Final = ("mysql", "mariadb", "7z ", "7za ", "sshpass")
_TAKES_SPACED: Final = {
    "p": (
        "sshpass",
        "docker login",
        "podman login",
        "mongo",
        "helm registry login",
        "az login",
        "oc login",
        "twine",
        "cqlsh",
    ),
    "P": ("unzip", "zip ", "sqlcmd", "bcp "),
    "a": ("redis-cli", "valkey-cli"),
    "w": ("ldap",),
}
_PASS_SOURCE: Final = re.compile(r"-(?:pass|passin|passout)[ \t]{1,4}[\"']?pass:(?P<secret>[^\s\"'`;|&\\]{1,256})")

_LONG_OPTION: Final = re.compile(r"--(?P<name>[a-z][a-z0-9_.\-]{3,40}+)")
_NAME_WORD: Final = re.compile(r"pass|pwd|secret|token|key|auth|cred")
_GAP: Final = re.compile(r"[ \t]{1,8}(?=[^\s\-$<|;&>])")
#: A setting and its value; the password of a `.netrc` line.
_SPACED_NAMES: Final = (
    (" set ", re.compile(r" set (?P<name>[^\s\"'=]{3,120}+)")),
    ("login", re.compile(r"login[ \t\n]{1,4}[^\s]{1,80}[ \t\n]{1,4}(?P<name>password)")),
)
#: Commands whose arguments are secrets whatever their names are: `gh secret set X --body V`, `fly secrets set X=V`,
#: `kubectl create secret generic x --from-literal=k=V`.
_SECRET_COMMAND: Final = re.compile(r"secrets? (?:set|put|add|create|generic) [^\n]{0,2000}")
_SECRET_ARGUMENT: Final = re.compile(
    r"[ \t](?:--from-literal[= ][\"']?)?(?:[A-Za-z_][\w.\-]{0,80}=|--body[= ]|-b[ ])[\"'\\]{0,2}"
    r"(?P<secret>[^\s\"'\\;|&<>]{3,1024})"
)
_IDENTIFIED: Final = re.compile(r"identified (?:with \S{1,40} )?(?:by|as) (?:password )?(?P<quote>[\"'])")
_ECHOED: Final = re.compile(
    r"(?:echo|printf)[ \t]+(?:-\w+[ \t]+|[\"']?%s[\"']?[ \t]+)?[\"'\\]{0,2}(?P<secret>[!#-&(-\[\]-{}~]{4,256})"
    r"[\"'\\]{0,2}[ \t]*\|[^|\n]{0,200}\Z"
)
_HERE: Final = re.compile(r"[^\n|;&<]{0,200}+<<<[ \t]*[\"']?(?P<secret>[^\s\"'\\]{4,256})")


def find_options(text: str, low: str) -> Iterator[Secret]:
    """`curl -u user:password`, `mysql -pPASSWORD`, `sshpass -p PASSWORD`, `redis-cli -a PASSWORD`,
    `--password PASSWORD` and such."""
    for option in _OPTION.finditer(low) if " -" in low else ():
        if low.startswith("sudo -s", option.start() - 4):
            yield from _piped(text, option.start() - 4, option.end())
        secret = _option_value(text, low, option.start() + 1)
        if secret is not None:
            yield secret
        elif option.end() - option.start() > 5 and _NAME_WORD.search(option.group()):
            yield from _after_name(text, text[option.start() + 2 : option.end()], option.end())
    for option in _LONG_OPTION.finditer(low) if "--" in low else ():
        name = option["name"].rstrip(".")  # the end of a sentence
        if _NAME_WORD.search(name) is None:
            continue
        if name.endswith(("password-stdin", "with-token")):
            yield from _piped(text, option.start(), option.end())
        else:
            yield from _after_name(text, text[option.start("name") : option.end()], option.end())


def _option_value(text: str, low: str, at: int) -> Secret | None:
    if (match := _PASS_SOURCE.match(text, at)) is not None:
        return None if is_variable(match["secret"]) else Secret("password", *match.span("secret"))
    if (match := _COOKIE_OPTION.match(text, at)) is not None:
        known = "curl" in command_before(low, at) and not is_placeholder(match["secret"])
        return Secret("cookie", *match.span("secret")) if known else None
    for pattern, commands in ((_USER_OPTION, _TAKES_PAIR), (_GLUED, _TAKES_GLUED), (_SPACED, ())):
        match = pattern.match(text, at)
        if match is None:
            continue
        value = match["secret"]
        if is_variable(value) or value.startswith("-") or _PORTS.fullmatch(value):
            continue
        takers = commands or _TAKES_SPACED.get(match["flag"], ())
        before = command_before(low, at)
        if any(taker in before for taker in takers):
            return Secret("password", *match.span("secret"))
    return None


def find_settings(text: str, low: str) -> Iterator[Secret]:
    """`config set token X`, `.netrc` lines, `IDENTIFIED BY 'X'`."""
    for word, pattern in _SPACED_NAMES:
        for match in pattern.finditer(low) if word in low else ():
            yield from _after_name(text, text[match.start("name") : match.end()], match.end())
    for match in _IDENTIFIED.finditer(low) if "identified " in low else ():
        end = text.find(match["quote"], match.end(), match.end() + 256)
        if end > match.end() and not is_variable(text[match.end() : end]):
            yield Secret("password", match.end(), end)


def find_secret_commands(text: str, low: str) -> Iterator[Secret]:
    """Arguments of commands that store secrets, whatever their names are."""
    for command in _SECRET_COMMAND.finditer(low):
        for match in _SECRET_ARGUMENT.finditer(text, command.start(), command.end()):
            if not is_placeholder(match["secret"]):
                yield Secret("secret", *match.span("secret"))


def _after_name(text: str, name: str, at: int) -> Iterator[Secret]:
    gap = _GAP.match(text, at)
    if gap is None:
        return
    strength = judge_name(name)
    if strength is Strength.NONE:
        return
    secret = None
    quote = QUOTE.match(text, gap.end())
    if quote is not None:
        place = quoted(text, quote)
        if place is not None:
            secret = judged(text, name, strength, Form.QUOTED, place, "flag")
    elif (bare := BARE_LINE.match(text, gap.end())) is not None:
        secret = judged(text, name, strength, Form.FLAG, bare.span(), "flag")
    if secret is not None:
        yield secret


def _piped(text: str, start: int, after: int) -> Iterator[Secret]:
    """What is echoed into `docker login --password-stdin`."""
    low = max(0, start - 400)
    match = _ECHOED.search(text, low, start) or _HERE.match(text, after)
    if match is not None and not is_placeholder(match["secret"]):
        yield Secret("password", *match.span("secret"))
