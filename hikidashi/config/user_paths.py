"""The user's own folders as text. Standard library only, and little of it: each hook looks there.

The rules are those of platformdirs for the application name "hikidashi" without an author; hooks may not import it
(design section 9), so they are written out here and a test compares the two.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from hikidashi.errors import StorageFailure

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final, Literal

__all__ = ["APP_NAME", "home_path", "user_path"]

APP_NAME: Final = "hikidashi"

#: XDG variable and the folder below the home folder that stands when it is unset or relative.
_LINUX: Final = {"data": ("XDG_DATA_HOME", ".local/share"), "config": ("XDG_CONFIG_HOME", ".config")}

_MACOS: Final = "Library/Application Support"


def home_path(environ: Mapping[str, str] = os.environ) -> str:
    """The user's home folder. Raises `StorageFailure` when neither the environment nor the system names one."""
    variable = "USERPROFILE" if sys.platform == "win32" else "HOME"
    home = environ.get(variable, "")
    if not os.path.isabs(home) and sys.platform != "win32":
        import pwd  # not on Windows; and only needed when HOME says nothing useful

        try:
            home = pwd.getpwuid(os.getuid()).pw_dir
        except KeyError as exc:
            raise StorageFailure("cannot find your home folder: set HOME to its full path") from exc
    if not home:
        raise StorageFailure(f"cannot find your home folder: set {variable} to its full path")
    return home


def user_path(
    kind: Literal["data", "config"], *, platform: str = sys.platform, environ: Mapping[str, str] = os.environ
) -> str:
    """The user's folder of that kind on `platform` (a value of `sys.platform`).

    On macOS both kinds are one folder unless the XDG variables part them; on Windows both are in
    `%LOCALAPPDATA%`. Raises `StorageFailure` as `home_path` does.
    """
    join = os.path.join
    if platform == "win32":
        local = environ.get("LOCALAPPDATA", "") or join(home_path(environ), "AppData", "Local")
        return join(local, APP_NAME)
    variable, below = _LINUX[kind]
    xdg = environ.get(variable, "")
    if xdg.startswith("/"):  # the specification says that a relative one is to be ignored
        return join(xdg, APP_NAME)
    return join(home_path(environ), _MACOS if platform == "darwin" else below, APP_NAME)
