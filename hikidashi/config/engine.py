"""Which engine works for a phase, and why (design section 6, "Engines")."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from hikidashi.config.defaults import SETTINGS
from hikidashi.config.folders import shown
from hikidashi.config.settings import Settings, expected, load_settings, user_file
from hikidashi.errors import UsageError

__all__ = [
    "AMBIENT_KEY",
    "CONSENTS",
    "EngineChoice",
    "EngineName",
    "EnginePhase",
    "consent",
    "exposed_key",
    "loosened_by_environment",
    "resolve_engine",
]

EngineName = Literal["rules", "anthropic"]

#: Reading sessions (Phase 1), and working what was staged into the records (Phase 2).
EnginePhase = Literal["extraction", "consolidation"]

#: The variable in which other programs keep a key: no consent by itself.
AMBIENT_KEY: Final = "ANTHROPIC_API_KEY"

#: The settings of which one is a person's consent that a model be used, the one that is named first in front.
CONSENTS: Final = ("memory.api_key", "memory.api_key_variable", "memory.base_url")

_ENGINE: Final = next(setting for setting in SETTINGS if setting.name == "memory.engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """Which engine a phase takes, and why in one line."""

    name: EngineName
    reason: str


def consent(settings: Settings) -> str:
    """The first of `CONSENTS` that is set; '' when none is."""
    return next((name for name in CONSENTS if _text(settings, name)), "")


#: Whom the sessions go to, in whose name, and what reads them.
_WHO_READS: Final = ("memory.base_url", "memory.api_key", "memory.extraction_model")
#: What it may cost.
_HOW_MUCH: Final = ("memory.day_usd", "memory.day_tokens", "worker.day_tokens", "worker.run_tokens")


def loosened_by_environment(settings: Settings) -> str:
    """The first setting by which the environment sends sessions elsewhere or spends more than the user's own file says;
    '' for none. What it only forbids or lowers is none.

    Raises `BadSettings` for a user's file that is wrong.
    """
    own = load_settings(None, environ={})
    chosen = [name for name in _WHO_READS if settings.get(name) != own.get(name)]
    chosen += [name for name in _HOW_MUCH if settings.get(name) > own.get(name)]
    chosen += ["memory.engine"] if own.memory.engine == "rules" != settings.memory.engine else []
    chosen += ["memory.local_only"] if own.memory.local_only and not settings.memory.local_only else []
    return next((name for name in chosen if settings.origin(name).startswith("$")), "")


def exposed_key(settings: Settings) -> str:
    """What to do about a key in the user's file that other users of this machine can read; '' when none can."""
    path = user_file()
    if os.name == "nt" or not _text(settings, "memory.api_key") or settings.origin("memory.api_key").startswith("$"):
        return ""
    try:
        mode = path.stat().st_mode
    except OSError:  # it was read a moment ago; who may read it now is not known
        return ""
    if not mode & (stat.S_IRGRP | stat.S_IROTH):
        return ""
    return f"others can read the key in {shown(path)}: run `chmod 600 {shlex.quote(str(path))}`"


def _text(settings: Settings, name: str) -> str:
    value = settings.get(name)
    return value if isinstance(value, str) else str(value.get_secret_value())


def resolve_engine(
    settings: Settings, phase: EnginePhase, override: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> EngineChoice:
    """Which engine to take for `phase`; `override` is the command's `--engine`.

    `auto` lets a model read sessions only for a key or server in Hikidashi's own settings: memory must not spend or
    send what nobody agreed to. It leaves consolidation to `rules`, since this version has no other. Raises
    `UsageError` for an unknown `override`.
    """
    if override is not None and override not in _ENGINE.choices:
        raise UsageError(f'unknown engine "{shown(override)}": use {expected(_ENGINE)}')
    wanted = override or settings.get("memory.engine")
    said = "--engine" if override else f"memory.engine ({settings.origin('memory.engine')})"
    if wanted != "auto":
        return EngineChoice(name=cast(EngineName, wanted), reason=f"{said} is {wanted}")
    if phase == "consolidation":
        return EngineChoice(name="rules", reason=f"{said} is auto: this version consolidates by rules only")
    given = consent(settings)
    if given:
        reason = f"{said} is auto, and {given} is set ({settings.origin(given)})"
        return EngineChoice(name="anthropic", reason=reason)
    reason = f"{said} is auto, and Hikidashi's own settings have no key or server"
    if environ.get(AMBIENT_KEY):
        reason += (
            f"; {AMBIENT_KEY} in the environment alone is no consent, and no request is made"
            f"; `hikidashi init --use-key` agrees to use it"
        )
    else:
        reason += f"; to have a model read them, set memory.api_key or memory.base_url in {shown(user_file())}"
    return EngineChoice(name="rules", reason=reason)
