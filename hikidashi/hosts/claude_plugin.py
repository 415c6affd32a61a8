"""The plugin for Claude Code: a marketplace folder in the user's data folder that names this installation's paths.

It is made anew at each installation and read by Claude Code's own `claude plugin` commands, which copy it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hikidashi import __version__
from hikidashi.atomic import make_folder, storage_errors, write_atomic
from hikidashi.config.folders import data_folder
from hikidashi.errors import HikidashiError, UsageError
from hikidashi.hosts.program import NAME, Program

__all__ = [
    "PLUGIN",
    "marketplace_folder",
    "plugin_files",
    "plugin_scopes",
    "remove_plugin_files",
    "run_claude",
    "write_plugin",
]

#: As Claude Code names it: plugin@marketplace.
PLUGIN: Final = f"{NAME}@{NAME}"

_SKILLS: Final = Path(__file__).resolve().parent / "plugin" / "skills"
_ABOUT: Final = "A memory captured from what was actually done: facts with proof, at each start and turn."
_SECONDS: Final = 120


def marketplace_folder() -> Path:
    """Where the marketplace lies."""
    return data_folder() / "claude-code-marketplace"


def plugin_files(program: Program, handlers: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Path below the marketplace's folder -> text."""
    owner = {"name": "The Hikidashi developers"}
    marketplace = {
        "name": NAME,
        "description": "Hikidashi, as it is installed on this machine",
        "owner": owner,
        "plugins": [{"name": NAME, "source": f"./{NAME}", "description": _ABOUT, "version": __version__}],
    }
    plugin = {
        "name": NAME,
        "displayName": "Hikidashi",
        "version": __version__,
        "description": _ABOUT,
        "author": owner,
        "license": "MIT",
        "keywords": ["memory"],
    }
    hooks = {event: [{"hooks": [dict(handler)]}] for event, handler in handlers.items()}
    files: dict[str, Any] = {
        ".claude-plugin/marketplace.json": marketplace,
        f"{NAME}/.claude-plugin/plugin.json": plugin,
        f"{NAME}/hooks/hooks.json": {"description": _ABOUT, "hooks": hooks},
    }
    if program.server:
        server = {"command": program.server[0], "args": program.server[1:]}
        files[f"{NAME}/.mcp.json"] = {"mcpServers": {NAME: server}}
    texts = {path: json.dumps(value, ensure_ascii=False, indent=2) + "\n" for path, value in files.items()}
    line = shlex.join(program.command())
    for file in sorted(_SKILLS.glob("*/SKILL.md")):
        texts[f"{NAME}/skills/{file.parent.name}/SKILL.md"] = file.read_text(encoding="utf-8").replace(
            "{{hikidashi}}", line
        )
    return texts


def write_plugin(program: Program, handlers: Mapping[str, Mapping[str, Any]]) -> Path:
    """Make the marketplace anew, and give its folder. Raises `StorageFailure`."""
    folder = marketplace_folder()
    remove_plugin_files()
    for path, text in plugin_files(program, handlers).items():
        make_folder((folder / path).parent)
        write_atomic(folder / path, text.encode("utf-8"))
    return folder


def remove_plugin_files() -> None:
    """Delete the marketplace's folder, which is ours alone."""
    folder = marketplace_folder()
    with storage_errors(f"delete {folder}"), contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def plugin_scopes(claude: str, folder: Path) -> list[str]:
    """The scopes in which Claude Code has the plugin, as it is seen in `folder`."""
    said = run_claude(claude, ("plugin", "list", "--json"), folder, check=False)
    try:
        listed = json.loads(said)
    except ValueError:
        return []
    found = [one for one in listed if isinstance(one, dict) and one.get("id") == PLUGIN]
    return [str(one.get("scope")) for one in found if _is_of(one.get("projectPath"), folder)]


def _is_of(project: object, folder: Path) -> bool:
    return not isinstance(project, str) or os.path.realpath(project) == os.path.realpath(folder)


def run_claude(claude: str, words: Sequence[str], folder: Path, *, check: bool = True) -> str:
    """What `claude WORDS…` says. Raises `HikidashiError` where it fails, `UsageError` where it cannot be run."""
    environ = {**os.environ, "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    try:
        done = subprocess.run(
            [claude, *words],
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except OSError as exc:
        raise UsageError(f"cannot run {claude} ({exc.strerror}): name Claude Code's program with --program") from exc
    except subprocess.TimeoutExpired as exc:
        raise HikidashiError(f"`claude {' '.join(words[:3])}` did not end: run it yourself, then try again") from exc
    if check and done.returncode:
        line = " ".join((done.stdout + done.stderr).split())[-400:]
        raise HikidashiError(
            f"`claude {' '.join(words[:3])}` failed ({line}): mend that, or leave out --via plugin and run it again"
        )
    return done.stdout
