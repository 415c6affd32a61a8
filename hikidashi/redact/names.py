"""Values beside secret-like names: `DB_PASSWORD=…`, `"clientSecret": "…"`, `--api-key …`, `password is …`.

From each word that may name a secret, the rest of the identifier, an operator and a value are read; then the
identifier's words say how much the name alone proves, and the value is judged with that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.identifiers import Strength, judge_name
from hikidashi.redact.places import is_basic_credential
from hikidashi.redact.values import (
    has_both,
    is_digits,
    is_ordinary,
    is_placeholder,
    is_random,
    is_technical,
    split_words,
    word_set,
)

__all__ = ["find_named"]


class Form(IntEnum):
    """How the value stands beside the name."""

    QUOTED = 0
    #: `NAME=value`, no space: shells, query strings, connection strings, logs.
    TIGHT = 1
    #: `name: value`, `name = value`, `name is value`.
    LOOSE = 2
    #: `--name value`.
    FLAG = 3


_ANCHORS: Final = ("pass", "pwd", "secret", "token", "key", "auth", "cred", "_pat")
_OPERATOR: Final = re.compile(
    r"(?P<rest>[A-Za-z0-9_.\-]{0,60}+)(?P<close>[\\\"'`*\])?]{0,10}+)"
    r"(?:(?P<typed>[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][\w.\[\]<>|? ]{0,40}?[ \t]{0,4}=(?![=>]))"
    r"|(?P<gap>[ \t]{0,40}+)(?P<op>=>|:=|===?|!==?|[=:：＝|]|,(?=[ \t]{0,4}\\?[\"'])|\((?=[\"'])|>(?=[^\s<]))"
    r"|(?P<copula>[ \t]{1,3}(?:is|was|to|to be|as)(?:[ \t]{0,2}:)?(?=[ \t]))"
    r"|(?P<space>(?=[ \t])))"
    r"(?P<after>[*_]{0,2}[ \t]{0,40}+)(?:\|[ \t]*\n[ \t]{1,20})?"
)
_QUOTE: Final = re.compile(r"[fFbBrRuU@$]{0,2}(?P<quote>\\{0,7}(?:\"\"\"|'''|[\"'`]))")
_BARE: Final = re.compile(r"(?:[^\s\"'`,;<>&|\\)}\]]++|\\(?![nrt\"'\\]))++")
#: A line of an environment file or an assignment of a shell ends at white space only.
_BARE_LINE: Final = re.compile(r"(?:[^\s\"'`\\]++|\\(?![nrt\"'\\]))++")
_IDENTIFIER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_LINE_START: Final = re.compile(r"(?:^|[\n\r]|\\[nr]|export|ENV|ARG|set|-e|--env|env)[ \t]*\Z")
_LITERAL_KINDS: Final = (
    (("account", "key"), re.compile(r"[A-Za-z0-9+/]{86}=="), "azure-storage-key"),
    (("access", "key"), re.compile(r"[A-Za-z0-9+/]{42,44}={0,2}"), "azure-shared-key"),
)
#: Longer quoted values are no values.
_MAX_VALUE: Final = 4096
#: Names without a value that are looked at within one run that could itself be a value: `a=b=c=d=…`.
_MAX_NESTED: Final = 16
_RUN: Final = re.compile(r"[^\s\"'`,;<>&|\\)}\]]*+")


def find_named(text: str, low: str) -> Iterator[Secret]:
    """Values beside secret-like Latin names."""
    for anchor in _ANCHORS:
        at = low.find(anchor)
        run_end = nested = 0
        while at >= 0:
            match = _OPERATOR.match(text, at)
            end = at + len(anchor)
            if match is not None:
                secret = _value_at(text, at, match)
                if secret is not None:
                    yield secret
                    end = max(end, secret.end)
                elif at < run_end:
                    nested += 1
                    end = end if nested < _MAX_NESTED else run_end
                else:
                    run = _RUN.match(text, at)
                    run_end, nested = (run.end() if run is not None else end), 0
            at = low.find(anchor, end)


def _name_start(text: str, at: int) -> int:
    low = max(0, at - 64)
    head = text[low:at]
    start = low + len(head.rstrip(_IDENTIFIER))
    if start > 0 and text[start - 1] == "\\" and start < at and text[start] in "nrt":
        start += 1
    return start


def _value_at(text: str, at: int, match: re.Match[str]) -> Secret | None:
    start = _name_start(text, at)
    name = text[start : match.end("rest")]
    value_at = match.end()
    if match.group("space") is not None:
        return _after_space(text, start, name, match)
    if name.lower().endswith("authorization"):
        return _authorization(text, value_at)
    strength = judge_name(name)
    if strength is Strength.NONE:
        return None
    quote = _QUOTE.match(text, value_at)
    if quote is not None:
        place = _quoted(text, quote)
        return _judged(text, name, strength, Form.QUOTED, place, match["op"] or "") if place else None
    if match["typed"] or match["op"] in ("==", "===", "!=", "!==", ",", "("):
        return None
    tight = match["op"] == "=" and not match["gap"] and not match["after"]
    line = tight and _LINE_START.search(text, max(0, start - 12), start) is not None
    bare = (_BARE_LINE if line else _BARE).match(text, value_at)
    if bare is None or not bare.group():
        return None
    form = Form.TIGHT if tight else Form.LOOSE
    return _judged(text, name, strength, form, bare.span(), "line" if line else match["op"] or "is")


def _quoted(text: str, quote: re.Match[str]) -> tuple[int, int] | None:
    """The place between the quotes; up to the end of the text where they do not close."""
    mark, start = quote["quote"], quote.end()
    limit = min(len(text), start + _MAX_VALUE)
    end = text.find(mark, start, limit)
    while end > start and text[end - 1] == "\\":
        # an escaped quote inside: `"a\"b"`
        end = text.find(mark, end + 1, limit)
    if end < 0:
        bare = _BARE.match(text, start)
        return bare.span() if bare is not None and bare.end() == len(text) else None
    if len(mark.lstrip("\\")) == 1 and "\n" in text[start:end]:
        return None
    return (start, end) if end > start else None


_TOLD: Final = re.compile(r"(?:\b(?:set|add|put)\s+|\blogin\s+\S{1,60}\s+)\Z")
_SQL: Final = re.compile(r"\b(?:with|user|role|login|encrypted|alter|create|set)\b")


def _after_space(text: str, start: int, name: str, match: re.Match[str]) -> Secret | None:
    """`--password X`, `configure set name X`, `login user password X`, `PASSWORD 'X'`, `--password-stdin`."""
    if name.endswith(("password-stdin", "with-token")):
        return _piped(text, start, match.end())
    strength = judge_name(name)
    if strength is Strength.NONE:
        return None
    before = text[max(0, start - 80) : start].lower()
    quote = _QUOTE.match(text, match.end())
    is_option = name.startswith("-") and before[-1:] in ("", " ", "\t", "\n", "'", '"', "[", "(", "\0")
    told = _TOLD.search(before)
    if is_option or told:
        if quote is not None:
            place = _quoted(text, quote)
            return _judged(text, name, strength, Form.QUOTED, place, "flag") if place else None
        bare = _BARE_LINE.match(text, match.end())
        if bare is None or not bare.group() or bare.group()[0] in "-$<":
            return None
        return _judged(text, name, strength, Form.FLAG, bare.span(), "flag")
    if quote is not None and strength is Strength.PASSWORD and quote["quote"][-1] != "`":
        place = _quoted(text, quote)
        sql = _SQL.search(before) is not None
        return _judged(text, name, strength, Form.QUOTED, place, "sql" if sql else ",") if place else None
    return None


_ECHOED: Final = re.compile(
    r"(?:echo|printf)[ \t]+(?:-\w+[ \t]+|[\"']?%s[\"']?[ \t]+)?[\"'\\]{0,2}(?P<secret>[^\s\"'|\\]{4,256})"
    r"[\"'\\]{0,2}[ \t]*\|[^|\n]{0,200}\Z"
)
_HERE: Final = re.compile(r"[ \t]*<<<[ \t]*[\"']?(?P<secret>[^\s\"'\\]{4,256})")


def _piped(text: str, start: int, after: int) -> Secret | None:
    """What is echoed into `docker login --password-stdin`."""
    before = text[max(0, start - 400) : start]
    match = _ECHOED.search(before)
    if match is not None:
        begin = max(0, start - 400)
        place = begin + match.start("secret"), begin + match.end("secret")
    else:
        here = _HERE.match(text, after)
        if here is None:
            return None
        place = here.span("secret")
    return None if is_placeholder(text[slice(*place)]) else Secret("password", *place)


_SCHEME: Final = re.compile(
    r"[\\\"'`]{0,6}(?P<scheme>[A-Za-z][A-Za-z0-9\-]{1,24})[ \t:]{1,3}(?P<secret>[^\s\"'`\\,;)}\]]{1,8192}+)"
)
_SCHEMES: Final = word_set(
    "bearer basic token bot apikey api-key key negotiate ntlm googlelogin ssws pveapitoken splunk geniekey"
)
_PLAIN: Final = re.compile(r"[\\\"'`]{0,6}(?P<secret>[^\s\"'`\\,;)}\]]{8,8192}+)")
_DIGEST: Final = re.compile(
    r"[\\\"'`]{0,6}(?:Digest|OAuth|Signature|Hawk)[ \t]{1,3}(?P<secret>[^\n\r]{8,2048}+)", re.IGNORECASE
)


def _authorization(text: str, at: int) -> Secret | None:
    """The credential of an `Authorization` header, whatever its scheme."""
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
    if match is None or is_placeholder(match["secret"]) or not is_random(match["secret"]):
        return None
    return Secret("authorization", *match.span("secret"))


def _judged(
    text: str, name: str, strength: Strength, form: Form, place: tuple[int, int], context: str
) -> Secret | None:
    start, end = place
    value = text[start:end]
    if form is not Form.QUOTED:
        value = value.rstrip(".,:!?\\")
        end = start + len(value)
    number = is_digits(value) and strength is Strength.PASSWORD and form is not Form.LOOSE
    if not number and (not value or is_placeholder(value) or is_ordinary(value, quoted=form is Form.QUOTED)):
        return None
    if not _accepts(name, value, strength, form, context, text[end : end + 1]):
        return None
    words = tuple(split_words(name))
    kind = "password" if strength is Strength.PASSWORD else "secret"
    for ending, pattern, special in _LITERAL_KINDS:
        if words[-len(ending) :] == ending and pattern.fullmatch(value):
            kind = special
    return Secret(kind, start, end)


def _accepts(name: str, value: str, strength: Strength, form: Form, context: str, after: str) -> bool:
    if strength is Strength.WEAK:
        if is_random(value) or (name.lower().endswith("auth") and len(value) >= 8 and is_basic_credential(value)):
            return True
        is_token = split_words(name)[-1] != "key" and form is not Form.LOOSE
        return is_token and len(value) >= 8 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    if form is Form.QUOTED:
        if context in (",", "(", ">"):  # a list of names, a call, an element: not every string is a value
            return len(value) >= 6 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
        return len(value) >= (3 if strength is Strength.PASSWORD else 6)
    if form is Form.TIGHT:
        if has_both(value) or is_digits(value):
            return len(value) >= (4 if strength is Strength.PASSWORD else 6)
        # A bare word is a variable in code (`login(password=password2)`), a value in a shell or an .env file.
        return len(value) >= 6 and after not in tuple("),(") and (context == "line" or strength is Strength.PASSWORD)
    if form is Form.FLAG:
        return _accepts_flag(value, strength)
    return _accepts_loose(value, strength, context)


def _accepts_flag(value: str, strength: Strength) -> bool:
    if has_both(value) or is_digits(value):
        return len(value) >= (4 if strength is Strength.PASSWORD else 6)
    return strength is Strength.PASSWORD and len(value) >= 8


def _accepts_loose(value: str, strength: Strength, context: str) -> bool:
    if context == "|" or context == "is":
        if strength is not Strength.PASSWORD and not is_random(value):
            return False
        if is_technical(value):
            return False
        return len(value) >= 6 and any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return len(value) >= (6 if strength is Strength.PASSWORD else 8) and has_both(value)
