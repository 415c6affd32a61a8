"""Has a model read sessions and kills itself at one step: a process of its own, ended by SIGKILL."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.model_reading import Reading, hall


def main(root: str, folder: str, step: str, count: str) -> None:
    """Read; die at the `count`th time that `step` is reached."""
    left = int(count)

    def checkpoint(name: str) -> None:
        nonlocal left
        if name == step:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    with hall(Path(root)) as here:
        here.read(Path(folder), by=Reading(), checkpoint=checkpoint)
