"""PreCompact and SessionEnd: reading the session is started in the background (design section 5.8).

Standard library only. A host gives a second and a half at a session's end, so nothing is read here. A session whose
end no hook saw (a crash, a killed terminal) is noticed at the next start, by the transcripts that earlier hooks noted.
"""

from __future__ import annotations

import os
import time

from hikidashi.serve.given import other_sessions, write

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from hikidashi.serve.place import Here

__all__ = ["read_later", "read_what_nobody_reported"]


def read_later(here: Here) -> bool:
    """Start the extraction, detached; False where capture is off, paused, or not wanted for this session.

    Raises `OSError` when no process can be started: the next session's start tries again.
    """
    if here.session.paused or not here.settings.flag("capture.automatic") or here.rows("paused", "workspace"):
        return False
    from hikidashi.worker.detached import command_line, start_detached, worker_environment

    start_detached(
        command_line("extract", "--json"),
        folder=here.place.root,
        log=os.path.join(here.place.home, "worker.log"),
        environ=worker_environment(os.environ, key_variable=here.settings.text("memory.api_key_variable")),
    )
    return True


def read_what_nobody_reported(here: Here) -> bool:
    """Start the extraction if another session of this workspace rests and was not read to its end."""
    rests_since = time.time() - 60 * here.settings.number("capture.settle_minutes")
    waiting = [found for found in other_sessions(here.place.home, here.session.id) if _waits(here, *found, rests_since)]
    if not waiting or not read_later(here):
        return False
    for path, data in waiting:  # one that cannot be read starts no process at every session
        write(path, {**data, "tried": _size(str(data.get("transcript")))[0]})
    return True


def _waits(here: Here, path: str, data: dict[str, object], rests_since: float) -> bool:
    transcript = data.get("transcript")
    if not isinstance(transcript, str) or os.path.exists(path.removesuffix(".json") + ".paused"):
        return False
    size, changed = _size(transcript)
    if size < 0 or changed > rests_since or data.get("tried") == size:
        return False
    name = os.fsencode(transcript).decode("utf-8", "backslashreplace")  # as `capture.follow.path_text` has it
    rows = here.rows("read_so_far", "workspace", path=name)
    return not rows or rows[0]["size"] != size or not rows[0]["settled"]


def _size(path: str) -> tuple[int, float]:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return -1, 0.0
    return status.st_size, status.st_mtime
