"""Which machine this is, so that a capability proven on another one reads "worked on <host>". Standard library only.

The system's own id is hashed with a constant of this program: it must not leave the machine as it is
(machine-id(5) says so), and two programs cannot compare notes by it. Without one a random id is kept in the user's
data folder.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import platform
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from hikidashi.atomic import make_folder, storage_errors, write_atomic
from hikidashi.config.folders import data_folder
from hikidashi.config.glance import LINUX_MACHINE_ID, MACHINE_PERSON

__all__ = ["Machine", "this_machine"]

_LINUX: Final = tuple(map(Path, LINUX_MACHINE_ID))

_PLATFORM_UUID: Final = re.compile(r'"IOPlatformUUID"\s*=\s*"([0-9A-Fa-f-]{36})"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine."""

    #: 32 hex characters; the same until the system is installed anew.
    id: str
    #: Its name, for people.
    name: str


@lru_cache(maxsize=1)
def this_machine() -> Machine:
    """This machine. Raises `StorageFailure` when it has no id of its own and none can be kept."""
    return machine()


def machine(
    *,
    system_id: Callable[[], str] | None = None,
    folder: Callable[[], Path] = data_folder,
    name: Callable[[], str] = platform.node,
) -> Machine:
    """The machine whose own id `system_id` gives ('' for none), with `folder` for the random one."""
    own = (system_id or _system_id)()
    if own:
        found = hashlib.blake2b(own.lower().encode(), digest_size=16, person=MACHINE_PERSON).hexdigest()
    else:
        found = _kept_id(folder() / "machine-id")
    return Machine(id=found, name=name() or "this machine")


def _system_id() -> str:
    return {"win32": windows_id, "darwin": macos_id}.get(sys.platform, linux_id)()


def linux_id(files: tuple[Path, ...] = _LINUX) -> str:
    """The id of the first file that holds one; '' in a container or image that has none."""
    for file in files:
        try:
            text = file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        if re.fullmatch(r"[0-9a-fA-F]{32}", text) and text.strip("0"):  # not `uninitialized`
            return text
    return ""


def macos_id(ioreg: Path = Path("/usr/sbin/ioreg")) -> str:
    """IOPlatformUUID; '' when ioreg does not say."""
    import subprocess  # needed there only, and hooks would pay for it

    try:
        said = subprocess.run(
            [ioreg, "-rd1", "-c", "IOPlatformExpertDevice"],
            capture_output=True,
            text=True,
            timeout=2,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    found = _PLATFORM_UUID.search(said)
    return found[1] if found else ""


def windows_id() -> str:
    """MachineGuid of the registry; '' when it may not be read."""
    try:
        winreg = importlib.import_module("winreg")  # is on Windows only
        view = winreg.KEY_READ | winreg.KEY_WOW64_64KEY  # a 32-bit Python would read another branch
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"SOFTWARE\Microsoft\Cryptography", 0, view) as key:
            return str(winreg.QueryValueEx(key, "MachineGuid")[0])
    except (ImportError, OSError):
        return ""


def _kept_id(file: Path) -> str:
    """The random id in `file`, made at the first call; of two processes that make it, both take the first one's."""
    found = _read_id(file)
    if found:
        return found
    make_folder(file.parent)
    new = os.urandom(16).hex()
    draft = file.with_name(f"machine-id.{new}")
    write_atomic(draft, new.encode() + b"\n")
    with storage_errors(f"make {file}"):
        try:
            os.link(draft, file)  # fails where one is, which a rename would replace
        except FileExistsError:
            if not _read_id(file):  # a damaged one
                os.replace(draft, file)
        except OSError:  # a file system without hard links
            os.replace(draft, file)
        draft.unlink(missing_ok=True)
    return _read_id(file) or new


def _read_id(file: Path) -> str:
    try:
        text = file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return text if re.fullmatch(r"[0-9a-f]{32}", text) else ""
