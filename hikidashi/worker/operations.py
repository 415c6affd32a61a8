"""What a clean-up did, read from the trees; an engine's own list gives only categories and reasons.

Every file that changed must belong to an operation, every operation must have changed something, and its kind
must be the one that the trees show. What is written into history and the clean-up log is therefore what
happened (design section 6, step 7).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from hikidashi.errors import HikidashiError
from hikidashi.records.record import Record, Tree, parse_record
from hikidashi.worker.ledger import lost_paths
from hikidashi.worker.report import Operation, OperationKind

__all__ = ["CATEGORIES", "Judged", "judge_operations", "operation_line"]

#: Why a record may be touched by clean-up.
CATEGORIES: Final = ("outdated", "superseded", "unused", "noisy")

#: Follows from what happens to records; a change there needs no operation of its own.
_DERIVED: Final = frozenset({"memory/summary.md", "memory/cleanup-log.md"})

Judged = tuple[list[Operation], list[str]]


def judge_operations(
    claimed: Sequence[Operation],
    before: Tree,
    after: Tree,
    *,
    protected: Collection[str] = (),
    losses_left: int,
) -> Judged:
    """The operations that happened, and what is wrong, one line each; published only if nothing is.

    `losses_left`: how many records may be lost (dropped, merged away, split).
    """
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    done: list[Operation] = []
    errors: list[str] = []
    covered: set[str] = set()
    for operation in claimed:
        touched = changed.intersection((*operation.paths, *operation.into))
        if not touched:
            errors.append(f"{operation_line(operation)}: nothing changed; take it out")
            continue
        derived = _kind(operation, before, after)
        problem = _problem(operation, derived, before, after)
        if problem:
            errors.append(f"{operation_line(operation)}: {problem}")
        covered |= touched
        done.append(replace(operation, op=derived) if derived else operation)
    errors += [
        f"{path}: {_happened(path, before, after)} without an operation; name one with categories and a reason"
        for path in sorted(changed - covered - _DERIVED)
    ]
    lost = lost_paths(done, before, after)
    errors += [f"{path}: protected, may not be lost by {lost[path]}" for path in sorted(lost) if path in protected]
    if len(lost) > losses_left:
        errors.append(f"{len(lost)} records would be lost, {losses_left} may be in 24 hours; leave the others")
    return done, errors


def _happened(path: str, before: Tree, after: Tree) -> str:
    if path not in after:
        return "deleted"
    return "changed" if path in before else "made"


def _kind(operation: Operation, before: Tree, after: Tree) -> OperationKind | None:
    """The kind that the trees show for an operation's paths; None when they show none."""
    gone = [path for path in operation.paths if path in before and path not in after]
    if operation.into:
        made = [path for path in operation.into if path not in before]
        if len(operation.paths) == 1 and len(operation.into) > 1 and made:
            return "split"
        return "merge" if gone else None
    if gone:
        return "drop" if len(gone) == len(operation.paths) else None
    shrunk = [_only_lost(before.get(path), after.get(path), path) for path in operation.paths]
    return "trim" if shrunk and all(shrunk) else "rewrite"


def _problem(operation: Operation, derived: OperationKind | None, before: Tree, after: Tree) -> str:
    if derived is None:
        return "the files do not show such an operation; name what was done"
    # Rewriting may as well only take text away; all other kinds are what they are.
    if operation.op != derived and (operation.op, derived) != ("rewrite", "trim"):
        return f"the files show a {derived}; call it that"
    if not operation.categories or set(operation.categories) - set(CATEGORIES):
        return f"categories must be one or more of {', '.join(CATEGORIES)}"
    if not operation.reason.strip():
        return "has no reason; say why"
    missing = [path for path in operation.into if path not in after]
    if missing:
        return f"{', '.join(missing)} does not exist afterwards; write it first"
    unknown = [path for path in operation.paths if path not in before]
    return f"{', '.join(unknown)} did not exist; name what was there" if unknown else ""


def _only_lost(before: bytes | None, after: bytes | None, path: str) -> bool:
    """Whether a record only became less: body lines or sources fewer, in the same order, nothing new."""
    if before is None or after is None:
        return False
    try:
        old, new = parse_record(path, before), parse_record(path, after)
    except HikidashiError:
        return False
    return (
        _is_part(new.body.splitlines(), old.body.splitlines())
        and _is_part(new.sources, old.sources)
        and (_fixed(old) == _fixed(new))
    )


def _is_part(part: Sequence[object], whole: Sequence[object]) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


def _fixed(record: Record) -> tuple[object, ...]:
    return (record.kind, record.status, record.replaced_by, record.trust, record.description, record.knowledge_kind)


def operation_line(operation: Operation) -> str:
    """One line: `merge memory/decisions/a.md into memory/decisions/b.md [superseded]: same text`."""
    into = f" into {', '.join(operation.into)}" if operation.into else ""
    reason = " ".join(operation.reason.split())
    return f"{operation.op} {', '.join(operation.paths)}{into} [{', '.join(operation.categories)}]: {reason}"
