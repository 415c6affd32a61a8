"""Secrets known by where they stand: URLs, HTTP headers, connection strings.

Every finder walks from one cheap anchor to the next and looks at a bounded neighbourhood of each.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.values import is_placeholder, is_random, is_variable, word_set

__all__ = [
    "command_before",
    "find_basic",
    "find_bearer",
    "find_cookies",
    "find_signatures",
    "find_url_passwords",
    "is_basic_credential",
]

_USERINFO: Final = re.compile(
    r"(?P<user>[^\s/?#@:\"'`<>\\]{0,256}+):(?P<secret>[^\s\"'`<>\\/?#,]{1,512})@(?=[\w\[.%$<{\-])"
)
#: The same for a password that nobody encoded: up to the first `@`.
_RAW_USERINFO: Final = re.compile(
    r"(?P<user>[^\s/?#@:\"'`<>\\]{1,256}+):(?P<secret>[^\s\"'`<>\\@]{1,512}+)@(?=[\w\[.%$<{\-])"
)
_TOKEN_USER: Final = re.compile(r"(?P<secret>[A-Za-z0-9_.~\-]{20,512}+)(?=@)")
_PORT: Final = re.compile(r"\d{1,5}(?:[/?#,;&)|]|\Z)|\$\{?\w*\}?/|\{\w*\}/")
_HOOKS: Final = re.compile(
    r"(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?P<slack>[A-Za-z0-9/_\-]{16,200})"
    r"|(?:[\w\-]{1,20}\.)?discord(?:app)?\.com/api(?:/v\d{1,2})?/webhooks/(?P<discord>\d{5,25}/[A-Za-z0-9_\-]{12,100})"
    r"|[\w\-.]{0,60}webhook\.office\.com/(?:webhookb2/)?(?P<teams>[A-Za-z0-9@/_\-]{20,300})"
    r"|chat\.googleapis\.com/v1/spaces/(?P<chat>[^\s\"'<>\\]{20,300})"
    r"|(?:hooks\.zapier\.com/hooks/(?:catch|standard)|hook\.(?:[a-z]{2}\d\.)?make\.com|media\.guilded\.gg/webhooks"
    r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook|uptime\.betterstack\.com/api/v1/heartbeat"
    r"|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=|maker\.ifttt\.com/trigger/[\w\-]{1,80}/(?:json/)?with/key"
    r")/?(?P<hook>[A-Za-z0-9/_\-]{12,200})"
    r"|(?:[\w\-.]{1,60}\.infura\.io/(?:ws/)?v3|[\w\-.]{1,60}\.alchemy(?:api)?\.(?:com|io)/v2"
    r"|[\w\-.]{1,80}\.quiknode\.pro)/(?P<node>[A-Za-z0-9_\-]{24,64})"
    r"|[\w.\-]{1,80}(?::\d{1,5})?/hooks/(?P<own>[a-z0-9]{26}|[A-Za-z0-9]{24}/[A-Za-z0-9]{40,72})(?![A-Za-z0-9]))"
)
_HOOK_KINDS: Final = {
    "slack": "slack-webhook",
    "discord": "discord-webhook",
    "teams": "teams-webhook",
    "chat": "google-chat-webhook",
    "hook": "webhook",
    "node": "node-key",
    "own": "webhook",
}
_BREAK: Final = re.compile(r"[\s\"'`]|\\[nrt]")
_GO_DSN: Final = re.compile(r"[^\s:@\"'`/=]{1,64}:(?P<secret>[^\s\"'`]{1,128})")
_JDBC_THIN: Final = re.compile(r"[\w$#]{1,64}/(?P<secret>[^\s\"'@/]{1,128})@")

_BEARER: Final = re.compile(r"bearer[ \t]{1,4}[\"'\\]{0,4}(?P<secret>[a-z0-9._~+/=\-]{12,8192}+)", re.IGNORECASE)
_BASIC: Final = re.compile(r"basic[ \t]{1,4}[\"'\\]{0,4}(?P<secret>[a-z0-9+/]{6,2048}+={0,2})", re.IGNORECASE)

_COOKIE: Final = re.compile(
    r"cookies?2?(?P<close>[\"'\\]{0,4})[ \t]{0,4}(?P<op>[:=])[ \t]{0,4}(?P<open>[\"'`\\]{0,4})"
    r"(?P<secret>[\w.\-%]{1,80}=[^\s;\"'`\\,]{4,4096}+(?:;[ \t]?[\w.\-%]{1,80}(?:=[^\s;\"'`\\]{0,4096}+)?)*+)",
    re.IGNORECASE,
)
_COOKIE_OPTION: Final = re.compile(
    r"--cookie[ \t=]{1,4}[\"'\\]{0,4}(?P<secret>[\w.\-%]{1,80}=[^\n\"'`\\]{4,4096}+)", re.IGNORECASE
)
_COOKIE_ATTRIBUTES: Final = word_set("path domain expires max-age secure httponly samesite partitioned priority")

_SESSION_COOKIE: Final = re.compile(
    r"(?i)(?:^|[;\s.\-_a-z])(?:sess|sid|auth|token|jwt|csrf|remember|login)[\w.\-]{0,40}(?:=|$)"
)

_SIGNATURE: Final = re.compile(r"=(?P<secret>[A-Za-z0-9+/_\-]{40,512}+(?:%[0-9A-Fa-f]{2}|=){0,3})(?![A-Za-z0-9])")


def find_url_passwords(text: str, low: str) -> Iterator[Secret]:
    """The password of `scheme://user:password@host`, a token in the user's place, and webhook URLs."""
    at = text.find("://")
    while at >= 0:
        at += 3
        hook = _HOOKS.match(text, at)
        if hook is not None and hook.lastgroup:
            if not is_variable(hook[hook.lastgroup]):
                yield Secret(_HOOK_KINDS[hook.lastgroup], hook.start(hook.lastgroup), hook.end())
        elif (place := _password_in_url(text, at)) is not None:
            yield Secret("url-password", *place)
        at = text.find("://", at)
    if "@" in text:
        yield from _find_dsn_passwords(text)


def _password_in_url(text: str, at: int) -> tuple[int, int] | None:
    for pattern in (_USERINFO, _RAW_USERINFO, _TOKEN_USER):
        match = pattern.match(text, at)
        if match is None:
            continue
        value = match["secret"]
        if pattern is _TOKEN_USER:
            return match.span("secret") if is_random(value) else None
        # `host:8080/@scope` is a port; `image:1.2@sha256:…` is a tag; a second scheme is another URL.
        if _PORT.match(value) or "://" in value or text.startswith("sha256:", match.end()):
            return None
        return None if is_variable(value) else match.span("secret")
    return None


def _find_dsn_passwords(text: str) -> Iterator[Secret]:
    at = text.find("@tcp(")
    done = 0
    while at >= 0:
        words = _BREAK.split(text[max(done, at - 200) : at])
        done = at + 5
        match = _GO_DSN.fullmatch(words[-1].rpartition("=")[2] if "=" in words[-1].partition(":")[0] else words[-1])
        if match is not None and not is_variable(match["secret"]):
            yield Secret("url-password", at - len(match["secret"]), at)
        at = text.find("@tcp(", at + 5)
    at = text.find("oracle:thin:")
    while at >= 0:
        match = _JDBC_THIN.match(text, at + 12)
        if match is not None and not is_variable(match["secret"]):
            yield Secret("url-password", *match.span("secret"))
        at = text.find("oracle:thin:", at + 12)


def is_basic_credential(value: str) -> bool:
    """True for base64 of `user:password`, as HTTP Basic and Docker's configuration have it."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (ValueError, binascii.Error):
        return False
    return b":" in decoded and all(32 <= byte < 127 for byte in decoded)


def find_bearer(text: str, low: str) -> Iterator[Secret]:
    """`Bearer …` with a random value, in any surroundings."""
    return _find_scheme(text, low, "bearer ", _BEARER, is_random)


def find_basic(text: str, low: str) -> Iterator[Secret]:
    """`Basic …` with base64 of `user:password`, in any surroundings."""
    return _find_scheme(text, low, "basic ", _BASIC, is_basic_credential)


def _find_scheme(
    text: str, low: str, anchor: str, pattern: re.Pattern[str], accepts: Callable[[str], bool]
) -> Iterator[Secret]:
    at = low.find(anchor)
    while at >= 0:
        match = pattern.match(text, at)
        if match is not None and accepts(match["secret"]):
            yield Secret("authorization", *match.span("secret"))
        at = low.find(anchor, at + len(anchor) if match is None else match.end())


def find_cookies(text: str, low: str) -> Iterator[Secret]:
    """What `Cookie:` and `Set-Cookie:` headers and `--cookie` options hold."""
    at = low.find("cookie")
    while at >= 0:
        match = _COOKIE.match(text, at) or (_COOKIE_OPTION.match(text, at - 2) if at > 1 else None)
        if match is not None:
            start, end = match.span("secret")
            if low.startswith("set-", max(0, at - 4)):  # attributes say nothing secret
                start += text[start:end].index("=") + 1
                end = start + len(text[start:end].partition(";")[0])
            name = match["secret"].partition("=")[0].lower()
            value = text[start:end]
            if name not in _COOKIE_ATTRIBUTES and not is_placeholder(value) and _tells(name, value):
                yield Secret("cookie", start, end)
        at = low.find("cookie", at + 6 if match is None else match.end())


def _tells(name: str, cookies: str) -> bool:
    """True when one of the cookies may be a session's: `theme=dark; lang=en` says nothing secret."""
    values = [cookie.rpartition("=")[2] for cookie in cookies.split(";")]
    if _SESSION_COOKIE.search(name) or _SESSION_COOKIE.search(cookies):
        return True
    return any(len(value) >= 8 and (len(value) >= 24 or any(map(str.isdigit, value))) for value in values)


def find_signatures(text: str, low: str) -> Iterator[Secret]:
    """The signature of a pre-signed URL (`sig=` of Azure's SAS, `X-Amz-Signature=`, `X-Goog-Signature=`)."""
    for anchor in ("sig=", "signature="):
        at = low.find(anchor)
        while at >= 0:
            match = _SIGNATURE.match(text, at + len(anchor) - 1)
            if match is not None and is_random(match["secret"]):
                yield Secret("url-signature", *match.span("secret"))
            at = low.find(anchor, at + len(anchor))


def command_before(low: str, at: int) -> str:
    """The command that the option at `at` belongs to: from the last separator, at most 400 characters."""
    floor = max(0, at - 400)
    start = max(low.rfind(mark, floor, at) for mark in ("\n", ";", "|", "&&", "\\n"))
    return low[max(start + 1, floor) : at] + " "
