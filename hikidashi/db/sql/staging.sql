-- Entries and their states (design sections 5.3 and 6). The states are drawn in migrations/001_pipeline.sql.
-- Every statement that moves a row names the state that it moves from, so that no ID is staged twice.

-- name: add_pending
INSERT INTO entries (id, kind, state, content, bytes, host, session_id, added_at)
VALUES (:id, :kind, 'pending', :content, length(CAST(:content AS BLOB)), :host, :session_id, :added_at)
ON CONFLICT (id) DO NOTHING;

-- name: adopt
-- A valid file that no row knows: the database was made anew, or a person put it there.
INSERT INTO entries (id, kind, state, content, bytes, host, session_id, added_at)
VALUES (:id, :kind, 'staged', :content, length(CAST(:content AS BLOB)), :host, :session_id, :added_at)
ON CONFLICT (id) DO NOTHING;

-- name: ids_in_state
SELECT id FROM entries WHERE state = :state ORDER BY id;

-- name: row
SELECT id, state, content, run_id, disposition, reason FROM entries WHERE id = :id;

-- name: written
UPDATE entries SET state = 'staged' WHERE id = :id AND state = 'pending';

-- name: staged
-- IDs begin with the time of the anchor event: their order is oldest first.
SELECT id, content, bytes, attempts, lone_failures, added_at FROM entries WHERE state = 'staged' ORDER BY id;

-- name: totals
-- Answered from the index alone.
SELECT count(*) AS entries, coalesce(sum(bytes), 0) AS bytes, min(added_at) AS oldest_at
FROM entries WHERE state = :state;

-- name: consume
UPDATE entries
SET state = 'consumed', run_id = :run_id, disposition = :disposition, record = :record, reason = :reason,
    consumed_at = :consumed_at
WHERE id = :id AND state = 'staged';

-- name: release
UPDATE entries
SET state = 'staged', run_id = NULL, disposition = NULL, record = NULL, reason = NULL, consumed_at = NULL
WHERE run_id = :run_id AND state = 'consumed';

-- name: discarded_by
SELECT id FROM entries WHERE run_id = :run_id AND state = 'consumed' AND disposition = 'discarded' ORDER BY id;

-- name: requeue
-- Through `pending`, so that a crash before the file is written is finished by the next start.
UPDATE entries
SET state = 'pending', run_id = NULL, disposition = NULL, record = NULL, reason = NULL, consumed_at = NULL,
    attempts = 0, lone_failures = 0
WHERE id = :id AND state = 'consumed' AND disposition = 'discarded';

-- name: count_failure
UPDATE entries SET attempts = attempts + 1, lone_failures = lone_failures + :alone
WHERE id = :id AND state = 'staged';

-- name: failed_alone
SELECT id, lone_failures FROM entries WHERE id = :id AND state = 'staged' AND lone_failures >= :limit;

-- name: quarantine
UPDATE entries SET state = 'quarantined', reason = :reason WHERE id = :id AND state = 'staged';
