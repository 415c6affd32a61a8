"""Values beside names in Japanese and some other scripts: `パスワードは … です`, `密码：…`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.identifiers import Strength
from hikidashi.redact.values import (
    has_both,
    is_digits,
    is_ordinary,
    is_placeholder,
    is_random,
    is_technical,
    is_variable,
)

__all__ = ["WORDS", "find_native"]

#: Names in other scripts -> how much they prove. A value follows a colon, an equals sign or a particle.
_NATIVE: Final = {
    "パスワード": Strength.PASSWORD,
    "パスフレーズ": Strength.PASSWORD,
    "パスコード": Strength.PASSWORD,
    "暗証番号": Strength.PASSWORD,
    "合言葉": Strength.PASSWORD,
    "トークン": Strength.STRONG,
    "シークレット": Strength.STRONG,
    "秘密鍵": Strength.STRONG,
    "秘密キー": Strength.STRONG,
    "アクセスキー": Strength.STRONG,
    "認証キー": Strength.STRONG,
    "認証情報": Strength.STRONG,
    "キー": Strength.WEAK,
    "密码": Strength.PASSWORD,
    "密碼": Strength.PASSWORD,
    "口令": Strength.PASSWORD,
    "密钥": Strength.STRONG,
    "令牌": Strength.STRONG,
    "비밀번호": Strength.PASSWORD,
    "토큰": Strength.STRONG,
    "пароль": Strength.PASSWORD,
    "токен": Strength.STRONG,
    "contraseña": Strength.PASSWORD,
}
#: One character of each word: those are found much faster than words.
WORDS: Final = ("ー", "暗", "合", "秘", "認", "密", "口令", "令牌", "비", "토", "парол", "токен", "ñ")
_NATIVE_VALUE: Final = re.compile(
    r"[」』\"'`*）)\]】]{0,3}[ \t　]{0,4}"
    r"(?:(?P<op>[:：=＝])|はこちら[:：]|は、?|が|を|に|是|为|為|[은는이가를을]|(?=[「『]))[*_]{0,2}[ \t　\n]{0,4}"
    r"(?P<open>[「『\"'`“（(]?)(?P<secret>[!#-&*-~][!-~]{3,255}?)(?=[\s\"'`」』”）)、。]|[^!-~]|\Z)"
)


def find_native(text: str, low: str) -> Iterator[Secret]:
    """Values beside names in Japanese and some other scripts."""
    if text.isascii():
        return
    for word, strength in _NATIVE.items():
        at = low.find(word) if word[0] in low else -1  # one character is found much faster than a word
        while at >= 0:
            match = _NATIVE_VALUE.match(text, at + len(word))
            if match is not None:
                value = match["secret"].rstrip(".,;:)")
                strong = _accepts_native(value, strength, bool(match["op"]), bool(match["open"]))
                if strong and not is_variable(value):
                    kind = "password" if strength is Strength.PASSWORD else "secret"
                    yield Secret(kind, match.start("secret"), match.start("secret") + len(value))
            at = low.find(word, at + len(word))


def _accepts_native(value: str, strength: Strength, has_operator: bool, has_bracket: bool) -> bool:
    if strength is Strength.PASSWORD and has_operator and is_digits(value):
        return True
    if is_placeholder(value) or is_ordinary(value):
        return False
    if strength is Strength.WEAK:
        return is_random(value)
    if not has_operator and not has_bracket and is_technical(value) and not is_random(value):
        return False
    least = 5 if strength is Strength.PASSWORD else 8
    return len(value) >= least and (has_both(value) or (has_bracket and strength is Strength.PASSWORD))
