"""What a host is told to run: absolute paths of this very program, each only where the file is there."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

__all__ = ["EVENTS", "NAME", "Program", "is_our_hook", "is_our_statusline", "words_of"]

#: The server's, the plugin's and the marketplace's name.
NAME: Final = "hikidashi"

#: The events that our hook answers; a host that knows one of these names calls it. A test compares with `serve`.
EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop", "PreCompact", "SessionEnd", "SubagentStart")

_OUR_HOOK: Final = re.compile(r"hikidashi[/\\]+serve[/\\]+hook\.py")
_OUR_STATUSLINE: Final = re.compile(r"hikidashi[/\\]+serve[/\\]+statusline\.py|\bhikidashi\b.* statusline\b")

_PACKAGE: Final = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An installation of Hikidashi."""

    #: The interpreter, as it was started: a virtual environment's own link to one.
    python: str = field(default_factory=lambda: sys.executable)
    #: The folder `hikidashi/` of the package.
    package: Path = _PACKAGE

    def hook(self, event: str) -> list[str]:
        """Program and arguments of a hook: the bare interpreter, which starts ten times as fast."""
        return [self.python, "-I", "-S", str(self.package / "serve" / "hook.py"), event]

    def command(self, *words: str) -> list[str]:
        """A `hikidashi` command. `-E -P` keep the project's modules and `PYTHON…` variables out."""
        return [self.python, "-E", "-P", str(self.package / "__main__.py"), *words]

    @property
    def server(self) -> list[str]:
        """Program and arguments of the MCP server; [] in an installation that has none."""
        return self.command("mcp") if (self.package / "serve" / "mcp.py").is_file() else []

    @property
    def statusline(self) -> list[str]:
        """Program and arguments of the status line."""
        return [self.python, "-I", "-S", str(self.package / "serve" / "statusline.py")]


def words_of(handler: object) -> list[str]:
    """Program and arguments of a hook or server as hosts' files have them; [] for what is neither."""
    if not isinstance(handler, Mapping):
        return []
    values: Mapping[str, Any] = handler
    arguments = values.get("args")
    words = [values.get("command"), *(arguments if isinstance(arguments, Sequence) else [])]
    return [word for word in words if isinstance(word, str)]


def is_our_hook(handler: object) -> bool:
    """Whether a handler runs a hook of Hikidashi, of whatever installation."""
    return any(_OUR_HOOK.search(word) for word in words_of(handler))


def is_our_statusline(value: object) -> bool:
    """Whether a status line is ours."""
    return any(_OUR_STATUSLINE.search(word) for word in words_of(value))
