"""The `hikidashi` command: one module per group of commands, imported when its command is called."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final

import click

from hikidashi import __version__
from hikidashi.cli.output import emit_json, plain
from hikidashi.errors import HikidashiError

__all__ = ["cli", "main"]

#: Command -> (module under `hikidashi.cli`, one line for the list). Help must not pay for what it lists.
_COMMANDS: Final = {
    "init": ("setup", "Make a workspace here and offer the sessions of the last 30 days."),
    "trust": ("setup", "Look at a .hikidashi/ that came with a clone or was moved, and adopt its records."),
    "extract": ("capture", "Read sessions and stage what is worth remembering."),
    "consolidate": ("consolidate", "Work the staged entries into the records: one pass."),
    "status": ("inspect", "What waits, what ran last, and why nothing happened if nothing did."),
    "lint": ("inspect", "Check the records."),
    "log": ("inspect", "The history of the records."),
    "show": ("inspect", "One run: entries, operations, changes."),
    "restore": ("consolidate", "Bring a dropped or changed record back, as a new commit."),
    "requeue": ("consolidate", "Stage the entries again that a run discarded."),
    "pause": ("setup", "Capture and consolidate nothing until `resume`."),
    "resume": ("setup", "Capture and consolidate again."),
    "demo": ("demo", "See the whole way on small sessions, in a temporary workspace."),
}


class _LazyGroup(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"hikidashi.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-C",
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Run as if started in this folder.",
)
@click.version_option(__version__, "-V", "--version", prog_name="hikidashi")
def cli(directory: Path | None) -> None:
    """A memory for coding agents: captured from what they did, checked, and kept where you can read it.

    Start with `hikidashi demo`, then `hikidashi init` in a project.
    """
    if directory is not None:
        os.chdir(directory)


def _internal_error(kind: type[BaseException], exc: BaseException, trace: TracebackType | None) -> None:
    """Say an unforeseen error in one line; the traceback (code lines, no values) goes to a file."""
    text = "".join(traceback.format_tb(trace)) + f"{kind.__name__}\n"
    descriptor, name = tempfile.mkstemp(prefix="hikidashi-error-", suffix=".txt", text=True)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)
    sys.stderr.write(f"error: internal error ({kind.__name__}); please report it with the file {name}\n")


def _fail(exc: HikidashiError) -> int:
    message = plain(" ".join(str(exc).split()))
    if "--json" in sys.argv[1:]:
        emit_json({"error": {"kind": type(exc).__name__, "message": message, "exit_code": exc.exit_code}})
    sys.stderr.write(f"error: {message}\n")
    return exc.exit_code


def main() -> None:
    """Run the command line; ends the process with the exit codes of `hikidashi.errors`."""
    sys.excepthook = _internal_error
    code = 0
    try:
        ended = cli.main(prog_name="hikidashi", standalone_mode=False)
        code = ended if isinstance(ended, int) else 0  # what a command gave to `ctx.exit`
    except HikidashiError as exc:
        code = _fail(exc)
    except click.ClickException as exc:
        exc.show()
        code = exc.exit_code
    except (KeyboardInterrupt, click.Abort):
        sys.stderr.write("stopped\n")
        code = 130
    except BrokenPipeError:
        # The reader (`| head`) went away: silence the interpreter's own flush, and end as a pipe's writer does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 141
    sys.exit(code)
