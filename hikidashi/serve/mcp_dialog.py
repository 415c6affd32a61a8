"""Questions to the person that stand open, in both eras of the protocol.

In the first the server asks by a request of its own and the answer comes as a message; in the second the question is
what the call gives, under a name that nobody can guess, and the client repeats the call with the name and the answer.
"""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from hikidashi.serve.mcp_wire import Message

if TYPE_CHECKING:
    from hikidashi.serve.mcp_write import Question

__all__ = ["ASKED", "Asked", "Dialogs", "Request", "as_content"]

#: Questions that stand open; beyond that the oldest counts as not answered.
_MAX_OPEN: Final = 32

#: The name of the one question among those that a call may ask.
ASKED: Final = "decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request, and what is to be known of who sent it."""

    id: str | int
    method: str
    params: dict[str, Any]
    #: Of 2026-07-28 or later.
    modern: bool
    #: The client shows forms to the person.
    may_ask: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that stands open."""

    request: Request
    question: Question


class Dialogs:
    """The open questions of one client. `send` sends a message, `answer` answers a request."""

    def __init__(self, send: Callable[[Message], None], answer: Callable[[Request, dict[str, Any]], None]) -> None:
        self._send = send
        self._answer = answer
        self._lock = threading.Lock()
        #: By the ID of our request (first era) or by the state that a repeated call names (second).
        self._open: OrderedDict[str, Asked] = OrderedDict()
        #: Candidates (scope, ID) that the person was asked about.
        self._settled: set[tuple[str, str]] = set()
        self._numbers = itertools.count(1)

    def ask(self, request: Request, question: Question) -> dict[str, Any] | None:
        """Ask the person; gives the call's result, None where that comes with the answer.

        Who was asked about a candidate before is left alone: an agent that repeats itself gets no second dialog.
        """
        candidate = (question.candidate.scope, question.candidate.id)
        name = os.urandom(18).hex() if request.modern else f"hikidashi-{next(self._numbers)}"
        with self._lock:
            if candidate in self._settled:
                return as_content(question.result)
            self._settled.add(candidate)
            self._open[name] = Asked(request=request, question=question)
            dropped = self._open.popitem(last=False) if len(self._open) > _MAX_OPEN else None
        if dropped is not None and not dropped[1].request.modern:
            self._withdraw(dropped[0])
            self._answer(dropped[1].request, as_content(dropped[1].question.result))
        if request.modern:
            form = {"method": "elicitation/create", "params": question.form}
            return {"resultType": "input_required", "inputRequests": {ASKED: form}, "requestState": name}
        self._send({"jsonrpc": "2.0", "id": name, "method": "elicitation/create", "params": question.form})
        return None

    def take(self, name: str) -> Asked | None:
        """The question that a client's message answers (first era)."""
        with self._lock:
            asked = self._open.get(name)
            return None if asked is None or asked.request.modern else self._open.pop(name)

    def repeated(self, request: Request, state: str) -> Asked | None:
        """The question that a repeated call answers (second era); None where it is another call."""
        with self._lock:
            asked = self._open.get(state)
            if asked is None or not request.modern or not asked.request.modern:
                return None
            same = all(asked.request.params.get(part) == request.params.get(part) for part in ("name", "arguments"))
            return self._open.pop(state) if same else None

    def cancel(self, number: object) -> None:
        """Withdraw the questions of a request for whose answer nobody waits any more; the candidate goes on waiting."""
        with self._lock:
            asking = {name: one.request for name, one in self._open.items() if not one.request.modern}
            withdrawn = [name for name, request in asking.items() if request.id == number]
            for name in withdrawn:
                del self._open[name]
        for name in withdrawn:
            self._withdraw(name)

    def _withdraw(self, name: str) -> None:
        params = {"requestId": name, "reason": "nobody waits for it any more"}
        self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})


def as_content(result: dict[str, Any]) -> dict[str, Any]:
    """A tool's result, structured and, for clients that know no structure, as text."""
    text = json.dumps(result, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": result}
