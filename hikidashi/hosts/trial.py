"""Trying out what is registered, as a host would: hooks in a workspace made for it, the server by its answers."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hikidashi.hosts.program import Program

__all__ = ["Outcome", "made_up_workspace", "try_hook", "try_server", "version_of"]

_SECONDS: Final = 20.0
_KEPT: Final = ("PATH", "LANG", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a try ended."""

    #: What is wrong; '' for nothing.
    problem: str
    seconds: float = 0.0
    #: The names of the tools that the server offers.
    tools: tuple[str, ...] = ()


@contextlib.contextmanager
def made_up_workspace(program: Program) -> Iterator[tuple[Path, Mapping[str, str], str]]:
    """An empty workspace of an empty home: its folder, the environment that leads there, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="hikidashi-doctor-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        home, project = folder / "home", folder / "project"
        home.mkdir()
        project.mkdir()
        kept = {name: value for name, value in os.environ.items() if name.upper() in _KEPT}
        environment = {
            **kept,
            "HOME": str(home),
            "USERPROFILE": str(home),
            "LOCALAPPDATA": str(home),
            "HIKIDASHI_CAPTURE_AUTOMATIC": "false",
            "HIKIDASHI_MEMORY_LOCAL_ONLY": "1",
        }
        done = _ran(program.command("init", "--json"), project, environment, b"")
        yield project, environment, done if isinstance(done, str) else _said_wrong(done)


def try_hook(words: Sequence[str], event: str, project: Path, environment: Mapping[str, str]) -> Outcome:
    """Run a hook as a host does. One word is a shell's line."""
    given: dict[str, Any] = {
        "session_id": "doctor",
        "transcript_path": "",
        "cwd": str(project),
        "hook_event_name": event,
        "source": "startup",
        "prompt": "deploy it",
        "last_assistant_message": "Done.",
    }
    began = time.monotonic()
    done = _ran(_split(words), project, environment, json.dumps(given).encode())
    seconds = time.monotonic() - began
    if isinstance(done, str):
        return Outcome(problem=done, seconds=seconds)
    problem = _said_wrong(done)
    if not problem and done.stdout.strip():
        with contextlib.suppress(ValueError):
            json.loads(done.stdout)
            return Outcome(problem="", seconds=seconds)
        problem = "its answer is no JSON"
    return Outcome(problem=problem, seconds=seconds)


def try_server(words: Sequence[str], folder: Path) -> Outcome:
    """Start the server and ask it who it is and what it offers."""
    asked = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "hikidashi-doctor", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}},
    ]
    began = time.monotonic()
    done = _ran(_split(words), folder, os.environ, "".join(json.dumps(one) + "\n" for one in asked).encode())
    seconds = time.monotonic() - began
    if isinstance(done, str):
        return Outcome(problem=done, seconds=seconds)
    answers = {}
    for line in done.stdout.splitlines():
        with contextlib.suppress(ValueError, AttributeError):
            answer = json.loads(line)
            answers[answer.get("id")] = answer.get("result")
    if not isinstance(answers.get(1), dict):
        return Outcome(problem=_said_wrong(done) or "it did not answer", seconds=seconds)
    listed = answers.get(2)
    tools = listed.get("tools", []) if isinstance(listed, dict) else []
    return Outcome(problem="", seconds=seconds, tools=tuple(str(tool.get("name")) for tool in tools))


def version_of(name: str) -> tuple[str, Outcome] | None:
    """Where a host's program is and what `--version` says, in `tools`; None where it is not on the PATH."""
    found = shutil.which(name)
    if found is None:
        return None
    done = _ran([found, "--version"], Path(found).parent, os.environ, b"")
    if isinstance(done, str):
        return found, Outcome(problem=done)
    return found, Outcome(problem=_said_wrong(done) if done.returncode else "", tools=(_line(done.stdout),))


def _line(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[:80]


def _split(words: Sequence[str]) -> list[str]:
    if len(words) != 1:
        return list(words)
    try:
        return shlex.split(words[0])
    except ValueError:
        return list(words)


def _ran(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], given: bytes
) -> subprocess.CompletedProcess[bytes] | str:
    """The ended process, or why there is none."""
    try:
        return subprocess.run(
            list(command),
            cwd=folder,
            env=dict(environment),
            input=given,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except OSError as exc:
        return f"{command[0]} cannot be run ({exc.strerror})" if command else "it names no program"
    except subprocess.TimeoutExpired:
        return f"it did not end within {_SECONDS:.0f} seconds"


def _said_wrong(done: subprocess.CompletedProcess[bytes]) -> str:
    said = " ".join(done.stderr.decode("utf-8", "replace").split())[-300:]
    if done.returncode:
        return f"it ended with exit code {done.returncode}{': ' if said else ''}{said}"
    return said
