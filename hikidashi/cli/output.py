"""How commands speak: sentences and tables for people, JSON with stable keys for programs.

On a terminal, text wraps at its width (at most 120 columns), Japanese as well; into a pipe every row is one line,
so that `grep` finds whole ones. `rich` is loaded only when a terminal is there to draw on.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from hikidashi.errors import StorageFailure

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "amount",
    "confirmed",
    "emit_json",
    "handful",
    "json_option",
    "note",
    "plain",
    "say",
    "short",
    "shown_time",
    "size",
    "table",
    "warn",
    "working",
    "yes_option",
]

#: Adds `--json` to a command.
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys instead of text.")

#: Adds `--yes` to a command that asks.
yes_option = click.option("--yes", is_flag=True, help="Answer every question with yes.")

#: Longer lines are hard to read, however wide the terminal is.
_MAX_WIDTH: Final = 120
#: A last column narrower than this goes under its row instead.
_MIN_WIDTH: Final = 24
#: Stands for a blank inside `a command`, which must not be broken over two lines.
_TIED: Final = "\ue000"
_COMMAND: Final = re.compile(r"`[^`\n]{1,36}`")


def _console() -> Console | None:
    """The terminal to draw on; None when standard output is a pipe or a file."""
    # Made at each use, since tests replace sys.stdout and a terminal's width changes.
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def say(text: str = "", style: str = "", *, indent: str = "", hang: str = "", wrap: bool = True) -> None:
    """Print `text`, which is data and not markup.

    Each line of it starts with `indent`; what does not fit goes on below `indent` and `hang`. Without `wrap` it
    is the terminal's business what does not fit.
    """
    console = _console()
    for line in plain(text).split("\n"):
        _print(console, line, first=indent, rest=indent + hang, style=style, wrap=wrap)


def note(text: str) -> None:
    """Print something that a person should know."""
    say(f"note: {text}", "yellow", hang="      ")


def warn(text: str) -> None:
    """Say on standard error what may go wrong later, in one line, beside whatever the command prints; '' says nothing.

    A standard error that takes nothing is no reason not to do what was asked for.
    """
    if text:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"warning: {plain(' '.join(text.split()))}\n")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under headings (none when all are empty); nothing at all when there are no rows.

    All columns but the last hold short words. The last one wraps; its further lines are details.
    """
    from rich.cells import cell_len

    shown = [[plain(cell) for cell in row] for row in rows]
    if not shown:
        return
    console = _console()
    widths = [max(cell_len(row[index]) for row in (columns, *shown)) for index in range(len(columns) - 1)]
    left = " " * sum(width + 2 for width in widths)
    if console is not None and _width(console) - len(left) < _MIN_WIDTH:
        left = "    "

    def line(cells: Sequence[str], style: str = "") -> None:
        head = "".join(
            cell + " " * (width - cell_len(cell) + 2) for cell, width in zip(cells[:-1], widths, strict=True)
        )
        first, *details = cells[-1].split("\n")
        if cell_len(head) > len(left):  # a narrow terminal
            _print(console, head.rstrip(), style=style)
            head = left
        _print(console, first, first=head, rest=left, style=style)
        for detail in details:
            _print(console, detail, first=left, rest=left, style="dim")

    if any(columns):
        line(columns, "bold")
    for row in shown:
        line(row)


def _print(
    console: Console | None, line: str, *, first: str = "", rest: str = "", style: str = "", wrap: bool = True
) -> None:
    """One line of data, wrapped where there is a terminal."""
    if console is None:
        _write(f"{first}{line}".rstrip() + "\n")
        return
    from rich.cells import cell_len
    from rich.text import Text

    if not wrap:
        parts = [line]
    else:
        tied = _COMMAND.sub(lambda found: found.group().replace(" ", _TIED), line)
        room = max(_width(console) - max(cell_len(first), cell_len(rest)), 8)
        wrapped = Text(tied).wrap(console, room, overflow="fold")
        parts = [part.plain.replace(_TIED, " ") for part in wrapped] or [""]
    for number, part in enumerate(parts):
        text = Text(rest if number else first)
        text.append(part.rstrip(), style=style or None)
        if style == "bold" and not number:
            text.stylize("bold")
        with console.capture() as drawn:
            console.print(text)
        _write(drawn.get())


def _width(console: Console) -> int:
    return min(console.width, _MAX_WIDTH)


def _write(text: str) -> None:
    """Write to standard output. Raises `StorageFailure` where it refuses, `BrokenPipeError` when its reader left."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        raise
    except OSError as exc:
        raise StorageFailure(f"cannot write the output ({exc.strerror}): send it to another place") from exc


def plain(text: str) -> str:
    """`text` without control characters: what came out of a transcript must not drive the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def short(text: str, limit: int) -> str:
    """`text` in one line, cut at a word where it is longer than `limit` characters."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    head, blank, _ = cut.rpartition(" ")
    return (head if blank and len(head) > limit // 2 else cut).rstrip(" ,.;:") + "…"


def handful(words: Sequence[str], most: int = 5) -> str:
    """The first words of a long list, and how many more there are: `a, b and 3 more`; '' for none."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def emit_json(data: Any, *, indent: int | None = 2) -> None:
    """Print `data` as JSON on standard output, in escapes where its encoding does not have a character.

    Without `indent` it is one line, for JSON lines.
    """
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(data, indent=indent)
    _write(text + "\n")


def amount(number: int, singular: str, plural: str = "") -> str:
    """`1 entry`, `2 entries`."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def size(count: int) -> str:
    """`34.2 MB` for a number of bytes."""
    value = float(count)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


@contextlib.contextmanager
def working(what: str, *, quiet: bool) -> Iterator[None]:
    """A moving line on standard error while the block runs, if that is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(f"{what} ..."):
        yield


def shown_time(text: str) -> str:
    """`2026-05-03 09:30` (UTC) for a stored time; '' stays ''."""
    return text[:16].replace("T", " ")


@contextlib.contextmanager
def _ended_by_default() -> Iterator[None]:
    """Requests to end do what they do by default while a question waits: nothing is open that needs closing.

    The interpreter looks at signals before it waits for a line. One that comes between the two would be heard only
    after the next key.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and callable(signal.getsignal(number)):
            heard[number] = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)


def confirmed(question: str, *, yes: bool, quiet: bool = False, default: bool = True) -> bool:
    """The person's answer, `default` on a bare Enter.

    Without a terminal, or `quiet`, nothing is asked and the answer is no, unless `yes`.
    """
    if yes:
        return True
    if quiet or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    while True:
        try:
            with _ended_by_default():
                answer = input(f"{question} {'[Y/n]' if default else '[y/N]'} ").strip().lower()
        except EOFError:  # the terminal was closed: nobody said yes
            say()
            return False
        if answer in ("", "y", "yes", "n", "no"):
            return answer[0] == "y" if answer else default
        say("Please answer y or n.")
