"""Reading one settings file: its values, and the line where each stands. Standard library only.

`tomllib` tells no line numbers for keys, so the lines are found in the text again.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hikidashi.config.folders import shown
from hikidashi.errors import BadSettings

__all__ = ["MAX_FILE_BYTES", "FileValue", "line_of", "place", "read_values"]

#: A larger settings file is refused; ours have a few hundred bytes.
MAX_FILE_BYTES: Final = 256 * 1024

_PART: Final = r"(?:\"[^\"]*\"|'[^']*'|[A-Za-z0-9_-]+)"
_PARTS: Final = re.compile(_PART)
_HEADER: Final = re.compile(rf"\s*\[\s*({_PART}(?:\s*\.\s*{_PART})*)\s*\]")
_KEY: Final = re.compile(rf"\s*({_PART}(?:\s*\.\s*{_PART})*)\s*=(.*)")
_ERROR_PLACE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileValue:
    """One `key = value` of a file; for what stands outside any group, `key` is ''."""

    group: str
    key: str
    value: object
    #: 1-based; 0 when it could not be found again.
    line: int


def place(path: Path, line: int) -> str:
    """`<path>, line <n>` as messages and `Settings.origin` say it."""
    return f"{shown(path)}, line {line}" if line else shown(path)


def _names(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PARTS.findall(dotted)]


def line_of(text: str, group: str, key: str = "") -> int:
    """The line where `group.key` is set, or where the group begins without a key; 0 if it is not found."""
    wanted = [group, key] if key else [group]
    table: list[str] = []
    inside = ""  # the quotes that end the multi-line string we are in
    for number, line in enumerate(text.split("\n"), start=1):
        if inside:
            inside = "" if inside in line else inside
            continue
        if header := _HEADER.match(line):
            table = _names(header[1])
            if not key and table[:1] == wanted:
                return number
        elif pair := _KEY.match(line):
            path = table + _names(pair[1])
            inline = path == [group] and re.search(rf"[{{,]\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", pair[2])
            if path[: len(wanted)] == wanted or inline:
                return number
        inside = next((quotes for quotes in ('"""', "'''") if line.count(quotes) % 2), "")
    return 0


def _text(path: Path) -> str | None:
    try:
        if path.exists() and not path.is_file():
            raise BadSettings(f"{shown(path)} is not a regular file: replace it by a text file or delete it")
        with open(path, "rb") as stream:
            data = stream.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError as exc:
        if path.is_symlink():
            raise BadSettings(f"{shown(path)} is a link to a file that is missing: mend or delete the link") from exc
        return None
    except OSError as exc:
        raise BadSettings(
            f"{shown(path)} cannot be read ({exc.strerror}): give your user read access, or move it away"
        ) from exc
    if len(data) > MAX_FILE_BYTES:
        raise BadSettings(f"{shown(path)} is larger than {MAX_FILE_BYTES // 1024} KB: leave only settings in it")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise BadSettings(f"{place(path, line)}: not UTF-8: save the file as UTF-8") from exc


def _parsed(path: Path, text: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except RecursionError as exc:
        raise BadSettings(f"{shown(path)}: nested too deeply: use `[group]` and `key = value` only") from exc
    except ValueError as exc:  # TOMLDecodeError, and numbers with too many digits
        message = str(exc)
        found = _ERROR_PLACE.search(message)
        line = int(found[1]) if found and found[1] else text.count("\n") + 1 if found else 0
        what = shown(_ERROR_PLACE.sub("", message))
        hint = '; text stands in "quotes"' if what == "Invalid value" else ""
        raise BadSettings(f"{place(path, line)}: not valid TOML ({what}): correct that line{hint}") from exc


def read_values(path: Path) -> list[FileValue]:
    """All values of a settings file, in the file's order; none when there is no file.

    Raises `BadSettings` for a file that cannot be read, is not UTF-8 or not TOML.
    """
    text = _text(path)
    if text is None:
        return []
    values = []
    for group, table in _parsed(path, text).items():
        if isinstance(table, dict):
            for key, value in table.items():
                values.append(FileValue(group=group, key=key, value=value, line=line_of(text, group, key)))
        else:
            values.append(FileValue(group=group, key="", value=table, line=line_of(text, group)))
    return values
