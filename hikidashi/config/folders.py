"""The user's own folders, and how a path is shown in one line. Standard library only.

The folders are those of platformdirs for the application name "hikidashi" without an author; hooks may not
import it (design section 9), so the three rules are written out here and a test compares the two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from hikidashi.errors import StorageFailure

__all__ = ["APP_NAME", "config_folder", "data_folder", "home_folder", "shown", "user_folder"]

APP_NAME: Final = "hikidashi"

#: XDG variable and the folder below the home folder that stands when it is unset or relative.
_LINUX: Final = {"data": ("XDG_DATA_HOME", ".local/share"), "config": ("XDG_CONFIG_HOME", ".config")}

_MACOS: Final = "Library/Application Support"


def home_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's home folder. Raises `StorageFailure` when neither the environment nor the system names one."""
    variable = "USERPROFILE" if sys.platform == "win32" else "HOME"
    home = environ.get(variable, "")
    if not Path(home).is_absolute() and sys.platform != "win32":
        import pwd  # not on Windows; and only needed when HOME says nothing useful

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError as exc:
            raise StorageFailure("cannot find your home folder: set HOME to its full path") from exc
    if not home:
        raise StorageFailure(f"cannot find your home folder: set {variable} to its full path")
    return Path(home)


def user_folder(
    kind: Literal["data", "config"], *, platform: str = sys.platform, environ: Mapping[str, str] = os.environ
) -> Path:
    """The user's folder of that kind on `platform` (a value of `sys.platform`).

    On macOS both kinds are one folder unless the XDG variables part them; on Windows both are in
    `%LOCALAPPDATA%`. Raises `StorageFailure` as `home_folder` does.
    """
    if platform == "win32":
        local = environ.get("LOCALAPPDATA", "")
        return (Path(local) if local else home_folder(environ) / "AppData" / "Local") / APP_NAME
    variable, below = _LINUX[kind]
    xdg = environ.get(variable, "")
    if xdg.startswith("/"):  # the specification says that a relative one is to be ignored
        return Path(xdg) / APP_NAME
    return home_folder(environ) / (_MACOS if platform == "darwin" else below) / APP_NAME


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
