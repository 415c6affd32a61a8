"""What a model may read by itself, what needs a yes first, and what that would cost (design section 5.8).

From the moment on that a model is used in a workspace, it reads the sessions that are written to. Those that were over
before are many and nobody agreed to pay for them: they are read once a person says yes, and that yes is kept in a queue
until all of them are read, over as many days as the budgets make it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hikidashi.capture.chunks import room_for
from hikidashi.capture.digest import Digest
from hikidashi.capture.follow import Belonging, path_text
from hikidashi.capture.model_marks import ModelMark, mark_to_resume
from hikidashi.capture.sessions import FoundFiles, explicit_transcripts, own_sessions
from hikidashi.db.connection import database_errors, queries, transaction
from hikidashi.errors import BadSettings
from hikidashi.hosts.transcript import Host, ReadReport, SessionFile
from hikidashi.model.messages import Usage
from hikidashi.model.prices import Prices, load_prices
from hikidashi.model.prompt_files import prompt_sources
from hikidashi.model.tokens import most_tokens
from hikidashi.prompts.template import prompt_text
from hikidashi.times import Clock, format_time, now, parse_time

if TYPE_CHECKING:
    from hikidashi.config.settings import Settings
    from hikidashi.config.workspace import Workspace

__all__ = [
    "ANSWER_TOKENS",
    "ExpectedCost",
    "Room",
    "expected_cost",
    "model_since",
    "older_sessions",
    "read_without_asking",
    "room_of",
    "switch_off",
    "switch_on",
]

_META: Final = queries("meta")
_SQL: Final = queries("model_reading")
_SINCE: Final = "model_since"

#: Tokens of an answer at most; where there is nothing to say it has some ten.
ANSWER_TOKENS: Final = 8_000
#: Tokens of an answer as they are on average: for what is expected, not for what is reserved.
_USUAL_ANSWER: Final = 700
#: So much of the sessions is counted; the rest is taken to be like it.
_COUNTED_BYTES: Final = 48 << 20
#: Tokens of our own prompt, about; of one that cannot be used, nobody knows more.
_PROMPT_TOKENS: Final = 3_800


# -- since when


def model_since(connection: sqlite3.Connection) -> datetime | None:
    """From when on sessions are read by a model without asking; None while none is used."""
    with database_errors("workspace.sqlite"):
        row = connection.execute(_META["get_meta"], {"key": _SINCE}).fetchone()
    return None if row is None else parse_time(row[0])


def switch_on(connection: sqlite3.Connection, settings: Settings, clock: Clock = now) -> datetime:
    """A model is used from now on, if it was not before; gives since when. Own transaction.

    A session that is not over yet counts as written to since then.
    """
    since = model_since(connection)
    if since is not None:
        return since
    since = clock() - timedelta(minutes=settings.capture.settle_minutes)
    with transaction(connection):
        connection.execute(_META["add_meta"], {"key": _SINCE, "value": format_time(since)})
    return parse_time(format_time(since))


def switch_off(connection: sqlite3.Connection) -> None:
    """The rules read sessions again: what they take is not read by a model later without a yes."""
    if model_since(connection) is not None:
        with transaction(connection):
            connection.execute(_META["delete_meta"], {"key": _SINCE})


# -- what needs a yes


def read_without_asking(
    connection: sqlite3.Connection, settings: Settings, clock: Clock = now, *, back_fill: bool = False
) -> Callable[[SessionFile], bool]:
    """Which of the workspace's own sessions a model reads: those written to since it is used, and what was agreed to.

    With `back_fill` all of them. The others are the rules' until somebody says yes.
    """
    since = int(switch_on(connection, settings, clock).timestamp() * 1e9)
    with database_errors("workspace.sqlite"):
        agreed = {str(row["path"]) for row in connection.execute(_SQL["queued"]).fetchall()}

    def reads(file: SessionFile) -> bool:
        return back_fill or file.mtime_ns >= since or path_text(file.path) in agreed

    return reads


def older_sessions(
    connection: sqlite3.Connection, files: FoundFiles, *, before: datetime, since: datetime | None = None
) -> FoundFiles:
    """Of a workspace's own sessions the main ones that were over `before` then and that no model has read to their end.

    Those written to at `since` or after it only, where it is given.
    """
    latest, oldest = int(before.timestamp() * 1e9), int(since.timestamp() * 1e9) if since else 0
    older = [pair for pair in files if oldest <= pair[1].mtime_ns < latest and not pair[1].sidechain]
    return [(host, file) for host, file in older if not _is_read(connection, host, file)]


def _is_read(connection: sqlite3.Connection, host: Host, file: SessionFile) -> bool:
    mark = ModelMark.load(connection, host.name, file.path)
    return mark is not None and mark.is_current(file) and mark.settled


# -- what it would cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """How many tokens one request has for the prompt, for a chunk and for its answer."""

    prompt: int
    chunk: int
    answer: int


def room_of(workspace: Workspace, settings: Settings, prices: Prices) -> Room:
    """From the settings, the model's window, and the budgets: a chunk that passes a whole day's could never be read."""
    model = settings.memory.extraction_model
    prompt, answer = _prompt_tokens(workspace), min(ANSWER_TOKENS, prices.max_output(model, settings))
    budgets = (settings.worker.run_tokens, settings.worker.day_tokens, settings.memory.day_tokens)
    # A third for what the form of a request adds to a text: quotes and line ends are marked in it.
    spare = [(budget - prompt - answer) * 2 // 3 for budget in budgets if budget]
    chunk = room_for(
        min(settings.capture.chunk_tokens, *spare), window=prices.window(model, settings), besides=prompt + answer
    )
    return Room(prompt=prompt, chunk=chunk, answer=answer)


def _prompt_tokens(workspace: Workspace) -> int:
    """Tokens of the prompt with the form of the answer in it, about: a person's own may be many times ours.

    What is wrong with one that cannot be used is said when something is asked.
    """
    from hikidashi.capture.answers import schema_text

    schema = schema_text()
    try:
        prompt = prompt_text("extraction", prompt_sources(workspace), schema=schema)
    except BadSettings:
        return _PROMPT_TOKENS
    return most_tokens(prompt) + most_tokens(schema)  # which is sent beside it, too


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCost:
    """What reading some sessions by a model would take, about."""

    sessions: int = 0
    #: Bytes of the transcripts, most of which a model is not shown.
    bytes: int = 0
    #: Tokens of all requests and answers together, and the requests.
    tokens: int = 0
    requests: int = 0
    model: str = ""
    #: None for a model without a price.
    micro_usd: int | None = 0

    def to_dict(self) -> dict[str, object]:
        """The JSON form; keys are stable."""
        return {
            "sessions": self.sessions,
            "bytes": self.bytes,
            "tokens": self.tokens,
            "requests": self.requests,
            "model": self.model,
            "micro_usd": self.micro_usd,
        }


def expected_cost(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    *,
    paths: Sequence[Path] | None = None,
    since: datetime | None = None,
    clock: Clock = now,
) -> ExpectedCost:
    """What it would take to have a model read `paths`, or the workspace's older sessions (of those since `since`).

    Reads up to 48 MB of them and takes the rest to be like that. Raises `UsageError` as `explicit_transcripts` does,
    `BadSettings` for a wrong table of prices.
    """
    if paths is not None:
        files = [pair for pair in explicit_transcripts(paths) if not pair[1].sidechain]
        files = [(host, file) for host, file in files if not _is_read(connection, host, file)]
    else:
        before = model_since(connection) or clock()
        files = older_sessions(connection, own_sessions(workspace, since), before=before)
    return _cost_of(workspace, settings, connection, files, named=paths is not None)


def _cost_of(
    workspace: Workspace, settings: Settings, connection: sqlite3.Connection, files: FoundFiles, *, named: bool
) -> ExpectedCost:
    prices, model = load_prices(), settings.memory.extraction_model
    room = room_of(workspace, settings, prices)
    belonging = Belonging(workspace.root)
    counted, total, tokens, requests = 0, 0, 0, 0
    for host, file in files:
        mark = mark_to_resume(ModelMark.load(connection, host.name, file.path), file)
        size = max(file.size - mark.position.offset, 0)
        total += size
        if counted < _COUNTED_BYTES:
            counted += size
            shown = _tokens_of(host, file, mark, None if named else belonging, settings.capture.max_line_bytes)
            tokens += shown
            requests += -(-shown // room.chunk)
    if counted and counted < total:
        tokens, requests = tokens * total // counted, requests * total // counted
    prompt, answer = requests * room.prompt, requests * min(_USUAL_ANSWER, room.answer)
    cost: int | None = 0
    if requests:  # one request's price, since long prompts may cost more a token
        one = prices.cost(model, Usage(input_tokens=(tokens + prompt) // requests, output_tokens=answer // requests))
        cost = None if one is None else one * requests
    return ExpectedCost(
        sessions=len(files),
        bytes=total,
        tokens=tokens + prompt + answer,
        requests=requests,
        model=model,
        micro_usd=cost,
    )


def _tokens_of(host: Host, file: SessionFile, mark: ModelMark, belonging: Belonging | None, max_line_bytes: int) -> int:
    """Tokens of a session's pieces, about; of the first so many bytes where it is large."""
    digest, report, tokens = Digest(last_at=mark.last_at), ReadReport(), 0
    start = mark.position
    try:
        for event in host.events(file.path, start=start, report=report, max_line_bytes=max_line_bytes, seen=set()):
            if belonging is None or belonging.holds(event.cwd):
                tokens += sum(most_tokens(piece.text) + 20 for piece in digest.feed(event))
            read = report.offset - start.offset
            if read > _COUNTED_BYTES:
                return tokens * (file.size - start.offset) // read
    except OSError:  # gone, or not readable: the reading itself says so
        return 0
    return tokens
