-- What requests to a model used and cost, and where the model may not be asked for a while.

-- One row a request, every attempt of a retry included. The workspace's own stand in `workspace.sqlite`; all of the
-- user's, whatever the workspace, stand in `global.sqlite` as well, since the user's budgets hold over all of them.
--   open    on its way; counts as what it may use at most
--   closed  ended; counts as what the server said it used, as reserved where nobody knows
--   lost    its process died before the end; counts as reserved
CREATE TABLE model_requests (
    id TEXT PRIMARY KEY,                    -- ULID; the same in both databases
    workspace_id TEXT NOT NULL,             -- '' outside any workspace
    run_id TEXT NOT NULL,
    phase TEXT NOT NULL,                    -- extraction, integration, clean-up, ping
    model TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'lost')),
    outcome TEXT NOT NULL DEFAULT '',       -- ok, auth, billing, overloaded, network, content; '' until it is closed
    opened_at TEXT NOT NULL,
    seconds REAL,
    input_tokens INTEGER,                   -- these four: NULL when nobody knows
    output_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_write_tokens INTEGER,
    cost_micros INTEGER,                    -- millionths of a US dollar; NULL when unknown
    counted_tokens INTEGER NOT NULL,        -- what budgets count of it
    counted_micros INTEGER,                 -- NULL for a model without a price
    pid INTEGER NOT NULL,                   -- these five: the process that made it, as in a claim
    start_id TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    pid_ns TEXT NOT NULL,
    host TEXT NOT NULL
) STRICT;

-- Holds all that the budgets add up, which they do before each request.
CREATE INDEX model_requests_by_time ON model_requests (opened_at, counted_tokens, counted_micros);
CREATE INDEX model_requests_by_run ON model_requests (run_id, counted_tokens);
CREATE INDEX model_requests_open ON model_requests (opened_at) WHERE state = 'open';

-- Where a model is not to be asked (kept in `global.sqlite`): refused keys and accounts, and back-offs.
CREATE TABLE model_standing (
    fingerprint TEXT NOT NULL,              -- salted hash over key and server
    model TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('auth', 'billing', 'overloaded', 'network')),
    failures INTEGER NOT NULL,              -- in a row: the back-off doubles with each
    since TEXT NOT NULL,
    until TEXT,                             -- NULL: until the settings change or a request succeeds
    message TEXT NOT NULL,
    PRIMARY KEY (fingerprint, model)
) STRICT, WITHOUT ROWID;
