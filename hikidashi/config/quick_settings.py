"""The few settings that hooks need, read without pydantic. Standard library only.

The layers, types and bounds are those of `settings.py`, from the same table; a test compares the two. A command stops
at a wrong setting. A hook goes on with the default and says so, since a turn must not wait for a typing error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from hikidashi.config.defaults import SETTINGS, Setting
from hikidashi.config.user_paths import user_path

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Any, Final

__all__ = ["NEEDED", "QuickSettings", "quick_settings"]

#: What hooks look at.
NEEDED: Final = (
    "capture.automatic",
    "capture.settle_minutes",
    "memory.api_key_variable",
    "recall.at_start",
    "recall.each_turn",
    "recall.guard",
    "recall.max_tokens",
    "recall.top_k",
)

_BY_NAME: Final = {setting.name: setting for setting in SETTINGS if setting.name in NEEDED}
_MAX_BYTES: Final = 1 << 20
_TRUE: Final = frozenset({"1", "true", "yes", "on", "t", "y"})
_FALSE: Final = frozenset({"0", "false", "no", "off", "f", "n"})


class QuickSettings:
    """The values that hold, by their full names."""

    def __init__(self, values: dict[str, Any], kept: dict[str, Any]) -> None:
        self._values = values
        #: What the two files say, so that the next hook of the session need not read them again.
        self.kept: Final = kept

    @property
    def wrong(self) -> str:
        """What is wrong in the files, in one line; '' for nothing."""
        return str(self.kept["wrong"])

    def flag(self, name: str) -> bool:
        """Whether a switch is on."""
        return bool(self._values[name])

    def number(self, name: str) -> int:
        """A whole number."""
        return int(self._values[name])

    def text(self, name: str) -> str:
        """A text."""
        return str(self._values[name])


def quick_settings(home: str, kept: object = None, *, environ: Mapping[str, str] = os.environ) -> QuickSettings:
    """The settings of the workspace whose `.hikidashi/` is `home`. `kept`: that of an earlier hook."""
    files = (os.path.join(user_path("config"), "config.toml"), os.path.join(home, "config.toml"))
    stamp = [_stamp(file) for file in files]
    held: dict[str, Any] = kept if isinstance(kept, dict) else {}
    if held.get("stamp") != stamp or not isinstance(held.get("values"), dict):
        said: dict[str, Any] = {}
        wrong = [line for number in (0, 1) if stamp[number] for line in _read(files[number], said, number == 1)]
        held = {"stamp": stamp, "values": said, "wrong": wrong[0] if wrong else ""}
    held.setdefault("wrong", "")
    values: dict[str, Any] = {}
    for name, setting in _BY_NAME.items():
        value = held["values"].get(name, setting.default)
        values[name] = value if _fits(setting, value) else setting.default
        text = None if setting.file_only else environ.get(setting.variable)
        if text is not None:
            values[name] = _of_text(setting, text, values[name])
    return QuickSettings(values, held)


def _stamp(file: str) -> list[int]:
    try:
        status = os.stat(file)
    except (OSError, ValueError):
        return []
    return [status.st_mtime_ns, status.st_size]


def _read(file: str, values: dict[str, Any], workspace: bool) -> list[str]:
    """Take the good values of a file; gives what is wrong with it."""
    import tomllib

    try:
        with open(file, "rb") as stream:
            data = tomllib.loads(stream.read(_MAX_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return [f"{file} cannot be read; `hikidashi status` says why"]
    wrong = []
    for name, setting in _BY_NAME.items():
        group = data.get(setting.group)
        if not isinstance(group, dict) or setting.key not in group:
            continue
        if (workspace and not setting.workspace_may_set) or not _fits(setting, group[setting.key]):
            wrong.append(f"{name} in {file} does not hold; `hikidashi status` says why")
        else:
            values[name] = group[setting.key]
    return wrong


def _fits(setting: Setting, value: object) -> bool:
    if isinstance(setting.default, bool) or isinstance(value, bool):
        return isinstance(setting.default, bool) and isinstance(value, bool)
    if isinstance(setting.default, str):
        return isinstance(value, str) and _looks_right(setting, value)
    if not isinstance(value, int if isinstance(setting.default, int) else (int, float)):
        return False
    low, high = setting.minimum, setting.maximum
    return (low is None or value >= low) and (high is None or value <= high)


def _looks_right(setting: Setting, value: str) -> bool:
    if setting.choices:
        return value in setting.choices
    if setting.pattern and value:
        import re

        return re.fullmatch(setting.pattern, value) is not None
    return True


def _of_text(setting: Setting, text: str, standing: Any) -> Any:
    """The value of an environment's variable; `standing` where it is none."""
    if isinstance(setting.default, bool):
        word = text.strip().lower()
        return True if word in _TRUE else False if word in _FALSE else standing
    if isinstance(setting.default, str):
        return text if _looks_right(setting, text) else standing
    try:
        value = int(text)
    except ValueError:
        return standing
    return value if _fits(setting, value) else standing
