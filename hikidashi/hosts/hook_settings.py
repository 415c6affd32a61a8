"""Our hooks and our server in the text of hosts' JSON settings: put in, and taken out by their looks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from hikidashi.hosts.json_text import value_at, with_item, with_value, without
from hikidashi.hosts.program import NAME, is_our_hook, is_our_statusline

__all__ = [
    "both",
    "our_hooks",
    "same_json",
    "with_hooks",
    "with_server",
    "with_statusline",
    "without_hooks",
    "without_server",
    "without_statusline",
]


def same_json(one: str, other: str) -> bool:
    """Whether two texts hold the same, in the same order."""
    return json.dumps(value_at(one)) == json.dumps(value_at(other))


def our_hooks(text: str) -> Iterator[tuple[str, int, int, Mapping[str, Any]]]:
    """Event, number of the group and in it, and the handler, of each hook of ours."""
    hooks = value_at(text, ("hooks",))
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            handlers = group.get("hooks") if isinstance(group, dict) else None
            for place, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if is_our_hook(handler):
                    yield event, number, place, handler


def without_hooks(text: str) -> str:
    """`text` without our hooks, and without the groups and lists that hold nothing else."""
    while (found := next(our_hooks(text), None)) is not None:
        event, number, place, _ = found
        groups = value_at(text, ("hooks", event))
        path: Sequence[str | int] = ("hooks", event, number, "hooks", place)
        if len(groups[number]["hooks"]) == 1:
            path = path[:3]
            if len(groups) == 1:
                path = path[:2] if len(value_at(text, ("hooks",))) > 1 else path[:1]
        text = without(text, path)
    return text


def with_hooks(text: str, handlers: Mapping[str, Mapping[str, Any]]) -> str:
    """`text` with a handler for each event, behind those that are there."""
    for event, handler in handlers.items():
        text = with_item(text, ("hooks", event), {"hooks": [dict(handler)]})
    return text


def without_server(text: str, inside: Sequence[str] = ()) -> str:
    """`text` without our server in `mcpServers` of the object at `inside`."""
    servers = value_at(text, (*inside, "mcpServers"))
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    return without(text, (*inside, "mcpServers") if len(servers) == 1 and not inside else (*inside, "mcpServers", NAME))


def with_server(text: str, server: Mapping[str, Any], inside: Sequence[str] = ()) -> str:
    """`text` with our server in `mcpServers` of the object at `inside`."""
    return with_value(text, (*inside, "mcpServers", NAME), dict(server))


def without_statusline(text: str) -> str:
    """`text` without a status line of ours; another one stays."""
    return without(text, ("statusLine",)) if is_our_statusline(value_at(text, ("statusLine",))) else text


def with_statusline(text: str, value: Mapping[str, Any]) -> str:
    """`text` with our status line, where none is set."""
    return text if value_at(text, ("statusLine",)) is not None else with_value(text, ("statusLine",), dict(value))


def both(*edits: Callable[[str], str]) -> Callable[[str], str]:
    """One edit that does several in order."""

    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit
