"""Every setting: its name, type, default, bounds, who may set it and what it does. Standard library only.

The settings page of the documentation, the validation of settings files and the environment's names come
from this table alone.
"""

from __future__ import annotations

from hikidashi.config.setting import VARIABLE_PREFIX, WORKSPACE_GROUPS, Setting

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = [
    "MARKER_VARIABLE",
    "OTHER_VARIABLES",
    "SETTINGS",
    "TEST_PREFIX",
    "VARIABLE_PREFIX",
    "WORKSPACE_GROUPS",
    "Setting",
]

#: Variables of the test suite; the program never reads them.
TEST_PREFIX: Final = "HIKIDASHI_TEST_"

#: Set in every process that our worker starts, so that its sessions are never taken for the user's.
MARKER_VARIABLE: Final = "HIKIDASHI_WORKER"

#: Variables that are no settings, and what they do.
OTHER_VARIABLES: Final = {
    "HIKIDASHI_DISABLE": "Set to anything but `0`, hooks do nothing, the MCP server offers nothing and no "
    "consolidation starts by itself; commands still work.",
    MARKER_VARIABLE: "Set by Hikidashi for the processes it starts; there is no need to set it.",
}


#: All settings, in the order of the settings page.
SETTINGS: Final = (
    Setting(
        name="memory.engine",
        default="auto",
        choices=("auto", "anthropic", "rules"),
        doc="Who reads sessions and who consolidates. `rules` is embedded, deterministic and free. `auto` lets a model "
        "read sessions only if `memory.api_key`, `memory.api_key_variable` or `memory.base_url` is set here; a key in "
        "the environment of another program is not enough. Consolidation by a model is not part of this version: "
        "`auto` leaves that to `rules`.",
    ),
    Setting(
        name="memory.api_key",
        default="",
        secret=True,
        doc="Key for the Messages API. Never stored in a workspace.",
    ),
    Setting(
        name="memory.api_key_variable",
        default="",
        pattern="[A-Z_][A-Z0-9_]{0,63}",  # a key pasted here by mistake has small letters, and is refused unseen
        pattern_words="the name of a variable in capitals (a key itself goes into memory.api_key)",
        file_only=True,
        doc="Name of an environment variable that holds the key, such as `ANTHROPIC_API_KEY`: your consent to use it. "
        "`init` offers to write this.",
    ),
    Setting(name="memory.base_url", default="", doc="Another server that speaks the Messages API, without `/v1`."),
    Setting(
        name="memory.local_only",
        default=False,
        doc="Requests go to servers on this machine only (loopback); any other is an error before it is sent.",
    ),
    Setting(
        name="memory.extraction_model",
        default="claude-haiku-5-5",
        doc="The model that reads sessions (Phase 1). Name your server's own with `memory.base_url`.",
    ),
    Setting(
        name="memory.consolidation_model",
        default="claude-sonnet-5-5",
        doc="The model that consolidates (Phase 2): one that reasons. Name your server's own with `memory.base_url`.",
    ),
    Setting(
        name="memory.context_tokens",
        default=0,
        unit="tokens",
        minimum=0,
        maximum=100_000_000,
        doc="The context window of your models. 0: as the table of models says, 32,768 for a model that is not in it.",
    ),
    Setting(
        name="memory.idle_seconds",
        default=120.0,
        unit="seconds",
        minimum=0.05,
        maximum=3_600,
        doc="A server that sends nothing for this long is given up.",
    ),
    Setting(
        name="memory.request_seconds",
        default=600.0,
        unit="seconds",
        minimum=0.1,
        maximum=7_200,
        doc="A request that has not ended by then is given up, however steadily its answer trickles.",
    ),
    Setting(
        name="memory.attempts",
        default=5,
        unit="requests",
        minimum=1,
        maximum=20,
        doc="How often a request is made at most while the server is overloaded or cannot be reached; waits between "
        "double from 2 seconds to 60, and are as long as the server asks for.",
    ),
    Setting(
        name="memory.day_tokens",
        default=5_000_000,
        unit="tokens in 24 hours",
        minimum=0,
        maximum=1_000_000_000_000,
        doc="All workspaces together may use this many tokens (ten read from the cache count as one) in any 24 hours.",
    ),
    Setting(
        name="memory.day_usd",
        default=1.0,
        unit="US dollars in 24 hours",
        minimum=0,
        maximum=1_000_000,
        doc="All workspaces together may cost this much in any 24 hours. A model without a price counts by "
        "`memory.day_tokens` alone.",
    ),
    Setting(
        name="capture.automatic",
        default=True,
        doc="Hooks start reading a session when it ends or is compacted. Off: only `hikidashi extract` reads.",
    ),
    Setting(
        name="capture.max_line_bytes",
        default=64 * 1024 * 1024,
        unit="bytes",
        minimum=64 * 1024,
        maximum=1024 * 1024 * 1024,
        doc="A longer line of a transcript is skipped without being read into memory, and counted.",
    ),
    Setting(
        name="capture.settle_minutes",
        default=30,
        unit="minutes",
        minimum=0,
        maximum=525_600,
        doc="A session without a new event for this long counts as ended, so what it left open is extracted.",
    ),
    Setting(
        name="capture.chunk_tokens",
        default=24_000,
        unit="tokens",
        minimum=500,
        maximum=1_000_000,
        doc="A model reads a session in pieces of at most this size (smaller where its window is).",
    ),
    Setting(
        name="staging.max_files",
        default=20,
        unit="entries",
        minimum=1,
        maximum=1_000_000,
        doc="Consolidation starts by itself once this many entries wait.",
    ),
    Setting(
        name="staging.max_bytes",
        default=200_000,
        unit="bytes",
        minimum=1_000,
        maximum=1_000_000_000,
        doc="Consolidation starts by itself once the waiting entries are this large together.",
    ),
    Setting(
        name="staging.max_age_hours",
        default=24.0,
        unit="hours",
        minimum=0,
        maximum=87_600,
        doc="Consolidation starts by itself once the oldest entry has waited this long.",
    ),
    Setting(
        name="worker.batch_entries",
        default=50,
        unit="entries",
        minimum=1,
        maximum=1_000,
        doc="At most this many entries are consumed by one run; the rest waits for the next one.",
    ),
    Setting(
        name="worker.batch_bytes",
        default=200_000,
        unit="bytes",
        minimum=1_000,
        maximum=1_000_000_000,
        doc="At most this many bytes of entries are consumed by one run (one entry always fits).",
    ),
    Setting(
        name="worker.memory_tokens",
        default=60_000,
        unit="tokens",
        minimum=1_000,
        maximum=10_000_000,
        doc="Records are put before the engine in full text up to this size; the others as one line each.",
    ),
    Setting(
        name="worker.max_lint_failures",
        default=3,
        unit="turns",
        minimum=1,
        maximum=100,
        doc="A phase is aborted after this many returned turns without a clean one between.",
    ),
    Setting(
        name="worker.max_seconds",
        default=900,
        unit="seconds",
        minimum=10,
        maximum=86_400,
        budget=True,
        doc="Wall-clock budget of one run.",
    ),
    Setting(
        name="worker.run_tokens",
        default=500_000,
        unit="tokens",
        minimum=0,
        maximum=1_000_000_000_000,
        budget=True,
        doc="Tokens that one run (an extraction, a consolidation) may use at a model; ten read from the cache count as "
        "one.",
    ),
    Setting(
        name="worker.day_tokens",
        default=2_000_000,
        unit="tokens in 24 hours",
        minimum=0,
        maximum=1_000_000_000_000,
        budget=True,
        doc="Tokens that this workspace may use in any 24 hours (ten read from the cache count as one).",
    ),
    Setting(
        name="worker.max_coalesced_runs",
        default=3,
        unit="runs",
        minimum=0,
        maximum=100,
        budget=True,
        doc="At most this many further runs follow at once for entries that arrived meanwhile.",
    ),
    Setting(
        name="cleanup.protect_invokes_per_mtoken",
        default=1.0,
        unit="invokes per million tokens",
        minimum=0,
        maximum=1_000_000,
        doc="A record used explicitly at least this often is not dropped, merged away or split.",
    ),
    Setting(
        name="cleanup.max_drop_fraction",
        default=0.1,
        unit="of all records",
        minimum=0,
        maximum=1,
        budget=True,
        doc="At most this share of the records (but one at least) may be lost to clean-up in 24 hours.",
    ),
    Setting(
        name="cleanup.max_sources",
        default=10,
        unit="sources",
        minimum=2,
        maximum=100,
        doc="A record with more sources is trimmed to the first and the newest ones.",
    ),
    Setting(
        name="cleanup.replaced_days",
        default=90,
        unit="days",
        minimum=1,
        maximum=36_500,
        doc="A replaced decision older than this is dropped; the clean-up log keeps a line of it.",
    ),
    Setting(
        name="cleanup.done_days",
        default=30,
        unit="days",
        minimum=1,
        maximum=36_500,
        doc="A finished request older than this is dropped; the clean-up log keeps a line of it.",
    ),
    Setting(
        name="cleanup.withdrawn_days",
        default=60,
        unit="days",
        minimum=1,
        maximum=36_500,
        doc="An open request that nothing touched for this long becomes `withdrawn`.",
    ),
    Setting(
        name="recall.top_k",
        default=5,
        unit="facts",
        minimum=1,
        maximum=50,
        doc="At most this many facts are given to one turn; rules have a budget of their own.",
    ),
    Setting(
        name="recall.max_tokens",
        default=600,
        unit="tokens",
        minimum=50,
        maximum=10_000,
        doc="At most this much text of facts is given to one turn.",
    ),
    Setting(
        name="recall.at_start",
        default=True,
        doc="A session is given rules, the summary's first section, resident knowledge and facts at its start.",
    ),
    Setting(
        name="recall.each_turn",
        default=True,
        doc="Each turn is given the facts and rules that its prompt is about.",
    ),
    Setting(
        name="recall.guard",
        default=True,
        doc="An agent that says it cannot do what it did here before is sent back once, with what is on record.",
    ),
    Setting(
        name="drawer.stale_days",
        default=90,
        unit="days",
        minimum=1,
        maximum=36_500,
        doc="A `decision` or `fact` that nothing asked for in this time becomes stale: still given, marked as old.",
    ),
    Setting(
        name="drawer.retired_days",
        default=180,
        unit="days",
        minimum=2,
        maximum=36_500,
        doc="A `decision` or `fact` that nothing asked for in this time is retired: never given.",
    ),
    Setting(
        name="drawer.probe_seconds",
        default=10.0,
        unit="seconds",
        minimum=0.1,
        maximum=600,
        doc="A probe that has not ended by then is stopped and counts as failed.",
    ),
    Setting(
        name="gate.expire_days",
        default=30,
        unit="days",
        minimum=1,
        maximum=36_500,
        doc="A candidate that was not seen again for this long stops waiting.",
    ),
    Setting(
        name="gate.allow_agent",
        default=False,
        file_only=True,
        doc="Let agents approve, write, import, trust and forget. Only your own settings file can say so: an agent "
        "chooses the environment of the commands that it runs.",
    ),
)
