"""The claim: which process consolidates this workspace (design section 6, step 1).

`staging/consolidation.lock` is written, renewed and removed under a file lock on `staging/.guard`, which is
held for moments only (and for the whole of a publication). The file lock dies with its process, but tells
nobody who holds it and does not reach across machines; the claim says who, since when, and survives.

Lock rules: a known death beats an old heartbeat; what one look cannot tell is watched; our own claim is
checked again before the point of no return (`guard`), because a stopped process may wake up as the loser.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from hikidashi.atomic import FILE_MODE, remove_file, storage_errors, write_atomic
from hikidashi.config.workspace import Workspace, is_link
from hikidashi.errors import Busy, CorruptData, LostClaim, StorageFailure
from hikidashi.processes import SYSTEM_PROCESSES, OwnIdentity, Processes
from hikidashi.staging.folder import EntryFolder, NotAnEntry, read_bounded, require_home
from hikidashi.staging.owner import BEAT_SECONDS, GRACE_SECONDS, Beat, Claim, Judgement, judge, parse_claim
from hikidashi.times import Clock, format_time, now

__all__ = ["Claim", "ClaimStatus", "HeldClaim", "read_claim", "take_claim"]

#: How long a starter waits for `.guard` before it says busy.
_GUARD_SECONDS: Final = 5.0

#: How long the holder waits for it, to publish and to release: a starter holds it for moments.
_HOLDER_SECONDS: Final = 30.0

#: How long a doubtful owner is watched: longer than one beat.
WATCH_SECONDS: Final = 25

#: A claim of 1,000 entries has about 35 KB.
_MAX_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimStatus:
    """A claim as `status` shows it."""

    #: None when something lies there that is no claim.
    claim: Claim | None
    alive: bool
    #: One line.
    reason: str


@dataclass(frozen=True, slots=True)
class _Seen:
    """What lies in the claim's place: nothing, a claim, or something else (then `problem` says what)."""

    claim: Claim | None = None
    beat: Beat | None = None
    problem: str = ""


def _look(path: Path) -> _Seen:
    """Read what lies at `path` without a lock. Raises `CorruptData` for a link, which could lead anywhere."""
    try:
        found = os.lstat(path)
        data = read_bounded(path, _MAX_BYTES)
    except FileNotFoundError:
        return _Seen()
    except NotAnEntry as exc:
        _refuse_link(path)
        return _Seen(problem=str(exc))
    try:
        claim = parse_claim(data)
    except ValueError as exc:
        return _Seen(problem=f"it is no claim ({exc})" if data else "it is empty")
    return _Seen(claim=claim, beat=Beat(claim.heartbeat_at, found.st_mtime_ns, found.st_ino))


def _refuse_link(path: Path) -> None:
    if is_link(path):
        raise CorruptData(f"{path} is a symbolic link; remove it and run the same command again")


@contextlib.contextmanager
def _locked(lock: FileLock, seconds: float) -> Iterator[None]:
    """Hold `.guard`. Raises `Busy` after `seconds`, `CorruptData` if it is no plain file, as `require_home` does."""
    path = Path(lock.lock_file)
    require_home(path.parent.parent)  # the lock would make the folders that it needs
    _refuse_link(path)
    if path.is_dir():
        raise CorruptData(f"{path} is a folder; remove it and run the same command again")
    with storage_errors(f"lock {path}"):
        try:
            lock.acquire(timeout=seconds)
        except Timeout as exc:
            raise Busy(f"another process holds {path} (it starts or publishes a run); try again in a moment") from exc
    try:
        yield
    finally:
        lock.release()


class HeldClaim:
    """A claim that this process holds. Thread-safe: a daemon thread beats while the run works."""

    def __init__(self, path: Path, lock: FileLock, claim: Claim, *, clock: Clock, lifetime: float) -> None:
        self._path = path
        self._lock = lock
        self._clock = clock
        self._lifetime = lifetime
        self._failure: StorageFailure | LostClaim | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        #: What is in the file.
        self.claim = claim
        #: What was found in the claim's place and how that was ended, one line each, for the run's report.
        self.found: list[str] = []
        #: The claim of the dead owner that this one replaced, for recovery.
        self.previous: Claim | None = None

    def set_consumed(self, entry_ids: Iterable[str]) -> None:
        """Write the IDs that this run takes. Raises `LostClaim`, `StorageFailure` or `Busy`."""
        with _locked(self._lock, _HOLDER_SECONDS):
            self._require_ours()
            self._write(dataclasses.replace(self.claim, consumed_ids=tuple(entry_ids)))

    def beat(self) -> None:
        """Say that we are alive. Raises `LostClaim`, or `StorageFailure`: then the old claim stands as it was."""
        self._beat(_HOLDER_SECONDS)

    def verify(self) -> None:
        """Raises `LostClaim` unless the file still says that this run holds it.

        A beat that failed in the background is done again here; if it fails again, its error is raised.
        """
        self._require_ours()
        if self._failure is not None:
            self.beat()

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Hold `.guard` with the claim verified inside: nobody can take over before the block ends."""
        with _locked(self._lock, _HOLDER_SECONDS):
            self.verify()
            yield

    def release(self) -> None:
        """Give the claim back; one that another run took over stays. Raises `StorageFailure` or `Busy`."""
        self.stop_heartbeat()
        with _locked(self._lock, _HOLDER_SECONDS):
            if self._is_ours(_look(self._path).claim):
                remove_file(self._path)

    def start_heartbeat(self, every: float = BEAT_SECONDS) -> None:
        """Beat every `every` seconds from a daemon thread, until `stop_heartbeat` or the process ends.

        It falls silent by itself once the run is well past its wall-clock budget: a run that hangs would
        otherwise keep the workspace for as long as its process exists.
        """
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._keep_beating, args=(every,), name="claim-beat", daemon=True)
            self._thread.start()

    def stop_heartbeat(self) -> None:
        """End the thread; fine when there is none."""
        self._stop.set()
        if self._thread is not None:
            if self._thread.ident is not None:  # None: Ctrl-C came just before it was started
                self._thread.join()
            self._thread = None

    def _keep_beating(self, every: float) -> None:
        silent_at = time.monotonic() + self._lifetime
        pause = every
        while not self._stop.wait(pause) and time.monotonic() < silent_at:
            pause = every
            try:
                self._beat(0.5)
            except Busy:  # a starter is looking, or our own thread publishes: nobody can take over meanwhile
                pause = min(every, 1.0)
            except StorageFailure:  # remembered; the next beat may succeed again
                continue
            except LostClaim:  # remembered; the run learns it from `verify`
                return

    def _beat(self, seconds: float) -> None:
        with _locked(self._lock, seconds):
            try:
                self._require_ours()
                self._write(dataclasses.replace(self.claim, heartbeat_at=format_time(self._clock())))
            except (StorageFailure, LostClaim) as exc:
                self._failure = exc
                raise
            self._failure = None

    def _write(self, claim: Claim) -> None:
        write_atomic(self._path, claim.to_json().encode("utf-8"))
        self.claim = claim

    def _is_ours(self, claim: Claim | None) -> bool:
        return claim is not None and (claim.run_id, claim.pid, claim.start_id) == (
            self.claim.run_id,
            self.claim.pid,
            self.claim.start_id,
        )

    def _require_ours(self) -> None:
        there = _look(self._path)
        if not self._is_ours(there.claim):
            now_held = f"{there.claim.who()} took it" if there.claim else "the claim is gone"
            raise LostClaim(
                f"run {self.claim.run_id} lost its claim ({now_held}); what it had not published waits for the next run"
            )


def take_claim(
    workspace: Workspace,
    run_id: str,
    *,
    max_seconds: float,
    clock: Clock = now,
    processes: Processes = SYSTEM_PROCESSES,
    sleep: Callable[[float], None] = time.sleep,
) -> HeldClaim:
    """Take the workspace's claim for `run_id`; the caller starts the heartbeat.

    Raises `Busy` whose line says who holds it: at once, unless the owner is doubtful (see `judge`); then it
    is watched for at most `WATCH_SECONDS`, without holding anybody up. `max_seconds` is a run's wall budget.
    """
    folder = EntryFolder(workspace.staging, workspace.quarantine, frozenset(), clock)
    folder.prepare()
    path = workspace.claim_path
    lock = FileLock(workspace.guard_path, mode=FILE_MODE)
    own = processes.own()
    still: Beat | None = None
    for last_look in (False, True):
        with _locked(lock, _GUARD_SECONDS):
            seen = _look(path)
            verdict = _judged(seen, own, processes, clock, max_seconds)
            if verdict.owner == "dead" or (verdict.owner == "doubtful" and seen.beat == still):
                found = _clear(folder, path, seen, verdict)
                at = format_time(clock())
                claim = Claim(run_id=run_id, started_at=at, heartbeat_at=at, **dataclasses.asdict(own))
                write_atomic(path, claim.to_json().encode("utf-8"))
                held = HeldClaim(path, lock, claim, clock=clock, lifetime=max_seconds + GRACE_SECONDS)
                held.found, held.previous = found, seen.claim
                return held
        if verdict.owner == "alive" or last_look or seen.beat is None:
            break
        # Without the lock: the owner, if there is one, needs it to beat.
        still = seen.beat if _stands_still(path, seen.beat, sleep) else None
    who = seen.claim.who() if seen.claim else "another process"
    raise Busy(f"{who} is consolidating; try again when it has ended")


def read_claim(
    workspace: Workspace,
    *,
    clock: Clock = now,
    processes: Processes = SYSTEM_PROCESSES,
    max_seconds: float = math.inf,
) -> ClaimStatus | None:
    """The claim for `status`: no lock, no waiting, nothing raised for garbage. None when there is none."""
    try:
        seen = _look(workspace.claim_path)
    except (CorruptData, StorageFailure) as exc:
        return ClaimStatus(claim=None, alive=False, reason=str(exc))
    if seen == _Seen():
        return None
    if seen.claim is None:
        return ClaimStatus(
            claim=None,
            alive=False,
            reason=f"{workspace.claim_path.name} is unusable: {seen.problem}; the next run sets it aside",
        )
    verdict = _judged(seen, processes.own(), processes, clock, max_seconds)
    return ClaimStatus(
        claim=seen.claim, alive=verdict.owner != "dead", reason=f"the claim of {seen.claim.who()} {verdict.reason}"
    )


def _judged(seen: _Seen, own: OwnIdentity, processes: Processes, clock: Clock, max_seconds: float) -> Judgement:
    if seen.claim is None or seen.beat is None:
        return Judgement("dead", seen.problem)
    return judge(seen.claim, seen.beat, own=own, processes=processes, now=clock(), max_seconds=max_seconds)


def _clear(folder: EntryFolder, path: Path, seen: _Seen, verdict: Judgement) -> list[str]:
    """Make place for our claim; gives what was found there, for the run's report."""
    if seen.problem:
        kept = folder.set_aside(path, f"it lay in the claim's place but {seen.problem}")
        return [f"what lay in the claim's place was unusable ({seen.problem}); it is in quarantine/{kept}"]
    if seen.claim is None:
        return []
    return [f"the claim of {seen.claim.who()} {verdict.reason}; this run took it over"]


def _stands_still(path: Path, beat: Beat, sleep: Callable[[float], None]) -> bool:
    """Watch a claim for longer than a beat; False as soon as it changes."""
    for _ in range(WATCH_SECONDS):
        sleep(1.0)
        if _look(path).beat != beat:
            return False
    return True
