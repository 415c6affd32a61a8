"""Changing one place of a JSON file and no other byte of it.

A host's settings belong to the person: their order, blanks and line ends stay. So the text is changed, not parsed
and written anew. Paths are the keys and indexes on the way, outermost first. Text that is no strict JSON, or in which
something else stands where an object or list is needed, raises `ValueError` with what and where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["value_at", "with_item", "with_value", "without"]

_BOM: Final = "\ufeff"
_BLANK: Final = " \t\r\n"
_DECODER: Final = json.JSONDecoder()
_INDENTED: Final = re.compile(r"\n([ \t]+)\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A member of an object, or an item of a list."""

    #: '' in a list.
    key: str
    #: Where it begins, its value begins, and it ends.
    start: int
    value: int
    end: int


def value_at(text: str, path: Sequence[str] = ()) -> Any:
    """The value at `path`, None where nothing is. Empty text is an empty object."""
    value = _loaded(text)
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """`text` with `value` at `path`; objects on the way are made where they are missing."""
    return _with(text, path, value, in_list=False)


def with_item(text: str, path: Sequence[str], value: object) -> str:
    """`text` with `value` as the last item of the list at `path`, which is made where it is missing."""
    return _with(text, path, value, in_list=True)


def without(text: str, path: Sequence[str | int]) -> str:
    """`text` without what stands at `path`; the same text where nothing does."""
    at = _first(text)
    for step in path[:-1]:
        part = _find(text, at, step)
        if part is None:
            return text
        at = part.value
    gone = _find(text, at, path[-1])
    if gone is None:
        return text
    parts, end = _parts(text, at)
    number = parts.index(gone)
    if number:
        return text[: parts[number - 1].end] + text[gone.end :]
    if len(parts) > 1:
        return text[: gone.start] + text[parts[1].start :]
    return text[: at + 1] + text[end - 1 :]


def _loaded(text: str) -> Any:
    body = text.removeprefix(_BOM)
    try:
        return json.loads(body) if body.strip() else {}
    except RecursionError as exc:
        raise ValueError("it is nested too deeply") from exc


def _with(text: str, path: Sequence[str], value: object, *, in_list: bool) -> str:
    if not isinstance(_loaded(text), dict):
        raise ValueError("it holds no JSON object")
    if not text.removeprefix(_BOM).strip():
        text += "{}\n"
    at = _first(text)
    left = list(path)
    while left:
        if text[at] != "{":
            raise ValueError(f"no object holds {left[0]!r}")
        part = _find(text, at, left[0])
        if part is None:
            break
        if len(left) == 1 and not in_list:
            new = _rendered(text, value, _indent(text, part.start))
            return text[: part.value] + new + text[part.end :]
        at = part.value
        left.pop(0)
    wanted = [value] if in_list and left else value
    for key in reversed(left[1:]):
        wanted = {key: wanted}
    if not left and text[at] != "[":
        raise ValueError(f"{'.'.join(path)} is no list")
    return _appended(text, at, left[0] if left else None, wanted)


def _appended(text: str, at: int, key: str | None, value: object) -> str:
    """`text` with a member (an item, for the key None) behind the last one of the object or list at `at`."""
    parts, end = _parts(text, at)
    named = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    line_end = "\r\n" if "\r\n" in text else "\n"
    if not parts:
        outer = _indent(text, at)
        inner = outer + _unit(text)
        new = f"{line_end}{inner}{named}{_rendered(text, value, inner)}{line_end}{outer}"
        return text[: at + 1] + new + text[end - 1 :]
    last = parts[-1]
    if "\n" in text[at : last.start]:
        inner = _indent(text, last.start)
        new = f",{line_end}{inner}{named}{_rendered(text, value, inner)}"
    else:
        new = f", {named}{json.dumps(value, ensure_ascii=False)}"
    return text[: last.end] + new + text[last.end :]


def _rendered(text: str, value: object, indent: str) -> str:
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return (("\r\n" if "\r\n" in text else "\n") + indent).join(lines)


def _unit(text: str) -> str:
    """One step of indentation, as the file has it."""
    found = _INDENTED.search(text)
    return found[1] if found else "  "


def _indent(text: str, at: int) -> str:
    """The blanks at the beginning of the line of `at`."""
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _first(text: str) -> int:
    return _skip(text, len(_BOM) if text.startswith(_BOM) else 0)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _find(text: str, at: int, step: str | int) -> _Part | None:
    """The member or item of the object or list at `at`; of a key that stands there twice the last, as hosts read it."""
    if at >= len(text) or text[at] != ("[" if isinstance(step, int) else "{"):
        return None
    parts, _ = _parts(text, at)
    if isinstance(step, int):
        return parts[step] if step < len(parts) else None
    return next((part for part in reversed(parts) if part.key == step), None)


def _parts(text: str, at: int) -> tuple[list[_Part], int]:
    """What the object or list at `at` holds, and where it ends. The whole text is known to be JSON."""
    is_object = text[at] == "{"
    parts: list[_Part] = []
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # the colon
        value = at
        _, at = _DECODER.raw_decode(text, at)
        parts.append(_Part(key=key, start=start, value=value, end=at))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return parts, at + 1
