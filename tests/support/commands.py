"""The command line in processes of their own, forked from one that has imported everything already.

A Python start costs half a second, and the disasters of these tests need hundreds of processes. `Commands`
talks to one server process that has gone the whole way once and forks a child for each command; the child calls
`hikidashi.cli.main.main` with its own arguments, folder, environment and output, and ends with its exit code. A
command may be told to kill itself at a checkpoint, to meet a disk that refuses at the n-th write, or to see another
time: the child arranges that around the program, which knows nothing of it.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import gc
import importlib
import json
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import IO, Any

from tests.support.detached import detach

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended."""

    code: int
    """Exit code; negative: the signal that killed it."""
    out: str
    err: str
    #: Checkpoints passed and writes begun, in order, when the command was told to note them.
    passed: tuple[str, ...] = ()

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL

    def json(self) -> Any:
        return json.loads(self.out)

    def expect(self, code: int | None) -> Ended:
        """This, if the program ended as one should: with that code (None: any), and never with a traceback."""
        assert "Traceback" not in self.err, self.err
        assert "internal error" not in self.err, self.err
        assert code is None or self.code == code, self
        return self


@dataclass(slots=True)
class Commands:
    """Runs commands; `with Commands() as run: run("status", cwd=folder)`."""

    _server: subprocess.Popen[str] = field(init=False)

    def __enter__(self) -> Commands:
        self._server = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
             "from tests.support.commands import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.close()
        self._server.wait(30)  # it went on as another process, whose end closes the pipe
        self._server.stdout.read()
        self._server.stdout.close()

    def __call__(self, *arguments: str, cwd: Path, code: int | None = 0, **told: Any) -> Ended:
        """Run one command and wait for it.

        `code=None`: any. Told: `kill_at` (checkpoint) with `occurrence` and `kill_with` (the signal's name, SIGKILL
        if not said); `kill_after` (seconds); `refuse`
        (n-th write, from 0) with `errno`; `append_at` (checkpoint) with `append_to` (a file) and
        `append` (text); `clock_by` (seconds that the clock is off); `note` (True: `passed`);
        `environ` (added variables).
        """
        return self.race([(arguments, cwd)], **told)[0].expect(code)

    def python(self, code: str, arguments: Iterable[Iterable[object]], *, cwd: Path = ROOT) -> list[Ended]:
        """Run `code` once for each list of arguments (its `sys.argv[1:]`), from one moment on, as `python -c` does."""
        return self.race([([str(word) for word in words], cwd) for words in arguments], code=code)

    def race(self, commands: Iterable[tuple[Iterable[str], Path]], **told: Any) -> list[Ended]:
        """Run all commands (arguments, folder) from one moment on, each in a process of its own."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        jobs = [
            {"arguments": list(arguments), "cwd": str(cwd), "home": os.environ["HOME"], **told}
            for arguments, cwd in commands
        ]
        self._server.stdin.write(json.dumps(jobs) + "\n")
        self._server.stdin.flush()
        return [Ended(**answer) for answer in json.loads(self._server.stdout.readline())]


def serve() -> None:
    """The server: one JSON job a line in, one JSON answer a line out."""
    detach()
    import_all()
    _warm_up()
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), flush=True)


@functools.cache
def import_all() -> None:
    """Import every module of the program."""
    import hikidashi

    for module in pkgutil.walk_packages(hikidashi.__path__, "hikidashi."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def _warm_up() -> None:
    """Go the whole way once, so that what is made at first use is made here and not by each child."""
    from hikidashi.config.machine import this_machine
    from tests.support.command import hikidashi, put_demo_sessions

    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "project")
        project.mkdir()
        put_demo_sessions(home, project)
        os.environ.update(HOME=str(home), USERPROFILE=str(home))
        for command in (
            ["init"],
            ["extract", "--no-consolidate"],
            ["consolidate"],
            ["status"],
            ["lint"],
            ["log", "-p"],
        ):
            ran = hikidashi(*command, cwd=project)
            assert ran.code == 0, ran
    os.environ.clear()
    os.environ.update(before)
    this_machine.cache_clear()  # it is another home's
    gc.collect()
    gc.freeze()  # the children need not copy what they only look at


def _answer(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Do all jobs at once: every child waits at a pipe until the last one is there."""
    wait_at, gate = os.pipe()
    children = [_forked(job, wait_at, gate) for job in jobs]
    os.close(wait_at)
    os.close(gate)
    answers = []
    for child, files in children:
        _, status = os.waitpid(child, 0)
        texts = []
        for file in files:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
            file.close()
        passed = texts[2].split("\n")[:-1]
        answers.append({"code": os.waitstatus_to_exitcode(status), "out": texts[0], "err": texts[1], "passed": passed})
    return answers


def _forked(job: dict[str, Any], wait_at: int, gate: int) -> tuple[int, list[IO[bytes]]]:
    files: list[IO[bytes]] = [tempfile.TemporaryFile() for _ in ("out", "err", "note")]  # noqa: SIM115
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.close(gate)
            os.read(wait_at, 1)
            os.close(wait_at)
            code = _run(job, [file.fileno() for file in files])
        finally:
            os._exit(code)
    return child, files


def _run(job: dict[str, Any], files: list[int]) -> int:
    """In the child: become the command."""
    null = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((null, files[0], files[1])):
        os.dup2(source, target)
    os.environ.update({"HOME": job["home"], "USERPROFILE": job["home"], **job.get("environ", {})})
    os.chdir(job["cwd"])
    sys.argv = ["hikidashi", *job["arguments"]]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if "kill_after" in job:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        _kill_later(float(job["kill_after"]))
    with _arranged(job, files[2]):
        return run_program(job.get("code"))


def run_program(code: str | None = None) -> int:
    """Call the command line (or run `code`) with `sys.argv` and give the exit code the interpreter would end with."""
    from hikidashi.cli.main import main

    try:
        if code is None:
            main()
        else:
            exec(code, {"__name__": "__main__"})
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException as exc:  # noqa: BLE001  as the interpreter ends a process with it
        sys.excepthook(type(exc), exc, exc.__traceback__)
        return 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    return 0


def _kill_later(seconds: float) -> None:
    """A second process that kills this one: a thread would wait for the interpreter's lock."""
    victim = os.getpid()
    if os.fork() == 0:
        os.setsid()
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        os._exit(0)


@contextlib.contextmanager
def _arranged(job: dict[str, Any], note: int) -> Iterator[None]:
    """The disaster of the job, arranged around the program."""
    from hikidashi.atomic import Step, observed

    counted: dict[str, int] = {}
    writes = 0

    def checkpoint(name: str) -> None:
        counted[name] = counted.get(name, 0) + 1
        if job.get("note"):
            os.write(note, f"{name}\n".encode())
        if job.get("append_at") == name and counted[name] == 1:
            with open(job["append_to"], "a", encoding="utf-8") as stream:  # as an editor that saves just now
                stream.write(job["append"])
        if job.get("kill_at") == name and counted[name] == job.get("occurrence", 1):
            os.kill(os.getpid(), signal.Signals[job.get("kill_with", "SIGKILL")])

    def before(step: Step, path: Path) -> None:
        nonlocal writes
        if job.get("note"):
            os.write(note, f"{step}\n".encode())
        number, writes = writes, writes + 1
        if "refuse" in job and (number == job["refuse"] or (job.get("for_ever") and number > job["refuse"])):
            code = int(job.get("errno", errno.ENOSPC))
            raise OSError(code, os.strerror(code))

    _tell("hikidashi.cli.capture", "extract", checkpoint=checkpoint)
    _tell("hikidashi.cli.consolidate", "consolidate", checkpoint=checkpoint)
    if job.get("clock_by"):
        _move_clock(timedelta(seconds=float(job["clock_by"])))
    with observed(before):
        yield


def _tell(module: str, name: str, **given: Any) -> None:
    """Let a command call `name` with further arguments."""
    place = importlib.import_module(module)
    setattr(place, name, functools.partial(getattr(place, name), **given))


def _move_clock(by: timedelta) -> None:
    """Let every clock of the program that was not given one be off: `times.now` under all its names."""
    from hikidashi import times

    real: Callable[[], Any] = times.now

    def moved() -> Any:
        return real() + by

    for module in [m for name, m in sys.modules.items() if name.startswith("hikidashi")]:
        for name, value in list(vars(module).items()):
            if value is real:
                setattr(module, name, moved)
            elif callable(value):
                _move_default(value, real, moved)
            if isinstance(value, type):
                for method in list(vars(value).values()):
                    _move_default(method, real, moved)


def _move_default(value: Any, real: object, moved: object) -> None:
    keywords = getattr(value, "__kwdefaults__", None)
    if isinstance(keywords, dict):
        keywords.update({key: moved for key, given in keywords.items() if given is real})
    defaults = getattr(value, "__defaults__", None)
    if isinstance(defaults, tuple) and real in defaults:
        value.__defaults__ = tuple(moved if given is real else given for given in defaults)
