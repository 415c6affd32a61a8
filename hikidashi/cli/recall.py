"""`recall`: what a turn would be given, and why."""

from __future__ import annotations

from typing import Any

import click

from hikidashi.cli.context import opened
from hikidashi.cli.output import amount, emit_json, json_option, say, table
from hikidashi.config.machine import this_machine
from hikidashi.drawer.places import Drawers
from hikidashi.recall.inject import block, estimate_tokens
from hikidashi.recall.judge import Reason
from hikidashi.recall.lookup import Brief
from hikidashi.recall.match import Match, Recalled, recall
from hikidashi.recall.question import Question
from hikidashi.redact import RULES_VERSION
from hikidashi.times import now

__all__ = ["recall_command"]

#: Facts that were found and left out, in the text for people.
_LEFT_OUT_SHOWN = 10


@click.command("recall")
@click.argument("text", metavar="TEXT")
@click.option("--branch", default="", help="The git branch that the turn is on.")
@click.option("--file", "files", multiple=True, help="A file that the turn names; give it again for more.")
@click.option("--before", default="", help="The prompt before, which counts where TEXT says little.")
@json_option
def recall_command(text: str, branch: str, files: tuple[str, ...], before: str, as_json: bool) -> None:
    """What an agent's turn with the prompt TEXT would be given, and why.

    It writes nothing: no use is counted, and no fact becomes younger by it.
    """
    machine_id = this_machine().id
    at = now()
    with opened() as here, Drawers(here.connection) as drawers:
        question = Question(text, branch=branch, files=files, before=before, project=here.workspace.root.name)
        found = recall(
            question,
            {drawer.scope: drawer.connection for drawer in drawers.existing()},
            top_k=here.settings.recall.top_k,
            max_tokens=here.settings.recall.max_tokens,
            now=at,
            machine_id=machine_id,
            rules_version=RULES_VERSION,
        )
    given = block(
        [match.fact for match in found.facts], [match.fact for match in found.rules], now=at, machine_id=machine_id
    )
    if as_json:
        emit_json(_form(found, given))
    else:
        _show(found, given)


def _form(found: Recalled, given: str) -> dict[str, Any]:
    return {
        "facts": [_match_form(match) for match in found.facts],
        "rules": [_match_form(match) for match in found.rules],
        "left_out": [
            {**_named(left.fact), "reasons": _reasons(left.reasons), "why": left.why} for left in found.left_out
        ],
        "asked_for": [_named(fact) for fact in found.named],
        "text": given,
        "tokens": estimate_tokens(given),
    }


def _named(fact: Brief) -> dict[str, Any]:
    return {"scope": fact.scope, "key": fact.key, "type": fact.type, "status": fact.status}


def _match_form(match: Match) -> dict[str, Any]:
    fact = match.fact
    return {
        "scope": fact.scope,
        "key": fact.key,
        "type": fact.type,
        "status": fact.status,
        "body": fact.body,
        "version": fact.version,
        "reasons": _reasons(match.reasons),
        "score": match.score,
        "tokens": match.tokens,
    }


def _reasons(reasons: tuple[Reason, ...]) -> list[dict[str, str]]:
    return [{"by": reason.by, "said": reason.said, "in": reason.voice} for reason in reasons]


def _why(reasons: tuple[Reason, ...]) -> str:
    return "; ".join(map(str, reasons))


def _show(found: Recalled, given: str) -> None:
    if given:
        counted = [amount(len(found.facts), "fact")] if found.facts else []
        counted += [amount(len(found.rules), "rule")] if found.rules else []
        say(f"A turn with this text is given {' and '.join(counted)}, about {estimate_tokens(given)} tokens:", "bold")
        say()
        say(given, indent="    ")
        say()
        table(
            ("type", "scope", "given, and why"),
            [
                (match.fact.type, match.fact.scope, f"{match.fact.key}\n{_why(match.reasons)}")
                for match in (*found.facts, *found.rules)
            ],
        )
    else:
        say("A turn with this text is given nothing.", "bold")
    if found.left_out:
        say()
        shown = found.left_out[:_LEFT_OUT_SHOWN]
        table(
            ("type", "scope", "left out, and why"),
            [
                (left.fact.type, left.fact.scope, f"{left.fact.key}\n{left.why} ({_why(left.reasons)})")
                for left in shown
            ],
        )
        if len(found.left_out) > len(shown):
            say(f"… {len(found.left_out) - len(shown)} more; --json lists all", "dim")
