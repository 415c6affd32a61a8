"""Answers of a given form: read leniently, validated, and asked for again with what was wrong (design section 5.7).

Most servers ignore the schema that they are sent, and models wrap JSON in prose and fences, leave commas at the end of
lists, or stop in the middle. What can be read without guessing is read; what the form does not allow is not mended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from hikidashi.errors import ModelFailure
from hikidashi.model.messages import Answer, Asker, Phase, Request

__all__ = ["MOST_REQUESTS", "ask_validated", "json_values"]

#: One request, and at most two more that say what was wrong with the answer before.
MOST_REQUESTS: Final = 3

#: Of what was wrong, the model is told this many lines, each of at most so many characters.
_MOST_PROBLEMS: Final = 10
_MOST_OF_ONE: Final = 300

#: What a text may hold before its JSON, beginnings of values that turn out to be none included.
_MOST_BEGINNINGS: Final = 50

#: Characters that are gone through at most in search of a value, those of earlier beginnings again: about a second.
_MOST_LOOKED_AT: Final = 4_000_000

#: Characters of a wrong answer that are sent back with what is wrong.
_MOST_REPEATED: Final = 100_000

#: Characters of an answer that are looked at; the longest that any request allows has a tenth of that.
_LONGEST: Final = 1_000_000

_FENCED: Final = re.compile(r"```[A-Za-z0-9_-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
#: Models that reason aloud write drafts there, before they answer.
_THOUGHTS_BEGIN: Final = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THOUGHTS_END: Final = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_CONTROL: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_Form = TypeVar("_Form", bound=BaseModel)


def ask_validated(
    asker: Asker,
    request: Request,
    model_type: type[_Form],
    *,
    phase: Phase,
    check: Callable[[_Form], Sequence[str]] | None = None,
) -> _Form:
    """The answer to `request` as a `model_type`.

    `check` looks at a valid one and says what else is wrong with it, a line each, for the model to read; [] is good.
    A wrong answer is asked for again, at most two more times, each time with the answer before and its faults.

    Raises `ModelFailure` of kind `content` with the reason `max-tokens`, `context-window` or `refusal` when an answer
    stopped so (asking again would not help), `unreadable` after three wrong ones; and what `asker` raises.
    """
    problems: Sequence[str] = ()
    asked = request
    for _ in range(MOST_REQUESTS):
        answer = asker.ask(asked, phase=phase)
        _require_end(answer, request)
        found, problems = _validated(answer.text, model_type, check)
        if found is not None:
            return found
        asked = _asked_again(request, answer, problems)
    raise ModelFailure(
        f"{request.model} gave no usable answer in {MOST_REQUESTS} requests ({_short(problems[0])}): "
        "take a more capable model",
        kind="content",
        reason="unreadable",
    )


def _require_end(answer: Answer, request: Request) -> None:
    """Raises `ModelFailure` for an answer that did not come to its own end."""
    if answer.stop_reason == "max_tokens":
        raise ModelFailure(
            f"the answer of {request.model} was cut at {request.max_tokens:,} tokens: lower capture.chunk_tokens",
            kind="content",
            reason="max-tokens",
        )
    if answer.stop_reason == "model_context_window_exceeded":
        raise ModelFailure(
            f"the answer of {request.model} did not fit its window: lower capture.chunk_tokens, or set "
            "memory.context_tokens",
            kind="content",
            reason="context-window",
        )
    if answer.stop_reason == "refusal":
        raise ModelFailure(
            f"{request.model} refused to answer this text: take another model if it goes on", kind="content",
            reason="refusal",
        )  # fmt: skip


def _validated(
    text: str, model_type: type[_Form], check: Callable[[_Form], Sequence[str]] | None
) -> tuple[_Form | None, Sequence[str]]:
    """The first value in `text` that is as it should be; else None and what is wrong with the first of its kind."""
    first: list[str] = []
    for value in json_values(text):
        try:
            found = model_type.model_validate(value)
        except ValidationError as exc:
            problems = _lines(exc)
        else:
            problems = list(check(found)) if check is not None else []
            if not problems:
                return found, ()
        if not first or (isinstance(value, dict) and first == _NOT_AN_OBJECT):
            first = problems if isinstance(value, dict) else _NOT_AN_OBJECT
    return None, first or ["it holds no JSON"]


_NOT_AN_OBJECT: Final = ["it is no JSON object"]


def _lines(error: ValidationError) -> list[str]:
    lines = []
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        place = ".".join(str(part) for part in one["loc"])
        lines.append(f"{place}: {one['msg']}" if place else one["msg"])
    return lines


def _asked_again(request: Request, answer: Answer, problems: Sequence[str]) -> Request:
    """The same request, and after it only the last answer: earlier ones are not worth their tokens."""
    shown = [f"- {_short(problem)}" for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > len(shown):
        shown.append(f"- and {len(problems) - len(shown)} more of the kind")
    complaint = "\n".join(
        ["Your answer cannot be used:", *shown, "", "Give the whole answer again, as one JSON object and nothing else."]
    )
    return replace(
        request,
        messages=(
            *request.messages,
            {
                "role": "assistant",
                "content": [{"type": "text", "text": answer.text[:_MOST_REPEATED].strip() or "(nothing)"}],
            },
            {"role": "user", "content": [{"type": "text", "text": complaint}]},
        ),
    )


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_OF_ONE else line[: _MOST_OF_ONE - 1] + "…"


def json_values(text: str) -> Iterator[Any]:
    """The JSON objects and lists in `text`, the likeliest first: the whole text, what stands in fences, what stands
    in prose, and last a value whose end is missing, without the part that is not whole.
    """
    said = _without_thoughts(text[:_LONGEST]).strip()
    cut: list[str] = []
    left = _MOST_LOOKED_AT
    for part in (*(match.group(1) for match in _FENCED.finditer(said)), said):
        start, beginnings = _beginning(part, 0), 0
        while start >= 0 and beginnings < _MOST_BEGINNINGS and left > 0:
            beginnings += 1
            cleaned, end = _cleaned(part, start)
            left -= end - start
            try:
                yield from_json(cleaned.encode("utf-8", "replace"), allow_partial=False)
            except ValueError:
                if end == len(part) and not cut:
                    cut.append(cleaned)
                end = start + 1
            start = _beginning(part, end)
    for cleaned in cut:
        try:
            yield from_json(cleaned.encode("utf-8", "replace"), allow_partial=True)
        except ValueError:
            return


def _without_thoughts(text: str) -> str:
    """`text` without what was thought aloud before the first object; a quote in an answer may hold such marks itself.

    Some servers leave out the mark that begins the first thought.
    """
    kept: list[str] = []
    place = 0
    ended = _THOUGHTS_END.search(text)
    if ended and not _THOUGHTS_BEGIN.search(text, 0, ended.start()) and not _is_answer(text[: ended.start()]):
        place = ended.end()
    while (begun := _THOUGHTS_BEGIN.search(text, place)) and "{" not in text[place : begun.start()]:
        ended = _THOUGHTS_END.search(text, begun.end())
        if ended is None:
            break
        kept.append(text[place : begun.start()])
        place = ended.end()
    return "".join([*kept, text[place:]])


def _is_answer(text: str) -> bool:
    """Whether a text begins as an answer does that was not thought about aloud."""
    return text.lstrip().startswith(("{", "[", "```"))


def _beginning(text: str, start: int) -> int:
    places = [place for place in (text.find("{", start), text.find("[", start)) if place >= 0]
    return min(places, default=-1)


def _cleaned(text: str, start: int) -> tuple[str, int]:
    """The value that begins at `start`, without commas before an end and with line breaks in strings escaped, and
    where it ends; the end of `text` when it has none.
    """
    out: list[str] = []
    depth, inside, escaped = 0, False, False
    for place in range(start, len(text)):
        character = text[place]
        if inside:
            out.append(character if escaped else _CONTROL.get(character, character))
            inside = escaped or character != '"'
            escaped = not escaped and character == "\\"
            continue
        if character in "}]":
            _drop_comma(out)
            depth -= 1
        elif character in "{[":
            depth += 1
        inside = character == '"'
        out.append(character)
        if depth == 0:
            return "".join(out), place + 1
    return "".join(out), len(text)


def _drop_comma(out: list[str]) -> None:
    """Take away a comma that stands at the end, blanks after it included."""
    place = len(out) - 1
    while place >= 0 and out[place].isspace():
        place -= 1
    if place >= 0 and out[place] == ",":
        del out[place:]
