"""A database on a network file system is recognised, gets a rollback journal, and survives a killed writer."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from hikidashi.config.workspace import open_workspace
from hikidashi.db import network
from hikidashi.db.connection import connect, read_only, transaction
from hikidashi.db.migrations import migrate
from hikidashi.errors import Busy
from tests.support.command import hikidashi

MOUNTINFO = r"""22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:40 / /home rw - nfs4 filer:/home rw,vers=4.2
41 40 8:1 / /home/mika/disk rw - xfs /dev/sdb1 rw
42 27 0:42 / /mnt/two\040words rw master:1 master:2 - cifs //pc/share rw
43 27 0:43 / /srv/ssh rw - fuse.sshfs me@host:/ rw
44 27 0:44 / /mnt/c rw - 9p drvfs rw,access=client
45 27 0:45 / /over rw - ext4 /dev/vdb rw
46 27 0:46 / /over rw - nfs filer:/x rw
short line
"""

MOUNT = """/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
devfs on /dev (devfs, local, nobrowse)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
//mika@filer._smb._tcp.local/work on /Volumes/work (smbfs, nodev, nosuid, mounted by mika)
filer:/export/a (b) on /Volumes/nfs (1) (nfs, nodev, nosuid)
"""


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/", ""),
        ("/home", "nfs4"),
        ("/home/mika/project/.hikidashi", "nfs4"),
        ("/home/mika/disk/project", ""),
        ("/homework", ""),
        ("/mnt/two words/a", "cifs"),
        ("/srv/ssh/a", "fuse.sshfs"),
        ("/mnt/c/Users", "9p"),
        ("/over/a", "nfs"),
        ("/proc/1", ""),
    ],
)
def test_linux_tells_by_the_innermost_mount(tmp_path: Path, folder: str, kind: str) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTINFO)
    assert network.kind_by_mounts(folder, network.linux_mounts(tmp_path / "mountinfo")) == kind


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/Users/mika", ""), ("/Volumes/work/a", "smbfs"), ("/Volumes/nfs (1)/a", "nfs"), ("/dev/fd", "")],
)
def test_macos_tells_by_mount(folder: str, kind: str) -> None:
    assert network.kind_by_mounts(folder, network.macos_mounts(MOUNT)) == kind


def test_windows_tells_by_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    import ntpath

    monkeypatch.setattr("os.path.splitdrive", ntpath.splitdrive)
    assert network.windows_kind(r"\\filer\work\shop") == "network drive"
    assert network.windows_kind(r"C:\work") == ""


def test_what_cannot_be_read_is_local(tmp_path: Path) -> None:
    assert network.linux_mounts(tmp_path / "none") == []
    assert network.network_kind(tmp_path / "gone") == ""
    assert network.network_kind(tmp_path) == network.network_warning(tmp_path / "x.sqlite") == ""


@pytest.fixture
def on_nfs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "network_kind", lambda folder: "nfs4")


def mode(connection: sqlite3.Connection) -> str:
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


@pytest.mark.usefixtures("on_nfs")
def test_there_is_no_write_ahead_log_there(tmp_path: Path) -> None:
    path = tmp_path / "workspace.sqlite"
    first, second = connect(path), connect(path)
    migrate(first)
    assert mode(first) == mode(second) == "truncate"
    with transaction(second):
        second.execute("INSERT INTO meta VALUES ('a', '1')")
    reader = read_only(path)
    assert reader.execute("SELECT count(*) FROM meta").fetchone()[0] == 1
    assert sorted(file.name for file in tmp_path.iterdir()) == ["workspace.sqlite", "workspace.sqlite-journal"]
    assert (tmp_path / "workspace.sqlite-journal").stat().st_size == 0
    for connection in (first, second, reader):
        connection.close()


def test_a_project_that_moves_there_and_back_changes_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "workspace.sqlite"
    local = connect(path)
    migrate(local)
    monkeypatch.setattr(network, "network_kind", lambda folder: "smbfs")
    with pytest.raises(Busy, match="try again in a moment"):
        connect(path, busy_seconds=0.05)  # somebody has the log open
    local.close()
    there = connect(path)
    assert (mode(there), there.execute("PRAGMA locking_mode").fetchone()[0]) == ("truncate", "normal")
    beside = connect(path)
    assert mode(beside) == "truncate"
    beside.close()
    there.close()
    monkeypatch.setattr(network, "network_kind", lambda folder: "")
    back = connect(path)
    assert mode(back) == "wal"
    back.close()


def killed_in_the_middle(path: Path) -> None:
    """The files as a process leaves them that is killed while it writes."""
    connection = connect(path)
    connection.execute("PRAGMA cache_size = 2")
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE meta SET value = value || 'half' WHERE key = 'workspace_id'")
    for number in range(200):
        connection.execute("INSERT INTO meta VALUES (?, ?)", (f"k{number}", "x" * 3000))
    folder = path.parent.with_name("as it was left")
    shutil.copytree(path.parent, folder)
    connection.execute("ROLLBACK")
    connection.close()
    for name in (path.name, f"{path.name}-journal"):
        shutil.copy(folder / name, path.parent / name)


@pytest.mark.usefixtures("on_nfs")
def test_what_a_killed_writer_left_is_undone_by_whoever_comes_next(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    assert hikidashi("init", cwd=project).code == 0
    workspace = open_workspace(project)
    killed_in_the_middle(workspace.database)
    journal = workspace.database.with_name("workspace.sqlite-journal")
    assert journal.stat().st_size > 0
    reader = read_only(workspace.database)
    assert reader.execute("SELECT count(*) FROM meta WHERE key LIKE 'k%'").fetchone()[0] == 0
    reader.close()
    shutil.rmtree(workspace.home.with_name("as it was left"))
    killed_in_the_middle(workspace.database)
    assert journal.stat().st_size > 0
    assert open_workspace(project) == workspace
    assert hikidashi("status", cwd=project).code == 0


@pytest.mark.usefixtures("on_nfs")
def test_commands_and_status_say_it(tmp_path: Path, home: Path) -> None:
    project = tmp_path / "shop"
    project.mkdir()
    hikidashi("init", cwd=project)
    ran = hikidashi("log", "--json", cwd=project)
    assert (ran.code, ran.json) == (0, {"commits": []})
    assert ran.err.count("\n") == 1
    assert "network file system (nfs4)" in ran.err and "keep the project on a local disk" in ran.err
