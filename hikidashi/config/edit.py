"""Setting one value in the user's own settings file, with everything else in it left as it is.

The file is a person's: their comments, their order, their line ends. What comes out is read again before it is
written; a file in which the value cannot be set so is refused, and stays.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError

from hikidashi.atomic import make_folder, storage_errors, write_atomic
from hikidashi.config.folders import shown
from hikidashi.config.settings import user_file
from hikidashi.config.toml_file import line_of, read_values
from hikidashi.errors import BadSettings

__all__ = ["set_in_user_file"]

_BOM: Final = "\ufeff"


def set_in_user_file(name: str, value: str) -> Path:
    """Set the text setting `group.key` in the user's file, made if there is none; its mode becomes 0600.

    Gives the file that was written: the target, where the user's file is a link. Raises `BadSettings` for a file that
    cannot be read or changed so, `StorageFailure`.
    """
    path = user_file()
    read_values(path)  # says what is wrong with it, and where
    target = Path(os.path.realpath(path))
    with storage_errors(f"read {path}"):
        old = target.read_bytes().decode("utf-8") if target.exists() else ""
    new = next((text for text in _ways(old, name, value) if _holds(old, text, name, value)), None)
    if new is None:
        group, _, key = name.partition(".")
        raise BadSettings(
            f"{shown(path)}: {name} cannot be set in a file of this form: write `{key} = {_quoted(value)}` "
            f"under [{group}] yourself"
        )
    make_folder(target.parent)
    write_atomic(target, new.encode("utf-8"))
    return target


def _ways(old: str, name: str, value: str) -> Iterator[str]:
    """`old` with the value set, in the ways that may do, the one that reads best first."""
    group, _, key = name.partition(".")
    mark, text = (_BOM, old[1:]) if old.startswith(_BOM) else ("", old)
    end = "\r\n" if "\r\n" in text else "\n"
    line = f"{key} = {_quoted(value)}{end}"
    try:
        document = tomlkit.parse(text)
        if group not in document:
            gap = end * (0 if not text or text.endswith(end * 2) else 1 if text.endswith("\n") else 2)
            yield f"{mark}{text}{gap}[{group}]{end}{line}"
            return
        table = document[group]
        if not isinstance(table, MutableMapping):
            return
        if key not in table and (below := _below_header(text, group)):
            yield f"{mark}{text[:below]}{line}{text[below:]}"  # tomlkit's place is behind the next group's comment
        table[key] = value
        yield mark + tomlkit.dumps(document)
    except TOMLKitError:
        return


def _below_header(text: str, group: str) -> int:
    """Where the line below `[group]` begins; 0 when there is no such line."""
    number = line_of(text, group)
    if not number or not text.split("\n")[number - 1].lstrip().startswith("["):
        return 0
    end = -1
    for _ in range(number):
        end = text.find("\n", end + 1)
        if end < 0:
            return 0
    return end + 1


def _quoted(value: str) -> str:
    return tomlkit.string(value).as_string()


def _holds(old: str, new: str, name: str, value: str) -> bool:
    """Whether `new` says what `old` says and the value, in the same bytes but for one place."""
    group, _, key = name.partition(".")
    try:
        wanted: dict[str, Any] = tomllib.loads(old.removeprefix(_BOM))
        wanted[group] = {**wanted.get(group, {}), key: value}
        if tomllib.loads(new.removeprefix(_BOM)) != wanted:
            return False
    except (ValueError, TypeError):
        return False
    front = _alike(old, new)
    back = _alike(old[front:][::-1], new[front:][::-1])
    lost = old[front : len(old) - back]
    return "\n" not in lost  # at most an older value of the key itself


def _alike(one: str, other: str) -> int:
    """How many characters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))
