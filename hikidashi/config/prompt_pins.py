"""Which prompts of a workspace its user has looked at and agreed to. Standard library only.

One file a workspace in the user's data folder, `prompts/<workspace id>.json` = {root, prompts: {name: SHA-256}}. It
stands outside the workspace, since whoever can write a prompt there could write the agreement beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from hikidashi.atomic import make_folder, remove_file, write_atomic
from hikidashi.config.folders import data_folder
from hikidashi.config.workspace import Workspace

__all__ = ["pin_prompts", "pinned_prompts"]

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def _file(workspace: Workspace) -> Path:
    return data_folder() / "prompts" / f"{workspace.id}.json"


def pinned_prompts(workspace: Workspace) -> dict[str, str]:
    """Name -> SHA-256 of the prompts of this workspace that its user agreed to.

    A file that is damaged vouches for nothing: then no prompt of the workspace is used until it is trusted again.
    """
    try:
        data = json.loads(_file(workspace).read_bytes())
    except (OSError, ValueError):
        return {}
    pins = data.get("prompts") if isinstance(data, dict) else None
    if not isinstance(pins, dict):
        return {}
    return {name: digest for name, digest in pins.items() if isinstance(digest, str) and _DIGEST.fullmatch(digest)}


def pin_prompts(workspace: Workspace, digests: Mapping[str, str]) -> None:
    """Agree to exactly these prompts of the workspace and to no others. Raises `StorageFailure`."""
    file = _file(workspace)
    if not digests:
        remove_file(file)
        return
    make_folder(file.parent)
    data = {"root": str(workspace.root), "prompts": dict(sorted(digests.items()))}
    write_atomic(file, json.dumps(data, indent=1).encode("ascii") + b"\n")
