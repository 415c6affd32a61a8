"""Changing a candidate in the person's own editor, as a small TOML file."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, get_args

from hikidashi.atomic import FILE_MODE
from hikidashi.cli.output import confirmed, note
from hikidashi.drawer.decisions import Edit, edited
from hikidashi.drawer.draft import checked
from hikidashi.drawer.fact import Draft, FactType
from hikidashi.errors import HikidashiError, UsageError

__all__ = ["edit_candidate", "form_of", "parse_form"]

_HEAD: Final = """\
# Change it, save, and leave the editor to approve it. An empty file changes nothing.
# type is one of {types}.
# check is a harmless command that shows whether it still holds; no shell runs it. "" for none.

"""


def form_of(edit: Edit) -> str:
    """The file that a person edits."""
    lines = [
        _HEAD.format(types=", ".join(get_args(FactType))),
        f"key = {_quoted(edit.key)}\n",
        f"type = {_quoted(edit.type)}\n",
        f"check = {_quoted(shlex.join(edit.probe))}\n",
        f"body = {_text(edit.body)}\n",
    ]
    return "".join(lines)


def _quoted(text: str) -> str:
    """A TOML basic string; JSON's escapes are among TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(body: str) -> str:
    """The body over several lines where TOML can take it as it is, so that a person need not write escapes."""
    plain = all(char.isprintable() or char in "\n\t" for char in body)
    return f"'''\n{body}\n'''" if plain and "'''" not in body and not body.endswith("'") else _quoted(body)


def parse_form(text: str) -> Edit | None:
    """What the person wrote; None for an empty file. Raises `UsageError` that says what is wrong."""
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return None
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise UsageError(f"the file is no TOML ({exc}): put texts in quotes") from exc
    unknown = sorted(set(found) - {"key", "type", "check", "body"})
    if unknown:
        raise UsageError(f"the file has an unknown line {unknown[0]}: only key, type, check and body can be changed")
    values = {name: _string(found, name) for name in ("key", "type", "check", "body")}
    types: tuple[FactType, ...] = get_args(FactType)
    type_ = next((name for name in types if name == values["type"]), None)
    if type_ is None:
        raise UsageError(f"there is no type {values['type']}: write one of {', '.join(types)}")
    try:
        probe = tuple(shlex.split(values["check"]))
    except ValueError as exc:
        raise UsageError(f"the check cannot be taken apart ({exc}): close its quotes") from exc
    return Edit(key=values["key"], type=type_, body=values["body"].strip(), probe=probe)


def _string(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str):
        raise UsageError(f'the file has no {name} in quotes: write it as `{name} = "…"`')
    return value


def edit_candidate(proposal: Draft) -> Edit | None:
    """Let the person change what a yes would write; None when nothing is to be approved: the file was emptied.

    What may not be kept (a secret, bad TOML) is said, and on a terminal the same file is opened again. Without one,
    or when the person gives up, raises that error.
    """
    text = form_of(Edit(key=proposal.key, type=proposal.type, body=proposal.body, probe=proposal.probe))
    while True:
        text = _edited(text)
        try:
            edit = parse_form(text)
            if edit is not None:
                checked(edited(proposal, edit))
        except HikidashiError as exc:
            if not (sys.stdin.isatty() and sys.stdout.isatty()):
                raise
            note(str(exc))
            if not confirmed("Edit it again?", yes=False):
                raise
        else:
            return edit


def _edited(text: str) -> str:
    """`text` after the person's editor. Raises `UsageError` when there is none or it fails."""
    command = _editor()
    with tempfile.TemporaryDirectory(prefix="hikidashi-edit-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "candidate.toml"
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w", encoding="utf-8") as stream:
            stream.write(text)
        try:
            code = subprocess.run([*command, str(file)], check=False).returncode
        except OSError as exc:
            raise UsageError(
                f"the editor {command[0]} cannot be started ({exc.strerror}): set EDITOR to another one"
            ) from exc
        if code != 0:
            raise UsageError(f"the editor {command[0]} ended with {code}, nothing was approved: edit it again")
        try:
            return file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as exc:
            raise UsageError("the edited file cannot be read as UTF-8, nothing was approved: edit it again") from exc


def _editor() -> list[str]:
    """The person's editor and its options. Raises `UsageError` when the variable cannot be taken apart."""
    name = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ("notepad" if sys.platform == "win32" else "vi")
    try:
        words = shlex.split(name, posix=sys.platform != "win32")
    except ValueError as exc:
        raise UsageError(f"EDITOR cannot be taken apart ({exc}): set it to a program") from exc
    return words or ["vi"]
