"""How commands speak: tables and sentences for people, JSON with stable keys for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

__all__ = [
    "amount",
    "confirmed",
    "emit_json",
    "json_option",
    "plain",
    "say",
    "shown_time",
    "size",
    "table",
    "yes_option",
]

#: Adds `--json` to a command.
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON with stable keys instead of text.")

#: Adds `--yes` to a command that asks.
yes_option = click.option("--yes", is_flag=True, help="Answer every question with yes.")


def _console() -> Console:
    # Made at each use, since tests and pipes replace sys.stdout; a pipe gets no wrapping at 80 columns.
    stream = sys.stdout
    width = None if stream.isatty() else 160
    return Console(file=stream, width=width, highlight=False, soft_wrap=not stream.isatty())


def say(text: str = "", style: str = "") -> None:
    """Print a sentence; `text` is data, not markup."""
    _console().print(Text(plain(text)), style=style or None)


def plain(text: str) -> str:
    """`text` without control characters: what came out of a transcript must not drive the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "") -> None:
    """Print rows under headings; nothing when there are no rows."""
    rows = list(rows)
    if not rows:
        return
    shown = Table(
        title=escape(title) if title else None, title_justify="left", box=None, pad_edge=False, header_style="bold"
    )
    for index, column in enumerate(columns):
        last = index == len(columns) - 1
        shown.add_column(column, overflow="fold", no_wrap=not last and len(columns) > 2)
    for row in rows:
        shown.add_row(*(Text(plain(cell)) for cell in row))
    _console().print(shown)


def emit_json(data: Any) -> None:
    """Print `data` as JSON on standard output."""
    sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=2) + "\n")
    sys.stdout.flush()


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


def shown_time(text: str) -> str:
    """`2026-05-03 09:30` for a stored time; '' stays ''."""
    return text[:16].replace("T", " ")


def confirmed(question: str, *, yes: bool) -> bool:
    """The person's answer; without a terminal nothing is asked and the answer is no, unless `yes`."""
    if yes:
        return True
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return click.confirm(question, default=True)
