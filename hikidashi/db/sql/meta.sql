-- What the workspace knows about itself: who it is, since when, whether it is paused.

-- name: get_meta
SELECT value FROM meta WHERE key = :key

-- name: add_meta
INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO NOTHING

-- name: delete_meta
DELETE FROM meta WHERE key = :key
