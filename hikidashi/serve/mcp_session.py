"""The Model Context Protocol, as far as a memory needs it: one client over one pair of pipes.

Two eras of it are spoken. Up to 2025-11-25 a client begins with `initialize`, and the server asks the person by a
request of its own (`elicitation/create`). From 2026-07-28 on each request says in `_meta` which version it is in and
what the client can do; a question to the person is an answer (`resultType: input_required`), and the client repeats
its call with what was said. Which era a request is of is seen by the request itself.

What takes time is handed to other threads (`submit`); what the protocol itself asks is answered at once. A question
to the person holds no thread: its answer, whenever it comes, is new work.

    modelcontextprotocol.io/specification/2025-11-25 and /2026-07-28
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hikidashi import __version__
from hikidashi.errors import HikidashiError, NoWorkspace
from hikidashi.serve.mcp_dialog import ASKED, Asked, Dialogs, Request, as_content
from hikidashi.serve.mcp_tools import INSTRUCTIONS, TOOLS, tool_named, valid_arguments
from hikidashi.serve.mcp_wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Message,
    RpcError,
    parse,
)

if TYPE_CHECKING:
    from hikidashi.serve.mcp_write import Question

__all__ = ["HANDSHAKE_VERSIONS", "MODERN_VERSIONS", "Session"]

#: Versions that begin with `initialize`, newest first.
HANDSHAKE_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: Versions in which each request tells its own.
MODERN_VERSIONS: Final = ("2026-07-28",)

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_ABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
_SERVER_KEY: Final = "io.modelcontextprotocol/serverInfo"

_UNSUPPORTED_VERSION: Final = -32022
#: Until 2025-11-25; after it, an unknown resource is a wrong parameter.
_NO_RESOURCE: Final = -32002

#: Methods whose answers say how long they hold, in milliseconds (2026-07-28, "Caching"). What is listed depends on
#: the folder, which may become a workspace any moment.
_HOLDS: Final = {
    "server/discover": 3_600_000,
    "tools/list": 60_000,
    "resources/templates/list": 60_000,
    "resources/list": 0,
    "resources/read": 0,
}


class Session:
    """Answers one client.

    `send` sends a message; it is called from several threads. `submit` has a piece of work done on another thread.
    `folder`: where the server was started. `inert` says why there is nothing to serve there, '' when there is;
    otherwise no tool and no resource is listed.
    """

    def __init__(
        self,
        send: Callable[[Message], None],
        submit: Callable[[Callable[[], None]], None],
        *,
        folder: Path,
        inert: Callable[[Path], str],
        session_id: str = "",
    ) -> None:
        self._send = send
        self._submit = submit
        self._folder = folder
        self._inert = inert
        self._session_id = session_id
        self._may_ask = False
        self._lock = threading.Lock()
        #: IDs of requests that are worked on, and whether their answers are still wanted.
        self._running: dict[str | int, bool] = {}
        self._dialogs = Dialogs(send, self._answer)

    # -- what comes in

    def take(self, line: bytes | None) -> None:
        """Take one line in: answer it, have it worked on, or note what it says."""
        if line is not None and not line.strip():
            return
        try:
            message = parse(line)
        except RpcError as exc:
            self._send({"jsonrpc": "2.0", "id": None, "error": exc.to_dict()})
            return
        if isinstance(message, list) and message:  # a batch, which 2025-03-26 knows
            for one in message:
                self._take(one)
        else:
            self._take(message)

    def _take(self, message: object) -> None:
        number = message.get("id") if isinstance(message, dict) else None
        known = isinstance(number, str) or (isinstance(number, int) and not isinstance(number, bool))
        try:
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise RpcError(INVALID_REQUEST, 'this is no message of JSON-RPC: it lacks "jsonrpc": "2.0"')
            method, params = message.get("method"), message.get("params")
            if method is None and known and ("result" in message or "error" in message):
                self._person_answered(str(number), message.get("result"))
            elif not isinstance(method, str):
                raise RpcError(INVALID_REQUEST, "the message has no method")
            elif "id" not in message:
                self._notified(method, params)
            elif not known:
                raise RpcError(INVALID_REQUEST, "the id is neither text nor a whole number")
            elif params is not None and not isinstance(params, dict):
                raise RpcError(INVALID_PARAMS, "params is no object")
            else:
                self._begin(self._request(number, method, params or {}))
        except RpcError as exc:
            self._send({"jsonrpc": "2.0", "id": number if known else None, "error": exc.to_dict()})

    def _request(self, number: Any, method: str, params: dict[str, Any]) -> Request:
        meta = params.get("_meta")
        modern = method == "server/discover" or (isinstance(meta, dict) and _VERSION_KEY in meta)
        if not modern or (method == "initialize" and "protocolVersion" in params):
            return Request(id=number, method=method, params=params, modern=False, may_ask=self._may_ask)
        if not isinstance(meta, dict) or not isinstance(version := meta.get(_VERSION_KEY), str):
            raise RpcError(INVALID_PARAMS, f"params._meta lacks {_VERSION_KEY}")
        if version not in MODERN_VERSIONS:
            data = {"supported": [*MODERN_VERSIONS, *HANDSHAKE_VERSIONS], "requested": version}
            raise RpcError(_UNSUPPORTED_VERSION, f"the version {version[:40]} is not spoken here", data)
        if not isinstance(abilities := meta.get(_ABILITIES_KEY), dict):
            raise RpcError(INVALID_PARAMS, f"params._meta lacks {_ABILITIES_KEY}")
        return Request(id=number, method=method, params=params, modern=True, may_ask=_asks(abilities))

    def _notified(self, method: str, params: object) -> None:
        if method == "notifications/cancelled" and isinstance(params, dict):
            self._cancel(params.get("requestId"))

    def _cancel(self, number: object) -> None:
        """The client does not wait for an answer any more. What was begun is finished, and a candidate goes on waiting:
        the person may still want it."""
        if not isinstance(number, str | int):
            return
        with self._lock:
            if number in self._running:
                self._running[number] = False
        self._dialogs.cancel(number)

    # -- what goes out

    def _begin(self, request: Request) -> None:
        slow = {
            "tools/call": self._call,
            "resources/list": self._list_resources,
            "resources/read": self._read_resource,
        }.get(request.method)
        if slow is None:
            self._answer(request, self._at_once(request))
            return
        with self._lock:
            self._running[request.id] = True
        self._submit(lambda: self._work(request, slow))

    def _work(self, request: Request, work: Callable[[Request], dict[str, Any] | None]) -> None:
        """Do one piece of work and answer it. What nobody foresaw is an answer too, and then an error of the thread."""
        error: RpcError | None = RpcError(INTERNAL_ERROR, "an internal error of Hikidashi; please report it")
        result: dict[str, Any] | None = None
        try:
            result = work(request)
            error = None
        except RpcError as exc:
            error = exc
        finally:
            with self._lock:
                wanted = self._running.pop(request.id, True)
            if wanted and error is not None:
                self._send({"jsonrpc": "2.0", "id": request.id, "error": error.to_dict()})
            elif wanted and result is not None:
                self._answer(request, result)

    def _answer(self, request: Request, result: dict[str, Any]) -> None:
        if request.modern:
            result = {"resultType": "complete", "_meta": {_SERVER_KEY: _server_info()}} | result
            if request.method in _HOLDS:
                result |= {"ttlMs": _HOLDS[request.method], "cacheScope": "private"}
        self._send({"jsonrpc": "2.0", "id": request.id, "result": result})

    # -- what is answered at once

    def _at_once(self, request: Request) -> dict[str, Any]:
        handshake = {"initialize": self._initialize, "ping": lambda _: {}}
        every = {"tools/list": self._list_tools, "resources/templates/list": self._list_templates}
        known = every | ({"server/discover": self._discover} if request.modern else handshake)
        if request.method not in known:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {request.method[:60]} here")
        return known[request.method](request)

    def _initialize(self, request: Request) -> dict[str, Any]:
        wanted = request.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RpcError(INVALID_PARAMS, "protocolVersion is missing")
        abilities = request.params.get("capabilities")
        self._may_ask = isinstance(abilities, dict) and _asks(abilities)
        version = wanted if wanted in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0]
        return {"protocolVersion": version, "serverInfo": _server_info(), **self._about()}

    def _discover(self, request: Request) -> dict[str, Any]:
        return {"supportedVersions": [*MODERN_VERSIONS, *HANDSHAKE_VERSIONS], **self._about()}

    def _about(self) -> dict[str, Any]:
        about: dict[str, Any] = {"capabilities": {"tools": {}, "resources": {}}}
        return about if self._inert(self._folder) else about | {"instructions": INSTRUCTIONS}

    def _list_tools(self, request: Request) -> dict[str, Any]:
        return {"tools": [] if self._inert(self._folder) else list(TOOLS)}

    def _list_templates(self, request: Request) -> dict[str, Any]:
        from hikidashi.serve.mcp_records import TEMPLATES

        return {"resourceTemplates": [] if self._inert(self._folder) else list(TEMPLATES)}

    # -- what takes time

    def _list_resources(self, request: Request) -> dict[str, Any]:
        from hikidashi.serve.mcp_records import list_resources

        if self._inert(self._folder):
            return {"resources": []}
        with _told():
            return list_resources(self._folder, request.params.get("cursor"))

    def _read_resource(self, request: Request) -> dict[str, Any]:
        from hikidashi.serve.mcp_records import read_resource

        missing = INVALID_PARAMS if request.modern else _NO_RESOURCE
        with _told():
            uri = request.params.get("uri")
            return read_resource(self._folder, uri, missing=missing, session_id=self._session_id)

    def _call(self, request: Request) -> dict[str, Any] | None:
        """Call a tool; None where the answer comes once the person said something."""
        tool = tool_named(request.params.get("name"))
        if tool is None:
            raise RpcError(INVALID_PARAMS, "there is no such tool: tools/list tells which there are")
        state = request.params.get("requestState")
        asked = self._dialogs.repeated(request, state) if isinstance(state, str) else None
        with _as_result() as outcome:
            reason = self._inert(self._folder)
            if reason:
                raise NoWorkspace(reason)
            if asked is not None:
                answers = request.params.get("inputResponses")
                outcome.take(self._settle(asked, answers.get(ASKED) if isinstance(answers, dict) else None))
            else:
                found = self._run(tool["name"], valid_arguments(tool, request.params.get("arguments")), request)
                if not isinstance(found, dict):
                    return self._ask(request, found)
                outcome.take(found)
        return outcome.form

    def _run(self, name: str, arguments: dict[str, Any], request: Request) -> dict[str, Any] | Question:
        """What a tool gives, or what it has to ask first."""
        session_id = self._session_id
        if name == "memory_write":
            from hikidashi.serve.mcp_write import memory_write

            return memory_write(self._folder, arguments, may_ask=request.may_ask, session_id=session_id)
        if name == "memory_read":
            from hikidashi.serve.mcp_read import memory_read

            return memory_read(self._folder, arguments, session_id=session_id)
        from hikidashi.serve.mcp_records import KNOWLEDGE, MEMORY, search

        kinds = KNOWLEDGE if name == "knowledge_search" else MEMORY
        return search(self._folder, arguments, kinds, via=name, session_id=session_id)

    # -- asking the person

    def _ask(self, request: Request, question: Question) -> dict[str, Any] | None:
        with self._lock:
            wanted = self._running.get(request.id, True)
        return self._dialogs.ask(request, question) if wanted else None

    def _person_answered(self, name: str, answer: object) -> None:
        """The client answered a request of ours; its error is no answer of the person."""
        asked = self._dialogs.take(name)
        if asked is None:
            return
        with self._lock:
            self._running[asked.request.id] = True

        def finish(request: Request) -> dict[str, Any]:
            with _as_result() as outcome:
                outcome.take(self._settle(asked, answer))
            return outcome.form

        self._submit(lambda: self._work(asked.request, finish))

    def _settle(self, asked: Asked, answer: object) -> dict[str, Any]:
        from hikidashi.serve.mcp_write import answered

        return answered(self._folder, asked.question, answer)


class _Outcome:
    """What a tool's call gives."""

    def __init__(self) -> None:
        self.form: dict[str, Any] = {}

    def take(self, result: dict[str, Any]) -> None:
        """The tool gave this."""
        self.form = as_content(result)


@contextlib.contextmanager
def _as_result() -> Iterator[_Outcome]:
    """What the memory refuses is a result that the model can read, and mend."""
    outcome = _Outcome()
    try:
        yield outcome
    except HikidashiError as exc:
        outcome.form = {"content": [{"type": "text", "text": str(exc)}], "isError": True}


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """What the memory refuses outside a tool is an error of the protocol."""
    try:
        yield
    except HikidashiError as exc:
        raise RpcError(INTERNAL_ERROR, str(exc)) from exc


def _asks(abilities: dict[str, Any]) -> bool:
    """Whether a client shows forms: `elicitation` without more, or with `form`."""
    found = abilities.get("elicitation")
    return isinstance(found, dict) and (not found or "form" in found)


def _server_info() -> dict[str, str]:
    return {"name": "hikidashi", "title": "Hikidashi", "version": __version__}
