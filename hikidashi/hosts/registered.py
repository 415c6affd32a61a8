"""What is registered with hosts now: read from their files as they are, ours and other memory programs'."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from hikidashi.config.folders import shown
from hikidashi.errors import HikidashiError
from hikidashi.hosts.claude_plugin import PLUGIN
from hikidashi.hosts.codex_settings import our_server
from hikidashi.hosts.hook_settings import our_hooks
from hikidashi.hosts.host_file import read_text
from hikidashi.hosts.install import HostName, Installation, places
from hikidashi.hosts.json_text import value_at
from hikidashi.hosts.program import NAME, words_of

__all__ = ["Look", "Registered", "elsewhere", "look_around"]

#: Names by which other memory programs are known in hosts' settings (hooks, servers, plugins).
_OTHERS: Final = re.compile(
    r"claude-mem|mem0|openmemory|supermemory|server-memory|basic-memory|\bletta\b|\bcognee\b|graphiti|\bzep\b|memsearch"
    r"|hindsight|memorix|memory-keeper|memory-bank|\bengram\b|byterover|cipher-mcp|memos-mcp",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """One registration of ours."""

    host: HostName
    kind: Literal["hook", "server"]
    #: The file it stands in.
    file: Path
    #: Of a hook; '' for the server.
    event: str
    #: Program and arguments; a shell's line is one word.
    words: tuple[str, ...]
    #: It holds in every project; False: in this one only.
    everywhere: bool


@dataclass(slots=True, kw_only=True)
class Look:
    """What was found."""

    ours: list[Registered] = field(default_factory=list)
    #: File -> other memory programs named there.
    others: dict[Path, set[str]] = field(default_factory=dict)
    #: Lines on files that could not be read.
    unreadable: list[str] = field(default_factory=list)
    #: File -> the switch in it that keeps hooks from running.
    switched_off: dict[Path, str] = field(default_factory=dict)
    #: Auto memory of Claude Code is switched off in a file.
    no_auto_memory: bool = False


def look_around(root: Path | None) -> Look:
    """Look into the files of all hosts, the user's and those of the project at `root`."""
    look = Look()
    user = places("claude-code", "user", None)
    _look_at(look, "claude-code", user.hooks, everywhere=True)
    for inside in ((), ("projects", str(root))) if root else ((),):
        _look_at_servers(look, user.servers, inside)
    _look_at_plugin(look, user.hooks, everywhere=True)
    codex = [(places("codex", "user", None), True)]
    if root is not None:
        for name in ("settings.json", "settings.local.json"):
            _look_at(look, "claude-code", root / ".claude" / name, everywhere=False)
            _look_at_plugin(look, root / ".claude" / name, everywhere=False)
        _look_at_servers(look, root / ".mcp.json", ())
        codex.append((places("codex", "project", root), False))
    for where, everywhere in codex:
        _look_at(look, "codex", where.hooks, everywhere=everywhere)
        _look_at_codex(look, where.servers, everywhere=everywhere)
    return look


def elsewhere(done: Installation, root: Path | None) -> list[Path]:
    """Files of the host that register ours beside those of an installation (or of what was taken out)."""
    here = {os.path.realpath(change.path) for change in done.files}
    files = dict.fromkeys(one.file for one in look_around(root).ours if one.host == done.host)
    other = [file for file in files if os.path.realpath(file) not in here]
    return [file for file in other if not (done.via == "plugin" and "plugins" in file.parts)]


def _text(look: Look, path: Path) -> str:
    """The file's text; '' where there is none or it is not readable, which is noted."""
    try:
        return read_text(path)
    except HikidashiError as exc:
        look.unreadable.append(str(exc))
        return ""


def _json(look: Look, path: Path) -> tuple[str, dict[str, Any]]:
    text = _text(look, path)
    try:
        values = value_at(text)
    except ValueError as exc:
        look.unreadable.append(f"{shown(path)} is no JSON ({exc}): the host does not read it either; mend it")
        return "", {}
    return (text, values) if isinstance(values, dict) else ("", {})


def _look_at(look: Look, host: HostName, path: Path, *, everywhere: bool) -> None:
    text, values = _json(look, path)
    for event, _, _, handler in our_hooks(text):
        words = tuple(words_of(handler))
        look.ours.append(Registered(host=host, kind="hook", file=path, event=event, words=words, everywhere=everywhere))
    for switch in ("disableAllHooks", "allowManagedHooksOnly"):
        if values.get(switch) is True:
            look.switched_off[path] = switch
    if values.get("autoMemoryEnabled") is False:
        look.no_auto_memory = True
    _note_others(look, path, {name: values.get(name) for name in ("hooks", "enabledPlugins", "mcpServers")})


def _look_at_servers(look: Look, path: Path, inside: tuple[str, ...]) -> None:
    text, _ = _json(look, path)
    servers = value_at(text, (*inside, "mcpServers"))
    if not isinstance(servers, Mapping):
        return
    _note_others(look, path, servers)
    words = tuple(words_of(servers.get(NAME)))
    if words:
        look.ours.append(
            Registered(host="claude-code", kind="server", file=path, event="", words=words, everywhere=not inside)
        )


def _look_at_plugin(look: Look, path: Path, *, everywhere: bool) -> None:
    """What the copy of our plugin that Claude Code uses registers, if `path` switches it on."""
    enabled = value_at(_text_or_nothing(path), ("enabledPlugins",))
    if not isinstance(enabled, Mapping) or enabled.get(PLUGIN) is not True:
        return
    base = places("claude-code", "user", None).hooks.parent / "plugins"
    for copy in _copies(base):
        for event, _, _, handler in our_hooks(_text_or_nothing(copy / "hooks" / "hooks.json")):
            look.ours.append(
                Registered(
                    host="claude-code",
                    kind="hook",
                    file=copy / "hooks" / "hooks.json",
                    event=event,
                    words=tuple(words_of(handler)),
                    everywhere=everywhere,
                )
            )
        words = tuple(words_of(value_at(_text_or_nothing(copy / ".mcp.json"), ("mcpServers", NAME))))
        if words:
            look.ours.append(
                Registered(
                    host="claude-code",
                    kind="server",
                    file=copy / ".mcp.json",
                    event="",
                    words=words,
                    everywhere=everywhere,
                )
            )


def _copies(base: Path) -> Iterator[Path]:
    """The folders that Claude Code's list of installed plugins names for ours."""
    listed = value_at(_text_or_nothing(base / "installed_plugins.json"), ("plugins", PLUGIN))
    paths = [one.get("installPath") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    yield from dict.fromkeys(Path(path) for path in paths if isinstance(path, str))


def _text_or_nothing(path: Path) -> str:
    """The text of a file that holds JSON; '' for any other."""
    try:
        text = read_text(path)
        value_at(text)
    except (HikidashiError, ValueError):
        return ""
    return text


def _look_at_codex(look: Look, path: Path, *, everywhere: bool) -> None:
    text = _text(look, path)
    try:
        server = our_server(text)
    except ValueError as exc:
        look.unreadable.append(f"{shown(path)} is no TOML ({exc}): Codex does not read it either; mend it")
        return
    _note_others(look, path, _tables(text))
    if server is not None:
        words = tuple(words_of(server))
        look.ours.append(
            Registered(host="codex", kind="server", file=path, event="", words=words, everywhere=everywhere)
        )


def _tables(text: str) -> str:
    return os.linesep.join(line for line in text.splitlines() if line.lstrip().startswith("["))


def _note_others(look: Look, path: Path, values: object) -> None:
    found = {name.lower() for name in _OTHERS.findall(json.dumps(values, default=str))}
    if found:
        look.others.setdefault(path, set()).update(found)
