"""What a session was given already: one small file a session in `.hikidashi/sessions/`. Standard library only.

A fact is given once until the host compacts the session, and the guard raises a fact once. The file holds marks of
facts (scope, key, version) and digests, no text of the session: a prompt may hold a secret. It is a memory of what
was said, not of the project: a file that is damaged or gone costs a repetition.
"""

from __future__ import annotations

import contextlib
import json
import os
import time

from hikidashi.config.glance import digest

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Final

__all__ = ["FOLDER", "Session", "other_sessions", "read", "session_file", "write"]

#: Below `.hikidashi/`.
FOLDER: Final = "sessions"

_MAX_BYTES: Final = 1 << 20
#: Marks that are kept, the newest.
_MAX_MARKS: Final = 2_000
#: A file that no hook touched for so long goes.
_KEPT_SECONDS: Final = 30 * 86_400
#: Sessions that are looked at for what nobody reported.
_LOOKED_AT: Final = 20


def session_file(home: str, session_id: str) -> str:
    """The file of a session in the workspace whose `.hikidashi/` is `home`."""
    return os.path.join(home, FOLDER, digest(session_id.encode("utf-8", "replace"))[:32] + ".json")


class Session:
    """A session's memory; `save` writes it."""

    def __init__(self, home: str, session_id: str) -> None:
        self.id: Final = session_id
        self._path: Final = session_file(home, session_id)
        data = read(self._path)
        #: Whether an earlier hook of the session left it.
        self.is_known: Final = data is not None
        self.data: Final[dict[str, Any]] = data or {}
        self.given: Final = _texts(self.data.get("given"))
        #: Facts that the guard raised, by their marks.
        self.raised: Final = _texts(self.data.get("raised"))
        self._forgot = False

    @property
    def paused(self) -> bool:
        """Whether a person asked that this session is not remembered (`staging.pause`)."""
        return os.path.exists(self._path.removesuffix(".json") + ".paused")

    @property
    def can_be_kept(self) -> bool:
        """Whether `save` is likely to reach the disk."""
        folder = os.path.dirname(self._path)
        place = folder if os.path.lexists(folder) else os.path.dirname(folder)
        return bool(self.id) and os.path.isdir(place) and os.access(place, os.W_OK)

    def forget(self) -> None:
        """The host dropped what the session was given."""
        self.given.clear()
        self._forgot = True

    def save(self, **values: Any) -> None:
        """Write it, with `values` beside; a disk that refuses costs a repetition, so nothing is raised."""
        if not self.id:
            return
        self.data.update(values)
        if not self._forgot:  # a hook that ran at the same time may have added some
            now_there = read(self._path) or {}
            for mark in _texts(now_there.get("given")):
                self.given.setdefault(mark)
        self.data.update({"session_id": self.id, "given": list(self.given)[-_MAX_MARKS:], "raised": list(self.raised)})
        write(self._path, self.data)


def _texts(value: object) -> dict[str, None]:
    """A set that keeps its order."""
    return {item: None for item in value if isinstance(item, str)} if isinstance(value, list) else {}


def read(path: str) -> dict[str, Any] | None:
    """The mapping in a small file; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as file:
            data = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def write(path: str, data: dict[str, Any]) -> bool:
    """Write a small file whole: another reader sees the old text or the new one. False when the disk refuses."""
    folder = os.path.dirname(path)
    draft = f"{path}.{os.getpid()}"
    try:
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
        if os.path.islink(folder):
            return False
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with open(descriptor, "wb") as file:
            file.write(json.dumps(data, ensure_ascii=True).encode("ascii"))
        os.replace(draft, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(draft)
        return False
    return True


def other_sessions(home: str, session_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The newest other sessions' files with what they hold; files that nobody touched for 30 days go."""
    own = os.path.basename(session_file(home, session_id))
    oldest = time.time() - _KEPT_SECONDS
    found: list[tuple[float, str]] = []
    try:
        with os.scandir(os.path.join(home, FOLDER)) as entries:
            for entry in entries:
                touched = entry.stat(follow_symlinks=False).st_mtime
                is_session = entry.name.endswith(".json") and len(entry.name) == 37
                if touched < oldest and (is_session or ".json." in entry.name):
                    os.unlink(entry.path)
                elif is_session and entry.name != own:
                    found.append((touched, entry.path))
    except OSError:  # no folder yet, or another hook swept it
        return
    for _, path in sorted(found, reverse=True)[:_LOOKED_AT]:
        data = read(path)
        if data is not None:
            yield path, data
