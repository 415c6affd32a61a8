"""A message as sentences in which somebody speaks for himself: without code, quotations and pasted lines.

Standard library only. Places stay the same: what is taken out becomes blanks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["MAX_SENTENCE", "own_words", "sentences"]

#: Longer sentences are lists or data; nobody says in one that he cannot do something.
MAX_SENTENCE: Final = 500

#: Code of so many words is a command or an answer; a shorter one is a name in a sentence.
_CODE_WORDS: Final = 6
#: A quotation of one short word is a name too.
_QUOTED_LETTERS: Final = 16

_FENCE: Final = r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)"
_PASTED: Final = (
    r"^[ \t]*(?:>|\||\$ |❯ |(?:\w+ )?(?:error|fatal|remote|err!|warning|stderr|stdout|npm err!|permission denied)"
    r"\b[^\n]{0,40}?:)[^\n]*$"
)
_QUOTES: Final = (
    r"\"[^\"\n]{1,400}\"", "“[^”\n]{1,400}”", "„[^“”\n]{1,400}[“”]",
    "«[^»\n]{1,400}»", "「[^」\n]{1,400}」", "『[^』\n]{1,400}』",
    r"(?<!\w)'(?:[^'\n]|(?<=\w)'(?=\w)){3,300}'(?!\w)", "‘[^’\n]{3,300}’(?!\\w)",
)  # fmt: skip
_CODE: Final = r"`([^`\n]{1,300})`"

_ENDS: Final = (
    r"[.!?…]+[\"')\]*_]*(?=\s|$)|[。！？]+[」』）)]*|\n(?!\s*[a-zà-ÿ(`*])|\n(?=\s*(?:[-*+•#]\s|\d+[.)]\s|\n))"
)

#: A request put as a question behind a statement: "I can't run them; could you?"
_REQUEST: Final = (
    r"; (?:could|can|would) you\b|;\s*¿|; (?:kannst|könntest|magst) du\b|; (?:können|könnten) sie\b"
    r"|; (?:pouvez-vous|pourriez-vous|peux-tu|pourrais-tu)\b|; (?:você )?(?:pode|poderia)\b"
)
#: How a sentence begins that asks from its first word on.
_QUESTION: Final = (
    r"\W*(?:why|how|what|when|can|could|is|are|do|does|should|shall|warum|wieso|wie|was|kann|könn\w+|ist|soll\w*"
    r"|pourquoi|comment|est-ce|peux|puis|por qu[eéê]|porque|c[oó]mo|qu[eé]|será|posso|pode|¿)(?![\w-])"
)


def own_words(message: str) -> str:
    """`message` with blanks for code blocks, longer code, pasted lines and quotations."""
    text = message
    if "```" in text or "~~~" in text:
        text = re.sub(_FENCE, _blank, text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(_PASTED, _blank, text, flags=re.MULTILINE | re.IGNORECASE)
    if "`" in text:
        text = re.sub(_CODE, lambda found: _blank(found) if found[1].count(" ") >= _CODE_WORDS else found[0], text)
    for pattern in _QUOTES:
        first = pattern[0] if pattern[0] not in "\\(" else pattern[1] if pattern[0] == "\\" else "'"
        if first in text:
            text = re.sub(pattern, _unless_name, text)
    return text


def _blank(found: re.Match[str]) -> str:
    return "".join("\n" if char == "\n" else " " for char in found[0])


def _unless_name(found: re.Match[str]) -> str:
    inner = found[0][1:-1]
    short = len(inner) <= _QUOTED_LETTERS and " " not in inner
    if short and (inner.isascii() or len(inner) <= _QUOTED_LETTERS // 2):
        return f" {inner} "
    return _blank(found)


def sentences(text: str) -> Iterator[tuple[int, str, bool]]:
    """Where each sentence begins, the sentence, and whether it asks. Lines of a list are sentences."""
    start = 0
    for end in re.finditer(_ENDS, text):
        yield from _sentence(text, start, end.start(), end[0])
        start = end.end()
    yield from _sentence(text, start, len(text), "")


def _sentence(text: str, start: int, end: int, mark: str) -> Iterator[tuple[int, str, bool]]:
    sentence = text[start:end]
    if sentence.strip() and len(sentence) <= MAX_SENTENCE:
        asks = "?" in mark or "？" in mark
        request = re.search(_REQUEST, sentence, re.IGNORECASE) if asks else None
        if request and not re.match(_QUESTION, sentence, re.IGNORECASE):
            # What stands before a request is said, not asked.
            yield start, sentence[: request.start()], False
            start, sentence = start + request.start(), sentence[request.start() :]
        yield start, sentence, asks
