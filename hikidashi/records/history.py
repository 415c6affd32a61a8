"""The history of the records: a bare git repository at `.hikidashi/history.git` (design section 3).

Only `memory/` and `knowledge/` are in it. People look at it with `git --git-dir=.hikidashi/history.git
log -p`; we never start git and never read the repository's configuration, so nothing planted there runs.
The branch is `refs/heads/main`, whatever `HEAD` says; texts that lost to a person's edit are kept under
`refs/lost/<run>`. Objects are on the disk before a ref moves: a kill between leaves the old tip.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import filelock
from dulwich.objects import Blob, ShaFile, Tree, valid_hexsha
from dulwich.objects import Commit as GitCommit
from dulwich.objects import ObjectID as GitID
from dulwich.refs import DiskRefsContainer, Ref

from hikidashi.atomic import FILE_MODE, make_folder, storage_errors, write_atomic
from hikidashi.errors import Busy, Conflict, CorruptData, UsageError
from hikidashi.records.history_objects import MEND, ObjectFiles, PackReport, blob_id, damage
from hikidashi.records.history_text import Author, Commit, commit_message, read_commit, unified_diff
from hikidashi.times import now

__all__ = ["Author", "Commit", "FileDiff", "History", "PackReport", "blob_id"]

MAIN: Final = "refs/heads/main"
LOST: Final = "refs/lost/"

#: Loose objects are packed once there are about this many.
PACK_LIMIT: Final = 2_000
#: Seconds to wait for another process that writes the history.
LOCK_SECONDS: Final = 30

_FILE: Final = 0o100644
_FOLDER: Final = 0o040000
_CONFIG: Final = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = false\n\tbare = true\n"
_CACHED: Final = 32_768


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDiff:
    """What a commit did to one file."""

    path: str
    #: None where the file did not or does not exist.
    old: bytes | None
    new: bytes | None
    #: A unified diff, lines ending in a newline.
    text: str

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        change = "added" if self.old is None else "deleted" if self.new is None else "changed"
        return {"path": self.path, "change": change, "diff": self.text}


class History:
    """The history of one workspace. Reading needs no lock; writing holds one for its whole length."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._objects = ObjectFiles(path / "objects")
        self._refs = DiskRefsContainer(str(path))
        #: What the last `commit` did about loose objects; None when there were few.
        self.packed: PackReport | None = None
        self._blobs: dict[str, bytes] = {}
        self._ids: dict[bytes, str] = {}
        self._folders: dict[str, dict[str, tuple[bool, str]]] = {}

    def create(self) -> None:
        """Make the repository (files 0600, folders 0700); one that is there is completed, never changed."""
        self._refuse_link()
        self._objects.create()
        make_folder(self._path / "refs" / "heads")
        for name, data in (("HEAD", f"ref: {MAIN}\n".encode()), ("config", _CONFIG)):
            file = self._path / name
            # One that holds nothing was left by a power cut or a full disk: git takes no such folder for a repository.
            if not file.exists() or (file.is_file() and not file.stat().st_size):
                write_atomic(file, data)

    def _refuse_link(self) -> None:
        if self._path.is_symlink():
            raise CorruptData(f"{self._path} is a link, which is not followed; {MEND}")

    def tip(self) -> Commit | None:
        """The newest commit; None before the first. Raises `CorruptData`."""
        tip = self._ref(MAIN)
        return None if tip is None else self.commit_at(tip)

    def commit_at(self, commit_id: str) -> Commit:
        """The commit with this full ID. Raises `CorruptData` when it is not there."""
        with damage(f"commit {commit_id[:12]}"):
            return read_commit(commit_id, self._objects.read([commit_id], "commit")[commit_id])

    def tree(self, commit_id: str | None = None) -> dict[str, bytes]:
        """All files of a commit (of the tip when None); {} before the first commit."""
        files = self.files(commit_id)
        wanted = set(files.values())
        blobs = {blob: self._blobs[blob] for blob in wanted & self._blobs.keys()}
        read = self._objects.read(sorted(wanted - blobs.keys()), "blob")
        self._remember(read)  # which may forget others, also ones of this tree
        blobs.update(read)
        return {path: blobs[blob] for path, blob in files.items()}

    def files(self, commit_id: str | None = None) -> dict[str, str]:
        """Path -> blob ID of a commit (of the tip when None); {} before the first commit."""
        commit = self.tip() if commit_id is None else self.commit_at(commit_id)
        return {} if commit is None else dict(self._walk(commit.tree, ""))

    def blob(self, object_id: str) -> bytes:
        """The file content with this ID. Raises `CorruptData` when it is not there."""
        if object_id not in self._blobs:
            self._remember(self._objects.read([object_id], "blob"))
        return self._blobs[object_id]

    def commit(
        self,
        tree: Mapping[str, bytes],
        *,
        author: Author,
        subject: str,
        body: str = "",
        trailers: Mapping[str, str | Sequence[str]] | None = None,
        at: datetime,
        parent: str | None = None,
    ) -> str:
        """Make `tree` the newest commit and give its ID.

        `parent`, when given, must be the tip still. Raises `Conflict` if it is not, `Busy` when another
        process holds the history, `StorageFailure` with the old tip unchanged.
        """
        with self._lock():
            self.create()
            tip = self._ref(MAIN)
            if parent is not None and tip != parent:
                raise Conflict("the history moved on since it was read; run the same command again")
            if self._objects.many_loose(PACK_LIMIT):
                self.packed = self._objects.pack_loose()
            message = commit_message(subject, body, trailers or {}, author)
            commit_id = self._write(tree, tip, author, message, at)
            write_atomic(self._path / MAIN, f"{commit_id}\n".encode())
        return commit_id

    def log(self, limit: int | None = None) -> list[Commit]:
        """Commits from the newest back (at most `limit`)."""
        commits: list[Commit] = []
        commit = self.tip()
        while commit is not None and (limit is None or len(commits) < limit):
            commits.append(commit)
            commit = None if commit.parent is None else self.commit_at(commit.parent)
        return commits

    def diff(self, commit_id: str) -> list[FileDiff]:
        """What a commit changed against the one before it, by path."""
        commit = self.commit_at(commit_id)
        new = self.files(commit.id)
        old = {} if commit.parent is None else self.files(commit.parent)
        changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
        return [self._file_diff(path, old.get(path), new.get(path)) for path in changed]

    def _file_diff(self, path: str, old_id: str | None, new_id: str | None) -> FileDiff:
        old = None if old_id is None else self.blob(old_id)
        new = None if new_id is None else self.blob(new_id)
        return FileDiff(path=path, old=old, new=new, text=unified_diff(path, old, new))

    def versions(self, path: str) -> list[tuple[Commit, bytes | None]]:
        """The commits that changed `path`, newest first, each with the bytes after it (None: it was deleted)."""
        commits = self.log()
        blobs = [self._find(commit.tree, path) for commit in commits]
        before = [*blobs, None][1:]
        return [
            (commit, None if blob is None else self.blob(blob))
            for commit, blob, old in zip(commits, blobs, before, strict=True)
            if blob != old
        ]

    def find(self, prefix: str) -> Commit:
        """The commit whose ID starts with `prefix` (4 digits at least). Raises `UsageError`."""
        if not re.fullmatch(r"[0-9a-f]{4,40}", prefix.lower()):
            raise UsageError(f"{prefix[:60]!r} is no commit: give 4 or more hex digits as `hikidashi log` shows them")
        hits = [commit for commit in self.log() if commit.id.startswith(prefix.lower())]
        if len(hits) != 1:
            problem = "several commits start" if hits else "no commit starts"
            raise UsageError(f"{problem} with {prefix}: give an ID as `hikidashi log` shows it")
        return hits[0]

    def keep_lost(self, run_id: str, tree: Mapping[str, bytes], at: datetime | None = None) -> str:
        """Keep a run's version of the files under `refs/lost/<run_id>`; the branch does not move."""
        if not re.fullmatch(r"[0-9A-Za-z-]{1,64}", run_id):
            raise ValueError(f"not a run: {run_id!r}")
        with self._lock():
            self.create()
            message = commit_message("Keep what a run wrote over a person's edit", "", {"Run": run_id}, "worker")
            commit_id = self._write(tree, self._ref(MAIN), "worker", message, at or now())
            make_folder(self._path / LOST)
            write_atomic(self._path / LOST / run_id, f"{commit_id}\n".encode())
        return commit_id

    def lost(self) -> dict[str, Commit]:
        """Run -> the commit that keeps its version."""
        with damage("refs/lost"):
            runs = sorted(self._refs.subkeys(Ref(LOST.encode())))
        ids = {run.decode("ascii", "replace"): self._ref(LOST + run.decode("ascii", "replace")) for run in runs}
        return {run: self.commit_at(commit_id) for run, commit_id in ids.items() if commit_id is not None}

    def pack_loose(self) -> PackReport:
        """Pack all loose objects and delete what killed writers left."""
        with self._lock():
            self.create()
            self._objects.sweep()
            return self._objects.pack_loose()

    def sweep(self) -> int:
        """Delete the temporary files that killed writers left among the objects; gives how many."""
        if not self._path.is_dir():
            return 0
        with self._lock():
            return self._objects.sweep()

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Held while writing; the system lets go of it when the process dies."""
        self._refuse_link()
        make_folder(self._path)
        lock = filelock.FileLock(self._path / "hikidashi.lock", timeout=LOCK_SECONDS, mode=FILE_MODE)
        with storage_errors(f"lock {self._path}"):
            try:
                lock.acquire()
            except filelock.Timeout as exc:
                raise Busy("another process writes the history; try again in a minute") from exc
        try:
            yield
        finally:
            lock.release()

    def _ref(self, name: str) -> str | None:
        self._refuse_link()
        with damage(name), storage_errors(f"read {self._path / name}"):
            value = self._refs.read_loose_ref(Ref(name.encode()))
            if value is None:
                if (self._path / name).exists():
                    raise ValueError("a ref that cannot be read")
                value = self._refs.get_packed_refs().get(Ref(name.encode()))
            if value is not None and not valid_hexsha(value):
                raise ValueError("a ref without an object ID")
        return None if value is None else value.decode("ascii")

    def _write(self, tree: Mapping[str, bytes], parent: str | None, author: Author, message: str, at: datetime) -> str:
        """Write a commit's objects; the ref is the caller's."""
        stood = self.files(parent) if parent is not None else {}
        objects: dict[str, ShaFile] = {}
        files: dict[str, str] = {}
        for path, data in tree.items():
            _check_path(path)
            files[path] = self._blob_id(data)
            if stood.get(path) != files[path]:
                objects[files[path]] = Blob.from_string(data)
        root = self._write_folders(files, objects)
        commit = GitCommit()
        commit.tree = GitID(root.encode("ascii"))
        commit.parents = [] if parent is None else [GitID(parent.encode("ascii"))]
        commit.author = commit.committer = f"Hikidashi {author} <{author}@hikidashi.invalid>".encode()
        commit.author_time = commit.commit_time = max(int(at.timestamp()), 0)
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = message.encode("utf-8", "replace")
        self._objects.add([*objects.values(), commit])
        return commit.id.decode("ascii")

    def _write_folders(self, files: Mapping[str, str], objects: dict[str, ShaFile]) -> str:
        """Add the tree objects of `files` to `objects`; gives the root's ID."""
        folders: dict[str, Tree] = {"": Tree()}
        for path in files:
            parts = path.split("/")
            for depth in range(1, len(parts)):
                folders.setdefault("/".join(parts[:depth]), Tree())
        for path, blob in files.items():
            folder, _, name = path.rpartition("/")
            folders[folder].add(name.encode(), _FILE, GitID(blob.encode("ascii")))
        for folder in sorted(folders, key=lambda name: name.count("/"), reverse=True):
            object_id = folders[folder].id
            if folder:
                above, _, name = folder.rpartition("/")
                folders[above].add(name.encode(), _FOLDER, object_id)
            objects[object_id.decode("ascii")] = folders[folder]
        return folders[""].id.decode("ascii")

    def _blob_id(self, data: bytes) -> str:
        known = self._ids.get(data)  # a dict look-up: the bytes keep their own hash
        if known is None:
            known = blob_id(data)
            self._remember({known: data})
        return known

    def _remember(self, blobs: Mapping[str, bytes]) -> None:
        if len(self._blobs) + len(blobs) > _CACHED:
            self._blobs.clear()
            self._ids.clear()
        self._blobs.update(blobs)
        self._ids.update({data: object_id for object_id, data in blobs.items()})

    def _entries(self, tree_id: str) -> dict[str, tuple[bool, str]]:
        """Name -> (is a folder, object ID) of one tree object."""
        if tree_id not in self._folders:
            data = self._objects.read([tree_id], "tree")[tree_id]
            with damage(f"tree {tree_id[:12]}"):
                rows = Tree.from_string(data).items()
                entries = {row.path.decode("utf-8"): (row.mode == _FOLDER, row.sha.decode("ascii")) for row in rows}
            if len(self._folders) > _CACHED:
                self._folders.clear()
            self._folders[tree_id] = entries
        return self._folders[tree_id]

    def _walk(self, tree_id: str, prefix: str) -> Iterator[tuple[str, str]]:
        for name, (is_folder, object_id) in self._entries(tree_id).items():
            if is_folder:
                yield from self._walk(object_id, f"{prefix}{name}/")
            else:
                yield f"{prefix}{name}", object_id

    def _find(self, tree_id: str, path: str) -> str | None:
        """The blob ID of `path` below a tree; None when there is no such file."""
        *folders, name = path.split("/")
        for folder in folders:
            is_folder, tree_id = self._entries(tree_id).get(folder, (False, ""))
            if not is_folder:
                return None
        is_folder, object_id = self._entries(tree_id).get(name, (True, ""))
        return None if is_folder else object_id


def _check_path(path: str) -> None:
    parts = path.split("/")
    bad = any(part in ("", ".", "..") or part.lower() == ".git" or "\0" in part for part in parts)
    if bad or parts[0] not in ("memory", "knowledge") or len(parts) < 2:
        raise ValueError(f"not a file of the history: {path!r}")
