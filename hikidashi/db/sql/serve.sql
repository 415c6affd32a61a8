-- What hooks ask at a session's start and when an agent says that it cannot: reads only, each bounded.

-- The rules that hold, those that were asked for most and the newest first.
-- name: rules
SELECT id FROM facts
WHERE status IN ('active', 'stale') AND type = 'rule' AND rules_version = :rules_version
ORDER BY uses DESC, updated_at DESC, key LIMIT :limit

-- What works on this machine first, then what was asked for most and lately.
-- name: facts
SELECT id FROM facts INDEXED BY recall_briefs
WHERE status = 'active' AND type <> 'rule' AND rules_version = :rules_version
ORDER BY type = 'capability' AND machine_id IN ('', :machine_id) DESC, type = 'procedure' DESC, uses DESC,
    last_seen DESC, key
LIMIT :limit

-- name: capabilities
SELECT * FROM facts INDEXED BY facts_by_status
WHERE status = 'active' AND type = 'capability' AND rules_version = :rules_version
ORDER BY uses DESC, last_seen DESC, key LIMIT :limit

-- name: waiting
SELECT count(*) FROM candidates WHERE state = 'waiting' AND coalesce(later_until, '') <= :at

-- name: quarantined
SELECT count(*) FROM entries WHERE state = 'quarantined'

-- name: last_run
SELECT run_id, outcome, report FROM runs ORDER BY rowid DESC LIMIT 1

-- How far a transcript was read, whatever host it is of. The table's rows are large, its index is not.
-- name: read_so_far
SELECT size, settled FROM watermarks
WHERE rowid IN (SELECT rowid FROM watermarks INDEXED BY sqlite_autoindex_watermarks_1 WHERE path = :path) LIMIT 1

-- name: paused
SELECT 1 FROM meta WHERE key = 'paused_at' AND value <> ''
