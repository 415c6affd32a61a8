"""Every kind of claim that may lie there when a run starts: respected or recovered, and said so."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hikidashi.config.workspace import Workspace
from hikidashi.errors import Busy, CorruptData
from hikidashi.processes import OwnIdentity, Sighting
from hikidashi.staging.claim import WATCH_SECONDS, HeldClaim, read_claim, take_claim
from hikidashi.staging.owner import Claim
from hikidashi.times import format_time

NOON = datetime(2026, 5, 3, 12, 0, tzinfo=UTC)
OURS = OwnIdentity(pid=500, start_id="9000", boot_id="boot-1", pid_ns="pid:[1]", host="desk")
MAX_SECONDS = 900.0


@dataclass
class FakeProcesses:
    """A machine whose processes a test decides."""

    identity: OwnIdentity = OURS
    running: dict[int, Sighting] = field(default_factory=dict)

    def own(self) -> OwnIdentity:
        return self.identity

    def look(self, pid: int) -> Sighting:
        return self.running.get(pid, Sighting(state="gone"))


def left(*, minutes_ago: float = 1, beat_ago: float = 10, **changes: Any) -> Claim:
    """The claim of pid 77, taken `minutes_ago` and beaten `beat_ago` seconds ago."""
    claim = Claim(
        run_id="RUN-OLD",
        pid=77,
        start_id="4000",
        boot_id="boot-1",
        pid_ns="pid:[1]",
        host="desk",
        started_at=format_time(NOON - timedelta(minutes=minutes_ago)),
        heartbeat_at=format_time(NOON - timedelta(seconds=beat_ago)),
        consumed_ids=("A", "B"),
    )
    return dataclasses.replace(claim, **changes)


class Place:
    """A workspace in which something lies where the claim belongs."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace(root, "0" * 32)
        self.workspace.staging.mkdir(parents=True)
        self.path = self.workspace.claim_path
        self.slept = 0.0
        #: Called with the seconds slept so far: what others do while we watch.
        self.meanwhile: Callable[[float], object] = lambda seconds: None

    def put(self, claim: Claim, mtime: datetime | None = None) -> None:
        self.path.write_text(claim.to_json(), encoding="utf-8")
        at = (mtime or datetime.fromisoformat(claim.heartbeat_at)).timestamp()
        os.utime(self.path, (at, at))

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.meanwhile(self.slept)

    def take(self, processes: FakeProcesses) -> HeldClaim:
        return take_claim(
            self.workspace, "RUN-NEW", max_seconds=MAX_SECONDS, clock=lambda: NOON, processes=processes,
            sleep=self.sleep,
        )  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "project")


def seen(**sighting: Any) -> FakeProcesses:
    return FakeProcesses(running={77: Sighting(**sighting)})


ALIVE = seen(state="running", start_id="4000")
GONE = FakeProcesses()
MAC = dataclasses.replace(OURS, boot_id="", pid_ns="", start_id="1770000000.000000")


def mac(start_id: str | None) -> FakeProcesses:
    running = {} if start_id is None else {77: Sighting(state="running", start_id=start_id)}
    return FakeProcesses(identity=MAC, running=running)


ON_MAC: dict[str, Any] = {"boot_id": "", "pid_ns": "", "start_id": "1769990000.500000"}
AFAR: dict[str, Any] = {"host": "laptop", "boot_id": "boot-9"}
IN_BOX: dict[str, Any] = {"pid_ns": "pid:[2]"}

#: name -> (claim, file's time or None for the heartbeat's, processes, what is said)
DEAD: dict[str, tuple[Claim, datetime | None, FakeProcesses, str]] = {
    "dead process": (left(), None, GONE, "was left by a process that is gone"),
    "dead, though its beat is fresh": (left(beat_ago=0), None, GONE, "a process that is gone"),
    "reused pid": (left(), None, seen(state="running", start_id="8888"), "its pid belongs to another one now"),
    "zombie": (left(), None, seen(state="zombie", start_id="4000"), "has ended (a zombie)"),
    "another boot": (left(boot_id="boot-0"), None, ALIVE, "when the machine was restarted"),
    "another boot, beat fresh": (left(boot_id="boot-0", beat_ago=0), None, ALIVE, "when the machine was restarted"),
    "another machine, old beat": (left(**AFAR, beat_ago=121), None, ALIVE, "on another machine; its last heartbeat"),
    "another pid namespace, old beat": (left(**IN_BOX, beat_ago=121), None, ALIVE, "in another pid namespace"),
    "a process of another user, old beat": (left(beat_ago=121), None, seen(state="hidden"), "of another user"),
    "40 days old": (left(minutes_ago=57_600, beat_ago=3_456_000), None, GONE, "a process that is gone"),
    "40 days old, on another machine": (
        left(**AFAR, minutes_ago=57_600, beat_ago=3_456_000), None, GONE, "on another machine",
    ),
    "dead, clock set back by a day since": (left(minutes_ago=-1440, beat_ago=-86_400), None, GONE, "that is gone"),
    "dead, clock set forward by a year since": (left(minutes_ago=525_600), None, GONE, "that is gone"),
    "its file's time is absurd": (left(), datetime(2400, 1, 1, tzinfo=UTC), GONE, "that is gone"),
    "without /proc: dead": (left(**ON_MAC), None, mac(None), "that is gone"),
    "without /proc: reused pid": (left(**ON_MAC), None, mac("1769990009.0"), "its pid belongs to another one now"),
    "without /proc: another machine's old claim": (
        left(**ON_MAC, host="laptop", beat_ago=121), None, mac("1769990000.5"), "on another machine",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DEAD)
def test_the_claim_of_a_dead_owner_is_taken_over_at_once_and_said_so(place: Place, name: str) -> None:
    claim, mtime, processes, said = DEAD[name]
    place.put(claim, mtime)
    status = read_claim(place.workspace, clock=lambda: NOON, processes=processes)
    assert status is not None and not status.alive and said in status.reason
    held = place.take(processes)
    assert place.slept == 0
    (line,) = held.found
    assert line.startswith("the claim of run RUN-OLD (pid 77 on ") and said in line
    assert held.previous == claim, "recovery needs to know what the dead run had taken"
    assert json.loads(place.path.read_text())["run_id"] == "RUN-NEW"


#: Owners that are at work: busy, at once.
LIVE: dict[str, tuple[Claim, datetime | None, FakeProcesses]] = {
    "at work": (left(), None, ALIVE),
    "at work, beat an hour old (suspended)": (left(beat_ago=3600), None, ALIVE),
    "at work, nearly out of time": (left(minutes_ago=19), None, ALIVE),
    "renamed machine": (left(host="old-name"), None, ALIVE),
    "another machine, fresh beat": (left(**AFAR, beat_ago=119), None, GONE),
    "another machine, its clock 10 minutes behind": (left(**AFAR, beat_ago=610), NOON - timedelta(seconds=9), GONE),
    "another machine, its clock 10 minutes ahead": (left(**AFAR, beat_ago=-600), NOON - timedelta(seconds=9), GONE),
    "another pid namespace, fresh beat": (left(**IN_BOX), None, GONE),
    "a process of another user, fresh beat": (left(), None, seen(state="hidden")),
    "clock set back a little": (left(minutes_ago=-2, beat_ago=-120), None, ALIVE),
    "without /proc: at work": (left(**ON_MAC), None, mac("1769990004.5")),
}


@pytest.mark.parametrize("name", LIVE)
def test_an_owner_at_work_is_respected_at_once(place: Place, name: str) -> None:
    claim, mtime, processes = LIVE[name]
    place.put(claim, mtime)
    status = read_claim(place.workspace, clock=lambda: NOON, processes=processes)
    assert status is not None and status.alive and status.claim == claim
    with pytest.raises(Busy) as caught:
        place.take(processes)
    assert place.slept == 0, "a normal busy answer does not wait"
    line = str(caught.value)
    assert "\n" not in line and f"pid 77 on {claim.host}" in line and claim.started_at in line and "RUN-OLD" in line
    assert place.path.read_text() == claim.to_json(), "the owner's claim is not touched"


#: Owners that one look cannot judge.
DOUBTFUL: dict[str, tuple[Claim, datetime | None, FakeProcesses]] = {
    "hung": (left(minutes_ago=21, beat_ago=600), None, ALIVE),
    "past its time, clock set forward by a year": (left(minutes_ago=525_600, beat_ago=31_536_000), None, ALIVE),
    "began tomorrow: clock set back": (left(minutes_ago=-1440, beat_ago=-86_400), None, ALIVE),
    "another machine, past its time": (left(**AFAR, minutes_ago=21), None, GONE),
    "another machine, all in the future": (left(**AFAR, minutes_ago=1, beat_ago=-3600), None, GONE),
}


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_doubtful_owner_whose_beat_stands_still_while_watched_is_taken_over(place: Place, name: str) -> None:
    claim, mtime, processes = DOUBTFUL[name]
    place.put(claim, mtime)
    held = place.take(processes)
    assert place.slept == WATCH_SECONDS
    assert "stands still; this run took it over" in held.found[0]
    assert held.previous == claim


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_doubtful_owner_whose_beat_moves_while_watched_is_respected(place: Place, name: str) -> None:
    claim, mtime, processes = DOUBTFUL[name]
    place.put(claim, mtime)
    moved = dataclasses.replace(claim, heartbeat_at=format_time(NOON + timedelta(days=400)))
    place.meanwhile = lambda seconds: place.put(moved) if seconds == 19 else None
    with pytest.raises(Busy, match="RUN-OLD"):
        place.take(processes)
    assert place.slept == 19, "nothing is left to see after the first sign of life"


def test_a_doubtful_owner_that_ends_while_watched_makes_place(place: Place) -> None:
    place.put(*DOUBTFUL["hung"][:2])
    place.meanwhile = lambda seconds: place.path.unlink() if seconds == 3 else None
    held = place.take(ALIVE)
    assert (place.slept, held.found, held.previous) == (3, [], None)


def test_another_starter_that_took_over_while_we_watched_is_respected(place: Place) -> None:
    place.put(*DOUBTFUL["hung"][:2])
    winner = left(run_id="RUN-WINNER", pid=88, start_id="8800")
    processes = FakeProcesses(running={77: ALIVE.running[77], 88: Sighting(state="running", start_id="8800")})
    place.meanwhile = lambda seconds: place.put(winner) if seconds == 25 else None
    with pytest.raises(Busy, match=r"RUN-WINNER \(pid 88"):
        place.take(processes)


def _write(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)


def _json(**changes: object) -> Callable[[Path], object]:
    return _write(json.dumps({**json.loads(left().to_json()), **changes}).encode())


#: What is no claim, and a word of what is said.
RUBBISH: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (_write(b""), "it is empty"),
    "garbage": (_write(b"\x00\xff\xfe" * 50), "it is no claim"),
    "text": (_write(b"locked by bob"), "it is no claim"),
    "half a claim": (_write(left().to_json().encode()[:60]), "it is no claim"),
    "a list": (_write(b"[1]"), "not a JSON object"),
    "an empty object": (_write(b"{}"), "run_id is not one line of text"),
    "nested too deeply": (_write(b"[" * 100_000), "it is no claim"),
    "huge": (_write(b" " * (1024 * 1024 + 1)), "larger than"),
    "pid 0": (_json(pid=0), "pid is not"),
    "negative pid": (_json(pid=-1), "pid is not"),
    "huge pid": (_json(pid=2**63), "pid is not"),
    "pid as text": (_json(pid="77"), "pid is not"),
    "pid is true": (_json(pid=True), "pid is not"),
    "no start": (_json(start_id=None), "start_id is missing"),
    "run ID of two lines": (_json(run_id="a\nb"), "run_id is not one line"),
    "no time": (_json(started_at="yesterday"), "it is no claim"),
    "a time out of range": (_json(heartbeat_at="0001-01-01T00:00:00+23:59"), "out of range"),
    "IDs are no list": (_json(consumed_ids="A"), "consumed_ids is not"),
    "a folder": (lambda path: (path / "deep").mkdir(parents=True), "not a regular file"),
    "a named pipe": (lambda path: os.mkfifo(path), "not a regular file"),
}


@pytest.mark.parametrize("name", RUBBISH)
def test_what_is_no_claim_goes_to_quarantine_and_the_run_starts(place: Place, name: str) -> None:
    make, said = RUBBISH[name]
    make(place.path)
    status = read_claim(place.workspace, clock=lambda: NOON, processes=ALIVE)
    assert status is not None and status.claim is None and not status.alive and said in status.reason
    held = place.take(ALIVE)
    (line,) = held.found
    assert said in line and "it is in quarantine/consolidation.lock" in line and "\n" not in line
    kept = sorted(path.name for path in place.workspace.quarantine.iterdir())
    assert kept == ["consolidation.lock", "consolidation.lock.reason"]
    held.release()


def test_claims_that_go_to_quarantine_one_after_the_other_are_all_kept(place: Place) -> None:
    for number in range(3):
        place.path.write_text(f"rubbish {number}")
        place.take(ALIVE).release()
    kept = {p.read_text() for p in place.workspace.quarantine.iterdir() if p.suffix != ".reason"}
    assert kept == {"rubbish 0", "rubbish 1", "rubbish 2"}


@pytest.mark.parametrize("which", ["claim_path", "guard_path"])
@pytest.mark.parametrize("dangling", [True, False])
def test_a_link_in_the_claims_or_the_guards_place_is_refused(
    place: Place, tmp_path: Path, which: str, dangling: bool
) -> None:
    outside = tmp_path / "outside"
    if not dangling:
        outside.write_text("precious")
    getattr(place.workspace, which).symlink_to(outside)
    with pytest.raises(CorruptData, match="is a symbolic link; remove it"):
        place.take(ALIVE)
    assert outside.exists() != dangling
    assert dangling or outside.read_text() == "precious"
    status = read_claim(place.workspace, clock=lambda: NOON, processes=ALIVE)
    assert status is None or (not status.alive and "symbolic link" in status.reason)


def test_a_folder_in_the_guards_place_is_refused_in_one_line(place: Place) -> None:
    place.workspace.guard_path.mkdir()
    with pytest.raises(CorruptData, match="is a folder; remove it"):
        place.take(ALIVE)


def test_no_claim_is_no_status(place: Place) -> None:
    assert read_claim(place.workspace) is None
