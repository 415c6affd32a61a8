"""The command line in this process, as a shell sees it: arguments in, exit code and two streams out."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from hikidashi.cli.main import main

__all__ = ["Ran", "hikidashi", "put_demo_sessions", "snapshot"]

SESSIONS = Path(__file__).parents[2] / "hikidashi" / "cli" / "demo_sessions"


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.open(".", os.O_RDONLY)  # a folder that is gone has no path to go back to
    os.chdir(folder)
    try:
        yield
    finally:
        os.fchdir(before)
        os.close(before)


def hikidashi(*arguments: str, cwd: Path, stdin: bytes = b"") -> Ran:
    """Run the command in `cwd`, without a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    hook = sys.excepthook
    try:
        with (
            mock.patch.object(sys, "argv", ["hikidashi", *arguments]),
            mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")),
            mock.patch.object(sys, "stdout", out),
            mock.patch.object(sys, "stderr", err),
            _inside(cwd),
        ):
            main()
    except SystemExit as ended:
        assert isinstance(ended.code, int)
        code = ended.code
    finally:
        sys.excepthook = hook
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())
    return Ran(code, *texts)


def put_demo_sessions(home: Path, project: Path) -> None:
    """The demonstration's sessions as if Claude Code had kept them for `project`."""
    slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in os.path.realpath(project))
    folder = home / ".claude" / "projects" / slug
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted(SESSIONS.glob("*.jsonl")):
        text = file.read_text(encoding="utf-8").replace("/home/mika/blyck", os.path.realpath(project))
        (folder / file.name).write_text(text, encoding="utf-8")


def snapshot(project: Path) -> dict[str, bytes]:
    """What may not be lost: records and staged entries, by path."""
    home = project / ".hikidashi"
    folders = [home / name for name in ("memory", "knowledge", "staging")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in files if path.suffix in (".md", ".json")}
