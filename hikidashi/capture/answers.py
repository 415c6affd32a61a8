"""What a model answers about a chunk: the form it is asked for, and a reading of it that forgives.

Imported only where an answer is read, since pydantic costs a process a fifth of a second.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hikidashi.capture.pieces import SPEAKERS

__all__ = ["ACTIVITIES", "FACTS", "ActivityClaim", "ExtractionAnswer", "FactClaim", "answer_schema", "schema_text"]

#: The kinds of activities and of fact candidates.
ACTIVITIES: Final = ("decision", "discussion", "attempt", "request")
FACTS: Final = ("capability", "decision", "rule", "procedure", "fact")

_DIGITS: Final = re.compile(r"\d{1,6}")


def _number(value: object) -> object:
    """An event's number as models write it: 7, 7.0, "7", "[7]", "event 7"; 0, which no event has, for anything else."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        return int(value) if 0 <= value <= 999_999 else 0
    found = _DIGITS.search(value) if isinstance(value, str) else None
    return int(found[0]) if found else 0


def _text(value: object) -> object:
    """Text, whatever it was sent as; nothing for null."""
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(str(item) for item in value)
    return value if isinstance(value, str) else str(value)


def _texts(value: object) -> object:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


_Text = Annotated[str, BeforeValidator(_text)]
_Number = Annotated[int, BeforeValidator(_number)]


class _Claim(BaseModel):
    """What both kinds of claims have: where the evidence stands and who said it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    #: Number of the event in which the quote stands; 0 for none.
    event: _Number = 0
    #: Who said it: one of `SPEAKERS`.
    said_by: _Text = ""
    #: Word for word; '' for none.
    quote: _Text = ""


class ActivityClaim(_Claim):
    """One activity, as the model claims it."""

    kind: _Text = ""
    title: _Text = ""
    body: _Text = ""
    why: _Text = ""
    #: Number of the first event that belongs to it; 0 for none before `event`.
    since: _Number = 0
    #: Of a request: `open` or `done`.
    status: _Text = ""


class FactClaim(_Claim):
    """One lasting fact, as the model claims it."""

    type: _Text = ""
    key: _Text = ""
    body: _Text = ""
    aliases: Annotated[tuple[str, ...], BeforeValidator(_texts)] = ()


class ExtractionAnswer(BaseModel):
    """The whole answer. Both lists may be empty, and mostly are; a missing one is an answer in another form."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    activities: tuple[ActivityClaim, ...] = Field()
    facts: tuple[FactClaim, ...] = Field()


def _list_of(required: dict[str, dict[str, Any]]) -> dict[str, Any]:
    item = {"type": "object", "properties": required, "required": list(required), "additionalProperties": False}
    return {"type": "array", "items": item}


def answer_schema() -> dict[str, Any]:
    """The JSON schema that a request asks for."""
    evidence: dict[str, dict[str, Any]] = {
        "event": {"type": "integer", "description": "number of the event in which the quote stands"},
        "said_by": {"type": "string", "enum": list(SPEAKERS), "description": "whose event that is"},
        "quote": {
            "type": "string",
            "description": "12 characters or more of that event, word for word; empty when there are none",
        },
    }
    activity: dict[str, dict[str, Any]] = {
        "kind": {"type": "string", "enum": list(ACTIVITIES)},
        "title": {"type": "string", "description": "one line that is understood a month later"},
        "body": {"type": "string", "description": "what happened, in Markdown"},
        "why": {"type": "string", "description": "why it was chosen or wanted; empty when nobody said"},
        **evidence,
        "since": {"type": "integer", "description": "number of the first event that belongs to it, else that of event"},
        "status": {"type": "string", "enum": ["", "open", "done"], "description": "of a request only"},
    }
    fact: dict[str, dict[str, Any]] = {
        "type": {"type": "string", "enum": list(FACTS)},
        "key": {"type": "string", "description": "what it is looked up by, as in deploy:shop or rule:no-force-push"},
        "body": {"type": "string", "description": "the fact, in a sentence or two"},
        "aliases": {"type": "array", "items": {"type": "string"}, "description": "words that people prompt with"},
        **evidence,
    }
    lists = {"activities": _list_of(activity), "facts": _list_of(fact)}
    return {"type": "object", "properties": lists, "required": list(lists), "additionalProperties": False}


def schema_text() -> str:
    """The same as a prompt shows it: not every server takes a schema."""
    return json.dumps(answer_schema(), ensure_ascii=False, indent=1)
