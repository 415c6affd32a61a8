"""Finding and replacing the secrets of a text.

    redact("export GH_TOKEN=…")  ->  "export GH_TOKEN=[redacted:github-token]"

Every text that goes to a model, to staging, to records or to the drawer passes here (design section 5.4).
Nothing is kept of what was found but its kind and place. The time is proportional to the text's length
whatever the text is, and `redact(redact(text)) == redact(text)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from hikidashi.redact.families import Secret
from hikidashi.redact.prefilter import Prefilter, long_runs
from hikidashi.redact.rules import CONTEXTS, RULES_VERSION, Context, kinds
from hikidashi.redact.tokens import FAMILIES
from hikidashi.redact.view import replaced, unwrapped

__all__ = ["RULES_VERSION", "Secret", "find_secrets", "redact"]

#: A marker, also one that the end of a line or of the text cuts off.
_MARKER: Final = re.compile(r"\[redacted:(?P<kind>[a-z0-9\-]{0,60}+)(?P<close>\]|(?=[\s…]|\.\.\.|\Z))")
_KINDS: Final = frozenset(kinds())
_PREFILTER: Final = Prefilter(FAMILIES)
#: For short texts one look for everything is faster than one for each context.
_NEEDLES: Final = tuple((needle, position) for position, context in enumerate(CONTEXTS) for needle in context.needles)
_MARKED: Final = tuple(context for context in CONTEXTS if context.marks and not context.needles)
_MARKS: Final = re.compile(b"|".join(re.escape(mark) for context in _MARKED for mark in context.marks))
_JUDGED: Final = tuple(context for context in CONTEXTS if not context.marks and not context.needles)
_SHORT: Final = 4096

#: Short texts in which there is nothing: the same commands, paths and names come again and again. What holds a
#: secret is never kept.
_clean: set[str] = set()
_REMEMBERED: Final = 256
_MAX_CLEAN: Final = 4096

#: Kinds that say the least about what was found: a more exact kind in the same place wins.
_VAGUE: Final = {"secret": 2, "password": 2, "authorization": 2, "cookie": 2, "url-password": 1, "url-signature": 1}

#: What a redacted text may uncover is looked for again; real text needs two passes, the second to find nothing.
_MAX_PASSES: Final = 16


def redact(text: str) -> str:
    """`text` with `[redacted:kind]` in place of each secret; the same object when there is none."""
    secrets = find_secrets(text)
    if not secrets:
        return text
    parts: list[str] = []
    last = 0
    for secret in secrets:
        parts += (text[last : secret.start], f"[redacted:{secret.kind}]")
        last = secret.end
    parts.append(text[last:])
    return "".join(parts)


def find_secrets(text: str) -> list[Secret]:
    """The secrets of `text`, in order, without overlaps.

    Where several are found in one place, they become one, of the most exact and then longest kind. Markers of
    an earlier redaction are no secrets; one inside a secret is swallowed by it.
    """
    if len(text) <= _REMEMBERED and text in _clean:
        return []
    markers = _markers(text)
    new = _one_pass(text, _merged_places(markers)) if markers else _in_readings(text)
    found: list[Secret] = []
    for _ in range(_MAX_PASSES):
        if not new:
            break
        found = _merged([*found, *new], markers)
        new = _one_pass(text, _merged_places([*markers, *((s.start, s.end) for s in found)]))
    if not found and len(text) <= _REMEMBERED:
        if len(_clean) >= _MAX_CLEAN:
            _clean.clear()
        _clean.add(text)
    return found


def _markers(text: str) -> list[tuple[int, int]]:
    """The places of markers. Only our own kinds count: a secret does not pass by standing in such brackets."""
    if "[redacted:" not in text:
        return []
    return [
        match.span()
        for match in _MARKER.finditer(text)
        if match["kind"] in _KINDS or (not match["close"] and any(kind.startswith(match["kind"]) for kind in _KINDS))
    ]


def _one_pass(text: str, hidden: list[tuple[int, int]]) -> list[Secret]:
    """What is found when the `hidden` places are taken out; in the original's places."""
    view = replaced(text, hidden)
    return [Secret(s.kind, *view.origin(s.start, s.end)) for s in _in_readings(view.text)]


def _in_readings(text: str) -> list[Secret]:
    """What is found in `text` as it stands and with its wrapping undone."""
    found = _scan(text)
    view = unwrapped(text)
    if view is not None:
        found += [Secret(s.kind, *view.origin(s.start, s.end)) for s in _scan(view.text)]
    return found


def _scan(text: str) -> list[Secret]:
    """The secrets of one reading, in no order, with overlaps."""
    runs = long_runs(text.encode("utf-8", "replace"))
    low = _lower(text)
    found: list[Secret] = []
    if runs:
        for family in _PREFILTER.worth_looking(runs):
            found += family.find(text)
    if len(low) > _SHORT:
        for context in _in_long(low, runs):
            found += context.find(text, low)
    else:
        for context in _in_short(low, runs):
            found += context.find(text, low)
    return _with_content(text, found) if found else found


def _is_marked(context: Context, runs: bytes) -> bool:
    """Whether the long runs leave the context a chance."""
    if context.marks and not any(mark in runs for mark in context.marks):
        return False
    return context.runs is None or (runs != b"" and bool(context.runs(runs)))


def _in_long(low: str, runs: bytes) -> Iterator[Context]:
    """The contexts that may find something in a long text: one pass over it for each string there is to look for."""
    seen: dict[str, bool] = {}
    for context in CONTEXTS:
        if not _is_marked(context, runs):
            continue
        for needle in context.needles:
            if needle not in seen:
                seen[needle] = needle in low
            if seen[needle]:
                break
        else:
            if context.needles:
                continue
        yield context


def _in_short(low: str, runs: bytes) -> list[Context]:
    """The contexts that may find something in a short text: one look for everything there is to look for."""
    named = sorted({position for needle, position in _NEEDLES if needle in low})
    if not runs:
        return [CONTEXTS[position] for position in named if not CONTEXTS[position].in_runs]
    found = [CONTEXTS[position] for position in named if _is_marked(CONTEXTS[position], runs)]
    if _MARKS.search(runs) is not None:
        found += [context for context in _MARKED if _is_marked(context, runs)]
    return found + [context for context in _JUDGED if _is_marked(context, runs)]


def _with_content(text: str, secrets: list[Secret]) -> list[Secret]:
    return [s for s in secrets if any(char.isalnum() for char in text[s.start : s.end])]


def _lower(text: str) -> str:
    """`text` in lower case, character by character: the one letter that becomes two stays."""
    low = text.lower()
    return low if len(low) == len(text) else text.replace("\u0130", "I").lower()


def _merged(secrets: Iterable[Secret], markers: list[tuple[int, int]]) -> list[Secret]:
    """Overlapping secrets as one; markers of an earlier redaction that one overlaps go with it."""
    pieces = [(s.start, s.end, s) for s in secrets] + [(start, end, None) for start, end in markers]
    pieces.sort(key=lambda piece: (piece[0], -piece[1]))
    merged: list[Secret] = []
    group: list[Secret] = []
    start = end = -1
    for first, last, secret in pieces:
        if first >= end:
            if group:
                merged.append(Secret(max(group, key=_rank).kind, start, end))
            group, start, end = [], first, last
        end = max(end, last)
        if secret is not None:
            group.append(secret)
    if group:
        merged.append(Secret(max(group, key=_rank).kind, start, end))
    return merged


def _rank(secret: Secret) -> tuple[int, int, str]:
    return -_VAGUE.get(secret.kind, 0), secret.end - secret.start, secret.kind


def _merged_places(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged
