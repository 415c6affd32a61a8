-- What nobody asks for goes out of use (design section 8, "Decay").

-- name: decaying
SELECT id, type, status, last_seen FROM facts
WHERE scope = :scope AND status IN ('active', 'stale') AND type IN ('decision', 'fact')
ORDER BY id

-- name: decay
UPDATE facts SET status = :status, decayed_at = :at WHERE id = :id

-- name: set_pass
INSERT INTO meta (key, value) VALUES ('decay_pass', :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: get_pass
SELECT value FROM meta WHERE key = 'decay_pass'

-- name: start_passes
INSERT INTO meta (key, value) VALUES ('decay_pass', :value) ON CONFLICT (key) DO NOTHING
