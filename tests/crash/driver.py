"""Runs consolidations in processes that kill themselves, each forked from this one so that imports cost once.

Reads one JSON line a job: {"root", "checkpoint", "occurrence", "after_seconds", "do"}; answers one line, the
job's wait status. The kill is the process's own SIGKILL at a checkpoint (or from a timer thread at any
moment): nothing of the product knows of it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from hikidashi.worker.bench import Checkpoint
from hikidashi.worker.restore import restore
from tests.support.workshop import PlainEngine, Workshop


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _killer(name: str, occurrence: int) -> Checkpoint:
    seen = 0

    def checkpoint(passed: str) -> None:
        nonlocal seen
        if passed == name:
            seen += 1
            if seen == occurrence:
                _die()

    return checkpoint


def _timer(seconds: float) -> None:
    def wait() -> None:
        time.sleep(seconds)
        _die()

    threading.Thread(target=wait, daemon=True).start()


def _job(job: dict[str, object]) -> None:
    workshop = Workshop(Path(str(job["root"])))
    checkpoint = _killer(str(job.get("checkpoint", "")), int(str(job.get("occurrence", 1))))
    if "after_seconds" in job:
        _timer(float(str(job["after_seconds"])))
    if "restore" in job:
        restore(
            workshop.workspace, workshop.settings, workshop.connection, str(job["restore"]),
            clock=workshop.clock, checkpoint=checkpoint,
        )  # fmt: skip
        return
    workshop.drain(engine=PlainEngine, checkpoint=checkpoint)


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                _job(json.loads(line))
                os._exit(0)
            finally:
                os._exit(70)
        status = os.waitpid(child, 0)[1]
        print(json.dumps({"killed": os.WIFSIGNALED(status), "code": status}), flush=True)


if __name__ == "__main__":
    main()
