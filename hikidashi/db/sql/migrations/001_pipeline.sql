-- The pipeline: who this workspace is, what was read, what was staged, what was run.

-- One row a fact about the workspace itself: workspace_id, created_at, paused_at, batch_limit.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- One row an activity, for ever: it outlives the entry file, so that a consumed ID is never staged again.
--   pending     committed with the watermark; its file is not written yet
--   staged      its file is in staging/
--   consumed    a run published what it made of it (disposition says what); the file is gone
--   quarantined its file is in staging/quarantine/
-- pending -> staged -> consumed; staged -> quarantined; consumed(discarded) -> staged by `requeue`;
-- consumed -> staged when a publication is taken back (design section 6, step 9).
CREATE TABLE entries (
    id TEXT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('decision', 'discussion', 'attempt', 'request')),
    state TEXT NOT NULL CHECK (state IN ('pending', 'staged', 'consumed', 'quarantined')),
    content TEXT NOT NULL,                  -- the exact text of the entry file
    bytes INTEGER NOT NULL,                 -- size of that file
    host TEXT NOT NULL,
    session_id TEXT NOT NULL,
    added_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,    -- runs that failed on content or lint while holding it
    lone_failures INTEGER NOT NULL DEFAULT 0, -- of those, the ones where it was the whole batch
    run_id TEXT,                            -- the run that consumed it
    disposition TEXT CHECK (disposition IN ('applied', 'merged', 'duplicate', 'covered', 'discarded')),
    record TEXT,                            -- path of the record that carries it
    reason TEXT,                            -- why discarded or quarantined
    consumed_at TEXT
) STRICT;

-- Holds all that the totals need, so that `status` and the trigger never read a content.
CREATE INDEX entries_by_state ON entries (state, id, bytes, added_at);
CREATE INDEX entries_by_run ON entries (run_id) WHERE run_id IS NOT NULL;

-- How far each transcript was read, and the extraction's state there.
CREATE TABLE watermarks (
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    session_id TEXT NOT NULL,
    byte_offset INTEGER NOT NULL,           -- bytes taken, always at the end of a whole line
    line_number INTEGER NOT NULL,           -- lines before byte_offset
    last_uuid TEXT NOT NULL,                -- '' when no line had one
    tail_hash TEXT NOT NULL,                -- SHA-256 of the up to 4,096 bytes before byte_offset
    size INTEGER NOT NULL,                  -- of the file when it was read
    mtime_ns INTEGER NOT NULL,
    settled INTEGER NOT NULL DEFAULT 0,     -- 1: the end of the session was extracted
    skipped TEXT NOT NULL DEFAULT '{}',     -- JSON: reason -> lines skipped so far
    state TEXT NOT NULL,                    -- JSON of the fold, redacted
    updated_at TEXT NOT NULL,
    PRIMARY KEY (host, path)
) STRICT;

-- Events already counted, so that resumed, forked and sub-agent copies count once across files.
CREATE TABLE seen_events (
    key BLOB PRIMARY KEY                    -- 16 bytes: a UUID, else a hash over host and ID of line or call
) STRICT, WITHOUT ROWID;

-- What one session left for another to meet: a command that failed, a ticket or branch left open.
CREATE TABLE signals (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    session_id TEXT NOT NULL,
    at TEXT NOT NULL,
    note TEXT NOT NULL,                     -- JSON, redacted
    PRIMARY KEY (kind, key, session_id)
) STRICT, WITHOUT ROWID;

-- Paths that arrived while another process was extracting; the one that holds the lock takes them before it ends.
CREATE TABLE extract_queue (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL,                     -- '' for the workspace's own sessions
    queued_at TEXT NOT NULL
) STRICT;

-- One row a consolidation run that took the claim and did something.
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    engine TEXT NOT NULL,
    outcome TEXT NOT NULL,                  -- 'running' until it ends; see RunReport
    started_at TEXT NOT NULL,
    finished_at TEXT,
    batch TEXT NOT NULL DEFAULT '[]',       -- JSON: IDs of the entries it took, for the count after a crash
    report TEXT NOT NULL DEFAULT '{}'       -- JSON of the run's report, as `show --json` prints it
) STRICT;

CREATE INDEX runs_by_start ON runs (started_at);

-- Texts that a person wrote, edited, restored or pinned: the record is protected, measured against this blob.
CREATE TABLE protected (
    path TEXT PRIMARY KEY,                  -- relative to .hikidashi/, with /
    blob TEXT NOT NULL,                     -- object ID in history.git of the last text of a person
    cause TEXT NOT NULL CHECK (cause IN ('person', 'restored', 'pinned')),
    at TEXT NOT NULL
) STRICT;

-- Losing operations (drop, merge away, split) of the last days, for the limit per rolling 24 hours.
CREATE TABLE losses (
    run_id TEXT NOT NULL,
    path TEXT NOT NULL,
    op TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (run_id, path)
) STRICT, WITHOUT ROWID;
