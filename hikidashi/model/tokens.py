"""How many tokens a text has, about: one estimate for materials, budgets and the summary's cap."""

from __future__ import annotations

import json
import re
import string
from typing import Final

from hikidashi.model.messages import Request

__all__ = ["estimate_request", "estimate_tokens", "most_tokens"]

#: One token for each character: Kana, CJK (all planes), Hangul, full-width forms, emoji.
_WIDE: Final = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff00-\uffef\U0001f000-\U0001faff\U00020000-\U0003ffff]"
)
#: Other letters outside ASCII (Cyrillic, Greek, Arabic, Thai …): about two characters a token.
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")

#: Characters of ASCII a token; 4 holds for English prose, source code and paths come nearer 3.
_ASCII_PER_TOKEN: Final = 3.5


def estimate_tokens(text: str) -> int:
    """About how many tokens a current model's tokenizer makes of `text`, rounded up; 0 for an empty text.

    ASCII counts 1 for 3.5 characters, Chinese, Japanese, Korean and emoji 1 each, all else 1 for 2. It errs
    on the high side for prose: a cap kept by this estimate is kept in fact.
    """
    if text.isascii():
        return -int(-len(text) // _ASCII_PER_TOKEN)
    wide = len(_WIDE.findall(text))
    foreign = len(_FOREIGN.findall(text)) - wide
    plain = len(text) - wide - foreign
    return -int(-(plain / _ASCII_PER_TOKEN + foreign / 2 + wide) // 1)


#: The newer tokenizers make about 30 % more tokens of one text than the older ones.
_NEWER: Final = 1.3

#: Dense text (JSON, code, hashes) has more tokens than its length tells: each sign is one, and so are three letters or
#: one and a half digits. Counted by bytes: a conversation is counted anew for each of its turns.
_LETTERS: Final = string.ascii_letters.encode()
_DIGITS: Final = string.digits.encode()
_NO_SIGNS: Final = _LETTERS + _DIGITS + b" " + bytes(range(0x80, 0x100))

#: What a server adds around the messages, the tools and the system prompt.
_AROUND: Final = 64
_AROUND_TOOLS: Final = 500


def most_tokens(text: str) -> int:
    """The most tokens that any current model's tokenizer is likely to make of `text`: what has to fit somewhere.

    By its length for the newer tokenizers or by its signs and words, whichever is more.
    """
    return max(int(estimate_tokens(text) * _NEWER), _dense_tokens(text))


def estimate_request(request: Request) -> int:
    """The most tokens that the input of `request` is likely to have: what a budget reserves for it.

    It errs high: the body as JSON, markup included.
    """
    parts = (request.system, request.tools, request.messages, request.schema)
    body = "".join(json.dumps(part, ensure_ascii=False) for part in parts if part)
    return most_tokens(body) + _AROUND + (_AROUND_TOOLS if request.tools else 0)


def _dense_tokens(text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    signs = len(data.translate(None, _NO_SIGNS))
    letters = len(data) - len(data.translate(None, _LETTERS))
    digits = len(data) - len(data.translate(None, _DIGITS))
    return signs + letters // 3 + digits * 2 // 3
