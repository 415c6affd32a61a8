"""The hook as a host runs it: a process of its own on the bare interpreter, one event in, one answer out."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hikidashi.config.workspace import Workspace
from hikidashi.db.connection import connect
from hikidashi.drawer.fact import Draft
from hikidashi.drawer.store import Drawer
from hikidashi.worker.adopt import found_workspace
from tests.support.commands import ROOT
from tests.support.drawers import DEPLOY, fact

__all__ = ["FACTS", "HOOK", "Answer", "Project", "fire", "run_hook"]

HOOK = ROOT / "hikidashi" / "serve" / "hook.py"

#: A capability and a rule about it.
FACTS = (
    fact("deploy:lantern", "npm run dist, then s3 cp", *DEPLOY, type="capability", proof="upload: dist/app.zip"),
    fact("rule:friday", "Never deploy on a Friday", type="rule", origin="rule"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a hook ended."""

    code: int
    #: The JSON object on standard output; None for no output.
    said: dict[str, Any] | None
    err: str
    seconds: float

    @property
    def context(self) -> str:
        """What the model is given."""
        text: str = ((self.said or {}).get("hookSpecificOutput") or {}).get("additionalContext", "")
        return text


def run_hook(
    event: str,
    given: bytes,
    cwd: Path,
    *,
    environ: Mapping[str, str] | None = None,
    flags: Sequence[str] = ("-I", "-S"),
) -> Answer:
    """Run the hook with these bytes as its input."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, *flags, str(HOOK), event],
        input=given,
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        capture_output=True,
        timeout=30,
        check=False,
    )
    seconds = time.monotonic() - began
    text = done.stdout.decode("utf-8")
    said = json.loads(text) if text.strip() else None
    assert said is None or isinstance(said, dict)
    assert done.stderr.count(b"\n") <= 1, done.stderr
    return Answer(code=done.returncode, said=said, err=done.stderr.decode("utf-8"), seconds=seconds)


def fire(event: str, cwd: Path, *, environ: Mapping[str, str] | None = None, **values: Any) -> Answer:
    """Run the hook for an event as Claude Code sends it."""
    form = {"hook_event_name": event, "session_id": "session-1", "cwd": str(cwd), "transcript_path": "", **values}
    for _ in range(5):
        answer = run_hook(event, json.dumps(form).encode(), cwd, environ=environ)
        assert answer.code == 0
        if "no answer in time" not in answer.err:  # a machine that is busy with other tests, or compiles our modules
            break
    return answer


class Project:
    """A workspace with facts in its drawer, as hooks meet it."""

    def __init__(self, root: Path, *drafts: Draft) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.workspace: Workspace = found_workspace(root)
        self.root = root
        self.write(*(drafts or FACTS))

    def write(self, *drafts: Draft) -> None:
        """Write facts into the workspace's drawer."""
        with closing(connect(self.workspace.database)) as connection:
            for draft in drafts:
                Drawer(connection, "workspace").write(draft)

    def fire(self, event: str, **values: Any) -> Answer:
        """An event in the project's folder."""
        return fire(event, self.root, **values)

    def prompt(self, text: str, **values: Any) -> Answer:
        """A prompt."""
        return self.fire("UserPromptSubmit", prompt=text, **values)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Rows of the workspace's database."""
        with closing(sqlite3.connect(self.workspace.database)) as connection:
            return connection.execute(statement).fetchall()
