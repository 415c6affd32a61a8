"""The hosts' hook: `python -I -S …/hikidashi/serve/hook.py EVENT`, the event's JSON on standard input.

Standard library only. Whatever happens, the process ends within `DEADLINE` with exit code 0, with at most one JSON
object on standard output and one line on standard error (design section 9): another code would block the person's
turn, and other output would reach the model. `-I -S` keeps the project's modules and the environment out.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final, NoReturn

__all__ = ["DEADLINE", "main"]

#: Seconds after which a hook ends without an answer.
DEADLINE: Final = 0.85

#: A host that keeps our input open: an object that is whole and is followed by nothing for so long is all of it.
_QUIET: Final = 0.05
#: No event is longer; a prompt that is, is cut by no host.
_MAX_BYTES: Final = 64 * 1024 * 1024
_BLOCK: Final = 1 << 20

_MAX_LINE: Final = 500


#: Whether the answer is out: what follows then is only ours.
_sent = False

#: Held by the thread that says what is wrong.
_one_line: Final = allocate_lock()


def main(arguments: list[str]) -> NoReturn:
    """Answer one event and end the process."""
    problem = ""
    try:
        _open_streams()
        _end_in_time()
        problem = _answered(arguments[0] if arguments else "")
    finally:  # also of what nobody foresaw: the process ends here, in every case
        _end(problem, sys.exc_info()[1])


def _answered(named: str) -> str:
    """Answer the event on standard input; gives a line for the log."""
    import json

    data = _read_input()
    if isinstance(data, str):
        return data
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if root not in sys.path:
        sys.path.insert(0, root)
    from hikidashi.serve.answer import answer
    from hikidashi.serve.host_event import HostEvent, Reply

    def send(reply: Reply) -> None:
        global _sent
        form = reply.to_dict(event.name)
        if form and not _sent:
            # ASCII: half a surrogate in a fact or prompt must not keep the rest back
            _write(1, json.dumps(form).encode("ascii") + b"\n")
        _sent = True

    try:
        folder = os.getcwd()
    except OSError:  # it is gone
        folder = ""
    event = HostEvent(data, named=named, cwd=folder)
    return answer(event, send)


def _open_streams() -> None:
    """Streams that the host closed are opened on nothing: else a file of ours would get their number."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _end_in_time() -> None:
    """A thread ends the process at the deadline, whatever the first one waits for; `threading` would load too much."""

    def end() -> None:
        time.sleep(DEADLINE)
        if not _sent:
            _say("no answer in time; nothing was given")
        os._exit(0)

    start_new_thread(end, ())


def _read_input() -> object:
    """The event; a text says what is wrong with it."""
    import json

    data = bytearray()
    while len(data) < _MAX_BYTES:
        if _is_quiet(data):
            try:
                return _mapping(json.loads(data))
            except (ValueError, RecursionError):
                pass  # a brace within a text; more may come
        more = os.read(0, _BLOCK)
        if not more:
            break
        data += more
    if not data.strip():
        return "hikidashi: the host sent no event"
    try:
        return _mapping(json.loads(data))
    except (ValueError, RecursionError):
        return "hikidashi: the host's event is no JSON"


def _mapping(data: object) -> object:
    return data if isinstance(data, dict) else "hikidashi: the host's event is no JSON object"


def _is_quiet(data: bytearray) -> bool:
    """Whether `data` may be whole and nothing follows for a moment."""
    if not data[-64:].rstrip().endswith(b"}") or sys.platform == "win32":  # there only a socket can be waited for
        return False
    from select import select

    return not select([0], [], [], _QUIET)[0]


def _write(number: int, data: bytes) -> None:
    try:
        while data:
            data = data[os.write(number, data) :]
    except OSError:  # the host went away
        pass


def _end(problem: str, error: BaseException | None) -> NoReturn:
    if error is not None:
        # Ours say what is wrong in one line; of any other only its kind, since its text may quote a prompt.
        known = any(kind.__name__ == "HikidashiError" for kind in type(error).__mro__)
        problem = str(error) if known else f"internal error ({type(error).__name__}); nothing was given"
    line = " ".join(problem.split())[:_MAX_LINE].removeprefix("hikidashi: ")
    if line:
        _say(line)
    os._exit(0)


def _say(line: str) -> None:
    """The one line on standard error; of the two threads the first one has it."""
    if _one_line.acquire(False):
        _write(2, f"hikidashi: {line}\n".encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    main(sys.argv[1:])
