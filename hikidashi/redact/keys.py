"""Private keys: PEM and PGP blocks, whole or cut, with real or escaped line ends; PuTTY files; JSON Web Tokens;
the unprefixed tokens of Discord, Telegram, Mailgun, Twilio and others; the AWS secret beside its key id."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Final

from hikidashi.redact.families import Secret, starts_clean
from hikidashi.redact.joints import MAX_PIECES, joint_at, next_piece

__all__ = [
    "find_aws_secrets",
    "find_discord",
    "find_jwt",
    "find_mailgun",
    "find_paired",
    "find_pem",
    "find_putty",
    "find_telegram",
    "find_twilio",
    "may_be_paired",
]

#: A key is at most this long; further END lines belong to something else.
_MAX_KEY: Final = 32 * 1024
_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?:-----)?")
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/=]{16}")
#: What may stand between two lines of a key: line ends (also escaped), quotes, indentation, diff marks, line
#: numbers of a listing, headers of an encrypted key.
_GAP: Final = r"(?:\\[nrt]|\s\d{1,5}(?=[^A-Za-z0-9+/=])|[+](?=[ \t\"'])|[^A-Za-z0-9+/=\-])"
_HEADER: Final = r"(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\n\\]{0,120}+)"
_LINES: Final = re.compile(
    rf"(?:{_GAP}{{0,40}}+(?:{_HEADER}|[A-Za-z0-9+/=]{{20,}}+))*+(?:{_GAP}{{0,8}}[A-Za-z0-9+/=]{{1,80}}+\Z)?"
)
_PUTTY: Final = re.compile(
    r"Private-Lines: \d{1,3}(?:\\{1,4}[rn]|\s)*+(?P<secret>(?:[A-Za-z0-9+/=]{16,}+(?:\\{1,4}[rn]|\s)*+)+)"
)

_JWT: Final = re.compile(r"eyJ[A-Za-z0-9_\-]{8,8192}+(?:\.[A-Za-z0-9_\-]*+){0,4}")
_JWT_RUN: Final = re.compile(r"[A-Za-z0-9_\-.]*+")
_TELEGRAM: Final = re.compile(r":AA(?:[A-Za-z0-9_\-]{32,34}(?![A-Za-z0-9_\-])|[A-Za-z0-9_\-]{12,31}\Z)")
_DISCORD: Final = re.compile(r"\.(?P<middle>[A-Za-z0-9_\-]{6})\.[A-Za-z0-9_\-]{27,64}(?![A-Za-z0-9_\-])")
_BASE64_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_WORD_CHARACTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_MAILGUN: Final = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9\-])")
_TWILIO: Final = re.compile(
    r"AC[0-9a-f]{32}(?:[\"'\s:,;|=]){1,8}(?:[A-Za-z_]{1,24}[\"'\s:=]{1,6})?(?P<secret>[0-9a-f]{32})(?![0-9a-f])"
)
_AWS_ID: Final = re.compile(r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])")
_AWS_SECRET: Final = re.compile(r"(?:(?<![A-Za-z0-9/+=])|(?<=\\[nrt]))[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")


def find_pem(text: str, low: str) -> Iterator[Secret]:
    """Private keys in PEM armour. A block without END reaches as far as its base64 does; one without BEGIN
    begins where its base64 does. A header with nothing behind it is prose."""
    at = text.find("-----")
    while at >= 0:
        begin = _BEGIN.match(text, at)
        if begin is not None:
            end = _pem_end(text, begin.end())
            if end:
                yield Secret("private-key", at, end)
                at = text.find("-----", end)
                continue
        else:
            tail = _END.match(text, at)
            if tail is not None and (start := _pem_start(text, at)) >= 0:
                yield Secret("private-key", start, tail.end())
        at = text.find("-----", at + 5)


def _pem_end(text: str, body: int) -> int:
    limit = min(len(text), body + _MAX_KEY)
    fence = text.find("-----", body, limit)
    if fence >= 0 and (closing := _END.match(text, fence)) is not None:
        return closing.end() if _BASE64_RUN.search(text, body, fence) else 0
    lines = _LINES.match(text, body, limit)
    if lines is None or not _BASE64_RUN.search(text, body, lines.end()):
        return 0
    return lines.end()


def _pem_start(text: str, fence: int) -> int:
    """Where the base64 before an END line begins; -1 when there is none."""
    low = max(0, fence - _MAX_KEY, text.rfind("-----", 0, fence) + 5)
    start, at = -1, fence
    while at > low:
        # `n` and `r` go with the backslash of an escaped line end.
        stripped = text[low:at].rstrip("\r\n \t\"'+,nr\\|>│")
        line = low + len(stripped.rstrip(_BASE64_CHARACTERS))
        size = low + len(stripped) - line
        if size < 16 and (start >= 0 or size == 0):
            break
        start = at = line
    return start if start >= 0 and _BASE64_RUN.search(text, start, fence) else -1


def find_putty(text: str, low: str) -> Iterator[Secret]:
    """The private lines of a PuTTY key file."""
    for match in _PUTTY.finditer(text):
        yield Secret("private-key", match.start("secret"), match.end("secret"))


def find_jwt(text: str, low: str) -> Iterator[Secret]:
    """JSON Web Tokens: the first part decodes to a JSON object; three parts, fewer where the text ends."""
    at = text.find("eyJ")
    while at >= 0:
        end = at + 3
        if starts_clean(text, at, "_-+/"):
            match = _JWT.match(text, at)
            if match is not None:
                end, token = _with_pieces(text, at, match.end())
                if _is_jwt(token, text[end : end + 4]):
                    yield Secret("jwt", at, end - (token.endswith(".") and token.count(".") != 2))
        at = text.find("eyJ", end)


def _with_pieces(text: str, start: int, end: int) -> tuple[int, str]:
    """A token that may be broken over lines or strings, and where it ends."""
    token = text[start:end]
    for _ in range(MAX_PIECES):
        joint = joint_at(text, end)
        # A signature of 43 characters or more is whole.
        if joint is None or (token.count(".") >= 2 and len(token) - token.rfind(".") > 43 and not joint.concatenated):
            break
        stop = next_piece(text, joint.end, _JWT_RUN)
        if not stop or stop - joint.end < 12:
            break
        token += text[joint.end : stop]
        end = stop
    return end, token


def _is_jwt(token: str, after: str) -> bool:
    parts = token.split(".")
    cut = after == "" or after.startswith(("...", "…"))
    if len(parts) < 2:
        return False
    if len(parts) < 3 and not (cut and len(parts) == 2 and len(parts[1]) >= 12):
        return False
    if len(parts[1]) < 4 and len(parts) != 5:
        return False
    try:
        header = json.loads(base64.urlsafe_b64decode(parts[0] + "=" * (-len(parts[0]) % 4)))
    except (ValueError, RecursionError, binascii.Error):
        return False
    return isinstance(header, dict)


def find_telegram(text: str, low: str) -> Iterator[Secret]:
    """Telegram bot tokens: 8 to 10 digits, `:AA`, 33 characters."""
    for match in _TELEGRAM.finditer(text):
        before = text[max(0, match.start() - 12) : match.start()]
        digits = len(before) - len(before.rstrip("0123456789"))
        if 8 <= digits <= 10:
            yield Secret("telegram-token", match.start() - digits, match.end())


def find_discord(text: str, low: str) -> Iterator[Secret]:
    """Discord bot tokens: base64 of the bot's numeric id, six characters, 27 or more."""
    for match in _DISCORD.finditer(text):
        head = text[max(0, match.start() - 30) : match.start()]
        before = head.rstrip(_WORD_CHARACTERS)
        part = head[len(before) :].lstrip("-_")
        if before.endswith("\\") and part[:1] in ("n", "r", "t"):
            part = part[1:]  # the letter of an escape such as `\n`
        if len(part) < 22:
            continue
        try:
            decoded = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
        except (ValueError, binascii.Error):
            continue
        if decoded.isdigit():
            yield Secret("discord-token", match.start() - len(part), match.end())


def find_mailgun(text: str, low: str) -> Iterator[Secret]:
    """Mailgun keys without prefix: 32, 8 and 8 hexadecimal digits."""
    for match in _MAILGUN.finditer(text):
        start = match.start() - 32
        head = text[max(start, 0) : match.start()]
        if start >= 0 and not head.strip("0123456789abcdef") and starts_clean(text, start, "-_"):
            yield Secret("mailgun-key", start, match.end())


def find_twilio(text: str, low: str) -> Iterator[Secret]:
    """The auth token beside a Twilio account id; the id itself is no secret."""
    for match in _TWILIO.finditer(text):
        yield Secret("twilio-auth-token", match.start("secret"), match.end("secret"))


#: Tokens of two parts with a sign between them that no run of a token has: kind, an anchor and how far behind the
#: token's beginning it stands, the token.
_PAIRS: Final = (
    ("asana-token", "/1", 1, re.compile(r"(?P<secret>[0-2]/1\d{12,18}(?:/1\d{12,18})?:[0-9a-f]{32})(?![0-9a-f])")),
    ("astra-token", "AstraCS:", 0, re.compile(r"(?P<secret>AstraCS:[A-Za-z]{20,40}:[0-9a-f]{64})")),
    (
        "bitwarden-token",
        "0.",
        0,
        re.compile(
            r"(?P<secret>0\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[A-Za-z0-9]{20,40}:[A-Za-z0-9+/]{20,}={0,2})"
        ),
    ),
    ("rancher-token", "token-", 0, re.compile(r"(?P<secret>token-[a-z0-9]{5}:[a-z0-9]{54})(?![a-z0-9])")),
    ("salesforce-token", "!A", 15, re.compile(r"(?P<secret>00[A-Za-z0-9]{13}!A[A-Za-z0-9._]{80,120})")),
    (
        "kaggle-token",
        '"username',
        0,
        re.compile(
            r"\"username\\{0,3}\":\s{0,4}\\{0,3}\"[^\"\\]{1,64}\\{0,3}\",\s{0,8}\\{0,3}\"key\\{0,3}\":\s{0,4}\\{0,3}\""
            r"(?P<secret>[0-9a-f]{32})"
        ),
    ),
    (
        "jenkins-crumb",
        "umb",
        0,
        re.compile(
            r"umb[\"'\\]{0,4}[ \t]?[:=][ \t]?[\"'\\]{0,4}(?P<secret>[0-9a-f]{32,64})(?![0-9a-f])",
        ),
    ),
)
_PAIRED_RUN: Final = re.compile(
    rb"[0-2]/1\d{12}|0\.[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{64}\Z|[a-z0-9]{54}\Z|A[A-Za-z0-9._]{81}|[0-9a-f]{32}\Z"
)
_PAIRED_LENGTHS: Final = frozenset((*range(14, 19), *range(31, 39), 54, 64, *range(60, 124)))


def may_be_paired(runs: bytes) -> bool:
    """True when one of the tokens that `find_paired` finds may be in a text with these long runs."""
    # By length first, which is faster than to read them all; a name with `=` or the end of a sentence may stick to one.
    words = runs.replace(b"=", b" ").replace(b". ", b" ").removesuffix(b".").split()
    return any(_PAIRED_RUN.match(word) for word in words if len(word) in _PAIRED_LENGTHS)


def find_paired(text: str, low: str) -> Iterator[Secret]:
    """Tokens of Asana, Astra DB, Bitwarden, Rancher and Salesforce; Jenkins crumbs."""
    for kind, anchor, before, pattern in _PAIRS:
        at = text.find(anchor)
        while at >= 0:
            match = pattern.match(text, at - before) if at >= before else None
            if match is not None and starts_clean(text, match.start("secret"), "_"):
                yield Secret(kind, *match.span("secret"))
            at = text.find(anchor, at + len(anchor))


def find_aws_secrets(text: str, low: str) -> Iterator[Secret]:
    """The 40 characters of a secret access key within reach of an access key id."""
    for match in _AWS_ID.finditer(text):
        for start, end in ((match.end(), match.end() + 200), (max(0, match.start() - 120), match.start())):
            for secret in _AWS_SECRET.finditer(text, start, min(end, len(text))):
                value = secret.group()
                if secret.end() == end:  # perhaps the head of something longer
                    continue
                if any(c.isdigit() for c in value) and value != value.lower() and value != value.upper():
                    yield Secret("aws-secret-key", secret.start(), secret.end())
