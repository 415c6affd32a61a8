"""The prompts: Markdown with placeholders, and which file each one comes from. Standard library only.

Each prompt comes with the package. A person may put another in its place: in the config folder for all workspaces,
or in a workspace's `.hikidashi/prompts/`, where it is used only as long as its bytes are those that `hikidashi trust
--prompts` showed and pinned, since other people and programs write there too. A workspace's goes before the user's,
the user's before ours.

A placeholder is `{{name}}`. A file that lacks one of those that its prompt needs, or has one that we cannot fill, is an
error that says so: half a prompt would be sent for months before anybody noticed.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from hikidashi.errors import BadSettings

__all__ = [
    "BUILT_IN",
    "MAX_PROMPT_BYTES",
    "PROMPTS",
    "FoundPrompt",
    "Origin",
    "Prompt",
    "PromptKind",
    "PromptSources",
    "find_prompt",
    "prompt_digest",
    "prompt_notices",
    "prompt_text",
    "read_prompt",
    "replaced_prompts",
    "workspace_prompts",
]

#: A larger file is no prompt; ours have a few kilobytes.
MAX_PROMPT_BYTES: Final = 64 * 1024

Origin = Literal["built-in", "user", "workspace"]

_FOLDER: Final = Path(__file__).parent
_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)\s*\}\}")
#: A pipe in a prompt's place must not keep us waiting.
_BINARY: Final = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptKind:
    """One prompt: what it is for, and the placeholders that a file of it has."""

    doc: str
    #: Placeholders that must stand in it.
    needed: tuple[str, ...] = ()
    #: Placeholders that may.
    allowed: tuple[str, ...] = ()


#: Every prompt by name; the file is `<name>.md`.
PROMPTS: Final[Mapping[str, PromptKind]] = {
    "principles": PromptKind(doc="What holds for all of them; stands where they say `{{principles}}`."),
    "extraction": PromptKind(
        doc="System prompt of the model that reads sessions and answers with what is worth keeping.",
        needed=("principles", "schema"),
    ),
    "integration": PromptKind(
        doc="System prompt of the model that works entries into the records, and tidies them afterwards.",
        needed=("principles", "knowledge"),
        allowed=("summary_characters", "body_characters"),
    ),
    "knowledge": PromptKind(
        doc="How knowledge records are written; stands where integration says `{{knowledge}}`.",
        allowed=("description_characters",),
    ),
    "clean-up": PromptKind(
        doc="The message with which clean-up begins, in the same conversation.", needed=("materials",)
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSources:
    """Where prompts are looked for besides the package."""

    #: `prompts/` in the config folder; None looks at no file of the user.
    user_folder: Path | None = None
    #: `.hikidashi/prompts/` of the workspace; None where there is no workspace.
    workspace_folder: Path | None = None
    #: Name of a prompt -> SHA-256 of the bytes that this user pinned for this workspace.
    pinned: Mapping[str, str] = field(default_factory=dict)


#: The package's own prompts alone.
BUILT_IN: Final = PromptSources()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One prompt as it is used, its placeholders not filled in yet."""

    name: str
    text: str
    origin: Origin
    path: Path

    @property
    def placeholders(self) -> frozenset[str]:
        """The names that stand in its text."""
        return frozenset(_PLACEHOLDER.findall(self.text))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPrompt:
    """A file of a workspace, used or not."""

    name: str
    path: Path
    #: Its bytes; b'' for what cannot be read as a prompt.
    data: bytes
    #: SHA-256 of `data`.
    digest: str
    #: Whether its bytes are those that were pinned.
    is_pinned: bool
    #: What keeps it from being used although a person may want it, in one line; '' for nothing.
    trouble: str = ""


def prompt_text(name: str, sources: PromptSources = BUILT_IN, **values: str) -> str:
    """The prompt `name` with its placeholders filled; `{{principles}}` and `{{knowledge}}` are filled from theirs.

    Every other placeholder of its kind is to be given, wanted by the file or not. Raises `BadSettings` for a file that
    cannot be used, `ValueError` for a value that is missing or that no placeholder has: a fault of the program.
    """
    prompt = find_prompt(name, sources)
    known = {*PROMPTS[name].needed, *PROMPTS[name].allowed}
    for part in known & PROMPTS.keys():
        inner = {key: value for key, value in values.items() if key in PROMPTS[part].allowed}
        known |= inner.keys()
        values = {**values, part: prompt_text(part, sources, **inner).strip()}
    if missing := sorted(known - values.keys()):
        raise ValueError(f"the prompt {name} needs a value for {', '.join(missing)}")
    if unknown := sorted(values.keys() - known):
        raise ValueError(f"the prompt {name} has no placeholder {', '.join(unknown)}")
    # In one pass: what is filled in is never read as a template itself.
    return _PLACEHOLDER.sub(lambda found: values[found[1]], prompt.text)


def find_prompt(name: str, sources: PromptSources = BUILT_IN) -> Prompt:
    """The file that is used for the prompt `name`. Raises `BadSettings` for one that cannot be."""
    found = _found_in_workspace(name, sources)
    if found is not None and found.is_pinned:
        return read_prompt(name, found.data, found.path, origin="workspace")
    if sources.user_folder is not None:
        path = sources.user_folder / f"{name}.md"
        data = _bytes(path, follow=True)
        if data is not None:
            return read_prompt(name, data, path, origin="user")
    path = _FOLDER / f"{name}.md"
    return read_prompt(name, path.read_bytes(), path, origin="built-in")


def workspace_prompts(sources: PromptSources) -> list[FoundPrompt]:
    """The prompts that lie in the workspace, pinned or not, by name."""
    found = [_found_in_workspace(name, sources) for name in sorted(PROMPTS)]
    return [each for each in found if each is not None]


def replaced_prompts(sources: PromptSources) -> dict[str, Origin]:
    """Which prompts are not ours, and whose they are; one whose file cannot be used is among the notices instead."""
    found: dict[str, Origin] = {}
    for name in PROMPTS:
        try:
            origin = find_prompt(name, sources).origin
        except BadSettings:
            continue
        if origin != "built-in":
            found[name] = origin
    return found


def prompt_notices(sources: PromptSources) -> list[str]:
    """What a person should know about the files in both folders, one line each with the mend; none for the usual."""
    notices = []
    for found in workspace_prompts(sources):
        if found.trouble:
            notices.append(found.trouble)
        elif not found.is_pinned:
            why = "changed since you trusted it" if found.name in sources.pinned else "you have not trusted it"
            notices.append(f"{_shown(found.path)} is not used, {why}: look at it with `hikidashi trust --prompts`")
    if sources.user_folder is not None:
        for name in sorted(PROMPTS):
            path = sources.user_folder / f"{name}.md"
            try:
                data = _bytes(path, follow=True)
                if data is not None:
                    read_prompt(name, data, path, origin="user")
            except BadSettings as exc:
                notices.append(str(exc))
    for folder in (sources.user_folder, sources.workspace_folder):
        notices += [
            f"{_shown(path)} is no prompt that we know and is not used: the names are {', '.join(PROMPTS)}"
            for path in _strangers(folder)
        ]
    return notices


def read_prompt(name: str, data: bytes, path: Path, *, origin: Origin = "user") -> Prompt:
    """The prompt in a file's bytes. Raises `BadSettings` whose line names the file, what is wrong and the mend."""
    place = _shown(path)
    if len(data) > MAX_PROMPT_BYTES:
        raise BadSettings(f"{place} is larger than {MAX_PROMPT_BYTES // 1024} KB: shorten it, or delete it to use ours")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise BadSettings(f"{place}, line {line}: not UTF-8: save the file as UTF-8") from exc
    if not text.strip():
        raise BadSettings(f"{place} is empty: write the prompt, or delete the file to use ours")
    prompt = Prompt(name=name, text=text, origin=origin, path=path)
    kind = PROMPTS[name]
    if missing := [key for key in kind.needed if key not in prompt.placeholders]:
        raise BadSettings(f"{place} lacks {_braced(missing)}: put it where its text is to stand, or delete the file")
    for match in _PLACEHOLDER.finditer(text):
        if match[1] not in (*kind.needed, *kind.allowed):
            line = text.count("\n", 0, match.start()) + 1
            choices = _braced([*kind.needed, *kind.allowed]) or "none"
            raise BadSettings(f"{place}, line {line}: {match[0]} is no placeholder of it: use {choices}")
    return prompt


def prompt_digest(data: bytes) -> str:
    """What is pinned of a prompt's bytes: SHA-256, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _found_in_workspace(name: str, sources: PromptSources) -> FoundPrompt | None:
    """The workspace's file of that name, if there is one."""
    if sources.workspace_folder is None:
        return None
    path = sources.workspace_folder / f"{name}.md"
    trouble, data = "", b""
    try:
        found = _bytes(path, follow=False)
        if found is None:
            return None
        data = found
        read_prompt(name, data, path)
    except BadSettings as exc:
        trouble = str(exc)
    digest = prompt_digest(data)
    is_pinned = bool(data) and sources.pinned.get(name) == digest
    return FoundPrompt(name=name, path=path, data=data, digest=digest, is_pinned=is_pinned, trouble=trouble)


def _bytes(path: Path, *, follow: bool) -> bytes | None:
    """At most one byte more than a prompt may have; None where no file is. Raises `BadSettings`."""
    try:
        if not follow and path.is_symlink():  # Windows has no flag that says so when opening
            raise BadSettings(f"{_shown(path)} is a link and is not followed: put the file itself there")
        descriptor = os.open(path, os.O_RDONLY | _BINARY | (0 if follow else _NO_FOLLOW))
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise BadSettings(f"{_shown(path)} is no regular file: replace it by a text file or delete it")
            return stream.read(MAX_PROMPT_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError) as exc:
        if path.is_symlink():
            raise BadSettings(f"{_shown(path)} is a link to a file that is missing: mend or delete the link") from exc
        return None
    except OSError as exc:
        raise BadSettings(
            f"{_shown(path)} cannot be read ({exc.strerror}): give your user read access, or move it away"
        ) from exc


def _strangers(folder: Path | None) -> list[Path]:
    """Files of a folder for prompts that have the name of none; hidden ones are nobody's."""
    if folder is None:
        return []
    try:
        paths = sorted(folder.iterdir())
    except OSError:  # no such folder: nothing is in it
        return []
    return [path for path in paths if not (path.name.startswith(".") or _is_ours(path.name))]


def _is_ours(name: str) -> bool:
    stem, dot, suffix = name.rpartition(".")
    return bool(dot) and suffix == "md" and stem in PROMPTS


def _braced(names: list[str]) -> str:
    return ", ".join(f"{{{{{name}}}}}" for name in names)


def _shown(path: Path) -> str:
    """`path` in one line, whatever characters are in it."""
    text = str(path)
    return text if text.isprintable() else ascii(text)[1:-1]
