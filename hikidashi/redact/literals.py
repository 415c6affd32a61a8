"""Reading one value beside a name, and deciding whether name, form and value together make a secret."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.identifiers import Strength
from hikidashi.redact.places import is_basic_credential
from hikidashi.redact.values import (
    has_both,
    is_digits,
    is_numbered,
    is_ordinary,
    is_placeholder,
    is_random,
    is_technical,
    split_words,
)

__all__ = ["BARE", "BARE_LINE", "QUOTE", "Form", "judged", "quoted"]


class Form(IntEnum):
    """How the value stands beside the name."""

    QUOTED = 0
    #: `NAME=value`, no space: shells, query strings, connection strings, logs.
    TIGHT = 1
    #: `name: value`, `name = value`, `name is value`.
    LOOSE = 2
    #: `--name value`.
    FLAG = 3


QUOTE: Final = re.compile(r"[fFbBrRuU@$]{0,2}(?P<quote>\\{0,7}(?:\"\"\"|'''|[\"'`]))")
#: Japanese, Chinese and Korean text ends a value that has no quotes.
_CJK: Final = "\u3000-\u9fff\uac00-\ud7af\uff00-\uffef"
#: A value without quotes. A comma, semicolon, ampersand or bracket ends it where the next name or the end of the
#: surrounding list follows, and is part of it elsewhere.
BARE: Final = re.compile(
    rf"(?:[^\s\"'`,;<>&|\\)}}\]{_CJK}]++|\\(?![nrt\"'\\])|[,;&](?![\s\"'`\\&]|[\w.\- ]{{0,40}}+[=:]|\Z)"
    r"|[)}\]](?![\s\"'`,;:.)}\]\\<|&]|\Z))++"
)
#: A line of an environment file or an assignment of a shell ends at white space only.
BARE_LINE: Final = re.compile(rf"(?:[^\s\"'`\\{_CJK}]++|\\(?![nrt\"'\\]))++")
_LITERAL_KINDS: Final = (
    (("secret", "access", "key"), re.compile(r"[A-Za-z0-9+/]{40}"), "aws-secret-key"),
    (("account", "key"), re.compile(r"[A-Za-z0-9+/]{86}=="), "azure-storage-key"),
    (("access", "key"), re.compile(r"[A-Za-z0-9+/]{42,44}={0,2}"), "azure-shared-key"),
)
#: Operators of a list of names, a call, a comparison: not every string behind them is a value.
_LOOSE_CONTEXTS: Final = (",", "(", "==", "===", "!=", "!==")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z_.]{0,80}")
#: What may be a token where a call or a list is as likely.
_WEAK_ARGUMENT: Final = re.compile(r"[\w.+/=~%:$!@\-]+")
#: Characters of a value that are looked at; the rest is like them.
_JUDGED: Final = 1024
#: Longer quoted values are no values.
_MAX_VALUE: Final = 4096


def quoted(text: str, quote: re.Match[str]) -> tuple[int, int] | None:
    """The place between the quotes; up to the end of the text where they do not close."""
    mark, start = quote["quote"], quote.end()
    limit = min(len(text), start + _MAX_VALUE)
    end = text.find(mark, start, limit)
    while end > start and text[end - 1] == "\\":
        # an escaped quote inside: `"a\"b"`
        end = text.find(mark, end + 1, limit)
    if end < 0:
        bare = BARE.match(text, start)
        return bare.span() if bare is not None and bare.end() == len(text) else None
    if "\n" in (text[start:end] if len(mark.lstrip("\\")) == 1 else text[start:end].strip()):
        return None
    return (start, end) if end > start else None


def judged(text: str, name: str, strength: Strength, form: Form, place: tuple[int, int], context: str) -> Secret | None:
    """The value at `place` as a secret, or None. `context` is the operator between name and value, or `line`
    (a line of an environment file), `is` (prose), `flag` (an option), `sql`."""
    start, end = place
    if form is not Form.QUOTED:  # what ends a sentence is not part of it
        end = start + len(text[start:end].rstrip("\\" if context == "line" else ".,:\\"))
        if context == "line" and text[end - 1] == "," and _IDENTIFIER.fullmatch(text, start, end - 1):
            return None  # an argument on a line of its own: `token=self.token,`
    value = text[start : min(end, start + _JUDGED)]
    number = is_digits(value) and form is not Form.LOOSE
    number = number and (strength is Strength.PASSWORD or (strength is Strength.STRONG and form is Form.QUOTED))
    if not number and (not value or is_placeholder(value) or is_ordinary(value, quoted=form is Form.QUOTED)):
        return None
    if not _accepts(name, value, strength, form, context, text[end : end + 1]):
        return None
    words = tuple(split_words(name))
    kind = "password" if strength is Strength.PASSWORD else "secret"
    for ending, pattern, special in _LITERAL_KINDS:
        if words[-len(ending) :] == ending and pattern.fullmatch(value):
            kind = special
            break
    return Secret(kind, start, end)


def _accepts(name: str, value: str, strength: Strength, form: Form, context: str, after: str) -> bool:
    if strength is Strength.WEAK:
        if context in _LOOSE_CONTEXTS and _WEAK_ARGUMENT.fullmatch(value) is None:
            return False
        if is_random(value) or (name.lower().endswith("auth") and len(value) >= 8 and is_basic_credential(value)):
            return True
        if context in _LOOSE_CONTEXTS or is_numbered(value) or split_words(name)[-1] in ("key", "pat"):
            return False
        return form is not Form.LOOSE and len(value) >= 8 and _has_digit_and_letter(value)
    if form is Form.QUOTED:
        if context in _LOOSE_CONTEXTS:
            return len(value) >= 6 and _has_digit_and_letter(value) and not (context == "," and _is_name(value))
        return len(value) >= (3 if strength is Strength.PASSWORD else 6)
    if form is Form.TIGHT:
        if has_both(value) or is_digits(value):
            return len(value) >= (4 if strength is Strength.PASSWORD else 6)
        # A bare word is a variable in code (`login(password=password2)`), a value in a shell or an .env file.
        return len(value) >= 6 and after not in tuple("),(") and (context == "line" or strength is Strength.PASSWORD)
    if form is Form.FLAG:
        return _accepts_flag(value, strength)
    return _accepts_loose(value, strength, context)


def _has_digit_and_letter(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _is_name(value: str) -> bool:
    """True for a name of several words, as lists of names hold them beside `KEY`."""
    return "_" in value and value.isidentifier() and not is_random(value)


def _accepts_flag(value: str, strength: Strength) -> bool:
    if has_both(value) or is_digits(value):
        return len(value) >= (4 if strength is Strength.PASSWORD else 6)
    return strength is Strength.PASSWORD and len(value) >= 8


def _accepts_loose(value: str, strength: Strength, context: str) -> bool:
    if context == "|" or context == "is":
        if strength is not Strength.PASSWORD and not is_random(value):
            return False
        if is_technical(value) and not is_random(value):
            return False
        return len(value) >= 6 and _has_digit_and_letter(value)
    return len(value) >= (6 if strength is Strength.PASSWORD else 8) and has_both(value)
