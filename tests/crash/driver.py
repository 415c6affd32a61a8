"""Runs consolidations in processes that kill themselves, each forked from this one so that imports cost once.

Reads one JSON line a job, {"root": …} and one of
  "checkpoint", "occurrence"  SIGKILL at that checkpoint
  "after_seconds"             SIGKILL from a timer thread, at any moment
  "step"                      SIGKILL in front of the n-th step of a write
  "fail", "error"             from the n-th step of a write on, the disk fails: "full" or "read-only"
  "stop"                      SIGSTOP at that checkpoint; {"continue": PID} lets it go on
  "together"                  so many processes that start one run at the same moment
and "restore": PATH for a restore instead of a run. Answers one line: how the process (or each) ended. Nothing of
the product knows of it.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hikidashi.atomic import Step, observed
from hikidashi.errors import HikidashiError
from hikidashi.worker.bench import Checkpoint
from hikidashi.worker.outcomes import exit_code
from hikidashi.worker.restore import restore
from tests.support.workshop import PlainEngine, Workshop


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _killer(name: str, occurrence: int, act: Callable[[], None] = _die) -> Checkpoint:
    seen = 0

    def checkpoint(passed: str) -> None:
        nonlocal seen
        if passed == name:
            seen += 1
            if seen == occurrence:
                act()

    return checkpoint


def _timer(seconds: float) -> None:
    def wait() -> None:
        time.sleep(seconds)
        _die()

    threading.Thread(target=wait, daemon=True).start()


def _counting(at: int, act: Callable[[Step, Path], None]) -> Callable[[Step, Path], None]:
    steps = 0

    def before(step: Step, path: Path) -> None:
        nonlocal steps
        steps += 1
        if steps >= at:
            act(step, path)

    return before


def _full(step: Step, path: Path) -> None:
    """A full disk still renames and deletes."""
    if step in ("make folder", "create", "write", "flush"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _read_only(step: Step, path: Path) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def _job(job: dict[str, Any]) -> None:
    workshop = Workshop(Path(job["root"]))
    checkpoint = _killer(job.get("checkpoint", ""), job.get("occurrence", 1))
    if "stop" in job:
        checkpoint = _killer(job["stop"], 1, _stop)
    if "after_seconds" in job:
        _timer(job["after_seconds"])
    with contextlib.ExitStack() as stack:
        if "step" in job:
            stack.enter_context(observed(_counting(job["step"], lambda step, path: _die())))
        if "fail" in job:
            act = _full if job["error"] == "full" else _read_only
            stack.enter_context(observed(_counting(job["fail"], act)))
        if "restore" in job:
            restore(
                workshop.workspace,
                workshop.settings,
                workshop.connection,
                job["restore"],
                clock=workshop.clock,
                checkpoint=checkpoint,
            )
        elif "together" in job or "stop" in job:
            os._exit(exit_code(workshop.run(checkpoint=checkpoint).outcome))
        else:
            workshop.drain(engine=PlainEngine, checkpoint=checkpoint)


def _child(job: dict[str, Any]) -> None:
    """Ends the process: 0, the exit code of our own error, or 70 for anything else (with its traceback)."""
    try:
        _job(job)
    except HikidashiError as exc:
        assert "\n" not in str(exc)
        os._exit(exc.exit_code)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(70)
        raise
    os._exit(0)


def _ended(child: int) -> dict[str, Any]:
    status = os.waitpid(child, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        return {"stopped": child}
    killed = os.WIFSIGNALED(status)
    return {"killed": killed, "code": None if killed else os.WEXITSTATUS(status)}


def _together(job: dict[str, Any]) -> dict[str, Any]:
    gate, key = os.pipe()
    children = []
    for _ in range(job["together"]):
        child = os.fork()
        if child == 0:
            os.close(key)
            os.read(gate, 1)
            _child(job)
        children.append(child)
    os.close(gate)
    os.close(key)
    return {"codes": [_ended(child)["code"] for child in children]}


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    if "together" in job:
        return _together(job)
    if "continue" in job:
        os.kill(job["continue"], signal.SIGCONT)
        return _ended(job["continue"])
    child = os.fork()
    if child == 0:
        _child(job)
    return _ended(child)


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
