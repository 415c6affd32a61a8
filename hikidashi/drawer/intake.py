"""What comes to the gate is made fit to be kept, once more: proposers have redacted it already, and may have erred.

A secret in a text is replaced and counted; one in the key makes a draft unfit, since two targets must not share a key
through redaction. What is too long is cut, since nobody is there who could shorten it.
"""

from __future__ import annotations

import dataclasses
from typing import Final

from hikidashi.drawer.draft import MAX_ALIAS, MAX_ALIASES, MAX_PROBE, MAX_PROOF, clean_aliases
from hikidashi.drawer.fact import MAX_BODY, Draft, Origin, Sighting, clean_key
from hikidashi.errors import UsageError
from hikidashi.redact import find_secrets, redact
from hikidashi.times import format_time, parse_time

__all__ = ["MAX_LINE", "NO_PROBE", "Unfit", "clean_draft", "clean_line", "clean_sighting"]

#: Characters of a command, or of what it said, in one line.
MAX_LINE: Final = 300

#: Origins that may carry no probe: nobody but the tool table and a person says what is run (design section 8).
NO_PROBE: Final[frozenset[Origin]] = frozenset({"memory_write", "import", "reflection"})


class Unfit(ValueError):
    """A draft that cannot be kept in any form."""


def clean_draft(draft: Draft) -> tuple[Draft, int]:
    """`draft` as it may wait, and in how many of its texts a secret was found. Raises `Unfit`."""
    try:
        key = clean_key(_text(draft.key))
    except UsageError as exc:
        raise Unfit(str(exc)) from exc
    if find_secrets(key):
        raise Unfit("the key holds a secret")
    body, in_body = _redacted(_text(draft.body).replace("\r\n", "\n").strip())
    if not body:
        raise Unfit("the body is empty")
    proof, in_proof = _redacted(" ".join(_text(draft.proof).split()))
    probe = () if draft.origin in NO_PROBE else tuple(_text(word) for word in draft.probe)
    words = " ".join(probe)
    bad_probe = any(map(find_secrets, (words, *probe)))
    aliases = [alias for alias in map(_text, draft.aliases) if len(alias) <= MAX_ALIAS]
    kept = [alias for alias in aliases if not find_secrets(alias)] if find_secrets("\n".join(aliases)) else aliases
    clean = dataclasses.replace(
        draft,
        key=key,
        body=_cut(body, MAX_BODY),
        proof=_cut(proof, MAX_PROOF),
        probe=() if bad_probe or len(words) > MAX_PROBE else probe,
        aliases=clean_aliases(kept[:MAX_ALIASES]),
        source=draft.source | {"at": _time(str(draft.source["at"]))} if draft.source.get("at") else draft.source,
    )
    return clean, in_body + in_proof + bad_probe + (len(aliases) - len(kept))


def clean_sighting(sighting: Sighting, key: str) -> tuple[Sighting, int]:
    """`sighting` as it may be kept under `key`, and in how many of its texts a secret was found."""
    told, in_told = _redacted(" ".join(_text(sighting.told).split()))
    target, in_target = _redacted(_text(sighting.target))
    clean = dataclasses.replace(sighting, key=key, told=_cut(told, MAX_LINE), target=target, path=_text(sighting.path))
    return clean, in_told + in_target


def clean_line(text: str) -> str:
    """What a program said, redacted, in one line."""
    return _cut(" ".join(redact(_text(text)).split()), MAX_LINE)


def _redacted(text: str) -> tuple[str, int]:
    clean = redact(text)
    return clean, int(clean != text)


def _text(text: str) -> str:
    """`text` without what the database does not take."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _time(text: str) -> str:
    """A transcript's time as all of ours are written, so that they can be compared; what is none stays as it is."""
    try:
        return format_time(parse_time(text))
    except ValueError:
        return text


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"
