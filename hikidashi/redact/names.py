"""Values beside secret-like names: `DB_PASSWORD=…`, `"clientSecret": "…"`, `password is …`.

From each word that may name a secret, the rest of the identifier, an operator and a value are read; then the
identifier's words say how much the name alone proves, and the value is judged with that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.identifiers import Strength, judge_name
from hikidashi.redact.joints import MAX_PIECES, joint_at
from hikidashi.redact.literals import BARE, BARE_LINE, QUOTE, Form, judged, quoted
from hikidashi.redact.values import is_ordinary, is_placeholder, is_random, is_variable, word_set

__all__ = ["WORDS", "find_named", "find_valued", "name_start"]


#: What every secret-like name holds.
WORDS: Final = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "_pat")
#: What follows a name when there is a value to read. Tried by the regular expression engine at every place
#: where the name's word stands, so that prose ("the token expired") costs next to nothing.
_AHEAD: Final = (
    r"[a-z0-9_.\-]{0,60}+[\\\"'`*\])?]{0,10}+"
    r"(?=[ \t]{0,40}+(?:[:=：＝|]|!=|\([\"'])|(?<=[\"'])[ \t]{0,4},[ \t]{0,4}\\?[\"']|>[^\s<]"
    r"|[ \t]{1,3}(?:[\"'`*]|(?:is|was|to|as|to be)[ \t:]{1,4}(?:[\"'`*]|[^\s]{0,60}?\d)"
    r"|[a-z0-9!@#$%^&*+=~\-]{0,60}?\d[a-z0-9!@#$%^&*+=~\-]*+(?![/_.(\\:][^\s])))"
)
#: A literal start lets the engine skip to it; one pattern with eight starts is slower than eight patterns.
_NAMES: Final = tuple((word, re.compile(word + "(?!s(?![a-z]))" + _AHEAD)) for word in WORDS)
_OPERATOR: Final = re.compile(
    r"(?P<rest>[A-Za-z0-9_.\-]{0,60}+)(?P<close>[\\\"'`*\])?]{0,10}+)"
    r"(?:(?P<typed>[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][\w.\[\]<>|? ]{0,40}?[ \t]{0,4}=(?![=>]))"
    r"|(?P<gap>[ \t]{0,40}+)(?P<op>=>|:=|===?|!==?|[=:：＝|]|,(?=[ \t]{0,4}\\?[\"'])|\((?=[\"'])|>(?=[^\s<]))"
    r"|(?P<copula>[ \t]{1,3}(?:is|was|to be|to|as)(?:[ \t]{0,2}:)?(?=[ \t]))"
    r"|(?P<space>(?=[ \t])))"
    r"(?P<after>[*_]{0,2}[ \t]{0,40}+)(?:[|(][ \t]*\n[ \t]{1,20})?"
)
_IDENTIFIER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_LINE_START: Final = re.compile(r"(?:^|[\n\r]|\\[nr]|export|ENV|ARG|set|-e|--env|env)[ \t]*\Z")
#: What may be a password or a token in the middle of a sentence.
_PROSE_VALUE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9!@#$%^&*+=~\-]{4,512}+(?=[\s.,:;!?)\"'」』]|\Z|[^\x00-\x7f])")
_SQL: Final = re.compile(r"\b(?:with|user|role|login|encrypted|alter|create|set)\b")
#: Names without a value that are looked at within one run that could itself be a value: `a=b=c=d=…`.
_MAX_NESTED: Final = 16


def find_named(text: str, low: str) -> Iterator[Secret]:
    """Values beside secret-like Latin names."""
    for word, pattern in _NAMES:
        if word not in low:
            continue
        run_end = nested = skip = 0
        for candidate in pattern.finditer(low):
            at = candidate.start()
            if at < skip:
                continue
            secret = _value_at(text, at)
            if secret is not None:
                yield secret
                skip = secret.end
            elif at < run_end:
                nested += 1
                skip = run_end if nested >= _MAX_NESTED else 0
            else:
                run = BARE.match(text, at)
                run_end, nested = (run.end() if run is not None else at), 0


#: `- name: DB_PASSWORD` and `value: X` as Kubernetes and ECS write an environment.
_VALUE: Final = re.compile(r"value[\\\"']{0,4}[ \t]{0,4}[:=][ \t]{0,4}")
_NAME_BEFORE: Final = re.compile(
    r"(?i:name|key)[\\\"']{0,4}[ \t]{0,4}[:=][ \t]{0,4}[\\\"']{0,4}(?P<name>[A-Za-z0-9_.\-]{3,80})[\\\"']{0,4},?"
    r"(?:\s|\\n){0,40}[\\\"']{0,4}\Z"
)


def find_valued(text: str, low: str) -> Iterator[Secret]:
    """Values that stand in the field `value` beside a field `name` with a secret-like name."""
    for match in _VALUE.finditer(low):
        before = _NAME_BEFORE.search(text, max(0, match.start() - 180), match.start())
        strength = judge_name(before["name"]) if before is not None else Strength.NONE
        if before is None or strength is Strength.NONE:
            continue
        quote = QUOTE.match(text, match.end())
        found = quoted(text, quote) if quote is not None else None
        bare = BARE.match(text, match.end()) if quote is None else None
        form = Form.QUOTED if quote is not None else Form.LOOSE
        place = found or (bare.span() if bare is not None else None)
        secret = judged(text, before["name"], strength, form, place, ":") if place is not None else None
        if secret is not None:
            yield secret


def name_start(text: str, at: int) -> int:
    """Where the identifier that reaches `at` begins; the letter of an escape such as `\\n` is not part of it."""
    low = max(0, at - 64)
    head = text[low:at]
    start = low + len(head.rstrip(_IDENTIFIER))
    if start > 0 and text[start - 1] == "\\" and start < at and text[start] in "nrt":
        start += 1
    return start


def _value_at(text: str, at: int) -> Secret | None:
    match = _OPERATOR.match(text, at)
    if match is None:
        return None
    start = name_start(text, at)
    name = text[start : match.end("rest")]
    if name.lower().endswith("authorization"):
        return _authorization(text, match.end())
    strength = _strength(text, start, name)
    if strength is Strength.NONE:
        return None
    if match["op"] == "," and text[start - 1 : start] not in ("'", '"'):
        return None  # a sentence in quotes that ends with the word
    quote = QUOTE.match(text, match.end())
    if quote is not None:
        return _in_quotes(text, start, name, strength, match, quote)
    if match["typed"] or match["op"] in ("==", "===", "!=", "!==", ",", "("):
        return None
    if match["space"] is not None:
        return _in_prose(text, name, strength, match.end())
    return _bare(text, start, name, strength, match)


def _strength(text: str, start: int, name: str) -> Strength:
    strength = judge_name(name)
    if strength is Strength.NONE and name.lower() == "key":
        # Two words of prose make one name: `my API key is …`.
        strength = judge_name(text[max(0, start - 16) : start].rstrip(" ").rpartition(" ")[2] + "-key")
        return strength if strength is Strength.STRONG else Strength.NONE
    return strength


def _in_prose(text: str, name: str, strength: Strength, at: int) -> Secret | None:
    """`I put the password hunter2 into the vault`: nothing but a space in between."""
    value = _PROSE_VALUE.match(text, at)
    if value is None or strength is Strength.WEAK or not name.islower():
        return None
    return judged(text, name, strength, Form.LOOSE, value.span(), "is")


def _bare(text: str, start: int, name: str, strength: Strength, match: re.Match[str]) -> Secret | None:
    if match["op"] == ">" and text[start - 1 : start] != "<":
        return None
    if match["op"] == "|" and "\\" in match["close"]:
        return None  # alternatives of a regular expression
    if match["op"] == ":" and not match["after"] and text[max(0, start - 2) : start] == "//":
        return None  # `https://token:x@host`: see `places.find_url_passwords`
    tight = match["op"] == "=" and not match["gap"] and not match["after"]
    line = tight and _LINE_START.search(text, max(0, start - 12), start) is not None
    bare = (BARE_LINE if line else BARE).match(text, match.end())
    if bare is None:
        return None
    form = Form.TIGHT if tight else Form.LOOSE
    secret = judged(text, name, strength, form, bare.span(), "line" if line else match["op"] or "is")
    if match["op"] == ">" and secret is not None and text[secret.end : secret.end + 1] != "<":
        return None  # `<password>@host` is a placeholder, `<password>X</password>` an element
    return secret


def _in_quotes(
    text: str, start: int, name: str, strength: Strength, match: re.Match[str], quote: re.Match[str]
) -> Secret | None:
    place = quoted(text, quote)
    if place is None or (quote["quote"] == "`" and match["op"] == "=" and not match["gap"]):
        return None  # a shell runs what stands in backticks
    context = match["op"] or ""
    if context == ">" or text[place[0]] in " ,;)+":
        return None  # the quote closes something: `print('PASSWORD:', value)`
    if match["space"] is not None:
        if strength is not Strength.PASSWORD:
            return None
        context = "sql" if _SQL.search(text[max(0, start - 80) : start].lower()) else ","
    secret = judged(text, name, strength, Form.QUOTED, place, context)
    return secret if secret is None or context == "," else _with_added(text, secret)


_SHELL_LINE: Final = re.compile(r"\\\r?\n")


def _with_added(text: str, secret: Secret) -> Secret:
    """The secret with the strings that are added to it: `password = "abc" + "def"`."""
    end = secret.end
    for _ in range(MAX_PIECES):
        joint = joint_at(text, end)
        if joint is None or not joint.concatenated or _SHELL_LINE.search(text, end, joint.end):
            break
        close = text.find(text[joint.end - 1], joint.end, joint.end + 512)
        # An empty string, lines between quotes of two strings, and the next name of a document are no more of it.
        if close <= joint.end or "\n" in text[joint.end : close] or text[close + 1 : close + 2] in (":", "="):
            break
        end = close
    return Secret(secret.kind, secret.start, end)


_SCHEME: Final = re.compile(
    r"[\\\"'`]{0,6}(?P<scheme>[A-Za-z][A-Za-z0-9\-]{1,24})[ \t:]{1,3}(?P<secret>[^\s\"'`\\,;)}\]]{1,8192}+)"
)
_SCHEMES: Final = word_set(
    "bearer basic token bot apikey api-key key negotiate ntlm googlelogin ssws pveapitoken splunk geniekey"
)
_PLAIN: Final = re.compile(r"[\\\"'`]{0,6}(?P<secret>[^\s\"'`\\,;)}\]]{8,8192}+)")
#: `Basic $(echo -n user:password | base64)`
_ENCODED: Final = re.compile(
    r"[\\\"'`]{0,6}Basic (?:\$\(|`)[ \t]{0,4}(?:echo|printf)[ \t]+(?:-\w+[ \t]+|[\"']?%s[\"']?[ \t]+)?[\"'\\]{0,2}"
    r"[\w.@\-]{0,64}:(?P<secret>[!#-&(-\[\]-{}~]{2,256})[\"'\\]{0,2}[ \t]{0,4}\|[ \t]{0,4}(?:base64|openssl)",
    re.IGNORECASE,
)
_DIGEST: Final = re.compile(
    r"[\\\"'`]{0,6}(?:Digest|OAuth|Signature|Hawk)[ \t]{1,3}(?P<secret>[^\n\r]{8,2048}+)", re.IGNORECASE
)


def _authorization(text: str, at: int) -> Secret | None:
    """The credential of an `Authorization` header, whatever its scheme."""
    encoded = _ENCODED.match(text, at)
    if encoded is not None:
        return None if is_variable(encoded["secret"]) else Secret("password", *encoded.span("secret"))
    digest = _DIGEST.match(text, at)
    if digest is not None and "=" in digest["secret"]:
        return Secret("authorization", *digest.span("secret"))
    match = _SCHEME.match(text, at)
    if match is not None:
        value = match["secret"]
        known = match["scheme"].lower() in _SCHEMES and not (value.isalpha() and len(value) < 16)
        if is_placeholder(value) or is_ordinary(value) or not (known or is_random(value)):
            return None
        return Secret("authorization", *match.span("secret"))
    match = _PLAIN.match(text, at)
    if match is None or is_placeholder(match["secret"]) or is_ordinary(match["secret"]):
        return None
    if not is_random(match["secret"]):
        return None
    return Secret("authorization", *match.span("secret"))
