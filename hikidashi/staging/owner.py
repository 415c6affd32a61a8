"""A claim's text, and whether the process that wrote it is still at work (design section 6, step 1).

Pure: files, clocks and processes come in as values.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from hikidashi.processes import OwnIdentity, Processes, same_start
from hikidashi.times import format_time, parse_time

__all__ = ["BEAT_SECONDS", "FRESH_SECONDS", "GRACE_SECONDS", "Beat", "Claim", "Judgement", "judge", "parse_claim"]

#: How often a holder says that it is alive.
BEAT_SECONDS: Final = 20.0

#: A process that we cannot see (other machine, other pid namespace) is alive if it said so this recently.
FRESH_SECONDS: Final = 120.0

#: An owner is looked at closely once it is this far past its wall-clock budget.
GRACE_SECONDS: Final = 300.0

#: Clocks of two machines, or of a machine and its file server, differ by this much without anything being wrong.
_SKEW_SECONDS: Final = 10.0

_MAX_PID: Final = 2**31 - 1

#: In the year 9999; a file's time may be set to anything.
_LAST_SECOND: Final = 253_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Which process consolidates, and which entries it has taken."""

    run_id: str
    pid: int
    #: See `OwnIdentity` for these four.
    start_id: str
    boot_id: str
    pid_ns: str
    host: str
    #: ISO 8601 by the holder's clock.
    started_at: str
    heartbeat_at: str
    consumed_ids: tuple[str, ...] = ()

    def to_json(self) -> str:
        """The text of the claim file."""
        data = {
            "run_id": self.run_id,
            "pid": self.pid,
            "start_id": self.start_id,
            "boot_id": self.boot_id,
            "pid_ns": self.pid_ns,
            "host": self.host,
            "started_at": self.started_at,
            "heartbeat_at": self.heartbeat_at,
            "consumed_ids": list(self.consumed_ids),
        }
        return json.dumps(data, indent=1) + "\n"

    def who(self) -> str:
        """`run R (pid 12 on desk, since 2026-05-03T09:30:00.000Z)`."""
        return f"run {self.run_id} (pid {self.pid} on {self.host or 'this machine'}, since {self.started_at})"


@dataclass(frozen=True, slots=True)
class Beat:
    """What changes in a claim file each time its holder says that it is alive."""

    heartbeat_at: str
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a claim's owner is at work.

    `doubtful`: it seems to be, but something is odd enough to watch whether its beat moves; an owner whose
    beat stands still while watched is no owner.
    """

    owner: Literal["alive", "dead", "doubtful"]
    #: Ends the sentence "the claim of run R …".
    reason: str


def parse_claim(data: bytes) -> Claim:
    """Read a claim file. Raises `ValueError` that says what is wrong."""
    try:
        found = json.loads(data.decode("utf-8"))
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    if not isinstance(found, dict):
        raise ValueError("not a JSON object")
    texts = {}
    for key in ("run_id", "boot_id", "pid_ns", "host", "started_at", "heartbeat_at"):
        value = found.get(key)
        if not (isinstance(value, str) and len(value) <= 300 and (value.isprintable() or not value)):
            raise ValueError(f"{key} is not one line of text")
        texts[key] = value
    start_id, pid, consumed = found.get("start_id"), found.get("pid"), found.get("consumed_ids", [])
    if type(start_id) not in (int, str):
        raise ValueError("start_id is missing")
    if type(pid) is not int or not 0 < pid <= _MAX_PID:
        raise ValueError("pid is not a process number")
    if not (isinstance(consumed, list) and all(isinstance(item, str) for item in consumed)):
        raise ValueError("consumed_ids is not a list of IDs")
    if not texts["run_id"]:
        raise ValueError("run_id is empty")
    parse_time(texts["started_at"])
    parse_time(texts["heartbeat_at"])
    return Claim(pid=pid, start_id=str(start_id), consumed_ids=tuple(consumed), **texts)


def judge(
    claim: Claim, beat: Beat, *, own: OwnIdentity, processes: Processes, now: datetime, max_seconds: float
) -> Judgement:
    """Whether the owner of `claim` is at work, as far as one look can tell. `max_seconds`: a run's wall budget."""
    same_machine = claim.boot_id == own.boot_id if own.boot_id else claim.host == own.host
    if same_machine and claim.pid_ns == own.pid_ns:
        found = _by_process(claim, beat, processes=processes, now=now)
    elif claim.host == own.host and claim.boot_id != own.boot_id:
        found = Judgement("dead", "was left when the machine was restarted")
    else:
        place = "in another pid namespace" if same_machine else "on another machine"
        found = _by_beat(claim, beat, place=place, now=now)
    if found.owner != "alive":
        return found
    age = (now - parse_time(claim.started_at)).total_seconds()
    if age > max_seconds + GRACE_SECONDS:
        return Judgement("doubtful", "is past its time and its heartbeat stands still")
    if age < -GRACE_SECONDS:  # the clock was set back: how long it has been at work cannot be told
        return Judgement("doubtful", "began in the future and its heartbeat stands still")
    return found


def _by_process(claim: Claim, beat: Beat, *, processes: Processes, now: datetime) -> Judgement:
    sighting = processes.look(claim.pid)
    if sighting.state == "gone":
        return Judgement("dead", "was left by a process that is gone")
    if sighting.state == "zombie":
        return Judgement("dead", "was left by a process that has ended (a zombie)")
    if sighting.state == "hidden" or not claim.start_id:
        return _by_beat(claim, beat, place="of another user", now=now)
    if not same_start(sighting.start_id, claim.start_id):
        return Judgement("dead", "was left by a process that is gone; its pid belongs to another one now")
    return Judgement("alive", "is held by a process that is at work")


def _by_beat(claim: Claim, beat: Beat, *, place: str, now: datetime) -> Judgement:
    """Judge a process that cannot be seen by when it last said that it is alive.

    The time inside is by its clock, the file's time by the file system's: with skewed clocks either may be
    off, so the fresher one counts. Both in the future: a clock was set back and neither tells anything.
    """
    seconds = min(max(beat.mtime_ns / 1e9, 0), _LAST_SECOND)
    written = datetime.fromtimestamp(seconds, tz=UTC)
    ages = [(now - at).total_seconds() for at in (parse_time(claim.heartbeat_at), written)]
    if any(-_SKEW_SECONDS <= age < FRESH_SECONDS for age in ages):
        return Judgement("alive", f"is held by a process {place}")
    if all(age < 0 for age in ages):
        return Judgement("doubtful", f"is held by a process {place} whose heartbeat is in the future and stands still")
    return Judgement("dead", f"was left by a process {place}; its last heartbeat was at {format_time(written)}")
