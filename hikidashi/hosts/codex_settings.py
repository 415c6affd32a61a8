"""Our server in the text of Codex' `config.toml`: a table of its own at the end, every other byte kept."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import tomlkit

from hikidashi.hosts.program import NAME

__all__ = ["our_server", "same_toml", "with_server", "without_server"]

_GROUP: Final = "mcp_servers"
_HEADER: Final = re.compile(r"^[ \t]*\[\[?[^\n]*$", re.MULTILINE)
_OURS: Final = re.compile(rf"^[ \t]*\[[ \t]*{_GROUP}[ \t]*\.[ \t]*[\"']?{NAME}[\"']?[ \t]*[.\]]")


def same_toml(one: str, other: str) -> bool:
    """Whether two texts hold the same."""
    return _loaded(one) == _loaded(other)


def our_server(text: str) -> dict[str, Any] | None:
    """Our server's table, None without one. Raises `ValueError` for text that is no TOML."""
    servers = _loaded(text).get(_GROUP)
    found = servers.get(NAME) if isinstance(servers, dict) else None
    return found if isinstance(found, dict) else None


def with_server(text: str, command: Sequence[str]) -> str:
    """`text` with our server. Raises `ValueError` where a table cannot be added to it."""
    end = "\r\n" if "\r\n" in text else "\n"
    gap = end * (0 if not text or text.endswith(end * 2) else 1 if text.endswith("\n") else 2)
    arguments = ", ".join(_quoted(word) for word in command[1:])
    lines = (f"[{_GROUP}.{NAME}]", f"command = {_quoted(command[0])}", f"args = [{arguments}]", "")
    new = text + gap + end.join(lines)
    wanted = _loaded(text)
    wanted[_GROUP] = {**_servers(wanted), NAME: {"command": command[0], "args": list(command[1:])}}
    return _checked(new, wanted)


def without_server(text: str) -> str:
    """`text` without our server's tables. Raises `ValueError` where it stands there in another form."""
    wanted = _loaded(text)
    if NAME not in _servers(wanted):
        return text
    headers = [*(match.start() for match in _HEADER.finditer(text)), len(text)]
    new, kept = "", 0
    for start, following in pairwise(headers):
        if _OURS.match(text[start:following]):
            new += text[kept:start]
            kept = following
    new += text[kept:]
    if kept == len(text):
        new = re.sub(r"((?:\r?\n)?)(?:\r?\n)*\Z", r"\1", new)  # the blank line above it
    servers = {name: server for name, server in wanted[_GROUP].items() if name != NAME}
    wanted[_GROUP] = servers
    if not servers and _GROUP not in _loaded(new):
        del wanted[_GROUP]
    return _checked(new, wanted)


def _servers(values: dict[str, Any]) -> dict[str, Any]:
    servers = values.get(_GROUP, {})
    if not isinstance(servers, dict):
        raise ValueError(f"{_GROUP} is no table")
    return servers


def _loaded(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError as exc:
        raise ValueError("it is nested too deeply") from exc


def _checked(text: str, wanted: dict[str, Any]) -> str:
    try:
        found = _loaded(text)
    except ValueError:
        found = {}
    if found != wanted:
        raise ValueError(f"the table [{_GROUP}.{NAME}] cannot be told apart in it: change that table yourself")
    return text


def _quoted(value: str) -> str:
    return tomlkit.string(value).as_string()
