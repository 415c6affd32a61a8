"""What a commit of the history says: message, trailers and diff as text (no disk here)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, Literal

from dulwich.objects import Commit as GitCommit

from hikidashi.times import format_time

__all__ = ["Author", "Commit", "commit_message", "one_line", "read_commit", "unified_diff"]

#: `person` wrote or edited the files; `vcs` brought them (a pull or checkout); `worker` is a run.
Author = Literal["person", "vcs", "worker"]


_TRAILER: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]*): (.*)")
#: Written at the end of every message, so that the last paragraph is always ours and never a quoted text.
_MARK: Final = "Hikidashi-Author"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One commit of the history."""

    #: 40 hex digits.
    id: str
    parent: str | None
    #: `person`, `vcs` or `worker`; for commits that a person made with git, the name that stands there.
    author: str
    #: ISO 8601, UTC.
    at: str
    subject: str
    body: str
    #: Key -> its values in order (`Run`, `Phase`, `Operation` …).
    trailers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Object ID of its tree.
    tree: str = ""

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {
            "id": self.id,
            "parent": self.parent,
            "author": self.author,
            "at": self.at,
            "subject": self.subject,
            "body": self.body,
            "trailers": {key: list(values) for key, values in self.trailers.items()},
        }


def commit_message(subject: str, body: str, trailers: Mapping[str, str | Sequence[str]], author: Author) -> str:
    """Subject, body and trailers, parted by empty lines."""
    lines = []
    for key, values in {**trailers, _MARK: author}.items():
        if not _TRAILER.fullmatch(f"{key}: "):
            raise ValueError(f"not a trailer's key: {key!r}")
        lines += [f"{key}: {one_line(value)}" for value in ([values] if isinstance(values, str) else values)]
    parts = [one_line(subject)[:200] or "Change records", body.strip().replace("\0", ""), "\n".join(lines)]
    return "\n\n".join(part for part in parts if part) + "\n"


def one_line(text: str) -> str:
    """`text` with its line ends and runs of spaces folded to one space each."""
    return " ".join(text.replace("\0", "").split())


def read_commit(commit_id: str, data: bytes) -> Commit:
    """The commit in `data`, a commit object's content. Raises what dulwich does for damaged bytes."""
    git = GitCommit.from_string(data)
    text = git.message.decode("utf-8", "replace").strip("\n")
    subject, _, rest = text.partition("\n")
    rest = rest.strip("\n")
    head, _, last = rest.rpartition("\n\n")
    rows = [_TRAILER.fullmatch(line) for line in last.splitlines()]
    trailers: dict[str, tuple[str, ...]] = {}
    if rows and all(rows):
        for row in rows:
            if row is not None:
                trailers[row.group(1)] = (*trailers.get(row.group(1), ()), row.group(2))
        rest = head.strip("\n")
    name = git.author.decode("utf-8", "replace").partition(" <")[0]
    return Commit(
        id=commit_id,
        parent=git.parents[0].decode("ascii") if git.parents else None,
        author=trailers.pop(_MARK, (name,))[-1],
        at=format_time(datetime.fromtimestamp(git.commit_time, tz=UTC)),
        subject=subject,
        body=rest,
        trailers=trailers,
        tree=git.tree.decode("ascii"),
    )


def unified_diff(path: str, old: bytes | None, new: bytes | None) -> str:
    """A unified diff as git prints it, without the lines about modes and object IDs."""
    before, after = ((data or b"").decode("utf-8", "replace").split("\n") for data in (old, new))
    names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
    ended = [lines.pop() == "" if lines[-1] == "" else False for lines in (before, after)]
    rows = difflib.unified_diff(_ends(before, ended[0]), _ends(after, ended[1]), *names, lineterm="\n")
    return "".join(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n" for row in rows)


def _ends(lines: list[str], ended: bool) -> list[str]:
    """The lines with their newline; the last one without when the file does not end in one."""
    return [line + "\n" for line in lines[:-1]] + [line + ("\n" if ended else "") for line in lines[-1:]]
