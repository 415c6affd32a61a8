-- The drawer (design section 8): facts, their versions, what waits at the gate, what was seen of each key, uses.
-- The same tables stand in every workspace's database and in the user's own one (scope `global`).

-- One row a fact. Text of a fact is redacted or refused before it comes here.
--   active   given to agents
--   stale    given to agents, marked as old; an explicit read makes it active again
--   retired  never given to agents; only a write makes it active again
-- active -> stale -> retired by decay (decision, fact); active -> stale by authentication failures (capability);
-- any -> retired by `retire`; any -> active by a write or an approval; a forgotten fact has no row any more.
CREATE TABLE facts (
    id INTEGER PRIMARY KEY,
    scope TEXT NOT NULL CHECK (scope IN ('workspace', 'global')),
    key TEXT NOT NULL,                      -- NFC, at most 200 characters
    type TEXT NOT NULL CHECK (type IN ('capability', 'decision', 'rule', 'procedure', 'fact')),
    body TEXT NOT NULL,
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    proof TEXT NOT NULL,                    -- '' for none
    status TEXT NOT NULL CHECK (status IN ('active', 'stale', 'retired')),
    probe TEXT NOT NULL,                    -- JSON: the probe's words; '[]' for none
    aliases TEXT NOT NULL,                  -- JSON: words and phrases that people prompt with
    trust TEXT NOT NULL CHECK (trust IN ('user', 'assistant', 'tool', 'external')),
    origin TEXT NOT NULL CHECK (origin IN ('promotion', 'rule', 'reflection', 'memory_write', 'command', 'import')),
    digest TEXT NOT NULL,                   -- of what makes it another proposal; '' when nothing does
    machine_id TEXT NOT NULL,               -- where it was proven; '' when that does not matter
    machine_name TEXT NOT NULL,
    source TEXT NOT NULL,                   -- JSON of its Source; '{}' for a command
    rules_version INTEGER NOT NULL,         -- of the redaction rules that read it last
    version INTEGER NOT NULL,               -- 1, 2, …: counts writes of this key
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    last_verified TEXT,                     -- its probe passed
    last_failed TEXT,                       -- a call of its verb and target failed after its last success
    failure TEXT NOT NULL DEFAULT '',       -- what that call said, in one line
    decayed_at TEXT,                        -- when decay looked at it last and moved it
    uses INTEGER NOT NULL DEFAULT 0,        -- explicit reads
    UNIQUE (scope, key)
) STRICT;

CREATE INDEX facts_by_status ON facts (status, type);

-- Every version of a fact, the current one included.
CREATE TABLE fact_versions (
    fact_id INTEGER NOT NULL REFERENCES facts (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    type TEXT NOT NULL,
    body TEXT NOT NULL,
    proof TEXT NOT NULL,
    confidence REAL NOT NULL,
    origin TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (fact_id, version)
) STRICT, WITHOUT ROWID;

-- What waits for a person's yes, and what was decided. One waits for each key at most.
--   waiting -> approved | rejected | expired (30 days)
CREATE TABLE candidates (
    id TEXT PRIMARY KEY,                    -- short: people type it
    scope TEXT NOT NULL CHECK (scope IN ('workspace', 'global')),
    key TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type IN ('capability', 'decision', 'rule', 'procedure', 'fact')),
    body TEXT NOT NULL,
    confidence REAL NOT NULL,
    proof TEXT NOT NULL,
    probe TEXT NOT NULL,
    aliases TEXT NOT NULL,
    trust TEXT NOT NULL,
    origin TEXT NOT NULL,
    digest TEXT NOT NULL,
    machine_id TEXT NOT NULL,
    machine_name TEXT NOT NULL,
    source TEXT NOT NULL,
    rules_version INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'rejected', 'expired')),
    sessions INTEGER NOT NULL DEFAULT 1,    -- in how many sessions it was seen
    first_seen TEXT NOT NULL,
    last_seen TEXT NOT NULL,
    later_until TEXT,                       -- put off by a person until then
    decided_at TEXT
) STRICT;

CREATE UNIQUE INDEX candidates_waiting ON candidates (scope, key) WHERE state = 'waiting';
CREATE INDEX candidates_by_state ON candidates (state, last_seen);

-- Calls that bear a key out, or contradict it: the lines behind candidates and facts (`why`).
CREATE TABLE sightings (
    scope TEXT NOT NULL,
    key TEXT NOT NULL,
    anchor TEXT NOT NULL,                   -- the event, the same in copies of the session
    host TEXT NOT NULL,
    session_id TEXT NOT NULL,
    path TEXT NOT NULL,                     -- transcript
    line INTEGER NOT NULL,                  -- 0-based line of the call
    at TEXT NOT NULL,
    verb TEXT NOT NULL,
    tool TEXT NOT NULL,
    target TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'failed', 'denied')),  -- denied: authentication failed
    told TEXT NOT NULL,                     -- the command, or the person's words, redacted, in one line
    PRIMARY KEY (scope, key, anchor)
) STRICT, WITHOUT ROWID;

-- What is not proposed again. `mark` is a keyed hash, so that a forgotten key does not stand here in any form.
CREATE TABLE refusals (
    mark BLOB PRIMARY KEY,
    cause TEXT NOT NULL CHECK (cause IN ('rejected', 'forgotten')),
    at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Uses (design section 10): explicit ones and exposures apart.
CREATE TABLE usage_events (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('explicit', 'exposure', 'tokens')),
    subject TEXT NOT NULL,                  -- `fact:<scope>:<key>`, `record:<path>`; '' for tokens
    session_id TEXT NOT NULL,               -- '' outside a session
    via TEXT NOT NULL,                      -- recall, read, memory_read, hook, …
    amount INTEGER NOT NULL DEFAULT 1,      -- tokens for the kind `tokens`
    at TEXT NOT NULL
) STRICT;

CREATE INDEX usage_by_subject ON usage_events (subject, kind, at);
