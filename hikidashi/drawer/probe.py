"""Running a probe: a harmless command that checks a capability (design section 8, "Probes").

It is confined, for its words came out of a table or a person's fingers, and its program from wherever PATH leads:
no shell, an empty temporary folder, the environment of `probe_environment`, nothing on standard input, no terminal,
a time limit after which it and all it started are stopped. Its output is read, redacted, cut to one line, and
nothing of it is kept but that line, and only of a probe that failed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import psutil

from hikidashi.drawer.intake import clean_line
from hikidashi.drawer.probe_environment import find_program, probe_environment, stem
from hikidashi.redact import redact

__all__ = ["MAX_OUTPUT", "MAX_READ", "ProbeResult", "run_probe"]

#: Bytes of output that are looked at, and that a probe may write before it is stopped.
MAX_READ: Final = 64 * 1024
MAX_OUTPUT: Final = 8 * 1024 * 1024

#: Seconds between two looks at whether it has ended.
_POLL: Final = 0.02
#: Every how many seconds its descendants are counted, so that one which leaves the group is known.
_COUNT: Final = 0.1

#: Shells and loaders end so when the program behind a name is missing or cannot be run.
_MISSING_CODES: Final = (126, 127)

#: Git hosts greet over SSH and end with 1, since they give no shell (docs.github.com, "Testing your SSH connection").
_GREETING: Final = re.compile(r"successfully authenticated|authenticated via|Welcome to GitLab", re.IGNORECASE)

#: It looked for the project's folder, which a probe does not get.
_NO_FOLDER: Final = re.compile(
    r"not a git repository|does not appear to be a git repository|not a working copy", re.IGNORECASE
)

#: It did not reach the network at all: on a train, or in a host's sandbox. A server that says no is another matter.
_NO_NETWORK: Final = re.compile(
    r"could not resolve|name or service not known|name resolution|nodename nor servname|getaddrinfo|ENOTFOUND|EAI_AGAIN"
    r"|network is (?:unreachable|down)|no route to host|no such host|could not connect to the endpoint URL"
    r"|internet connection",
    re.IGNORECASE,
)

#: The line of an output that says why.
_TELLING: Final = re.compile(
    r"error|denied|forbidden|unauthori[sz]ed|expired|invalid|unable|cannot|could not|not |no such|failed|refused",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """How a probe ended.

    `not-run` says nothing of the capability: the program is missing, cannot be started, needs the project's folder, or
    does not reach the network.
    """

    outcome: Literal["passed", "failed", "not-run"]
    #: In one line, redacted.
    said: str
    #: None when it did not run or was stopped.
    exit_code: int | None
    seconds: float


def run_probe(words: Sequence[str], *, seconds: float, environ: Mapping[str, str] | None = None) -> ProbeResult:
    """Run a probe for at most `seconds`, and say how it ended. Raises nothing for what a program may do."""
    environ = os.environ if environ is None else environ
    began = time.monotonic()
    program = find_program(words[0], environ)
    if not program:
        return _not_run(f"{words[0]} is not in your PATH", began)
    if sys.platform == "win32" and re.search(r'["%&|<>^!\n]', " ".join(words[1:])):
        return _not_run("its words hold a character that cmd.exe would take for its own", began)
    with tempfile.TemporaryDirectory(prefix="hikidashi-probe-", ignore_cleanup_errors=True) as folder:
        try:
            process = _started([program, *words[1:]], Path(folder), probe_environment(program, environ, Path(folder)))
        except OSError as exc:
            return _not_run(f"{program} cannot be started ({_reason(exc)})", began)
        try:
            ended = _Watch(process, began + seconds).until_end()
        finally:
            _stop(process)
            _kill_those_of(folder)
    return _judged(words, ended, process.returncode, seconds, began)


def _not_run(said: str, began: float) -> ProbeResult:
    return ProbeResult(outcome="not-run", said=clean_line(said), exit_code=None, seconds=time.monotonic() - began)


def _reason(exc: OSError) -> str:
    return "it is no program of this machine" if exc.errno == errno.ENOEXEC else exc.strerror or "refused"


def _started(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        close_fds=True,
        start_new_session=sys.platform != "win32",  # a group of its own, and no terminal to ask at
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


class _Watch:
    """A running probe: reads its output, knows its descendants, sees it end without reaping it.

    Until it is reaped its ID belongs to nobody else, so that its group may be signalled.
    """

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        self._process = process
        self._deadline = deadline
        self._seen: set[psutil.Process] = set()
        self._over = threading.Event()
        self._kept = bytearray()
        self._count = 0
        self._reader = threading.Thread(target=self._read, daemon=True)

    def until_end(self) -> _Ended:
        """Wait for its end, its time limit, or too much output; stop what is left of it, whatever happens."""
        self._reader.start()
        try:
            why = self._wait()
        finally:
            self._count_descendants()
            _kill_group(self._process)
            for descendant in self._seen:
                with contextlib.suppress(psutil.Error):
                    descendant.kill()  # looks at when it was started, so that no other process is hit
            self._over.set()
            self._reader.join(2)
        return _Ended(why, bytes(self._kept).decode("utf-8", "replace"))

    def _wait(self) -> Literal["", "late", "flood"]:
        count_at = 0.0
        while not self._has_ended():
            if time.monotonic() >= count_at:
                self._count_descendants()
                count_at = time.monotonic() + _COUNT
            if self._count > MAX_OUTPUT:
                return "flood"
            if time.monotonic() >= self._deadline:
                return "late"
            time.sleep(_POLL)
        return ""

    def _has_ended(self) -> bool:
        try:
            return psutil.Process(self._process.pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:  # a system without zombies
            return True
        except psutil.AccessDenied:
            return False

    def _count_descendants(self) -> None:
        with contextlib.suppress(psutil.Error):
            self._seen.update(psutil.Process(self._process.pid).children(recursive=True))

    def _read(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        fd = stream.fileno()
        while True:
            if sys.platform != "win32" and not select.select([fd], [], [], 0.1)[0]:
                if self._over.is_set():  # somebody who got away holds the other end
                    return
                continue
            data = os.read(fd, 65536)
            if not data:
                return
            self._count += len(data)
            self._kept += data[: MAX_READ - len(self._kept)]


@dataclass(frozen=True, slots=True)
class _Ended:
    why: Literal["", "late", "flood"]
    output: str


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        with contextlib.suppress(OSError):
            process.kill()
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Whatever happened, a Ctrl+C too: nothing of it goes on, and it is reaped."""
    if process.returncode is None:
        _kill_group(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    if process.stdout is not None:
        process.stdout.close()


def _kill_those_of(folder: str) -> None:
    """Kill what got away: whatever a probe starts inherits the folder for temporary files, which is this probe's alone.

    A process that left its group and was taken over by the system before anybody looked is found no other way.
    """
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # it ended, or it is another user's
            if process.pid != os.getpid() and process.environ().get("TMPDIR") == folder:
                process.kill()


def _judged(words: Sequence[str], ended: _Ended, code: int | None, limit: float, began: float) -> ProbeResult:
    seconds = time.monotonic() - began
    command = shlex.join(words)
    if ended.why == "late":
        said = f"`{command}` did not end within {limit:g} s"
        return ProbeResult(outcome="failed", said=clean_line(said), exit_code=None, seconds=seconds)
    if ended.why == "flood":
        said = f"`{command}` wrote more than {MAX_OUTPUT // 1024 // 1024} MB"
        return ProbeResult(outcome="failed", said=clean_line(said), exit_code=None, seconds=seconds)
    if code == 0 or (stem(words[0]) == "ssh" and code in (1, 128) and _GREETING.search(ended.output)):
        said = f"`{command}` ended with {code}"
        return ProbeResult(outcome="passed", said=clean_line(said), exit_code=code, seconds=seconds)
    line = _telling_line(ended.output)
    said = f"`{command}` ended with {code}" + (f": {line}" if line else "")
    outcome: Literal["failed", "not-run"] = "not-run" if _says_nothing(code, ended.output) else "failed"
    return ProbeResult(outcome=outcome, said=clean_line(said), exit_code=code, seconds=seconds)


def _says_nothing(code: int | None, output: str) -> bool:
    return code in _MISSING_CODES or bool(_NO_FOLDER.search(output) or _NO_NETWORK.search(output))


def _telling_line(output: str) -> str:
    """The line that says why: the first that sounds so, else the last one. Redacted whole before it is cut."""
    lines = [line.strip() for line in redact(output).splitlines() if line.strip()]
    return next((line for line in lines if _TELLING.search(line)), lines[-1] if lines else "")
