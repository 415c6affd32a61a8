-- Runs, protection, losses and the worker's notes about the workspace. No statement here changes entries.

-- name: get_meta
SELECT value FROM meta WHERE key = :key

-- name: set_meta
INSERT INTO meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: delete_meta
DELETE FROM meta WHERE key = :key

-- name: start_run
INSERT INTO runs (run_id, engine, outcome, started_at, batch, report)
VALUES (:run_id, :engine, 'running', :started_at, :batch, :report)

-- name: note_run
-- A recovered publication of a run whose row is gone (a database made anew) still gets its row.
INSERT INTO runs (run_id, engine, outcome, started_at, report)
VALUES (:run_id, :engine, 'running', :started_at, :report)
ON CONFLICT (run_id) DO UPDATE SET report = excluded.report

-- name: finish_run
UPDATE runs SET outcome = :outcome, finished_at = :finished_at, report = :report WHERE run_id = :run_id

-- name: run_row
SELECT run_id, engine, outcome, started_at, finished_at, batch, report FROM runs WHERE run_id = :run_id

-- name: last_run
SELECT run_id, engine, outcome, started_at, finished_at, batch, report FROM runs
ORDER BY rowid DESC LIMIT 1

-- name: runs_like
-- `:prefix` is checked to be letters and digits: GLOB knows no other meaning of them.
SELECT run_id, engine, outcome, started_at, finished_at, batch, report FROM runs
WHERE run_id GLOB :prefix || '*' ORDER BY rowid

-- name: run_entries
SELECT id, kind, content, disposition, record, reason FROM entries WHERE run_id = :run_id ORDER BY id

-- name: entry_state
SELECT state, run_id FROM entries WHERE id = :id

-- name: unfinished_runs
SELECT run_id, engine, outcome, started_at, finished_at, batch, report FROM runs
WHERE outcome = 'running' AND run_id <> :run_id ORDER BY rowid

-- name: protect
INSERT INTO protected (path, blob, cause, at) VALUES (:path, :blob, :cause, :at)
ON CONFLICT (path) DO UPDATE SET blob = excluded.blob, at = excluded.at,
    cause = CASE WHEN protected.cause = 'pinned' THEN 'pinned' ELSE excluded.cause END

-- name: unprotect
DELETE FROM protected WHERE path = :path

-- name: protected
SELECT path, blob, cause, at FROM protected ORDER BY path

-- name: add_loss
INSERT OR IGNORE INTO losses (run_id, path, op, at) VALUES (:run_id, :path, :op, :at)

-- name: losses_since
SELECT COUNT(*) AS count FROM losses WHERE at > :since
