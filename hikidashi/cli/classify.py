"""`classify`: what sessions prove that can be done, without storing anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hikidashi.capture.classified import Candidate, Classified, classify_files
from hikidashi.capture.sessions import explicit_transcripts
from hikidashi.cli.output import amount, emit_json, json_option, note, say, short, table
from hikidashi.config.settings import load_settings
from hikidashi.errors import StorageFailure

__all__ = ["classify_command"]

#: Pieces of evidence shown of a candidate, and characters of a command; `--json` has all.
_EVIDENCE_SHOWN = 3
_COMMAND_SHOWN = 100


@click.command("classify")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--explain", is_flag=True, help="Say of each other shell call why it shows nothing.")
@json_option
def classify_command(paths: tuple[Path, ...], explain: bool, as_json: bool) -> None:
    """Show what sessions prove that can be done. Stores nothing.

    PATH is a transcript or a folder of them. Each candidate comes with the calls that bear it out, by file and line.
    In JSON lines count from 0; for people, as editors do, from 1.
    """
    files = explicit_transcripts(paths)
    try:
        told = classify_files(files, max_line_bytes=load_settings(None).capture.max_line_bytes, explain=explain)
    except OSError as exc:
        raise StorageFailure(f"cannot read {exc.filename} ({exc.strerror}): mend it or leave it out") from exc
    if as_json:
        emit_json(_form(told, explain=explain))
    else:
        _show(told, explain=explain)


def _form(told: Classified, *, explain: bool) -> dict[str, Any]:
    form: dict[str, Any] = {
        "files": told.files,
        "calls": told.calls,
        "candidates": [candidate.to_dict() for candidate in told.candidates.values()],
    }
    if explain:
        form["nothing"] = [
            {"file": str(path), "line": nothing.line, "command": nothing.command, "why": nothing.why}
            for path, nothing in told.nothing
        ]
    if told.skipped:
        form["skipped"] = told.skipped
    return form


def _show(told: Classified, *, explain: bool) -> None:
    for candidate in told.candidates.values():
        _show_candidate(candidate)
    counted = f"{amount(told.files, 'transcript')}, {amount(told.calls, 'shell call')}"
    say(f"{amount(len(told.candidates), 'candidate')} from {counted}. Nothing was stored.", "bold")
    if explain and told.nothing:
        say()
        say("Why the other calls show nothing:", "bold")
        table(
            ("where", "why"),
            [
                (f"{path.name}:{nothing.line + 1}", f"{nothing.why}\n{short(nothing.command, _COMMAND_SHOWN)}")
                for path, nothing in told.nothing
            ],
        )
    for reason, count in sorted(told.skipped.items()):
        note(f"{amount(count, 'line')} skipped: {reason}")


def _show_candidate(candidate: Candidate) -> None:
    draft = candidate.draft
    say(f"{draft.key}  ({draft.type}, from {'a person' if draft.trust == 'user' else 'tool output'})", "bold yellow")
    say(draft.body, indent="    ")
    if draft.proof:
        say(f"proof: {draft.proof}", "dim", indent="    ", hang="  ")
    if draft.probe:
        say(f"check: {' '.join(draft.probe)}", "dim", indent="    ", hang="  ")
    shown = candidate.sightings[:_EVIDENCE_SHOWN]
    for sighting in shown:
        what = f"{sighting.verb} {sighting.tool}: " if sighting.verb else ""
        told = f"{Path(sighting.path).name}:{sighting.line + 1}  {what}{short(sighting.told, _COMMAND_SHOWN)}"
        say(told, "dim", indent="    ", hang="  ")
    if len(candidate.sightings) > len(shown):
        say(f"… and {len(candidate.sightings) - len(shown)} more", "dim", indent="    ")
    say()
