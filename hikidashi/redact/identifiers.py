"""Judging an identifier by its words: how much does the name alone prove about the value beside it?"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Final

from hikidashi.redact.values import split_words, word_set

__all__ = ["Strength", "judge_name"]


class Strength(IntEnum):
    """How much a name proves about its value."""

    #: The name says nothing; a value must not be taken.
    NONE = 0
    #: `token`, `auth`, `SOMETHING_KEY`: other things are called so too; the value must look like a secret.
    WEAK = 1
    #: `secret`, `api_key`, `access_token`: any literal that is not a placeholder.
    STRONG = 2
    #: `password` and its kin: people choose these, so that even a plain word is one.
    PASSWORD = 3


_PASSWORD: Final = word_set("password passwd passphrase passcode pwd pass userpass pword passwort kennwort")
#: `pass` alone is a test's outcome or a step of a program; after one of these it is a password.
_PASS_OWNERS: Final = word_set(
    "db database user mysql mariadb pg postgres postgresql redis smtp mail email ftp ssh admin root http https proxy "
    "imap auth login my ldap rabbitmq rabbit mongo mongodb amqp sudo wifi vault keystore cert app api sql basic"
)
_PASSWORD_ENDINGS: Final = ("password", "passwd", "passphrase", "passwort", "passcode")
#: Words that may follow the deciding one.
_SUFFIXES: Final = word_set(
    "value val prod production dev development stage staging test live sandbox base64 b64 plain plaintext raw new "
    "old current default root admin env var str string literal text v primary secondary main backup local remote base"
)
#: `KEY` alone proves nothing; after one of these it does.
_KEY_KINDS: Final = word_set(
    "api access secret private encryption decryption signing signature master account auth shared storage deploy "
    "session client consumer hmac jwt webhook service server subscription functions crypto cipher aes wrapping "
    "license licence rest admin write management bearer integration authentication authorization apikey "
    "preshared psk wallet recovery unseal"
)
#: Keys that are no secrets, tokens that are words of a text or pages of a list, passwords that are questions.
_NOT_BEFORE: Final = {
    "key": word_set(
        "public primary foreign partition sort cache idempotency dedup row map hash object lookup natural unique "
        "index group ordering routing message translation i18n composite range storage_path search pub host known "
        "registry hot short arrow enter tab function shift ctrl cmd meta react query state dict json yaml toml "
        "publishable anon site translation column config setting the a per any dedupe lock issue project"
    ),
    "token": word_set(
        "next page previous prev continuation cursor sync max min total per pad eos bos unk sep cls mask special stop "
        "start end first last each one input output prompt completion design cancellation cancel sub num n "
        "no is has use with invalid missing expired bad unexpected the a any every unknown by stdin from "
        "operator string identifier number keyword comment punctuation whitespace"
    ),
    "password": word_set(
        "1 no is has use with invalid missing expired bad show hide forgot forgotten require requires required "
        "check validate allow disable enable toggle wrong incorrect need needs without hash"
    ),
    "secret": word_set("no is has use with invalid missing image pull tls the a any in from"),
    "auth": word_set("no is has use with require requires require enable disable skip type the"),
}
_ENDS: Final = word_set("credential credentials creds cred")
#: Single words that only end like a name.
_NO_NAMES: Final = frozenset({"", *word_set("nopassword restkey")})


@lru_cache(maxsize=4096)
def judge_name(name: str) -> Strength:
    """How much an identifier proves: its last word decides, the one before it qualifies."""
    words = split_words(name.rpartition(".")[2] or name)
    if words[-2:] == ["key", "data"]:
        words.pop()  # `client-key-data` of a kubeconfig
    while len(words) > 1 and (words[-1] in _SUFFIXES or words[-1].isdigit()):
        words.pop()
    last, before = words[-1] if words else "", words[-2] if len(words) > 1 else ""
    return Strength.NONE if last in _NO_NAMES else _judge(name, last, before)


def _judge(name: str, last: str, before: str) -> Strength:
    if last in _PASSWORD or last.endswith(_PASSWORD_ENDINGS):
        if last == "pwd" and not before and name.isupper():
            return Strength.NONE  # the shell's working folder
        if last == "pass" and before not in _PASS_OWNERS:
            return Strength.WEAK
        return Strength.NONE if before in _NOT_BEFORE["password"] else Strength.PASSWORD
    if last.endswith(("secret", "secretkey")):
        return Strength.NONE if before in _NOT_BEFORE["secret"] else Strength.STRONG
    if last.endswith("token"):
        if before in _NOT_BEFORE["token"]:
            return Strength.NONE
        return Strength.STRONG if before or last != "token" or name.isupper() else Strength.WEAK
    if last == "auth":
        return Strength.NONE if before in _NOT_BEFORE["auth"] else Strength.WEAK
    if last in _ENDS:
        return Strength.WEAK
    if last == "pat":  # a personal access token, and how programmers write "pattern"
        return Strength.WEAK if before else Strength.NONE
    return _judge_key(last, before)


def _judge_key(last: str, before: str) -> Strength:
    if last != "key":
        kind = last.removesuffix("key")
        return Strength.STRONG if kind != last and kind in _KEY_KINDS else Strength.NONE
    if before in _KEY_KINDS:
        return Strength.STRONG
    return Strength.WEAK if before and before not in _NOT_BEFORE["key"] else Strength.NONE
