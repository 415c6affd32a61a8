"""The `hikidashi` command: one module per group of commands, imported when its command is called."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final

import click
from click.exceptions import Exit

from hikidashi import __version__
from hikidashi.cli.output import emit_json, plain
from hikidashi.errors import HikidashiError, StorageFailure, UsageError

__all__ = ["COMMANDS", "cli", "main"]

#: Command -> (module under `hikidashi.cli`, one line for the list). Help must not pay for what it lists.
COMMANDS: Final = {
    "init": ("setup", "Make a workspace here and offer the sessions of the last 30 days."),
    "trust": ("setup", "Look at a .hikidashi/ that came with a clone or was moved, and adopt its records."),
    "extract": ("capture", "Read sessions: propose what they prove, stage what is worth remembering."),
    "consolidate": ("consolidate", "Work the staged entries into the records: one pass."),
    "status": ("status", "What waits, what ran last, and why nothing happened if nothing did."),
    "cost": ("cost", "What requests to models used and cost, and what the budgets have left."),
    "lint": ("inspect", "Check the records."),
    "log": ("inspect", "The history of the records; -p shows the changes."),
    "show": ("inspect", "One run: entries, operations, changes."),
    "restore": ("undo", "Bring a dropped or changed record back, as a new commit."),
    "requeue": ("undo", "Stage the entries again that a run discarded."),
    "classify": ("classify", "What sessions prove that can be done: candidates, and why each other call gave none."),
    "inbox": ("inbox", "Go through the candidates: approve, edit, reject, later."),
    "candidates": ("gate", "The candidates that wait for your yes."),
    "approve": ("gate", "Put candidates into the drawer."),
    "reject": ("gate", "Turn candidates down; they do not come back unless their content changes."),
    "read": ("drawer", "Read a fact by its key, or search for some."),
    "write": ("drawer_write", "Write a fact into the drawer."),
    "facts": ("drawer", "List the facts of the drawer."),
    "retire": ("drawer_write", "Take a fact out of use; a write brings it back."),
    "forget": ("drawer_write", "Delete a fact with all its versions and traces."),
    "why": ("drawer", "Where a fact comes from: source lines, sightings, injections."),
    "export": ("transfer", "Print the facts as JSON lines; `export claude-memory` for those who leave."),
    "import": ("transfer", "Read facts from JSON lines; `import claude-memory` takes over Claude Code's own memory."),
    "recall": ("recall", "What a turn with this text would be given, and why."),
    "verify": ("verify", "Run the probes of facts and note how they end."),
    "ping": ("ping", "Ask each configured model once: does it work, and what does it cost."),
    "pause": ("pausing", "Capture and consolidate nothing until `resume`."),
    "resume": ("pausing", "Capture and consolidate again."),
    "install": ("install", "Have Claude Code or Codex run the hooks, from its next session on."),
    "uninstall": ("install", "Take Hikidashi out of a host's settings again."),
    "doctor": ("doctor", "Check that the hooks and the server work, and say how to mend what does not."),
    "statusline": ("statusline", "One line for a host's status line: facts, what waits, trouble."),
    "hook": ("hook", "What a host's hooks call; not for people."),
    "mcp": ("mcp", "The memory as tools for a host, over standard input and output."),
    "demo": ("demo", "See the whole way on small sessions, in a temporary workspace."),
}

#: What a shell gives for a process that a pipe's reader, or Ctrl+C, ended.
_PIPE_CODE: Final = 141
_STOPPED_CODE: Final = 130

#: Signals by which a system asks a process to end, at log-out or shut-down.
_REQUESTS: Final = ("SIGTERM", "SIGHUP")


class _AskedToEnd(KeyboardInterrupt):
    """The system asks the process to end. As with Ctrl+C, what is under way closes its rows and gives back its claim:
    a run that only vanished would be taken for one that an entry brought down."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.exit_code = 128 + number


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"hikidashi.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=_LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-C",
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Run as if started in this folder.",
)
@click.version_option(__version__, "-V", "--version", prog_name="hikidashi")
@click.pass_context
def cli(ctx: click.Context, directory: Path | None) -> None:
    """A memory for coding agents: captured from what they did, checked, and kept where you can read it.

    Start with `hikidashi demo`, then `hikidashi init` in a project.
    """
    if directory is not None:
        try:
            os.chdir(directory)
        except OSError as exc:
            raise UsageError(f"cannot enter {directory} ({exc.strerror}): give another folder with -C") from exc
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main() -> None:
    """Run the command line; ends the process with the exit codes of `hikidashi.errors`."""
    sys.excepthook = _internal_error
    _open_standard_streams()
    _hear_requests_to_end()
    try:
        code = _run(sys.argv[1:])
        _flush()
    except HikidashiError as exc:
        code = _fail(type(exc).__name__, str(exc), exc.exit_code)
    except click.ClickException as exc:
        code = _fail(
            "UsageError" if exc.exit_code == UsageError.exit_code else "HikidashiError", _mend(exc), exc.exit_code
        )
    except (KeyboardInterrupt, click.Abort) as exc:
        code = _stopped(exc)
    except RuntimeError as exc:
        # Before Python 3.12 a class whose making is interrupted says this in place of what interrupted it: loading the
        # SDK makes thousands.
        if not isinstance(exc.__cause__, KeyboardInterrupt):
            raise
        code = _stopped(exc.__cause__)
    except BrokenPipeError:  # the reader (`| head`) went away: end as a pipe's writer does
        code = _PIPE_CODE
    try:
        sys.stdout.flush()
    except OSError:  # said above; the interpreter would flush once more and complain in its own words
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def _stopped(exc: BaseException) -> int:
    code = exc.exit_code if isinstance(exc, _AskedToEnd) else _STOPPED_CODE
    return _fail("Stopped", "stopped; run the same command again to go on", code)


def _hear_requests_to_end() -> None:
    if threading.current_thread() is not threading.main_thread():  # no other one may say what a signal does
        return

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)  # asked twice, it ends at once
        raise _AskedToEnd(number)

    for name in _REQUESTS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:  # `nohup` has one ignored
            signal.signal(number, end)


def _run(arguments: list[str]) -> int:
    """Run one command and give its exit code.

    Not by click's `main`: that gives 1 for a reader that went away, and 2 and its help for an empty command line.
    """
    if "_HIKIDASHI_COMPLETE" in os.environ:  # a shell asks what could be typed next
        cli.main(arguments, prog_name="hikidashi")
    try:
        with cli.make_context("hikidashi", arguments) as ctx:
            cli.invoke(ctx)
    except Exit as exc:
        return exc.exit_code
    return 0


def _open_standard_streams() -> None:
    """Streams that the caller closed (`<&-`, `>&-`) are opened on nothing; without that `isatty()` fails on None,
    and the next file that is opened would be the one that everything prints into."""

    def opened(stream: Any, mode: str) -> Any:
        if stream is not None:
            return stream
        return open(os.devnull, mode, encoding="utf-8")

    sys.stdin = opened(sys.stdin, "r")
    sys.stdout = opened(sys.stdout, "w")
    sys.stderr = opened(sys.stderr, "w")
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:  # a terminal in another encoding than UTF-8 gets what it has
        reconfigure(errors="replace")


def _flush() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise StorageFailure(f"cannot write the output ({exc.strerror}): send it to another place") from exc


def _mend(exc: click.ClickException) -> str:
    """What click says about a wrong command line, in one line that ends with where the right one stands."""
    said = exc.format_message().strip().rstrip(".")
    context = exc.ctx if isinstance(exc, click.UsageError) else None
    path = context.command_path if context is not None else "hikidashi"
    return f"{said[:1].lower()}{said[1:]} (see `{path} --help`)"


def _wants_json() -> bool:
    before, _, _ = " ".join(sys.argv[1:]).partition(" -- ")
    return "--json" in before.split()


def _fail(kind: str, text: str, exit_code: int) -> int:
    """Say an error in one line, and as JSON where that was asked for; gives the exit code."""
    message = plain(" ".join(text.split()))
    with contextlib.suppress(HikidashiError, OSError):  # standard output may be what failed
        if _wants_json():
            emit_json({"error": {"kind": kind, "message": message, "exit_code": exit_code}})
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        sys.stderr.write(f"error: {message}\n" if kind != "Stopped" else f"{message}\n")
    return exit_code


def _internal_error(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """Say an unforeseen error in one line; the traceback (code lines, no values) goes to a file."""
    if issubclass(kind, KeyboardInterrupt):  # while the interpreter was starting or ending
        return
    text = "".join(traceback.format_tb(trace)) + f"{kind.__name__}\n"
    where = "; please report it"
    with contextlib.suppress(OSError):
        descriptor, name = tempfile.mkstemp(prefix="hikidashi-error-", suffix=".txt", text=True)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        where = f"; please report it with the file {name}"
    _fail("InternalError", f"internal error ({kind.__name__}){where}", HikidashiError.exit_code)
