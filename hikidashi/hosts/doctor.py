"""Does Hikidashi work in its hosts? Findings, each with its mend. It looks and tries; it changes nothing."""

from __future__ import annotations

import os
import platform
import shlex
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from hikidashi import __version__
from hikidashi.config.folders import data_folder, shown
from hikidashi.config.settings import load_settings
from hikidashi.config.workspace import Workspace, open_workspace
from hikidashi.db.connection import connect
from hikidashi.db.migrations import migrate
from hikidashi.errors import HikidashiError, NoWorkspace
from hikidashi.hosts.claude_files import slug_prefixes
from hikidashi.hosts.install import HostName, places
from hikidashi.hosts.program import EVENTS, Program
from hikidashi.hosts.registered import Look, Registered, look_around
from hikidashi.hosts.trial import made_up_workspace, try_hook, try_server, version_of

__all__ = ["Finding", "State", "examine", "stale"]

State = Literal["ok", "note", "trouble"]

#: A hook that takes longer is felt at each turn.
_SLOW_SECONDS: Final = 1.0

_HOSTS: Final[dict[HostName, str]] = {"claude-code": "Claude Code", "codex": "Codex"}

_PROGRAMS: Final[dict[HostName, str]] = {"claude-code": "claude", "codex": "codex"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    check: str
    state: State
    what: str
    #: What to do; '' for nothing.
    mend: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""
        return {"check": self.check, "state": self.state, "what": self.what, "mend": self.mend}


def ok(check: str, what: str) -> Finding:
    """Fine."""
    return Finding(check=check, state="ok", what=what)


def note(check: str, what: str, mend: str = "") -> Finding:
    """Worth knowing; nothing is broken."""
    return Finding(check=check, state="note", what=what, mend=mend)


def trouble(check: str, what: str, mend: str) -> Finding:
    """It does not work."""
    return Finding(check=check, state="trouble", what=what, mend=mend)


def examine(folder: Path, program: Program, *, environ: Mapping[str, str] = os.environ) -> list[Finding]:
    """Everything that can be looked at from `folder`."""
    findings = [
        ok(
            "program",
            f"hikidashi {__version__}, Python {platform.python_version()}, {program.python}, {program.package}",
        )
    ]
    workspace: Workspace | None = None
    try:
        workspace = open_workspace(folder)
    except NoWorkspace:
        findings.append(note("workspace", f"none at {shown(folder)}: hooks do nothing here", "run `hikidashi init`"))
    except HikidashiError as exc:
        findings.append(trouble("workspace", *_parted(exc)))
    if workspace is not None:
        findings += _of_workspace(workspace)
    findings += _settings(workspace)
    findings += _permissions([data_folder(), *([workspace.home] if workspace else [])])
    if environ.get("HIKIDASHI_DISABLE", "0") not in ("", "0"):
        findings.append(note("switch", "HIKIDASHI_DISABLE is set: hooks do nothing", "unset it"))
    root = workspace.root if workspace else None
    look = look_around(root)
    findings += _hosts_themselves(look)
    findings += _of_files(look)
    findings += _of_hooks(look, program)
    findings += _of_servers(look, program, root or folder)
    findings += _twice(look)
    findings += _neighbours(look, root, environ)
    return findings


def stale(root: Path | None, program: Program) -> list[Registered]:
    """Registrations of another place than this program is in: an interpreter or a folder that moved."""
    return [one for one in look_around(root).ours if not _is_this(one, program)]


def _parted(exc: HikidashiError) -> tuple[str, str]:
    """What is wrong, and the mend at the end of an error's line."""
    for mark in (": ", "; "):
        what, found, mend = str(exc).rpartition(mark)
        if found:
            return what, mend
    return str(exc), "run `hikidashi status`"


def _of_workspace(workspace: Workspace) -> Iterator[Finding]:
    try:
        connection = connect(workspace.database)
        try:
            version = migrate(connection)
            paused = connection.execute("SELECT value FROM meta WHERE key = 'paused_at'").fetchone()
        finally:
            connection.close()
    except HikidashiError as exc:
        yield trouble("database", *_parted(exc))
        return
    yield ok("workspace", f"{shown(workspace.root)}, trusted, its database opens (schema {version})")
    if paused is not None and paused[0]:
        yield note("switch", f"paused since {paused[0]}: nothing is captured", "run `hikidashi resume`")


def _settings(workspace: Workspace | None) -> Iterator[Finding]:
    try:
        settings = load_settings(workspace)
    except HikidashiError as exc:
        yield trouble("settings", *_parted(exc))
        return
    yield ok("settings", "they can be read")
    for name, what in (
        ("recall.at_start", "a session's start is given nothing"),
        ("recall.each_turn", "turns are given nothing"),
        ("capture.automatic", "sessions are not read by themselves"),
    ):
        group, _, key = name.partition(".")
        if not getattr(getattr(settings, group), key):
            yield note("switch", f"{name} is off: {what}", f"change it ({settings.origin(name)}) if that is not meant")


def _permissions(folders: list[Path]) -> Iterator[Finding]:
    if sys.platform == "win32":  # modes mean nothing there
        return
    open_ones = []
    for folder in folders:
        try:
            mode = folder.stat().st_mode
        except OSError:
            continue
        if mode & (stat.S_IRWXG | stat.S_IRWXO) and folder.name != ".hikidashi":
            open_ones.append(folder)
        if not os.access(folder, os.W_OK):
            yield trouble("permissions", f"{shown(folder)} is not writable", "give your user write access")
    for folder in open_ones:
        yield note("permissions", f"others can look into {shown(folder)}", f"run `chmod 700 {shown(folder)}`")
    if not open_ones:
        yield ok("permissions", "the folders are writable, and yours alone")


def _hosts_themselves(look: Look) -> Iterator[Finding]:
    for host, name in _HOSTS.items():
        found = version_of(_PROGRAMS[host])
        if found is None:
            if any(one.host == host for one in look.ours):
                yield note(
                    "host", f"{name} is registered with, and not on the PATH", "no matter, if it starts elsewhere"
                )
        elif found[1].problem:
            yield trouble("host", f"{found[0]}: {found[1].problem}", f"reinstall {name}")
        else:
            yield ok("host", f"{name} {found[1].tools[0]} ({found[0]})")


def _of_files(look: Look) -> Iterator[Finding]:
    for line in look.unreadable:
        what, _, mend = line.rpartition(": ")
        yield trouble("host files", what, mend)
    for path, switch in look.switched_off.items():
        yield trouble("host files", f"{switch} in {shown(path)} keeps hooks from running", f"take {switch} out there")


def _of_hooks(look: Look, program: Program) -> Iterator[Finding]:
    hooks = [one for one in look.ours if one.kind == "hook"]
    if not hooks:
        yield note("hooks", "no host runs our hooks", "run `hikidashi install claude-code` (or codex)")
        return
    with made_up_workspace(program) as (project, environment, problem):
        if problem:
            yield trouble("hooks", f"no workspace can be made to try them in: {problem}", "reinstall hikidashi")
            return
        for file, host in dict.fromkeys((one.file, one.host) for one in hooks):
            group = [one for one in hooks if one.file == file]
            again = f"run `hikidashi install {host}` again"
            missing = [event for event in EVENTS if event not in {one.event for one in group}]
            if missing:
                yield trouble("hooks", f"{shown(file)} has no hook for {', '.join(missing)}", again)
            slowest = 0.0
            failed = False
            for one in group:
                outcome = try_hook(one.words, one.event, project, environment)
                slowest = max(slowest, outcome.seconds)
                if outcome.problem:
                    failed = True
                    yield trouble("hooks", f"{one.event} of {shown(file)}: {outcome.problem}", again)
            if failed:
                continue
            if any(not _is_this(one, program) for one in group):
                yield note("hooks", f"{shown(file)} runs another installation of hikidashi", again)
            if slowest > _SLOW_SECONDS:
                yield note(
                    "hooks", f"one took {slowest:.1f} s", "look what else this machine does; nothing waits longer"
                )
            yield ok(
                "hooks", f"{_HOSTS[host]}: {len(group)} ran, the slowest in {slowest * 1000:.0f} ms ({shown(file)})"
            )


def _of_servers(look: Look, program: Program, folder: Path) -> Iterator[Finding]:
    servers = [one for one in look.ours if one.kind == "server"]
    if not servers and program.server and look.ours:
        yield note("server", "no host starts our server", "run `hikidashi install` for the host again")
    for one in servers:
        again = f"run `hikidashi install {one.host}` again"
        outcome = try_server(one.words, folder)
        if outcome.problem:
            yield trouble("server", f"{_HOSTS[one.host]} ({shown(one.file)}): {outcome.problem}", again)
            continue
        yield ok(
            "server",
            f"{_HOSTS[one.host]}: it answers, with {', '.join(outcome.tools) or 'no tool'} ({shown(one.file)})",
        )
        if not _is_this(one, program):
            yield note("server", f"{shown(one.file)} starts another installation of hikidashi", again)


def _is_this(one: Registered, program: Program) -> bool:
    wanted = program.hook(one.event) if one.kind == "hook" else program.server
    return list(one.words) in (wanted, [shlex.join(wanted)])


def _twice(look: Look) -> Iterator[Finding]:
    for host, name in _HOSTS.items():
        for kind in ("hook", "server"):
            files = list(dict.fromkeys(one.file for one in look.ours if one.host == host and one.kind == kind))
            if len(files) > 1:
                yield trouble(
                    "twice",
                    f"{name} has our {kind}s twice, from {' and '.join(map(shown, files))}",
                    f"run `hikidashi uninstall {host}`, with --scope project for this project's",
                )


def _neighbours(look: Look, root: Path | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    for path, names in look.others.items():
        yield note(
            "neighbours",
            f"{shown(path)} names another memory: {', '.join(sorted(names))}; the agent is given both",
            "keep the one that you want",
        )
    if root is None or look.no_auto_memory or environ.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "0") not in ("", "0"):
        return
    projects = places("claude-code", "user", None).hooks.parent / "projects"
    for memory in (projects / slug / "memory" for slug in sorted(slug_prefixes(root))):
        files = len(list(memory.glob("*.md")))
        if files:
            counted = "1 file" if files == 1 else f"{files} files"
            yield note(
                "neighbours",
                f"Claude Code keeps a memory of its own here, {counted} in {shown(memory)}; both are given",
                'keep both, or switch it off with "autoMemoryEnabled": false in Claude Code\'s settings',
            )
