"""A model's part in an extraction: who reads, what older sessions would cost, and the question before that."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from hikidashi.cli.context import Opened, only_person
from hikidashi.cli.output import amount, confirmed, note, say, working
from hikidashi.config.engine import loosened_by_environment, resolve_engine
from hikidashi.config.folders import shown
from hikidashi.config.settings import Settings, user_file
from hikidashi.drawer.person import find_agent
from hikidashi.errors import BadSettings, CorruptData, HikidashiError, ModelFailure, UsageError
from hikidashi.staging.pause import paused_since
from hikidashi.times import now
from hikidashi.ulid import random_ulid

if TYPE_CHECKING:
    from hikidashi.capture.back_fill import ExpectedCost
    from hikidashi.model.messages import Answer, Asker, Phase, Request

__all__ = ["Agreement", "ModelInUse", "Unavailable", "agreed_to_read", "expected_text", "model_in_use", "price_of"]

#: Micro-dollars.
_CENT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Stands for a model that cannot be asked: the rules read all the same, and the report says why it did not."""

    failure: HikidashiError

    def ask(self, request: Request, *, phase: Phase) -> Answer:
        """Raises the failure."""
        raise self.failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInUse:
    """The model that reads in one extraction."""

    asker: Asker
    #: The run that its requests count for, and the extraction's ID.
    run_id: str

    @property
    def failure(self) -> HikidashiError | None:
        """Why it cannot be asked at all; None when it can."""
        return self.asker.failure if isinstance(self.asker, Unavailable) else None


@contextlib.contextmanager
def model_in_use(here: Opened, engine: str | None = None) -> Iterator[ModelInUse | None]:
    """The model that reads here; None where the rules read alone. `engine` is the command's `--engine`.

    Raises `BadSettings` for a server or key that cannot work. What else keeps it from being asked (no key, a wrong
    table of prices, a damaged database of the user's) is told once something is asked: the rules read all the same.
    """
    if resolve_engine(here.settings, "extraction", engine).name == "rules":
        yield None
        return
    from hikidashi.model.client import Client  # what talks to a server is loaded only where one is asked
    from hikidashi.model.endpoint import make_endpoint
    from hikidashi.model.ledger import make_meter

    run_id = random_ulid(now())
    if loosened := _chosen_by_an_agent(here.settings):
        yield ModelInUse(asker=Unavailable(_not_here(here.settings, loosened)), run_id=run_id)
        return
    try:
        endpoint = make_endpoint(here.settings)
    except ModelFailure as exc:
        yield ModelInUse(asker=Unavailable(exc), run_id=run_id)
        return
    try:
        meter = make_meter(here.connection, here.settings, run_id)
    except (BadSettings, CorruptData) as exc:
        yield ModelInUse(asker=Unavailable(exc), run_id=run_id)
        return
    with Client(endpoint, meter) as client:
        yield ModelInUse(asker=client, run_id=run_id)


def _chosen_by_an_agent(settings: Settings) -> str:
    """The setting of a model that the environment of an agent, or of a background run that it started, loosens; ''.

    A host takes variables from a project's own files, which come with a clone: sessions would be sent to a server of
    theirs, in the name of an account of theirs, or by a model that costs a hundred times as much.
    """
    return "" if find_agent() is None or settings.gate.allow_agent else loosened_by_environment(settings)


def _not_here(settings: Settings, name: str) -> ModelFailure:
    what = "no session is sent to a server that the environment names"
    if name != "memory.base_url":
        what = f"no session is read by a model as long as the environment sets {name}"
    mend = f"set {name} in {shown(user_file())}"
    return ModelFailure(f"inside an agent's session {what} ({settings.origin(name)}): {mend}", kind="auth")


def price_of(
    here: Opened, *, paths: Sequence[Path] | None = None, since: datetime | None = None, quiet: bool = False
) -> ExpectedCost:
    """What it would take to have a model read `paths`, or the sessions from before it was switched on.

    Nothing is sent for it. Raises as `expected_cost` does.
    """
    from hikidashi.capture.back_fill import expected_cost

    with working("Working out what a model would cost", quiet=quiet):  # some seconds for long sessions
        return expected_cost(here.workspace, here.settings, here.connection, paths=paths, since=since)


def expected_text(expected: ExpectedCost) -> str:
    """What sessions would cost, without an end: `4 sessions, about 120,000 tokens, about $0.02`."""
    if expected.micro_usd is None:
        cost = "cost unknown"
    elif expected.micro_usd <= _CENT:
        cost = "less than $0.01"
    else:
        cost = f"about ${-(-expected.micro_usd // _CENT) / 100:,.2f}"
    return f"{amount(expected.sessions, 'session')}, about {_rounded(expected.tokens):,} tokens, {cost}"


def _most(here: Opened, expected: ExpectedCost) -> str:
    """The budgets that hold it."""
    tokens = f"{min(here.settings.worker.day_tokens, here.settings.memory.day_tokens):,} tokens in 24 hours"
    if expected.micro_usd is None:
        return tokens
    return f"${here.settings.memory.day_usd:,.2f} or {tokens}"


def _rounded(number: int) -> int:
    """Two figures that count, rounded up: more would look as if they were known."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // step) * step


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The answer to what a reading is expected to cost."""

    agreed: bool = False
    #: What it was about; None when nobody had to be asked.
    expected: ExpectedCost | None = None

    def to_dict(self) -> dict[str, object] | None:
        """The JSON form of what it was about; keys are stable."""
        return None if self.expected is None else {**self.expected.to_dict(), "agreed": self.agreed}


def agreed_to_read(
    here: Opened,
    model: ModelInUse | None,
    *,
    paths: Sequence[Path] | None = None,
    since: datetime | None = None,
    yes: bool,
    quiet: bool,
) -> Agreement:
    """Whether a person agrees to what the model's reading of `paths`, or of older sessions, is expected to cost.

    Where there are none, or no model, nobody is asked. Without a terminal it is no, unless `yes`. Raises `UsageError`
    for a no to `paths`, of which nothing is read then, and `GateClosed` for the yes of an agent.
    """
    if model is None or paused_since(here.connection) is not None:
        return Agreement()
    if model.failure is not None and paths is None:  # no question about a price that nobody can be asked to pay
        if yes:  # it is remembered: these sessions are read once the model can be asked
            only_person(here.settings, "extract", "--yes")
        return Agreement(agreed=yes)
    expected = price_of(here, paths=paths, since=since, quiet=quiet)
    if not expected.sessions:
        return Agreement()
    text = expected_text(expected)
    if not quiet:
        say(f"{expected.model} has not read {text}.")
        say(f"It stops at {_most(here, expected)} and goes on with a later extraction.")
    them = "it" if expected.sessions == 1 else "them"
    if yes:
        only_person(here.settings, "extract", "--yes", *map(str, paths or ()))
    quiet = quiet or (find_agent() is not None and not here.settings.gate.allow_agent)
    if confirmed(f"Have {expected.model} read {them}?", yes=yes, quiet=quiet, default=False):
        return Agreement(agreed=True, expected=expected)
    if paths is not None:
        mend = f"--yes agrees to that, --engine rules reads {them} without a model"
        raise UsageError(f"nothing was read ({text}): {mend}")
    if not quiet:
        note(f"{expected.model} did not read {them}; `hikidashi extract --yes` agrees to that")
    return Agreement(expected=expected)
