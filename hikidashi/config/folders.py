"""The user's own folders, and how a path is shown in one line. Standard library only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from hikidashi.config.user_paths import APP_NAME, home_path, user_path

__all__ = ["APP_NAME", "config_folder", "data_folder", "home_folder", "shown", "user_folder"]


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's home folder. Raises `StorageFailure` when neither the environment nor the system names one."""
    return Path(home_path(environ))


def user_folder(
    kind: Literal["data", "config"], *, platform: str = sys.platform, environ: Mapping[str, str] = os.environ
) -> Path:
    """The user's folder of that kind, as `user_path` has it. Raises `StorageFailure` as that does."""
    return Path(user_path(kind, platform=platform, environ=environ))


def data_folder() -> Path:
    """Where the trust registry and data of the `global` scope are."""
    return user_folder("data")


def config_folder() -> Path:
    """Where the user's `config.toml` is."""
    return user_folder("config")


def shown(path: Path | str) -> str:
    """`path` for a message of one line: characters that do not print (newlines too) are written as escapes."""
    text = str(path)
    return text if text.isprintable() else ascii(text)[1:-1]
