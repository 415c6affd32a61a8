"""Extracts a folder into a workspace and kills itself at one step: a process of its own, ended by SIGKILL."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from hikidashi.capture import reading
from tests.capture_workspace import desk


def main(root: str, folder: str, step: str, count: str) -> None:
    """Extract; die at the `count`th time that `step` is reached."""
    left = int(count)
    reading.CHUNK_BYTES = 4_000  # several transactions a file

    def checkpoint(name: str) -> None:
        nonlocal left
        if name == step:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    with desk(Path(root)) as here:
        here.extract(Path(folder), checkpoint=checkpoint)
