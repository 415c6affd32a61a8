-- Reading transcripts exactly once (design section 5.2 and 5.3). What is told in one transaction: the watermark,
-- the events that count as seen from now on, the signals, and (in staging.sql) the entries.

-- name: watermark
SELECT session_id, byte_offset, line_number, last_uuid, tail_hash, size, mtime_ns, settled, skipped, state
FROM watermarks WHERE host = :host AND path = :path;

-- name: set_watermark
INSERT INTO watermarks (host, path, session_id, byte_offset, line_number, last_uuid, tail_hash, size, mtime_ns,
    settled, skipped, state, updated_at)
VALUES (:host, :path, :session_id, :byte_offset, :line_number, :last_uuid, :tail_hash, :size, :mtime_ns,
    :settled, :skipped, :state, :updated_at)
ON CONFLICT (host, path) DO UPDATE SET session_id = :session_id, byte_offset = :byte_offset,
    line_number = :line_number, last_uuid = :last_uuid, tail_hash = :tail_hash, size = :size, mtime_ns = :mtime_ns,
    settled = :settled, skipped = :skipped, state = :state, updated_at = :updated_at;

-- name: seen
SELECT 1 FROM seen_events WHERE key = ?;

-- name: all_seen
SELECT key FROM seen_events LIMIT :limit;

-- name: add_seen
-- The keys come joined, 16 bytes each: one statement instead of thousands.
WITH RECURSIVE starts (at) AS (SELECT 1 UNION ALL SELECT at + 16 FROM starts WHERE at + 16 < length(:keys))
INSERT OR IGNORE INTO seen_events (key) SELECT substr(:keys, at, 16) FROM starts WHERE length(:keys) > 0;

-- name: shown
SELECT 1 FROM model_seen WHERE key = ?;

-- name: add_shown
-- As add_seen.
WITH RECURSIVE starts (at) AS (SELECT 1 UNION ALL SELECT at + 16 FROM starts WHERE at + 16 < length(:keys))
INSERT OR IGNORE INTO model_seen (key) SELECT substr(:keys, at, 16) FROM starts WHERE length(:keys) > 0;

-- name: met_elsewhere
SELECT 1 FROM signals WHERE kind = :kind AND key = :key AND session_id <> :session_id LIMIT 1;

-- name: add_signal
INSERT OR IGNORE INTO signals (kind, key, session_id, at, note) VALUES (:kind, :key, :session_id, :at, '{}');

-- name: enqueue
INSERT INTO extract_queue (path, queued_at) VALUES (:path, :queued_at);

-- name: queued
SELECT id, path FROM extract_queue ORDER BY id;

-- name: dequeue
DELETE FROM extract_queue WHERE id = ?;
