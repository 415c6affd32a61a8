"""The MCP server of a workspace: `hikidashi mcp`, started by a host, which talks to it over its standard streams.

A host waits for a server's first answer before its first prompt, so nothing is imported here that this answer does
not need; a plain server on the protocol's own SDK takes a second for it. The SDK's client tests this one.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from hikidashi.config.defaults import MARKER_VARIABLE
from hikidashi.config.workspace import open_workspace
from hikidashi.errors import HikidashiError, NoWorkspace, UntrustedWorkspace
from hikidashi.serve.mcp_session import Session
from hikidashi.serve.mcp_wire import Writer, read_lines

__all__ = ["Workers", "inert", "serve"]

#: Calls that are worked on at once, and calls that may wait for it; then the client's next line waits in its pipe.
_AT_ONCE: Final = 4
_WAITING: Final = 256

#: A client that closed the pipe waits a moment for what it asked before.
_LAST_SECONDS: Final = 10.0


class Workers:
    """Threads that do pieces of work in the order in which they come, several at once."""

    def __init__(self, count: int = _AT_ONCE) -> None:
        self._jobs: queue.Queue[Callable[[], None]] = queue.Queue(_WAITING)
        for _ in range(count):
            self._start()

    def _start(self) -> None:
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            job, done = self._jobs.get(), False
            try:
                job()
                done = True
            finally:
                self._jobs.task_done()
                if not done:  # this thread ends by what nobody foresaw
                    self._start()

    def __call__(self, job: Callable[[], None]) -> None:
        """Have a piece of work done."""
        self._jobs.put(job)

    def finish(self, seconds: float) -> None:
        """Wait until all is done, at most so long."""
        with self._jobs.all_tasks_done:
            self._jobs.all_tasks_done.wait_for(lambda: not self._jobs.unfinished_tasks, seconds)


def serve(folder: Path) -> None:
    """Serve the workspace of `folder` until the host closes the pipe or stops the process."""
    source, target = _streams()
    threading.excepthook = _say_error
    writer, workers = Writer(target), Workers()
    session_id = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    session = Session(writer, workers, folder=folder, inert=inert, session_id=session_id)
    try:
        for line in read_lines(source):
            session.take(line)
            if writer.closed:
                return
        workers.finish(_LAST_SECONDS)
    except KeyboardInterrupt:  # the host asks it to end: SIGINT, SIGTERM
        return


def inert(folder: Path) -> str:
    """Why there is nothing to serve in `folder`; '' when there is. A memory that is only damaged or busy is served:
    each call says what is wrong."""
    if os.environ.get("HIKIDASHI_DISABLE", "0") not in ("", "0"):
        return "the memory is switched off (HIKIDASHI_DISABLE): unset it and start the host again"
    if os.environ.get(MARKER_VARIABLE):
        return "this is a session of Hikidashi's own worker: it has no use for the memory's tools"
    try:
        open_workspace(folder)
    except (NoWorkspace, UntrustedWorkspace) as exc:
        return str(exc)
    except HikidashiError:
        return ""
    return ""


def _streams() -> tuple[int, int]:
    """The two pipes, taken away from everything else: what prints goes to standard error, what reads finds nothing."""
    if sys.stdin.isatty():
        sys.stderr.write("This is for a host to start: it speaks the Model Context Protocol, a JSON message a line.\n")
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target


def _say_error(error: threading.ExceptHookArgs) -> None:
    sys.stderr.write(f"hikidashi mcp: internal error ({error.exc_type.__name__}); please report it\n")
