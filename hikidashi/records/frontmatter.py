"""The YAML between the two `---` lines: reading without surprises, writing in one form.

Reading goes over the parser's events, so that each key has its line, and takes less than YAML offers: no
tags, no anchors, no aliases (a few lines of them can mean gigabytes), no key twice, no deep nesting.
Dates stay text. A plain number becomes one only if writing it gives the same characters again
(`1.10` and `010` stay text); `yes` and `on` are true, as in YAML 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

__all__ = ["Field", "FrontMatterError", "Pair", "Value", "read_front_matter", "split_record", "write_front_matter"]

#: What a value can be once it is read.
Value = str | bool | int | float | None | list["Value"] | dict[str, "Value"]

#: More front matter than this is not read.
MAX_FRONT_MATTER: Final = 256 * 1024
MAX_DEPTH: Final = 16
MAX_KEY: Final = 128

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FENCE: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_TRUE: Final = frozenset({"true", "yes", "on"})
_FALSE: Final = frozenset({"false", "no", "off"})
_NULL: Final = frozenset({"", "~", "null"})
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,17}")
_FLOAT: Final = re.compile(r"-?[0-9]{1,17}\.[0-9]{1,17}")
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?"
)
#: Words that some YAML reader takes for something else than text.
_RESERVED: Final = _TRUE | _FALSE | _NULL | {"y", "n"}
#: The characters that YAML lets stand in a quoted text as they are, but for the tab.
_PRINTABLE: Final = "\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
_UNPRINTABLE: Final = re.compile(f"[^\t{_PRINTABLE}]")
#: Lines of a record's front matter as we write them: a key, a row's first key, a row's other keys.
_OWN_LINE: Final = re.compile(f"(|  - |    )([a-z_]{{1,40}}):(?: ([{_PRINTABLE}]+))?")
_OWN_QUOTED: Final = re.compile(r'"[^"\\]*"')
_OWN_PAIR: Final = re.compile(r'\[("[^"\\]*"|0|[1-9][0-9]{0,17}), ("[^"\\]*"|0|[1-9][0-9]{0,17})\]')
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\0": "\\0"}


class FrontMatterError(ValueError):
    """The front matter cannot be read; `code` is the linter's rule, `line` the 1-based line of the file."""

    def __init__(self, code: str, line: int, what: str) -> None:
        super().__init__(what)
        self.code = code
        self.line = line
        self.what = what


@dataclass(frozen=True, slots=True)
class Field:
    """The value of one key of the front matter."""

    #: 1-based line of the key in the file.
    line: int
    value: Value
    #: A scalar as it was written; None for lists and mappings.
    text: str | None


class Pair(tuple[Value, Value]):
    """Two scalars that are written on one line: `[3, 9]`."""

    __slots__ = ()


def split_record(text: str) -> tuple[str, str, int]:
    """Front matter, body, and the 1-based line that the body starts on. Raises `FrontMatterError`."""
    opening = _FENCE.match(text)
    if opening is None:
        raise FrontMatterError("H104", 1, "the first line is not `---`")
    start = opening.end() + 1
    closing = _FENCE.search(text, start)
    if closing is None:
        raise FrontMatterError("H105", 1, "the front matter that starts on line 1 has no end")
    front = text[start : closing.start()]
    return front, text[closing.end() + 1 :], front.count("\n") + 3


def read_front_matter(front: str) -> dict[str, Field]:
    """Key -> field, in the order of the file. Raises `FrontMatterError`; lines count from the file's first."""
    if len(front) > MAX_FRONT_MATTER:
        raise FrontMatterError("H106", 2, f"the front matter has {len(front):,} characters")
    fields = _read_own_form(front)
    return _read_yaml(front) if fields is None else fields


def _read_yaml(front: str) -> dict[str, Field]:
    """The fields as YAML's parser finds them."""
    try:
        return _Reader(yaml.parse(front, Loader=_LOADER)).read()
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 2 if exc.problem_mark else 2
        raise FrontMatterError("H106", line, f"not YAML ({exc.problem or 'syntax'})") from exc
    except yaml.YAMLError as exc:
        raise FrontMatterError("H106", 2, "not YAML (a character that it does not allow)") from exc


def _read_own_form(front: str) -> dict[str, Field] | None:
    """The fields of front matter in the form that `write_front_matter` gives a record, ten times as fast.

    None for anything else, and for anything doubtful: then YAML's parser reads it. A test holds the two to
    the same answers.
    """
    fields: dict[str, Field] = {}
    rows: list[Value] | None = None
    row: dict[str, Value] = {}
    last = ""
    for number, line in enumerate(front.removesuffix("\n").split("\n"), start=2):
        match = _OWN_LINE.fullmatch(line)
        if match is None:
            return None
        indent, key, written = match.groups()
        field = _own_field(number, written)
        if field is None:
            return None
        if indent == "":
            if key in fields:
                return None
            fields[key], last = field, key
            rows = [] if written is None else None
            row = {}
        elif rows is None or written is None:
            return None
        elif indent == "  - ":
            row = {key: field.value}
            rows.append(row)
            fields[last] = Field(fields[last].line, rows, None)
        elif not row or key in row:
            return None
        else:
            row[key] = field.value
    return fields


def _own_field(line: int, written: str | None) -> Field | None:
    """What stands after a key on its line; None where YAML's parser has to say what it is."""
    if written is None:
        return Field(line, None, "")
    if _OWN_QUOTED.fullmatch(written):
        return Field(line, written[1:-1], written[1:-1])
    if written == "[]":
        return Field(line, [], None)
    pair = _OWN_PAIR.fullmatch(written)
    if pair is not None:
        return Field(line, [text[1:-1] if text[0] == '"' else int(text) for text in pair.groups()], None)
    if not written[0].isalnum() or ": " in written or " #" in written or written[-1] in ": ":
        return None
    return Field(line, _resolve(written), written)


class _Reader:
    """Builds plain values from the parser's events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events

    def read(self) -> dict[str, Field]:
        """The one mapping of the front matter."""
        fields: dict[str, Field] = {}
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise FrontMatterError("H106", _line(event), "a second YAML document")
            elif isinstance(event, yaml.MappingStartEvent):
                self._plain(event)
                fields = self._fields(0)
            elif isinstance(event, yaml.NodeEvent):
                raise FrontMatterError("H106", _line(event), "not a mapping of keys to values")
        return fields

    def _plain(self, event: Any) -> None:
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise FrontMatterError("H106", line, "an anchor or alias")
        if event.tag is not None and event.tag != "!":
            raise FrontMatterError("H106", line, f"the tag {event.tag[:80]}")

    def _fields(self, depth: int) -> dict[str, Field]:
        fields: dict[str, Field] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            self._plain(event)
            line = _line(event)
            if not isinstance(event, yaml.ScalarEvent) or len(event.value) > MAX_KEY:
                raise FrontMatterError("H106", line, "a key that is not a short text")
            if event.value in fields:
                raise FrontMatterError(
                    "H107", line, f"the key {event.value[:80]} stands on line {fields[event.value].line} already"
                )
            value, text = self._value(next(self._events), depth + 1)
            fields[event.value] = Field(line, value, text)
        return fields

    def _value(self, event: Any, depth: int) -> tuple[Value, str | None]:
        self._plain(event)
        if isinstance(event, yaml.ScalarEvent):
            return (_resolve(event.value) if event.implicit[0] else event.value), event.value
        if depth > MAX_DEPTH:
            raise FrontMatterError("H106", _line(event), f"nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.MappingStartEvent):
            return {key: field.value for key, field in self._fields(depth).items()}, None
        items: list[Value] = []
        for inner in self._events:
            if isinstance(inner, yaml.SequenceEndEvent):
                break
            items.append(self._value(inner, depth + 1)[0])
        return items, None


def _line(event: Any) -> int:
    """The line of the file on which `event` starts; the front matter begins on the second."""
    return int(event.start_mark.line) + 2


def _resolve(text: str) -> Value:
    lowered = text.lower()
    if lowered in _NULL:
        return None
    if lowered in _TRUE or lowered in _FALSE:
        return lowered in _TRUE
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text


def write_front_matter(values: dict[str, Any]) -> str:
    """The lines between the fences, in block style, keys in the order given; ends with a newline."""
    return "".join(line + "\n" for line in _block(values, ""))


def _block(value: Any, pad: str) -> list[str]:
    lines: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            if _is_block(item):
                lines += [f"{pad}{_text(key)}:", *_block(item, pad + "  ")]
            else:
                lines.append(f"{pad}{_text(key)}: {_inline(item)}")
        return lines
    for item in value:
        if _is_block(item):
            inner = _block(item, pad + "  ")
            lines += [f"{pad}- {inner[0][len(pad) + 2 :]}", *inner[1:]]
        else:
            lines.append(f"{pad}- {_inline(item)}")
    return lines


def _is_block(value: Any) -> bool:
    return isinstance(value, dict | list) and len(value) > 0


def _inline(value: Any) -> str:
    if isinstance(value, Pair):
        return f"[{', '.join(_quoted(item) if isinstance(item, str) else _inline(item) for item in value)}]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _text(value: str) -> str:
    """Plain where every YAML reader takes it for this text (or for this time), else in double quotes."""
    if _TIME.fullmatch(value):
        return value
    if (
        not value[:1].isalpha()
        or value != value.strip()
        or value.endswith(":")
        or ": " in value
        or " #" in value
        or "\t" in value
        or value.lower() in _RESERVED
        or _UNPRINTABLE.search(value)
    ):
        return _quoted(value)
    return value


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{_UNPRINTABLE.sub(_escape, escaped)}"'


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:  # half of a pair: nothing can be written for it
        return "\ufffd"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
