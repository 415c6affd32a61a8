"""Telling whether a folder is on a network file system. Standard library only.

The write-ahead log of SQLite lives in memory that the processes share, so it works on one machine only
(sqlite.org/wal.html), and file locks are only as good as the server's. `connect` takes a rollback journal there.
"""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache
from pathlib import Path
from typing import Final

__all__ = ["network_kind", "network_warning"]

#: Types of file systems whose files another machine may have open: file servers, clusters, and folders that a virtual
#: machine or a container takes from its host. As Linux's mountinfo and macOS's `mount` name them.
_NAMES: Final = """
    nfs nfs4 cifs smb smb2 smb3 smbfs 9p afs afpfs ncp ncpfs coda ceph glusterfs lustre beegfs gpfs ocfs2 gfs2 orangefs
    pvfs2 davfs webdav virtiofs vboxsf prl_fs fakeowner osxfs sshfs macfuse_sshfs fuse.sshfs fuse.glusterfs fuse.ceph
    fuse.ceph-fuse fuse.s3fs fuse.rclone fuse.davfs2 fuse.grpcfuse fuse.osxfs fuse.vmhgfs-fuse fuse.juicefs
    fuse.gcsfuse fuse.goofys fuse.smbnetfs fuse.beegfs
"""
_KINDS: Final = frozenset(_NAMES.split())

#: Blanks and such in a mount point: `\040` (proc(5)).
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_MACOS_LINE: Final = re.compile(r"^.* on (?P<point>/.*) \((?P<kind>[\w.+-]+)(?:,.*)?\)$")

_DRIVE_REMOTE: Final = 4


def network_kind(folder: Path) -> str:
    """The type of the network file system that holds `folder`; '' when it is a local one or cannot be told."""
    try:
        device = folder.stat().st_dev
    except OSError:
        return ""
    # Linux gives whatever has no block device of its own the major number 0: most folders end here.
    if sys.platform == "linux" and os.major(device) != 0:
        return ""
    return _kind_of(os.path.realpath(folder), device)


def network_warning(database: Path) -> str:
    """One line with the mend for a database on a network file system; '' for one on a local disk."""
    kind = network_kind(database.parent)
    if not kind:
        return ""
    return (
        f"{database} is on a network file system ({kind}): two machines that use it at once may damage it; "
        "use it from one machine at a time, or keep the project on a local disk"
    )


@lru_cache(maxsize=16)
def _kind_of(folder: str, device: int) -> str:  # the device: another one may be mounted there later
    if sys.platform == "win32":
        return windows_kind(folder)
    if sys.platform == "darwin":
        return kind_by_mounts(folder, macos_mounts())
    return kind_by_mounts(folder, linux_mounts())


def kind_by_mounts(folder: str, mounts: list[tuple[str, str]]) -> str:
    """The kind of the innermost mount point (point, kind) above `folder`, the last one where two are on one point."""
    found = ""
    length = -1
    for point, kind in mounts:
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= length:
            found, length = kind, len(point)
    return found if found in _KINDS else ""


def linux_mounts(mountinfo: Path = Path("/proc/self/mountinfo")) -> list[tuple[str, str]]:
    """Mount points and types by `mountinfo` (proc(5)); [] when there is none."""
    try:
        lines = os.fsdecode(mountinfo.read_bytes()).splitlines()
    except OSError:
        return []
    mounts = []
    for line in lines:
        left, _, right = line.partition(" - ")
        fields, kinds = left.split(" "), right.split(" ")
        if len(fields) > 4 and kinds[0]:
            mounts.append((_ESCAPE.sub(lambda code: chr(int(code[1], 8)), fields[4]), kinds[0]))
    return mounts


def macos_mounts(said: str | None = None) -> list[tuple[str, str]]:
    """Mount points and types by what `mount` prints; [] when it does not run."""
    if said is None:
        import subprocess  # not on Linux: hooks would pay for it

        try:
            run = subprocess.run(["/sbin/mount"], capture_output=True, text=True, timeout=2, check=False)
        except (OSError, subprocess.SubprocessError):
            return []
        said = run.stdout
    found = map(_MACOS_LINE.match, said.splitlines())
    return [(line["point"], line["kind"]) for line in found if line is not None]


def windows_kind(folder: str) -> str:
    """`network drive` for a UNC path or a mapped drive."""
    drive = os.path.splitdrive(folder)[0]
    if drive.startswith("\\\\"):
        return "network drive"
    import ctypes  # there only, for the same reason

    kernel = getattr(ctypes, "windll", None)
    if kernel is not None and drive and kernel.kernel32.GetDriveTypeW(drive + "\\") == _DRIVE_REMOTE:
        return "network drive"
    return ""
