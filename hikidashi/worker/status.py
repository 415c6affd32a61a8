"""What `hikidashi status` says: backlog, claim, last run, and why nothing happened if nothing did."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from hikidashi.capture.model_report import last_extraction
from hikidashi.capture.withheld import withheld_count
from hikidashi.config.engine import EngineChoice, exposed_key, resolve_engine
from hikidashi.config.settings import Settings
from hikidashi.config.workspace import Workspace
from hikidashi.db.network import network_kind
from hikidashi.drawer.candidates import DamagedCandidate, waiting
from hikidashi.drawer.reading import count_facts
from hikidashi.errors import BadSettings, CorruptData, ModelFailure
from hikidashi.model.cost import recent_spend
from hikidashi.model.endpoint import make_endpoint
from hikidashi.model.prompt_files import prompt_sources
from hikidashi.processes import SYSTEM_PROCESSES, Processes
from hikidashi.prompts.template import prompt_notices, replaced_prompts
from hikidashi.records.library import read_tree
from hikidashi.records.linter import read_only_paths
from hikidashi.staging.claim import ClaimStatus, read_claim
from hikidashi.staging.pause import paused_since
from hikidashi.staging.store import StagingStore, StagingTotals
from hikidashi.staging.trigger import over_threshold
from hikidashi.times import Clock, format_time, now
from hikidashi.worker.ledger import RunRow, batch_limit, last_run
from hikidashi.worker.runs import run_form

__all__ = ["workspace_status"]


def workspace_status(
    workspace: Workspace,
    settings: Settings,
    connection: sqlite3.Connection,
    *,
    clock: Clock = now,
    processes: Processes = SYSTEM_PROCESSES,
) -> dict[str, Any]:
    """The JSON form; keys are stable. Reads only: no lock is taken and nothing is mended."""
    engine = resolve_engine(settings, "consolidation")
    totals = StagingStore(workspace, connection, clock).totals()
    over = over_threshold(totals, settings, clock())
    claim = read_claim(workspace, clock=clock, processes=processes, max_seconds=settings.worker.max_seconds)
    row = last_run(connection)
    since = paused_since(connection)
    loaded = read_tree(workspace)
    shut = [*loaded.findings, *read_only_paths(loaded.tree).values()]
    prompts = prompt_sources(workspace)
    return {
        "workspace": str(workspace.root),
        "workspace_id": workspace.id,
        "network_file_system": network_kind(workspace.home) or None,
        "engine": engine.name,
        "engine_reason": engine.reason,
        "extraction": _extraction(connection, settings),
        "staging": {
            "entries": totals.entries,
            "bytes": totals.bytes,
            "pending": totals.pending,
            "invalid": totals.invalid,
            "quarantined": totals.quarantined,
            "over_threshold": over,
            "batch_limit": batch_limit(connection),
        },
        "drawer": _drawer(connection, clock()),
        "models": recent_spend(connection, settings, clock()).to_dict(),
        "claim": None if claim is None else _claim(claim),
        "last_run": None if row is None else run_form(row),
        "paused_at": since,
        "unfinished_publication": workspace.journal.exists(),
        "prompts": {"replaced": replaced_prompts(prompts), "notices": prompt_notices(prompts)},
        "read_only": {finding.path: f"line {finding.line}, {finding.code} {finding.message}" for finding in shut},
        "idle_reason": None if claim is not None and claim.alive else _idle_reason(totals, over, since, row, engine),
    }


def _extraction(connection: sqlite3.Connection, settings: Settings) -> dict[str, Any]:
    """Who reads sessions, why, what stands in the way, and how the last reading by a model ended."""
    reader = resolve_engine(settings, "extraction")
    last, damaged = None, None
    try:
        last = last_extraction(connection)
    except CorruptData as exc:  # of all that status tells, only this is not known
        damaged = str(exc)
    trouble = None
    if reader.name != "rules":
        try:
            make_endpoint(settings)
        except (BadSettings, ModelFailure) as exc:
            trouble = str(exc)
    return {
        "engine": reader.name,
        "reason": reader.reason,
        "model": None if reader.name == "rules" else settings.memory.extraction_model,
        "trouble": trouble,
        "exposed_key": exposed_key(settings) or None,
        "withheld": withheld_count(connection),
        "last": None if last is None else last.to_dict(),
        "damaged": damaged,
    }


def _claim(state: ClaimStatus) -> dict[str, Any]:
    """The claim, and whether its owner is at work."""
    claim = state.claim
    return {
        "run_id": claim.run_id if claim else None,
        "pid": claim.pid if claim else None,
        "host": claim.host if claim else None,
        "started_at": claim.started_at if claim else None,
        "entries": len(claim.consumed_ids) if claim else 0,
        "alive": state.alive,
        "reason": state.reason,
    }


def _drawer(connection: sqlite3.Connection, at: datetime) -> dict[str, int]:
    """The workspace's facts by status, and the candidates that wait."""
    counts = dict.fromkeys(("active", "stale", "retired"), 0)
    for (status, _), number in count_facts(connection, "workspace").items():
        counts[status] += number
    damaged: list[DamagedCandidate] = []  # the commands that list candidates name these
    candidates = waiting(connection, damaged=damaged)
    put_off = sum(candidate.is_put_off(format_time(at)) for candidate in candidates)
    return {**counts, "candidates": len(candidates) + len(damaged) - put_off, "candidates_put_off": put_off}


def _idle_reason(
    totals: StagingTotals, over: str | None, since: str | None, row: RunRow | None, engine: EngineChoice
) -> str:
    """Why nothing is consolidated now, in one line."""
    if since:
        return f"paused since {since}; run `hikidashi resume`"
    if not totals.entries and not totals.pending:
        return "nothing is staged"
    if over is None:
        waiting = "1 entry waits" if totals.entries == 1 else f"{totals.entries} entries wait"
        return f"{waiting}, below the thresholds of staging.*; `hikidashi consolidate` runs at once"
    if engine.name != "rules":
        return f"{engine.reason}, and this version consolidates by rules only; `hikidashi consolidate --engine rules`"
    if row is not None and row.outcome not in ("done", "partial", "running"):
        message = row.report.get("message") or row.outcome
        return f"the last run ended as {row.outcome}: {message}"
    return f"due ({over}); the next `hikidashi extract` starts it, `hikidashi consolidate` runs at once"
