"""Last words on the body of a token, for prefixes that other things have too, and the alphabets of bodies."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from hikidashi.redact.values import is_random

__all__ = [
    "BASE64",
    "DOTTED",
    "IN_BASE64",
    "LOWER",
    "UUID",
    "has_digit",
    "is_mixed_case",
    "is_random_mixed",
    "shaped",
    "signed_at",
]

BASE64: Final = "A-Za-z0-9+/="
DOTTED: Final = r"A-Za-z0-9_.\-"
LOWER: Final = "a-z0-9"
#: Hexadecimal digits and hyphens, 36 of them.
UUID: Final = r"0-9a-f\-"
#: Before a prefix that could as well be a piece of base64 or of an identifier.
IN_BASE64: Final = "+/_-."


def has_digit(body: str) -> bool:
    """True when the body has a digit: words of capitals have none."""
    return any(char.isdigit() for char in body)


def is_mixed_case(body: str) -> bool:
    """True for digits, small letters and capitals in one body."""
    return has_digit(body) and body != body.lower() and body != body.upper()


def is_random_mixed(body: str) -> bool:
    """True for a mixed body that is no sequence of words either."""
    return is_mixed_case(body) and is_random(body)


def shaped(pattern: str) -> Callable[[str], bool]:
    """A check for bodies with an inner order, such as `32 digits, a dot, 32 digits`."""
    compiled = re.compile(pattern)

    def check(body: str) -> bool:
        return compiled.fullmatch(body) is not None

    return check


def signed_at(*places: int) -> Callable[[str], bool]:
    """A check for Azure's keys, which carry the service's sign at a fixed place of base64 or of letters and digits."""
    sign = re.compile(r"JQQJ99|AzFu|AzSe|\+ACR|AzCa|AIoT|\+ASb|\+AEh|\+ARm|AZEG|\+ASt|ACDb|\+ABa|APIM")

    def check(body: str) -> bool:
        return any(sign.match(body, place) is not None for place in places) and has_digit(body)

    return check
