"""Judging one value that stands beside a secret-like name: is it a secret, or a placeholder, a path, a type …?

Redaction that eats ordinary words ruins the decisions it should protect, so every answer here is a
trade-off; `docs/security.md` lists them for the reader.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import Final

from hikidashi.redact.view import HIDDEN

__all__ = [
    "SECRET_WORDS",
    "entropy",
    "has_both",
    "is_digits",
    "is_numbered",
    "is_ordinary",
    "is_placeholder",
    "is_random",
    "is_technical",
    "is_variable",
    "split_words",
    "word_set",
]


def word_set(words: str) -> frozenset[str]:
    """The words of a text that is easier to read than a list of strings."""
    return frozenset(words.split())


#: Words that name a secret; a value made of plain words with one of these is a name, not a secret.
SECRET_WORDS: Final = word_set(
    "password passwd passphrase passcode pwd pass secret secrets token tokens key keys apikey auth "
    "credential credentials creds authorization bearer cookie"
)

#: Values that say something about a secret, or are the default that everybody knows.
_WORDS: Final = word_set(
    "none null nil undefined true false yes no on off required optional string str text int integer number bool "
    "boolean any object bytes default empty unset unknown missing invalid expired hidden redacted masked removed "
    "changeme changeit change-me change_me placeholder todo tbd fixme dummy example sample stdin prompt env "
    "environment file vault keychain keyring basic digest oauth oauth1 oauth2 jwt saml ldap sso openid oidc kerberos "
    "ntlm x509 mtls session header query body public private enabled disabled inherit write read plain plaintext "
    "encrypted hashed bcrypt argon2 scrypt sha1 sha256 sha512 md5 base64 hex utf8 utf-8 never always "
    "varchar nvarchar char uuid enum const static final function async await new let var self this"
)
_VARIABLE: Final = re.compile(
    r"\$\{[^}]{0,200}\}?|\$\(.*|\$[A-Za-z_]\w{0,80}(?:[.:\[\-].*)?|(?:&lt;|&#x3[Cc];|&#60;).*|\{\{.*"
    r"|\{[\w.\-$ ]{0,80}\}?|%[A-Za-z_]\w{0,80}%?"
    r"|<[^<>]{0,120}>?(?:[:@/]<[^<>]{0,120}>?){0,4}|\[[\w .\-]{0,60}\]|`.*|%\(?\w*\)?[sdvr](?:[:@/.\-]%[sdvr]){0,4}"
    r"|@[\w.\-/:]{1,80}@|![A-Z]?[a-z]+(?:\s.*)?|\{[\w.\-]{1,80}![rsa]\}?|[*&][A-Za-z_]+|#\{.*|:[a-z_]+",
    re.DOTALL,
)
_FILLER: Final = re.compile(
    r"(?i)(?<![a-z0-9])(?:your|example|placeholder|replace|insert|dummy|redacted|changeme|goes|here|xxx+)(?![a-z0-9])"
)
_CALL: Final = re.compile(
    r"(?:qr[/{(]|(?:await|new|yield|return|not|lambda|async)\s|[A-Za-z_$][\w$.:]{0,80}(?:\(|\[|->|<))"
)
_ATTRIBUTE: Final = re.compile(r"[A-Za-z_$][\w$]{0,40}(?:(?:\.|\?\.|::)[A-Za-z_$][\w$]{0,40})+")
_PATH: Final = re.compile(
    r"(?:~|\.{1,2})?/[\w.\-@+ /~]*|[A-Za-z]:[\\/].*|\.[a-z][\w.\-]{1,40}"
    r"|(?:[a-z][a-z0-9_.\-]{0,40}/){2,12}[\w.\-]{1,60}"
    r"|[\w\-./@]{1,120}\.(?:pem|key|crt|cer|json|ya?ml|txt|env|py|tsx?|jsx?|go|rs|rb|p12|pfx|jks|pub|toml|ini|cfg|conf"
    r"|md|sh|enc|age|gpg|kdbx|asc|local|test|html?)|(?:arn|vault|ssm|file|sops|projects)[:/].*|ENC\[.*",
    re.DOTALL,
)
#: Types and algorithms with digits in their names.
_TYPE: Final = re.compile(
    r"(?:[Uu]?[Ii]nt\d{1,3}|Base64|Sha\d{1,3}|X509|Ed25519|P256|Utf8|[Bb]ytes\d{1,2}|[Ff]loat\d\d|[iu]\d{1,3}"
    r"|[A-Z][a-z]{2,}+|[a-z]{3,}+|_)++"
)
#: `the password is sha256-hashed`, `the password is 8chars`.
_TECHNICAL: Final = re.compile(
    r"(?i)(?:sha|md|base|utf|bcrypt|argon|aes|rsa|oauth|http|v|x|s|ed|h|id|k8s?|ec)-?\d|\d+[a-z]{1,12}\Z"
)
#: How a client signs in, not with what: `AUTH=CRAM-MD5`.
_MECHANISM: Final = re.compile(r"(?i)(?:cram|digest|scram|gs2|ntlm)(?:-[a-z0-9]{2,8}){1,3}")
#: What only a regular expression holds.
_EXPRESSION: Final = re.compile(r"\(\?[:=!<P]|\\[wdsWDSbBZ]|\[\^?\w-\w|\][+*?]|\)[+*?]|\.\*")
#: Words with small numbers behind them, joined by hyphens, underscores or dots: `types-pywin32`, `oauth2_proxy`.
_NUMBERED: Final = re.compile(r"[a-z]+\d{0,4}(?:[\-_.][a-z]+\d{0,4})+")
#: One word of a name with a number behind it.
_PART: Final = re.compile(
    r"[A-Za-z]?[a-z]{1,11}\d{1,4}|[A-Z]{2,12}\d{1,4}|[a-z]{1,8}\d{1,4}[a-z]{3,12}|[A-Z]{1,8}\d{1,4}[A-Z]{3,12}"
)
_MEASURE: Final = re.compile(
    r"[vV]?\d{1,5}(?:\.\d{1,6}){1,4}(?:[-+][\w.]*)?|\d{4}-\d\d(?:-\d\d)?(?:[T ].*)?|[\d.,_]{1,20}"
    r"(?:ms|s|m|h|d|min|sec|hrs?|days?|[kKmMgG]i?[bB]?|%|x|px|tokens?|characters|chars|bytes)?"
    r"|0x[0-9a-fA-F]{1,8}|(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|(?:localhost|[a-z][\w\-]{0,60}(?:\.[\w\-]{1,60}){1,6}):\d{2,5}"
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PROSE: Final = re.compile(
    r"(?i)\s(?:is|are|was|must|should|cannot|can|will|the|a|an|your|has|have|to|for|of|and|or|not|be|with|in)\s"
    r"|^[A-Za-z,;' \-]+[.!?:…]$|^(?:enter|invalid|missing|please|confirm|forgot|reset|change|new|old|current|wrong"
    r"|incorrect|show|hide|no|must|update|set|repeat|choose|create|generate|rotate)\s"
)


def split_words(name: str) -> list[str]:
    """The words of an identifier, lower case: `dbPassword`, `DB_PASSWORD` and `db-password` alike."""
    return [word.lower() for word in _WORD.findall(name)]


def is_variable(value: str) -> bool:
    """True for a reference that is filled in elsewhere: `$X`, `${X}`, `{{ x }}`, `<your-key>`, `%s`, `***`."""
    if not any(char.isalnum() for char in value):
        return True
    if value.endswith(("...", "…")) and len(value) <= 16:
        return True
    # A bracket or comma that belongs to what is around the value sticks to it: `"${{ secrets.X }}}`.
    core = value.rstrip("})]>,;")
    if core.isupper() and core.replace("_", "").isalpha() and not SECRET_WORDS.isdisjoint(split_words(core)):
        return True  # `PASSWORD`, `YOUR_TOKEN`: what a manual writes
    return (
        _VARIABLE.fullmatch(value) is not None
        or _VARIABLE.fullmatch(core) is not None
        or (len(set(value.lower()) - set("x*.•-_ ")) == 0)
    )


def is_placeholder(value: str) -> bool:
    """True for a variable, a filler such as `your-key-here`, or plain words that name a secret."""
    if is_variable(value):
        return True
    lowered = value.lower()
    if lowered in _WORDS or lowered in SECRET_WORDS:
        return True
    digits = sum(char.isdigit() for char in value)
    if digits <= 4 and _FILLER.search(value) and not is_random(value):
        return True
    return digits <= 2 and len(value) <= 64 and _names_a_secret(value, digits)


#: A digit between small letters: people put it into passwords, programmers not into names.
_DIGIT_INSIDE: Final = re.compile(r"[a-z][0-9]+[a-z]")


def _names_a_secret(value: str, digits: int) -> bool:
    """True for `db_password`, `new token`, `tokenB64`: a name of a secret. `password1` is somebody's password."""
    if _DIGIT_INSIDE.search(value):  # `hunter2secret9`
        return False
    words = [word for word in split_words(value) if word.isalpha()]
    if not any(word in SECRET_WORDS for word in words) or len(words) > 6 or (digits and len(words) < 2):
        return False
    return all(char.isalnum() or char in "-_. /" for char in value)


def is_ordinary(value: str, *, quoted: bool = False) -> bool:
    """True for code, a path, a version, a time, a measure, an address or a sentence: not a secret's value.

    What stands in quotes is no code.
    """
    if _MEASURE.fullmatch(value) or "://" in value[:24]:
        return True
    if _MECHANISM.fullmatch(value) or (quoted and (_EXPRESSION.search(value) or value.endswith("()"))):
        return True
    if "abcdefghijklmnopqrstuvwxyz" in value.lower():  # an alphabet
        return True
    if not quoted and (_CALL.match(value) or (_TYPE.fullmatch(value) and any(c.isdigit() for c in value))):
        return True
    if not quoted and _ATTRIBUTE.fullmatch(value) and not is_random(value.replace(".", "")):
        return True
    if _PATH.fullmatch(value) and not (len(value) >= 32 and value.count("/") <= 3 and is_random(value)):
        return True
    return " " in value and _is_prose(value)


def _is_prose(value: str) -> bool:
    if _PROSE.search(value):
        return True
    return any(word.lower() in SECRET_WORDS for word in value.split())


def is_digits(value: str) -> bool:
    """True for a number that may be a password or a PIN."""
    return len(value) >= 4 and value.isdigit()


def has_both(value: str) -> bool:
    """Letters, and digits or punctuation: what a person's password has and a word has not."""
    return any(c.isalpha() for c in value) and any(c.isdigit() or c in "!@#$%^&*+=~?/" for c in value)


def is_numbered(value: str) -> bool:
    """True for words with numbers behind them, as packages, modules and hosts are called."""
    return _NUMBERED.fullmatch(value) is not None


def is_technical(value: str) -> bool:
    """True for the name of an algorithm or format, or a count, as prose puts it after `password is`."""
    return _TECHNICAL.match(value) is not None


def entropy(value: str) -> float:
    """Shannon entropy of the characters, in bits."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values())


def is_random(value: str) -> bool:
    """True for 16 or more characters that no person would call a word or a path: digits among letters, or
    capitals in odd places, and enough different characters."""
    value = value.replace(HIDDEN, "")
    if len(value) < 16 or entropy(value) < 2.8:
        return False
    if all(part.isalpha() or len(part) <= 4 or _PART.fullmatch(part) for part in re.split(r"[-_./ :+=]", value)):
        # Words joined by hyphens, dots or slashes, with small numbers: `my-service-account-2`, `rfc1964_key`. A
        # single run without digits is random only when capitals are strewn about in it.
        return any(_strewn(part) for part in re.split(r"[-_./ :]", value))
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def _strewn(part: str) -> bool:
    """Capitals in odd places: what stands between them is too short for words of a name."""
    return len(part) >= 16 and len(part) < 3 * len(_WORD.findall(part))
