"""`memory/cleanup-log.md`: one line per clean-up operation, the newest 500 (design section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hikidashi.worker.operations import operation_line
from hikidashi.worker.report import Operation

__all__ = ["LOG_PATH", "MAX_LINES", "with_operations"]

LOG_PATH: Final = "memory/cleanup-log.md"

MAX_LINES: Final = 500

_HEAD: Final = "# Clean-up log\n\nWhat clean-up did, oldest first; `hikidashi restore PATH` brings a record back.\n\n"


def with_operations(log: bytes | None, operations: Sequence[Operation], run_id: str, at: str) -> bytes:
    """The log's new bytes: `operations` of `run_id` appended, lines beyond the newest 500 gone."""
    # Byte for byte what stands there, also what is no UTF-8; and only a newline ends a line.
    text = _HEAD if log is None else log.decode("utf-8", "surrogateescape")
    lines = text.removesuffix("\n").split("\n") if text else []
    lines += [f"- {at[:10]} {operation_line(operation)} (run {run_id})" for operation in operations]
    logged = [number for number, line in enumerate(lines) if line.startswith("- ")]
    old = set(logged[:-MAX_LINES])  # only our own lines go; what a person wrote between them stays
    return "".join(f"{line}\n" for number, line in enumerate(lines) if number not in old).encode(
        "utf-8", "surrogateescape"
    )
