-- What a person turned down or had forgotten. Only keyed hashes stand here, so that nothing of it can be read.

-- name: add_refusal
INSERT INTO refusals (mark, cause, at) VALUES (:mark, :cause, :at) ON CONFLICT (mark) DO NOTHING

-- name: has_refusal
SELECT 1 FROM refusals WHERE mark = :mark

-- name: delete_refusal
DELETE FROM refusals WHERE mark = :mark
