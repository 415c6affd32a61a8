"""What of the records a session is given: the summary's beginning and resident knowledge. Standard library only.

Records are read by `records/`; this is the little of it that a hook needs, without a YAML parser. Of a description in
a form that is not understood nothing is given.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["first_section", "residents"]

#: Of a record so much is read; its front matter comes first.
_MAX_BYTES: Final = 64 * 1024
_FRONT_BYTES: Final = 8 * 1024
#: Records that are looked at, in the order of their names.
_MAX_FILES: Final = 1_000

_FENCE: Final = "---"


def _read(path: str, size: int) -> str:
    """The beginning of a file; '' where there is none, and for a link."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as file:
            return file.read(size).decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    except OSError:
        return ""


def _parted(text: str) -> tuple[list[str], str]:
    """The lines of the front matter, and the body."""
    if not text.startswith(f"{_FENCE}\n"):
        return [], text
    front, closed, body = text.removeprefix(f"{_FENCE}\n").partition(f"\n{_FENCE}\n")
    return (front.split("\n"), body) if closed else ([], "")


def first_section(path: str) -> str:
    """The summary's text up to its second heading, without comments; '' for none."""
    kept: list[str] = []
    headings = 0
    for line in _parted(_read(path, _MAX_BYTES))[1].split("\n"):
        if line.startswith("## "):
            headings += 1
            if headings == 2:
                break
        elif line.startswith(("# ", "<!--")):
            continue
        if line.strip():
            kept.append(line.rstrip())
    only_heading = len(kept) == 1 and kept[0].startswith("## ")
    return "" if only_heading else "\n".join(kept)


def residents(folder: str) -> list[tuple[str, str]]:
    """Name and description of the knowledge records that ask to be known in every session, by name."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".md"))[:_MAX_FILES]
    except OSError:
        return []
    found = []
    for name in names:
        front = _parted(_read(os.path.join(folder, name), _FRONT_BYTES))[0]
        values = dict(line.partition(": ")[::2] for line in front if line[:1].isalpha())
        asks = values.get("model_invocation", values.get("model_invokation", ""))
        if asks.strip().lower() in ("true", "yes", "on"):
            description = _plain(values.get("description", ""), front)
            if description:
                found.append((name.removesuffix(".md"), description))
    return found


def _plain(value: str, front: list[str]) -> str:
    """A scalar of YAML in one line."""
    text = value.strip()
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        import json

        try:
            return " ".join(str(json.loads(text.replace("\\x", "\\u00"))).split())
        except ValueError:
            return ""
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] in (">", "|"):
        start = next(number for number, line in enumerate(front) if line.startswith("description:"))
        lines = []
        for line in front[start + 1 :]:
            if line and not line.startswith(" "):
                break
            lines.append(line.strip())
        return " ".join(" ".join(lines).split())
    return "" if text[:1] in "&*!{[@`%" else text
