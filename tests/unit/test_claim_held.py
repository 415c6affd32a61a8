"""A claim in its holder's hands: beaten, verified before the point of no return, lost and released."""

from __future__ import annotations

import dataclasses
import errno
import os
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from hikidashi.atomic import Step, observed
from hikidashi.config.workspace import Workspace
from hikidashi.errors import Busy, LostClaim, StorageFailure
from hikidashi.staging import claim as claim_module
from hikidashi.staging.claim import HeldClaim, read_claim, take_claim
from hikidashi.staging.owner import GRACE_SECONDS, parse_claim
from hikidashi.times import now, parse_time


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "a project", "0" * 32)
    made.home.mkdir(parents=True)
    return made


def take(workspace: Workspace, run_id: str = "RUN-1", max_seconds: float = 900) -> HeldClaim:
    return take_claim(workspace, run_id, max_seconds=max_seconds)


def overwrite(workspace: Workspace, **changes: str) -> None:
    """Another process takes over."""
    there = parse_claim(workspace.claim_path.read_bytes())
    workspace.claim_path.write_text(dataclasses.replace(there, **changes).to_json())  # type: ignore[arg-type]


def wait_until(condition: threading.Event) -> None:
    assert condition.wait(10)


def full_disk(step: Step, path: Path) -> None:
    if step == "write":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_claim_says_who_holds_it(workspace: Workspace) -> None:
    held = take(workspace)
    there = parse_claim(workspace.claim_path.read_bytes())
    assert there == held.claim
    assert (there.run_id, there.pid, there.consumed_ids, held.found) == ("RUN-1", os.getpid(), (), [])
    assert there.start_id and there.host
    assert abs((parse_time(there.started_at) - now()).total_seconds()) < 10
    for path in (workspace.claim_path, workspace.guard_path):
        assert path.stat().st_mode & 0o777 == 0o600
    held.verify()
    held.release()
    assert not workspace.claim_path.exists()
    assert read_claim(workspace) is None


def test_our_own_claim_is_never_stale(workspace: Workspace) -> None:
    held = take(workspace)
    started = time.monotonic()
    with pytest.raises(
        Busy, match=rf"run RUN-1 \(pid {os.getpid()} on .* is consolidating; try again when it has ended"
    ):
        take(workspace, "RUN-2")
    assert time.monotonic() - started < 2
    status = read_claim(workspace)
    assert status is not None and status.alive
    held.release()
    take(workspace, "RUN-2").release()


def test_the_taken_ids_are_in_the_file(workspace: Workspace) -> None:
    held = take(workspace)
    held.set_consumed(["A", "B"])
    held.beat()
    assert parse_claim(workspace.claim_path.read_bytes()).consumed_ids == ("A", "B")


def test_a_beat_moves_the_heartbeat_and_nothing_else(workspace: Workspace) -> None:
    clock = [datetime.fromisoformat("2026-05-03T09:30:00+00:00")]
    held = take_claim(workspace, "RUN-1", max_seconds=900, clock=lambda: clock[0])
    before = held.claim
    for jump in (timedelta(seconds=20), timedelta(days=-300), timedelta(days=700)):
        clock[0] += jump
        held.beat()
        held.verify()
        there = parse_claim(workspace.claim_path.read_bytes())
        assert parse_time(there.heartbeat_at) == clock[0], "also when the clock was set back or forward"
        assert dataclasses.replace(there, heartbeat_at=before.heartbeat_at) == before


@pytest.mark.parametrize("change", ["other run", "other process", "gone", "rubbish"])
def test_a_lost_claim_is_noticed_everywhere_and_left_alone(workspace: Workspace, change: str) -> None:
    held = take(workspace)
    if change == "other run":
        overwrite(workspace, run_id="RUN-2")
    elif change == "other process":
        overwrite(workspace, start_id="1")
    elif change == "gone":
        workspace.claim_path.unlink()
    else:
        workspace.claim_path.write_text("rubbish")
    before = workspace.claim_path.read_bytes() if change != "gone" else None
    with pytest.raises(LostClaim, match="run RUN-1 lost its claim"):
        held.verify()
    with pytest.raises(LostClaim):
        held.beat()
    with pytest.raises(LostClaim):
        held.set_consumed(["A"])
    with pytest.raises(LostClaim), held.guard():
        pytest.fail("published with a lost claim")
    held.release()
    after = workspace.claim_path.read_bytes() if workspace.claim_path.exists() else None
    assert after == before, "released by its own run alone"


def test_nobody_takes_over_while_a_run_publishes(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_module, "_GUARD_SECONDS", 0.05)
    held = take(workspace)
    with held.guard():
        held.verify()
        held.beat()
        with pytest.raises(Busy, match="try again in a moment"):
            take(workspace, "RUN-2")
    with pytest.raises(Busy, match="RUN-1"):
        take(workspace, "RUN-2")
    held.release()


def test_the_heartbeat_beats_from_the_background(workspace: Workspace) -> None:
    held = take(workspace)
    beats = threading.Event()
    held.start_heartbeat(every=0.01)
    held.start_heartbeat(every=0.01)  # a second call starts nothing more
    with observed(lambda step, path: beats.set() if step == "replace" else None):
        wait_until(beats)
    held.set_consumed(["A"])
    held.verify()
    held.release()
    assert not workspace.claim_path.exists(), "no beat after the release brings it back"
    assert not [t for t in threading.enumerate() if t.name == "claim-beat"]


def test_a_full_disk_keeps_the_old_claim_and_is_remembered(workspace: Workspace) -> None:
    held = take(workspace)
    before = workspace.claim_path.read_bytes()
    with observed(full_disk):
        held.start_heartbeat(every=0.01)
        deadline = time.monotonic() + 10
        while held._failure is None and time.monotonic() < deadline:
            time.sleep(0.005)
        held.stop_heartbeat()
        assert workspace.claim_path.read_bytes() == before
        with pytest.raises(StorageFailure, match="the disk is full"):
            held.verify()
    held.verify()  # there is space again: the beat is done, the claim is still ours
    assert workspace.claim_path.read_bytes() != before
    held.release()


def test_the_heartbeat_ends_when_the_claim_is_lost(workspace: Workspace) -> None:
    held = take(workspace)
    overwrite(workspace, run_id="RUN-2")
    held.start_heartbeat(every=0.01)
    assert held._thread is not None
    held._thread.join(10)
    assert not held._thread.is_alive()
    with pytest.raises(LostClaim):
        held.verify()
    held.release()


def test_the_heartbeat_of_a_run_that_hangs_falls_silent(workspace: Workspace) -> None:
    held = take(workspace, max_seconds=-GRACE_SECONDS + 0.05)
    held.start_heartbeat(every=0.01)
    assert held._thread is not None
    held._thread.join(10)
    assert not held._thread.is_alive()
    held.verify()  # still ours as long as nobody took it
    held.release()


@pytest.mark.parametrize("step", ["make folder", "create", "write", "flush", "replace"])
def test_a_claim_that_cannot_be_written_is_one_clear_error(workspace: Workspace, step: Step) -> None:
    def fail(done: Step, path: Path) -> None:
        if done == step:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with observed(fail), pytest.raises(StorageFailure, match="read-only; remount it writable"):
        take(workspace)
    assert read_claim(workspace) is None
    take(workspace).release()


def test_an_interrupt_while_the_heartbeat_starts_still_releases_the_claim(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(thread: threading.Thread) -> None:
        raise KeyboardInterrupt

    held = take(workspace)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(threading.Thread, "start", interrupted)
        held.start_heartbeat()
    held.release()
    assert not workspace.claim_path.exists()
