"""Where a model may not be asked for a while, and why (design section 6, "Outcomes").

A refused key and an account without money stop all requests until the settings change. An overloaded server and one
that cannot be reached are left alone for 1, 2, 4 … 60 minutes, or as long as the server asked. Both are kept in the
user's database under a salted hash of key and server, and the model's name: what changed is not blocked, while new
arrivals, other workspaces and restarts find the block standing. A request that succeeds ends it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from hikidashi.config.settings import Settings
from hikidashi.db.connection import queries, transaction
from hikidashi.errors import ModelFailure
from hikidashi.redact import redact
from hikidashi.times import format_time, parse_time

__all__ = ["LONGEST_WAIT", "Standing", "clear", "fingerprint", "note_failure", "standing_failure", "standings"]

_SQL: Final = queries("model")
_META: Final = queries("meta")

_SALT: Final = "fingerprint_salt"

Kind = Literal["auth", "billing", "overloaded", "network"]

#: Kinds that time does not mend.
_LASTING: Final = ("auth", "billing")

_FIRST_WAIT: Final = timedelta(minutes=1)
_LAST_WAIT: Final = timedelta(minutes=60)

#: A server may ask for more than an hour, but not for years; no more is believed than `policy.asked_wait` believes.
LONGEST_WAIT: Final = timedelta(days=7)

#: A block under settings that nobody has used for so long is forgotten.
_FORGOTTEN: Final = timedelta(days=90)

_MESSAGE_LENGTH: Final = 500

_PING: Final = "`hikidashi ping`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One model that may not be asked."""

    model: str
    kind: Kind
    #: Failures in a row.
    failures: int
    since: str
    #: '' for a block that only changed settings or a success end.
    until: str
    #: What the last failure said.
    message: str

    def to_dict(self) -> dict[str, Any]:
        """The form of `status --json` and `cost --json`."""
        return {
            "model": self.model,
            "kind": self.kind,
            "failures": self.failures,
            "since": self.since,
            "until": self.until or None,
            "message": self.message,
        }

    def line(self) -> str:
        """Why nobody asks this model now, in one line with the mend."""
        if self.until:
            row = f" (failure {self.failures} in a row)" if self.failures > 1 else ""
            when = f"no request before {self.until[:16].replace('T', ' ')} UTC{row}, `hikidashi ping` tries it now"
        else:
            when = f"no request since {self.since[:16].replace('T', ' ')} UTC"
            when += "" if _PING in self.message else f", mend it and run {_PING}"
        return f"{when}: {self.message}"

    def failure(self) -> ModelFailure:
        """The error that a request meets."""
        return ModelFailure(f"{self.model} is not asked; {self.line()}", kind=self.kind, reason="standing")


def _key(settings: Settings, environ: Mapping[str, str]) -> str:
    key: str = settings.get("memory.api_key").get_secret_value()
    return (key or environ.get(settings.get("memory.api_key_variable") or "", "")).strip()


def fingerprint(connection: sqlite3.Connection, settings: Settings, *, environ: Mapping[str, str] = os.environ) -> str:
    """A salted hash over key and server, for the user's database at `connection`; '' while that has no salt.

    The salt is made by the first `note_failure`.
    """
    row = connection.execute(_META["get_meta"], {"key": _SALT}).fetchone()
    if row is None:
        return ""
    parts = json.dumps([_key(settings, environ), settings.get("memory.base_url")])
    return hmac.new(bytes.fromhex(row["value"]), parts.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def standings(
    connection: sqlite3.Connection, settings: Settings, at: datetime, *, environ: Mapping[str, str] = os.environ
) -> list[Standing]:
    """What stands now under these settings, oldest first. Reads the user's database only."""
    mark = fingerprint(connection, settings, environ=environ)
    rows = connection.execute(_SQL["standing"], {"fingerprint": mark})
    return [standing for row in rows if _stands(standing := _standing(row), at)]


def standing_failure(
    connection: sqlite3.Connection,
    settings: Settings,
    model: str,
    at: datetime,
    *,
    environ: Mapping[str, str] = os.environ,
) -> ModelFailure | None:
    """The error to raise in place of a request to `model`; None when it may be asked."""
    found = standings(connection, settings, at, environ=environ)
    return next((standing.failure() for standing in found if standing.model == model), None)


def note_failure(
    connection: sqlite3.Connection,
    settings: Settings,
    model: str,
    failure: ModelFailure,
    at: datetime,
    *,
    until: datetime | None = None,
    environ: Mapping[str, str] = os.environ,
) -> None:
    """Remember that the last attempt at `model` ended with `failure`; `until`: before it the server wants no request.

    A failure of kind `content` is one request's own and is not remembered. One that was on its way while another set
    the back-off does not double it.
    """
    if failure.kind == "content":
        return
    with transaction(connection):
        connection.execute(_META["add_meta"], {"key": _SALT, "value": secrets.token_hex(32)})
        mark = fingerprint(connection, settings, environ=environ)
        rows = connection.execute(_SQL["standing"], {"fingerprint": mark}).fetchall()
        before = next((found for row in rows if (found := _standing(row)).model == model), None)
        failures, end = _after(before, failure.kind, at, until)
        if before is not None and not before.until and end is not None:
            return  # a back-off is no news about a key that was refused
        values = {
            "fingerprint": mark,
            "model": model,
            "kind": failure.kind,
            "failures": failures,
            "since": before.since if before and before.kind == failure.kind else format_time(at),
            "until": None if end is None else format_time(end),
            "message": _message(str(failure), _key(settings, environ)),
        }
        connection.execute(_SQL["set_standing"], values)
        connection.execute(_SQL["forget_old_standing"], {"before": format_time(at - _FORGOTTEN)})


def clear(
    connection: sqlite3.Connection, settings: Settings, model: str, *, environ: Mapping[str, str] = os.environ
) -> None:
    """A request to `model` succeeded: nothing stands against it any more. Writes only where something stood."""
    mark = fingerprint(connection, settings, environ=environ)
    if any(row["model"] == model for row in connection.execute(_SQL["standing"], {"fingerprint": mark})):
        with transaction(connection):
            connection.execute(_SQL["clear_standing"], {"fingerprint": mark, "model": model})


def _standing(row: sqlite3.Row) -> Standing:
    return Standing(
        model=row["model"],
        kind=row["kind"],
        failures=row["failures"],
        since=row["since"],
        until=row["until"] or "",
        message=row["message"],
    )


def _stands(standing: Standing, at: datetime) -> bool:
    """Whether it holds now. A back-off that was set in the future is of a clock that was set back."""
    return not standing.until or parse_time(standing.since) <= at < parse_time(standing.until) <= at + LONGEST_WAIT


def _after(before: Standing | None, kind: str, at: datetime, asked: datetime | None) -> tuple[int, datetime | None]:
    """How many failures in a row there are now, and when the next request may be made (None: not by itself)."""
    same = before is not None and bool(before.until) == (kind not in _LASTING)
    failures = before.failures if before is not None and same else 0
    if kind in _LASTING:
        return failures + 1, None
    if failures and before is not None and _stands(before, at):
        end = parse_time(before.until)
    else:
        failures += 1
        end = at + min(_FIRST_WAIT * 2 ** min(failures - 1, 10), _LAST_WAIT)
    return failures, min(max(end, asked or end), at + LONGEST_WAIT)


def _message(text: str, key: str) -> str:
    """What a failure said, in one line without a secret: servers repeat what they were sent."""
    bare = text.replace(key, "…") if key else text
    return " ".join(redact(bare).split())[:_MESSAGE_LENGTH]
