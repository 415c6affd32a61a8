-- Reading by a model: a pass of its own over the sessions, behind the one by rules and never in its way.

-- How far a model has read each transcript. It stands before the first piece that no model answered for:
-- `byte_offset` is the end of a whole line, `events` counts the events behind it that are done, `part` the pieces of
-- the next event. A failed chunk is halved; `plan` is what is left of it, so that a crash does not begin it anew.
CREATE TABLE model_marks (
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    session_id TEXT NOT NULL,
    byte_offset INTEGER NOT NULL,           -- always at the end of a whole line
    line_number INTEGER NOT NULL,           -- lines before byte_offset
    events INTEGER NOT NULL,                -- events behind byte_offset that are done
    part INTEGER NOT NULL,                  -- pieces of the next event that are done …
    parts INTEGER NOT NULL,                 -- … of so many; of another number it begins anew
    tail_hash TEXT NOT NULL,                -- SHA-256 of the up to 4,096 bytes before byte_offset
    last_at TEXT NOT NULL,                  -- time of the last event before the next piece's, '' for none
    ended_at TEXT NOT NULL,                 -- time of the last event that was looked at
    context TEXT NOT NULL,                  -- last words before the next piece, redacted, for understanding only
    size INTEGER NOT NULL,                  -- of the file when it was looked through; -1 before that
    mtime_ns INTEGER NOT NULL,
    settled INTEGER NOT NULL DEFAULT 0,     -- 1: the end of the session was read too
    passed INTEGER NOT NULL DEFAULT 0,      -- 1: events of other folders were passed over
    plan TEXT NOT NULL DEFAULT '[]',        -- JSON: sizes in pieces of the chunks that come next
    failures INTEGER NOT NULL DEFAULT 0,    -- how often the next piece failed alone
    updated_at TEXT NOT NULL,
    PRIMARY KEY (host, path)
) STRICT;

-- Events that a model was shown, so that resumed and forked copies of a session are shown once.
CREATE TABLE model_seen (
    key BLOB PRIMARY KEY                    -- as in seen_events
) STRICT, WITHOUT ROWID;

-- What somebody agreed to have read by a model and is not read yet: named files, and older sessions. A row goes when
-- its file was read to the end.
CREATE TABLE model_queue (
    path TEXT NOT NULL,                     -- '' for the workspace's own sessions: look again
    named INTEGER NOT NULL,                 -- 1: a person named it; its events count whatever their folder
    queued_at TEXT NOT NULL,
    PRIMARY KEY (path, named)
) STRICT, WITHOUT ROWID;

-- Activities that the rules found in main sessions while a model was to read them. They become entries only if
-- somebody goes back to the rules before the model came to their line.
CREATE TABLE withheld (
    id TEXT PRIMARY KEY,                    -- of the entry
    host TEXT NOT NULL,
    path TEXT NOT NULL,
    line INTEGER NOT NULL,                  -- of the event that it is anchored at
    content TEXT NOT NULL                   -- the entry as its file would be
) STRICT;

CREATE INDEX withheld_by_place ON withheld (host, path, line);

-- One row a pass of a model over the sessions that sent something, with its report.
CREATE TABLE extractions (
    run_id TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    outcome TEXT NOT NULL,                  -- 'running' until it ends; see ModelReport
    answered INTEGER NOT NULL DEFAULT 0,    -- chunks that the model answered for
    started_at TEXT NOT NULL,
    finished_at TEXT,
    report TEXT NOT NULL DEFAULT '{}'       -- JSON of the report, as `show --json` prints it
) STRICT;

CREATE INDEX extractions_by_start ON extractions (started_at);
