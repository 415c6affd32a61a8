"""How a model's reading of sessions is shown, by every command that shows one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from hikidashi.capture.claim_reasons import REASONS
from hikidashi.cli.output import amount, handful, note, say, short, shown_time, table

__all__ = ["reading_line", "show_reading", "show_reading_details", "withheld_line"]

#: Outcomes that need no word.
_QUIET: Final = ("done", "idle")

#: What an outcome means, in words; the message behind it says what to do.
_OUTCOMES: Final = {
    "busy": "another process has a model read here; it takes these sessions too",
    "paused": "the workspace was paused, the rest waits",
    "budget": "a budget is spent, the rest waits",
    "crashed": "its process ended in the middle; the next extraction goes on there",
    "running": "it is at work, or was stopped; then the next extraction goes on there",
    "failed:auth": "it could not be asked, the rest waits",
    "failed:billing": "the account cannot pay, the rest waits",
    "failed:overloaded": "the server is overloaded, the rest waits",
    "failed:network": "the server could not be reached, the rest waits",
    "failed:content": "its answers could not be used, the rest waits",
    "failed:settings": "the settings do not let it be asked, the rest waits",
}

#: Characters of a dropped claim's text that are shown.
_SAMPLE_SHOWN: Final = 160


def show_reading(report: Mapping[str, Any]) -> None:
    """Print what a model read in this extraction, in a few lines; `report` as `ModelReport.to_dict` gives it."""
    outcome = str(report["outcome"])
    if outcome == "busy":
        note(_OUTCOMES["busy"])
        return
    if report["chunks"] or report["requests"]:
        say(f"{report['model']} {_read(report)}.", "bold")
    dropped = sum(report["dropped"].values())
    if dropped:
        reasons = handful([f"{number} {_in_words(reason)}" for reason, number in _by_number(report["dropped"])], 3)
        say(f"{amount(dropped, 'claim')} dropped: {reasons}. `hikidashi show extraction` shows them.")
    if report["passed_over"]:
        note(f"{amount(report['passed_over'], 'piece')} could not be read by any request; `hikidashi show extraction`")
    message = str(report["message"])
    if message.startswith(f"{report['model']} "):  # a block of earlier, which names the model and its trouble itself
        note(f"the rest waits: {message}")
        return
    said = [] if outcome in _QUIET else [_OUTCOMES.get(outcome, outcome)]
    said += [message] if message else []
    if said:
        note(f"{report['model']}: {'; '.join(said)}")


def show_reading_details(report: Mapping[str, Any]) -> None:
    """Print all that is known of one extraction; `report` as `ExtractionRow.to_dict` gives it."""
    say(f"extraction {report['run_id']}", "bold")
    outcome = str(report["outcome"])
    said = f" ({_OUTCOMES[outcome]})" if outcome in _OUTCOMES else ""
    say(f"{outcome}{said}, {report['model']}, {shown_time(report['started_at'])} UTC, {report['seconds']:.1f} s")
    if report["message"]:
        say(report["message"])
    say(f"It {_read(report)}.")
    tokens = report["tokens"]
    cached = tokens["cache_read"] + tokens["cache_write"]
    aside = f", {cached:,} cached" if cached else ""
    say(
        f"{amount(report['requests'], 'request')} answered: {tokens['input']:,} tokens in, {tokens['output']:,} out"
        f"{aside}. `hikidashi cost` has the cost."
    )
    candidates = [(candidate["id"], candidate["key"]) for candidate in report["candidates"]]
    table(("candidate", "key"), candidates)
    _show_dropped(report)
    table(
        ("passed over", "where and why"),
        [(_part(passage), f"{_place(passage).rstrip(': ')}\n{passage['why']}") for passage in report["passages"]],
    )
    if report["passed_over"] > len(report["passages"]):
        say(f"… and {report['passed_over'] - len(report['passages'])} more")
    for path, error in report["errors"].items():
        note(f"{path}: {error}")
    if report["older"]:
        note(
            f"{amount(report['older'], 'session')} from before the model was switched on: `hikidashi extract` says "
            "what reading them would cost, and asks"
        )


def reading_line(report: Mapping[str, Any]) -> str:
    """How one extraction ended, in a line."""
    outcome = str(report["outcome"])
    said = "" if outcome in _QUIET else f"; {_OUTCOMES.get(outcome, outcome)}"
    return f"{report['model']} {_read(report)}{said}"


def withheld_line(number: int) -> str:
    """What waits for a model that did not come to it yet, and how it is had without."""
    waits = amount(number, "activity", "activities")
    return (
        f"{waits} that the rules found {'waits' if number == 1 else 'wait'} until the model comes there; "
        "`hikidashi extract --engine rules` takes them"
    )


def _read(report: Mapping[str, Any]) -> str:
    """`read 3 sessions in 5 chunks: 2 decisions and 1 attempt staged`."""
    if not report["chunks"]:
        return "read nothing"
    staged = [amount(number, kind) for kind, number in report["entries"].items() if number]
    where = f"{amount(report['sessions'], 'session')} in {amount(report['chunks'], 'chunk')}"
    return f"read {where}: {' and '.join(staged) or 'nothing'} staged"


def _by_number(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def _in_words(reason: str) -> str:
    return next((words for code, words in REASONS.items() if code == reason), reason)


def _show_dropped(report: Mapping[str, Any]) -> None:
    """Each reason with its number and its samples."""
    samples: dict[str, list[Mapping[str, Any]]] = {}
    for sample in report["samples"]:
        samples.setdefault(sample["reason"], []).append(sample)
    rows = []
    for reason, number in _by_number(report["dropped"]):
        shown = [
            f"{_place(one)}{one['kind']}: {short(str(one['text']), _SAMPLE_SHOWN)}" for one in samples.get(reason, ())
        ]
        rows.append((str(number), "\n".join([_in_words(reason), *shown])))
    table(("dropped", "why"), rows)


def _place(found: Mapping[str, Any]) -> str:
    """`session.jsonl, line 12: `; '' for what has no place. Lines count from 1 for people."""
    if not found["path"]:
        return ""
    name = str(found["path"]).replace("\\", "/").rpartition("/")[2]
    return f"{name}, line {found['line'] + 1}: " if found["line"] >= 0 else f"{name}: "


def _part(passage: Mapping[str, Any]) -> str:
    return f"part {passage['part']} of {passage['parts']}" if passage["parts"] > 1 else "an event"
