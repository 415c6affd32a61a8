"""What clean-up and integration may not take from a person (design section 6, "Protection")."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hikidashi.records.library import Library
from hikidashi.records.record import Tree

__all__ = ["protected_texts"]


def protected_texts(blobs: Mapping[str, str], tree: Tree, read_blob: Callable[[str], bytes | None]) -> dict[str, bytes]:
    """Path -> the text that protection is measured against, for each protected record of `tree`.

    `blobs` (table `protected`) gives the object ID in history of the last text that a person wrote or restored;
    `read_blob` its bytes, None when history has lost it: then the text that stands there now protects itself, as
    it does for a record that only says `pinned: true`.
    """
    texts: dict[str, bytes] = {}
    for path, blob in blobs.items():
        if path in tree:
            text = read_blob(blob)
            texts[path] = tree[path] if text is None else text
    for record in Library(tree).records():
        if record.pinned:
            texts.setdefault(record.path, tree[record.path])
    return texts
