"""What a draft must be before it may become a fact: short enough, in plain text, without a secret (section 5.4)."""

from __future__ import annotations

import dataclasses
import json
import shlex
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NewType

from hikidashi.drawer.fact import MAX_BODY, Draft, clean_key
from hikidashi.errors import SecretRefused, UsageError
from hikidashi.redact import find_secrets

__all__ = [
    "MAX_ALIAS",
    "MAX_ALIASES",
    "MAX_PROBE",
    "MAX_PROOF",
    "CheckedDraft",
    "checked",
    "clean_aliases",
    "refuse_secrets",
]

#: A draft that `checked` gave.
CheckedDraft = NewType("CheckedDraft", Draft)

#: Characters of a proof, of one alias and of a probe's words together at most; aliases at most.
MAX_PROOF: Final = 1_000
MAX_ALIAS: Final = 100
MAX_PROBE: Final = 1_000
MAX_ALIASES: Final = 200
#: Characters of what programs attach: digest, machine, source.
_MAX_ATTACHED: Final = 2_000


def checked(draft: Draft) -> CheckedDraft:
    """`draft` as it is stored: key and aliases NFC, proof in one line.

    Raises `UsageError` for what is empty, too long or no text, `SecretRefused` with the place of a secret.
    """
    body = draft.body.replace("\r\n", "\n").strip()
    clean = dataclasses.replace(
        draft,
        key=clean_key(draft.key),
        body=body,
        proof=" ".join(draft.proof.split()),
        aliases=clean_aliases(draft.aliases),
    )
    if not body:
        raise UsageError("the body is empty: say in a sentence what is to be known")
    _refuse_long("body", len(body), MAX_BODY, "shorten it, or split it over several keys")
    _refuse_long("proof", len(clean.proof), MAX_PROOF, "shorten it to the line that shows it")
    _refuse_long("probe", len(" ".join(clean.probe)), MAX_PROBE, "give a shorter command")
    _refuse_long("source", sum(map(len, _attached(clean))), _MAX_ATTACHED, "leave it out")
    for name, text in _fields(clean):
        _refuse_no_text(name, text)
    refuse_secrets(clean)
    return CheckedDraft(clean)


def clean_aliases(aliases: Iterable[str]) -> tuple[str, ...]:
    """Aliases as they are stored: NFC, blanks folded, each once, in the order given.

    Raises `UsageError` for one that is too long and for too many.
    """
    clean = {" ".join(unicodedata.normalize("NFC", alias).split()): None for alias in aliases}
    clean.pop("", None)
    for alias in clean:
        _refuse_long("alias", len(alias), MAX_ALIAS, "give the words that people prompt with")
    if len(clean) > MAX_ALIASES:
        raise UsageError(f"there are {len(clean)} aliases: give at most {MAX_ALIASES}")
    return tuple(clean)


def refuse_secrets(draft: Draft) -> None:
    """Raise `SecretRefused` that names field and place, never the secret."""
    for name, text in _fields(draft):
        for secret in find_secrets(text):
            line = text.count("\n", 0, secret.start) + 1
            column = secret.start - (text.rfind("\n", 0, secret.start) + 1) + 1
            place = f"line {line}, column {column}" if "\n" in text else f"column {column}"
            raise SecretRefused(
                f"the {name} holds a secret ({secret.kind}, {place}): take it out and write it again; "
                "nothing was written"
            )


def _fields(draft: Draft) -> Iterator[tuple[str, str]]:
    yield "key", draft.key
    yield "body", draft.body
    yield "proof", draft.proof
    yield "probe", shlex.join(draft.probe)
    for word in draft.probe:  # also by itself: quotes may hide where it begins
        yield "probe", word
    for alias in draft.aliases:
        yield "alias", alias
    for text in _attached(draft):
        yield "source", text


def _attached(draft: Draft) -> list[str]:
    source = json.dumps(draft.source, ensure_ascii=False) if draft.source else ""
    return [draft.digest, draft.machine_id, draft.machine_name, source]


def _refuse_long(name: str, length: int, limit: int, mend: str) -> None:
    if length > limit:
        raise UsageError(f"the {name} has {length:,} characters, at most {limit:,} are kept: {mend}")


def _refuse_no_text(name: str, text: str) -> None:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise UsageError(f"the {name} holds bytes that are no text: give it in UTF-8")
