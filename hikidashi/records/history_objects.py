"""Git objects of the history on disk, read and written without git and without its configuration.

dulwich's object classes and object store do the formats; nothing here reads `config`, runs a hook or follows
`objects/info/alternates`. Files are written through `hikidashi.atomic`, not by dulwich: its `.lock` files
outlive a killed process and would refuse every later write.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from dulwich.errors import ApplyDeltaError, ChecksumMismatch, FileFormatException, WrongObjectException
from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.object_store import BaseObjectStore, DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.pack import write_pack_index, write_pack_objects

from hikidashi.atomic import TEMP_PREFIX, make_folder, remove_file, storage_errors, sync_folder, write_atomic
from hikidashi.errors import CorruptData, StorageFailure

__all__ = ["DAMAGE", "MEND", "ObjectFiles", "PackReport", "blob_id", "damage"]

#: What a person does about a damaged history.
MEND: Final = (
    "the records themselves are untouched; move .hikidashi/history.git elsewhere, and the next change starts a new one"
)

#: More new objects than this are written as one pack: two fsyncs instead of two for each.
PACK_FROM: Final = 64

#: What dulwich's readers raise for damaged, missing or foreign objects.
DAMAGE: Final = (
    KeyError,
    IndexError,
    ValueError,
    AssertionError,
    EOFError,
    NotImplementedError,
    StopIteration,
    struct.error,
    zlib.error,
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    WrongObjectException,
)
_NAMES: Final = {Blob.type_num: b"blob", Tree.type_num: b"tree", Commit.type_num: b"commit"}
_TYPES: Final = {"blob": Blob.type_num, "tree": Tree.type_num, "commit": Commit.type_num}


@contextlib.contextmanager
def damage(what: str) -> Iterator[None]:
    """Turn what damaged bytes raise in the block into `CorruptData` with one line about `what`."""
    try:
        yield
    except DAMAGE as exc:
        raise CorruptData(f"the history is damaged ({what}); {MEND}") from exc


def blob_id(data: bytes) -> str:
    """The object ID that `data` has as a file in the history (and in any git repository)."""
    return _object_id(b"blob", data)


def _object_id(name: bytes, data: bytes) -> str:
    digest = hashlib.sha1(b"%s %d\0" % (name, len(data)), usedforsecurity=False)
    digest.update(data)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackReport:
    """What became of the loose objects."""

    packed: int = 0
    #: Why nothing was packed, in one line; '' when something was, or nothing had to be.
    skipped: str = ""


class _Store(DiskObjectStore):
    """Objects of this repository alone: a planted `alternates` file could name any folder."""

    @property
    def alternates(self) -> list[BaseObjectStore]:
        return []


class ObjectFiles:
    """The `objects/` folder of the history."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def create(self) -> None:
        """Make the folders; those that exist are left as they are."""
        for name in ("info", "pack"):
            make_folder(self._folder / name)

    @contextlib.contextmanager
    def _open(self) -> Iterator[_Store]:
        with contextlib.closing(_Store(str(self._folder))) as store:
            yield store

    def read(self, ids: Iterable[str], kind: Literal["blob", "tree", "commit"]) -> dict[str, bytes]:
        """ID -> content. Raises `CorruptData` for one that is missing, damaged or of another kind."""
        contents: dict[str, bytes] = {}
        with self._open() as store, storage_errors(f"read {self._folder}"):
            for object_id in ids:
                with damage(f"object {object_id[:12]}"):
                    number, data = store.get_raw(ObjectID(object_id.encode("ascii")))
                    if number != _TYPES[kind] or _object_id(_NAMES[number], data) != object_id:
                        raise ValueError("not what its name says")
                contents[object_id] = data
        return contents

    def _loose(self, object_id: str) -> Path:
        return self._folder / object_id[:2] / object_id[2:]

    def add(self, objects: Sequence[ShaFile]) -> None:
        """Write the objects that are not there yet; on return they are on the disk, whatever happens next."""
        with self._open() as store, damage("its packs"), storage_errors(f"read {self._folder}"):
            new = {
                obj.id.decode("ascii"): obj
                for obj in objects
                if not self._loose(obj.id.decode("ascii")).exists() and not store.contains_packed(obj.id)
            }
        if len(new) > PACK_FROM:
            self._add_pack(list(new.values()))
            return
        made = False
        for object_id, obj in new.items():
            path = self._loose(object_id)
            if not path.parent.exists():
                make_folder(path.parent)
                made = True
            write_atomic(path, obj.as_legacy_object())
        if made:
            sync_folder(self._folder)

    def _add_pack(self, objects: Sequence[ShaFile]) -> None:
        data, index = io.BytesIO(), io.BytesIO()
        entries, checksum = write_pack_objects(
            data, [(obj, None) for obj in objects], DEFAULT_OBJECT_FORMAT, deltify=False
        )
        rows = sorted((raw, offset, crc) for raw, (offset, crc) in entries.items())
        write_pack_index(index, rows, checksum)
        name = hashlib.sha1(b"".join(raw for raw, _, _ in rows), usedforsecurity=False).hexdigest()
        # The index last: a pack without one is not looked at.
        write_atomic(self._folder / "pack" / f"pack-{name}.pack", data.getvalue())
        write_atomic(self._folder / "pack" / f"pack-{name}.idx", index.getvalue())

    def loose_ids(self) -> list[str]:
        """IDs of all loose objects, sorted."""
        with storage_errors(f"read {self._folder}"):
            folders = sorted(path for path in self._folder.iterdir() if len(path.name) == 2 and path.is_dir())
            names = [folder.name + path.name for folder in folders for path in sorted(folder.iterdir())]
        return [name for name in names if len(name) == 40 and TEMP_PREFIX not in name]

    def many_loose(self, limit: int) -> bool:
        """Whether there are about more than `limit` loose objects, guessed from one of the 256 folders."""
        try:
            count = sum(1 for _ in (self._folder / "17").iterdir())
        except FileNotFoundError:
            return False
        return count * 256 > limit

    def pack_loose(self) -> PackReport:
        """Put all loose objects into one pack, read it back, and only then delete them.

        The caller holds the history's lock. What stands in the way (no space, a damaged object) is the
        report's reason; nothing is lost then.
        """
        ids = self.loose_ids()
        if not ids:
            return PackReport()
        try:
            with self._open() as store, damage("a loose object"), storage_errors(f"read {self._folder}"):
                objects = [store[ObjectID(object_id.encode("ascii"))] for object_id in ids]
                wrong = [
                    obj
                    for obj, object_id in zip(objects, ids, strict=True)
                    if obj.type_num not in _NAMES or _object_id(_NAMES[obj.type_num], obj.as_raw_string()) != object_id
                ]
                if wrong:
                    raise ValueError("a loose object is not what its name says")
            self._add_pack(objects)
            with self._open() as store, damage("the new pack"):
                if not all(store.contains_packed(obj.id) for obj in objects):
                    raise KeyError("not in the new pack")
                for pack in store.packs:
                    pack.check()
        except (CorruptData, StorageFailure) as exc:
            return PackReport(skipped=f"objects stay loose: {exc}")
        for object_id in ids:
            remove_file(self._loose(object_id))
        return PackReport(packed=len(ids))

    def sweep(self) -> int:
        """Delete the temporary files that killed writers left; the caller holds the history's lock."""
        with storage_errors(f"read {self._folder}"):
            litter = list(self._folder.glob(f"*/{TEMP_PREFIX}*"))
        for path in litter:
            remove_file(path)
        return len(litter)
