"""Registering Hikidashi with a host, and taking it out again.

Registered is what is there: the hook and, in an installation that has one, the server. `project` means this project on
this machine: paths of an installation do not belong into files that a team shares.
"""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from hikidashi.config.folders import home_folder
from hikidashi.errors import UsageError
from hikidashi.hosts import codex_settings
from hikidashi.hosts.claude_plugin import (
    PLUGIN,
    marketplace_folder,
    plugin_scopes,
    remove_plugin_files,
    run_claude,
    write_plugin,
)
from hikidashi.hosts.hook_settings import (
    both,
    same_json,
    with_hooks,
    with_server,
    with_statusline,
    without_hooks,
    without_server,
    without_statusline,
)
from hikidashi.hosts.host_file import Change, Edit, read_text, rewrite
from hikidashi.hosts.json_text import value_at
from hikidashi.hosts.program import EVENTS, NAME, Program, is_our_statusline

__all__ = ["HostName", "Installation", "Places", "Scope", "Via", "handlers", "install", "places", "uninstall"]

HostName = Literal["claude-code", "codex"]
Scope = Literal["user", "project"]
Via = Literal["settings", "plugin"]

#: Seconds after which a host ends a hook; ours ends itself after one.
_TIMEOUT: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The files in which a host's settings lie, in one scope."""

    #: Where hooks stand (and Claude Code's status line).
    hooks: Path
    #: Where servers stand.
    servers: Path
    #: The object of that file in which `mcpServers` is.
    inside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What was done."""

    host: HostName
    scope: Scope
    via: Via
    files: list[Change] = field(default_factory=list)
    #: Events with a hook.
    hooks: list[str] = field(default_factory=list)
    #: The server is registered.
    server: bool = False
    #: The status line is ours.
    statusline: bool = False
    #: The host's plugin commands were run.
    plugin: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""
        return {
            "host": self.host,
            "scope": self.scope,
            "via": self.via,
            "files": [change.to_dict() for change in self.files],
            "hooks": self.hooks,
            "server": self.server,
            "statusline": self.statusline,
            "plugin": self.plugin,
        }


def places(host: HostName, scope: Scope, root: Path | None) -> Places:
    """Where a host's settings are. `root`: the project's folder, which the scope `project` needs."""
    if scope == "project" and root is None:
        raise UsageError("no workspace is here: run `hikidashi init` in the project first, or leave --scope out")
    if host == "codex":
        folder = root / ".codex" if scope == "project" and root else _moved("CODEX_HOME", ".codex")
        return Places(hooks=folder / "hooks.json", servers=folder / "config.toml")
    folder = _moved("CLAUDE_CONFIG_DIR", ".claude")
    servers = (folder if os.environ.get("CLAUDE_CONFIG_DIR") else home_folder()) / ".claude.json"
    if scope == "project" and root:
        hooks = root / ".claude" / "settings.local.json"
        return Places(hooks=hooks, servers=servers, inside=("projects", str(root)))
    return Places(hooks=folder / "settings.json", servers=servers)


def _moved(variable: str, name: str) -> Path:
    moved = os.environ.get(variable, "")
    return Path(moved).absolute() if moved else home_folder() / name


def handlers(host: HostName, program: Program) -> dict[str, dict[str, Any]]:
    """Event -> handler. Claude Code starts a program with its arguments; Codex knows a shell's line only."""
    found: dict[str, dict[str, Any]] = {}
    for event in EVENTS:
        words = program.hook(event)
        form = {"command": shlex.join(words)} if host == "codex" else {"command": words[0], "args": words[1:]}
        found[event] = {"type": "command", **form, "timeout": _TIMEOUT}
    return found


def _find_claude(named: str | None) -> str:
    """Claude Code's program. Raises `UsageError` where it is not found."""
    found = shutil.which(named or "claude")
    if found is None:
        raise UsageError(
            f"{named or 'claude'} is not found: name Claude Code's program with --program, or leave out --via plugin"
        )
    return found


def install(
    host: HostName,
    *,
    scope: Scope,
    via: Via,
    root: Path | None,
    program: Program,
    statusline: bool = False,
    claude: str | None = None,
) -> Installation:
    """Register hooks and server with a host. `root`: the workspace's folder; `claude`: its program's name.

    Each file is changed in one step. Run again it changes nothing, or what has other paths now. Raises `UsageError`,
    `BadSettings` for a file that cannot be changed, `Conflict`, `StorageFailure`.
    """
    if via == "plugin" and host == "codex":
        raise UsageError("Codex is told by its settings only: leave out --via")
    where = places(host, scope, root)
    found = _find_claude(claude) if via == "plugin" else ""
    if statusline and host == "codex":
        raise UsageError("Codex shows no status line of others: leave out --statusline")
    edits: list[Edit] = [] if via == "plugin" else [partial(with_hooks, handlers=handlers(host, program))]
    if statusline or _shows_ours(where):
        line = {"type": "command", "command": shlex.join(program.statusline)}
        edits.append(partial(with_statusline, value=line))
    files = [_rewrite_hooks(where, both(*edits) if edits else None)]
    files.append(_rewrite_servers(host, where, program if via == "settings" and program.server else None))
    if via == "plugin":
        _install_plugin(found, scope, root, program)
    elif host == "claude-code":
        _take_plugin_if_any(claude, scope, root)
    return Installation(
        host=host,
        scope=scope,
        via=via,
        files=files,
        hooks=list(EVENTS),
        server=bool(program.server),
        statusline=_shows_ours(where),
        plugin=via == "plugin",
    )


def uninstall(host: HostName, *, scope: Scope, root: Path | None, claude: str | None = None) -> Installation:
    """Take everything of ours out of a host's settings in a scope, and its plugin. Raises as `install` does."""
    where = places(host, scope, root)
    files = [_rewrite_hooks(where, None), _rewrite_servers(host, where, None)]
    plugin = host == "claude-code" and _take_plugin_if_any(claude, scope, root)
    return Installation(host=host, scope=scope, via="settings", files=files, plugin=plugin)


def _rewrite_hooks(where: Places, put_in: Edit | None) -> Change:
    return rewrite(where.hooks, both(without_hooks, without_statusline), put_in, same=same_json)


def _rewrite_servers(host: HostName, where: Places, program: Program | None) -> Change:
    if host == "codex":
        put = partial(codex_settings.with_server, command=program.server) if program else None
        return rewrite(where.servers, codex_settings.without_server, put, same=codex_settings.same_toml)
    take_out: Edit = partial(without_server, inside=where.inside)
    if program is None:
        return rewrite(where.servers, take_out, None, same=same_json)
    server = {"type": "stdio", "command": program.server[0], "args": program.server[1:]}
    return rewrite(where.servers, take_out, partial(with_server, server=server, inside=where.inside), same=same_json)


def _shows_ours(where: Places) -> bool:
    try:
        return is_our_statusline(value_at(read_text(where.hooks), ("statusLine",)))
    except ValueError:  # `rewrite` says it
        return False


def _plugin_scope(scope: Scope) -> str:
    return "local" if scope == "project" else "user"  # its `project` is a file that a team shares


def _install_plugin(claude: str, scope: Scope, root: Path | None, program: Program) -> None:
    folder = root or home_folder()
    for one in plugin_scopes(claude, folder):  # else the copy that Claude Code made stays in use
        run_claude(claude, ("plugin", "uninstall", PLUGIN, "--scope", one), folder, check=False)
    marketplace = write_plugin(program, handlers("claude-code", program))
    run_claude(claude, ("plugin", "marketplace", "remove", NAME), folder, check=False)
    run_claude(claude, ("plugin", "marketplace", "add", str(marketplace)), folder)
    run_claude(claude, ("plugin", "install", PLUGIN, "--scope", _plugin_scope(scope)), folder)


def _take_plugin_if_any(claude: str | None, scope: Scope, root: Path | None) -> bool:
    """Have Claude Code forget the plugin in a scope, and its marketplace when nothing of it is left."""
    if not marketplace_folder().is_dir():
        return False
    found = shutil.which(claude or "claude")
    if found is None:
        raise UsageError("the plugin stays, for claude is not found: name Claude Code's program with --program")
    folder = root or home_folder()
    taken = _plugin_scope(scope) in plugin_scopes(found, folder)
    if taken:
        run_claude(found, ("plugin", "uninstall", PLUGIN, "--scope", _plugin_scope(scope)), folder)
    if not plugin_scopes(found, folder):
        run_claude(found, ("plugin", "marketplace", "remove", NAME), folder, check=False)
        remove_plugin_files()
    return taken
