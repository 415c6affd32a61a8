"""May the key that lies in the environment be used? A person answers that, once; `--yes` never does.

The answer is one line of the user's own settings file, `memory.api_key_variable`: the variable's name, not the key.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from hikidashi.cli.context import only_person
from hikidashi.cli.output import confirmed, note, say
from hikidashi.config.edit import set_in_user_file
from hikidashi.config.engine import AMBIENT_KEY, consent
from hikidashi.config.folders import shown
from hikidashi.config.settings import Settings, user_file
from hikidashi.drawer.person import find_agent
from hikidashi.errors import UsageError

__all__ = ["KeyAnswer", "require_key", "settle_key", "use_key_option"]

#: Adds `--use-key` and `--no-use-key`.
use_key_option = click.option(
    "--use-key/--no-use-key",
    default=None,
    help=f"Answer whether the key in {AMBIENT_KEY} may be used to have a model read your sessions; --yes does not.",
)

_SETTING: Final = "memory.api_key_variable"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAnswer:
    """What became of the question."""

    #: The variable lies in the environment.
    found: bool
    #: The settings file that the answer was written to; None when nothing was written.
    file: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; keys are stable."""
        return {
            "variable": AMBIENT_KEY if self.found else None,
            "agreed": self.file is not None,
            "file": str(self.file) if self.file else None,
        }


def require_key(settings: Settings, use_key: bool | None, *, environ: Mapping[str, str] | None = None) -> None:
    """Before anything is made: `--use-key` is a person's alone (`GateClosed`), and means a key that is there.

    Raises `UsageError` where none is, or where settings say already whom to ask.
    """
    if not use_key:
        return
    only_person(settings, "init", "--use-key")
    given = consent(settings)
    if given == _SETTING:
        return  # said before
    if given:
        raise UsageError(
            f"{given} is set already ({settings.origin(given)}): leave --use-key out, or write "
            f"{_SETTING} there yourself if that server takes this key"
        )
    if not (os.environ if environ is None else environ).get(AMBIENT_KEY):
        raise UsageError(f"{AMBIENT_KEY} is not set here: set it, or write memory.api_key into {shown(user_file())}")


def settle_key(
    settings: Settings,
    use_key: bool | None,
    *,
    quiet: bool,
    price: Callable[[], str],
    environ: Mapping[str, str] | None = None,
) -> KeyAnswer:
    """Ask whether the ambient key may be used, where that is open, and write down a yes.

    Asked is only a person at a terminal, and only while settings say nothing of a model. `price` says what reading
    the sessions found would cost. Raises as `set_in_user_file` does.
    """
    environ = os.environ if environ is None else environ
    found = bool(environ.get(AMBIENT_KEY))
    if not found or consent(settings) or (settings.memory.engine != "auto" and not use_key):
        return KeyAnswer(found=found)
    if use_key is None and not quiet:
        use_key = _asked(settings, price, environ)
    if not use_key:
        return KeyAnswer(found=True)
    file = set_in_user_file(_SETTING, AMBIENT_KEY)
    if not quiet:
        say(f'{shown(file)} says now: {_SETTING.partition(".")[2]} = "{AMBIENT_KEY}". Take it out to stop.')
        if settings.memory.engine == "rules":
            note(f"memory.engine is rules ({settings.origin('memory.engine')}): no model is asked until that is auto")
    return KeyAnswer(found=True, file=file)


def _asked(settings: Settings, price: Callable[[], str], environ: Mapping[str, str]) -> bool:
    """The person's answer; without one at a terminal it is no, and what to do is said."""
    if find_agent(environ) is not None or not (sys.stdin.isatty() and sys.stdout.isatty()):
        say(f"{AMBIENT_KEY} is set here and not used; `hikidashi init --use-key` in your terminal agrees to it.")
        return False
    memory = settings.memory
    say(
        f"{AMBIENT_KEY} is set here. Hikidashi uses it only if you say so. Then {memory.extraction_model} reads your "
        "sessions in all your workspaces: they are sent to Anthropic, without the secrets that are recognised in them."
    )
    say(f"{price()} All of it together is stopped at ${memory.day_usd:,.2f} in 24 hours (memory.day_usd).")
    return confirmed("Use this key?", yes=False, default=False)
