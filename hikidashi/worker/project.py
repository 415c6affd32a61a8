"""The project's own git, read without git: which text HEAD has, and whether git is busy there (shared mode).

Only refs and objects are read, through the object store. No hook runs, no configuration is read, nothing is
written; a repository that dulwich cannot read this way is said, not guessed at.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dulwich.errors import NotGitRepository, NotTreeError, ObjectFormatException
from dulwich.object_store import DiskObjectStore, tree_lookup_path
from dulwich.objects import Blob, Commit, ObjectID
from dulwich.refs import HEADREF, DiskRefsContainer

from hikidashi.config.workspace import Workspace
from hikidashi.records.history_objects import DAMAGE

__all__ = ["Project", "find_project"]

#: Files and folders in the git folder that stand while a git command works or waits for a person.
_BUSY_MARKS: Final = (
    "index.lock",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
)


#: A repository that is damaged, or of a kind that dulwich does not know.
_UNREADABLE: Final = (*DAMAGE, NotGitRepository, ObjectFormatException, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The git repository that tracks a shared workspace's records."""

    #: Folder of HEAD and index; of a linked worktree or submodule not the one with the objects.
    git: Path
    #: Folder of objects and refs.
    common: Path
    #: Path of `.hikidashi/` in the repository, with `/` and a `/` at the end.
    prefix: str

    def busy(self) -> str:
        """What git is in the middle of, in one line; '' when nothing is."""
        marks = [mark for mark in _BUSY_MARKS if (self.git / mark).exists()]
        return f"git is at work in the project ({', '.join(marks)} in {self.git})" if marks else ""

    def head_texts(self, paths: Iterable[str]) -> dict[str, bytes | None]:
        """Path (relative to `.hikidashi/`) -> its bytes in HEAD, None where HEAD has no such file.

        Raises `ValueError` with the reason when the repository cannot be read this way.
        """
        store = DiskObjectStore(self.common / "objects")
        try:
            tree = self._head_tree(store)
            return {path: self._text(store, tree, path) for path in paths}
        except _UNREADABLE as exc:
            raise ValueError(f"HEAD of {self.git} cannot be read: {exc!r}") from exc
        finally:
            store.close()

    def tracks_records(self) -> bool:
        """Whether HEAD has records of this workspace. Raises as `head_texts` says."""
        store = DiskObjectStore(self.common / "objects")
        try:
            tree = self._head_tree(store)
            return any(self._entry(store, tree, folder) is not None for folder in ("memory", "knowledge"))
        except _UNREADABLE as exc:
            raise ValueError(f"HEAD of {self.git} cannot be read: {exc!r}") from exc
        finally:
            store.close()

    def tracks_records_or_unreadable(self) -> bool:
        """As `tracks_records`; true when that cannot be told, since waiting for git costs less than a mixture."""
        try:
            return self.tracks_records()
        except ValueError:
            return True

    def _head_tree(self, store: DiskObjectStore) -> ObjectID | None:
        refs = DiskRefsContainer(self.common, self.git)
        try:
            head = refs[HEADREF]
        except KeyError:  # a repository without a commit
            return None
        commit = store[head]
        return commit.tree if isinstance(commit, Commit) else None

    def _entry(self, store: DiskObjectStore, tree: ObjectID | None, path: str) -> ObjectID | None:
        if tree is None:
            return None
        try:
            return tree_lookup_path(store.__getitem__, tree, (self.prefix + path).encode("utf-8"))[1]
        except (KeyError, NotTreeError):
            return None

    def _text(self, store: DiskObjectStore, tree: ObjectID | None, path: str) -> bytes | None:
        found = self._entry(store, tree, path)
        if found is None:
            return None
        blob = store[found]
        return blob.data if isinstance(blob, Blob) else None


def find_project(workspace: Workspace) -> Project | None:
    """The git repository around the workspace; None when there is none. Whether it tracks us is asked after."""
    root = workspace.root
    for folder in (root, *root.parents):
        marker = folder / ".git"
        if marker.is_dir():
            git = marker
        elif marker.is_file():
            git = _pointed(marker)
        else:
            continue
        if not (git / "HEAD").is_file():
            return None
        relative = workspace.home.relative_to(folder).as_posix()
        return Project(git=git, common=_common(git), prefix=f"{relative}/")
    return None


def _pointed(marker: Path) -> Path:
    """Where a `.git` file (of a linked worktree or a submodule) points."""
    try:
        text = marker.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return marker
    return (marker.parent / text.removeprefix("gitdir:").strip()).resolve()


def _common(git: Path) -> Path:
    file = git / "commondir"
    try:
        return (git / file.read_text(encoding="utf-8", errors="surrogateescape").strip()).resolve()
    except OSError:
        return git
