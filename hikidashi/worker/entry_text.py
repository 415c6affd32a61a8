"""Entry text as data: made fit to stand inside a record without breaking it or speaking in its name.

An entry's words come from a transcript, so they may hold anything: front matter, headings, comments that
imitate our markers, merge markers, open code fences, control characters. What is made here reads the same
to a person and means nothing to a parser.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

__all__ = ["SECTIONS", "clean", "cut_line", "mute_references", "one_line", "quoted", "text_block"]

#: Headings of a record's own sections (level 2); entry text can never open one.
SECTIONS: Final = ("Attempts", "Discussion", "Earlier items")

_LINE_ENDS: Final = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
#: Control characters, and those that reorder or hide text.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")

_FENCE: Final = re.compile(r"^\s*(`{3,}|~{3,})")
_HEADING: Final = re.compile(r"^( {0,3})(#{1,6})(?=\s|$)")
_QUOTED_HEADING: Final = re.compile(r"^(#{1,6})(?=\s|$)", re.MULTILINE)
_RULE: Final = re.compile(r"^\s{0,3}-{3,}\s*$")
_UNDERLINE: Final = re.compile(r"^(\s{0,3})(=+|-{1,2})(\s*)$")
_MERGE_MARKER: Final = re.compile(r"^(<{7}|>{7}|\|{7}|={7})")
_ATTRIBUTION: Final = re.compile(r"^(\s*>\s*)—")
_RESERVED: Final = re.compile(rf"^##\s+({'|'.join(SECTIONS)})\s*$")
_LEADING_MARKUP: Final = re.compile(r"^(?:#{1,6}(?:\s+|$)|>\s*|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|[=-]{2,}\s*)+")
#: What the linter takes for a reference, or may take for one once the words around it change.
_REFERENCE: Final = re.compile(r"(?<![\w/&#.:=\\-])#(?=[a-z0-9-]*[a-z])([a-z0-9])")
_CODE_SPAN: Final = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_BLANKS: Final = re.compile(r"\n{3,}")


def clean(text: str) -> str:
    """`text` in NFC with `\\n` line ends, without control, reordering and half characters."""
    text = _SURROGATES.sub("\ufffd", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _INVISIBLE.sub("", text).replace("\t", "    ")
    return unicodedata.normalize("NFC", text)


def cut_line(text: str, limit: int) -> str:
    """`text` of at most `limit` characters, cut at a space where one is near, with `…` for the rest."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ", limit * 3 // 4)
    return (head[:space] if space > 0 else head).rstrip(" ,;:.-") + "…"


def one_line(text: str, limit: int) -> str:
    """`text` as one plain line for a heading or a list item; '' when nothing readable is in it.

    Leading Markdown (heading, list, quote) goes, comments are escaped, code fences become plain back-ticks.
    """
    line = " ".join(clean(text).split())
    line = _LEADING_MARKUP.sub("", line)
    line = re.sub(r"`{3,}", "`", line).replace("<!--", r"<\!--")
    line = _MERGE_MARKER.sub(lambda match: "\\" + match[1], line)
    line = line.rstrip("#").rstrip() if line.endswith(" #") or line.strip("# ") == "" else line
    line = cut_line(line, limit)
    if line.count("`") % 2:  # a lone back-tick would swallow what follows it on the line
        line = line.replace("`", "'")
    return line


def _plain_line(line: str, down: int) -> str:
    """A line outside code, without all that a Markdown parser would take for structure of the record."""
    line = line.replace("<!--", r"<\!--")
    if _RULE.match(line):
        return "* * *"
    if _MERGE_MARKER.match(line) or _UNDERLINE.match(line):
        return "\\" + line.lstrip()
    line = _ATTRIBUTION.sub(r"\1-", line)
    return _HEADING.sub(lambda match: match[1] + "#" * min(6, len(match[2]) + down), line)


def _code_line(line: str) -> str:
    line = line.replace("<!-- hikidashi:", r"<\!-- hikidashi:")
    return " " + line if _MERGE_MARKER.match(line) or _RESERVED.match(line) or _RULE.match(line) else line


def _neutral(text: str) -> str:
    lines: list[str] = []
    # a line in code that looks like a heading only makes the real ones stand deeper
    levels = [len(match[2]) for line in text.split("\n") if (match := _HEADING.match(line))]
    down = max(0, 3 - min(levels, default=3))
    fence = ""
    for line in text.split("\n"):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
            lines.append(_code_line(line))
        elif fence:
            closing = match and match[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if closing else fence
            lines.append(_code_line(line))
        else:
            lines.append(_plain_line(line.rstrip(), down))
    if fence:
        lines.append(fence)
    return "\n".join(lines)


def _within(text: str, limit: int) -> str:
    """Whole lines of neutral `text` up to `limit` characters; an open code fence is closed again."""
    lines: list[str] = []
    size, fence = 0, ""
    for line in text.split("\n"):
        size += len(line) + 1
        if size > limit:
            break
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
        elif match and fence and match[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        lines.append(line)
    if not lines:
        return text[:limit].split("\n")[0]
    return "\n".join([*lines, fence] if fence else lines).rstrip()


def text_block(text: str, limit: int, place: str) -> str:
    """`text` as Markdown below a record's title: at most about `limit` characters, then a note with `place`.

    Headings go down to level 3 and below, open code fences are closed, blank lines folded.
    """
    text = clean(text).strip("\n ")
    body = _BLANKS.sub("\n\n", _neutral(text[: 2 * limit])).strip("\n")
    if len(body) <= limit and len(text) <= 2 * limit:
        return body
    kept = _within(body, limit)
    return f"{kept}\n\n*({max(1, len(text) - len(kept)):,} more characters stand in {place}.)*"


def quoted(text: str, limit: int, attribution: str) -> str:
    """`text` as a block quote that ends with `— attribution`."""
    lines = [line.rstrip() for line in clean(text).strip().split("\n")]
    flat = cut_line("\n".join(line for line in lines if line), limit)
    if not flat:
        return ""
    # a quote is word for word: what looks like a heading stays what it says
    inner = _neutral(_QUOTED_HEADING.sub(r"\\\1", flat)).split("\n")
    return "\n".join([*(f"> {line}".rstrip() for line in inner), ">", f"> — {attribution}"])


def mute_references(text: str) -> str:
    """`text` where `#words` outside code refer to no record: an entry's words cite nothing by accident."""
    if "#" not in text:
        return text
    lines, fence = text.split("\n"), ""
    for number, line in enumerate(lines):
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        elif not fence and "#" in line:
            lines[number] = _mute_line(line)
    return "\n".join(lines)


def _mute_line(line: str) -> str:
    """A line outside fenced code; code spans stay as they are."""
    parts: list[str] = []
    end = 0
    for span in _CODE_SPAN.finditer(line):
        parts += [_REFERENCE.sub(r"\\#\1", line[end : span.start()]), span[0]]
        end = span.end()
    return "".join([*parts, _REFERENCE.sub(r"\\#\1", line[end:])])
