-- What the status line asks; reads only.

-- name: facts
SELECT count(*) FROM facts WHERE status = 'active'

-- name: last_run
SELECT outcome, started_at FROM runs ORDER BY rowid DESC LIMIT 1
