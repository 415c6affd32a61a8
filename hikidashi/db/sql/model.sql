-- Requests to a model: what they used and cost, and where a model may not be asked for a while.

-- name: open_request
INSERT INTO model_requests (id, workspace_id, run_id, phase, model, state, opened_at, counted_tokens, counted_micros,
    pid, start_id, boot_id, pid_ns, host)
VALUES (:id, :workspace_id, :run_id, :phase, :model, 'open', :opened_at, :counted_tokens, :counted_micros,
    :pid, :start_id, :boot_id, :pid_ns, :host)

-- name: close_request
-- A lost one is closed too: a process that was taken for dead may come back.
UPDATE model_requests SET state = 'closed', outcome = :outcome, seconds = :seconds, input_tokens = :input_tokens,
    output_tokens = :output_tokens, cache_read_tokens = :cache_read_tokens, cache_write_tokens = :cache_write_tokens,
    cost_micros = :cost_micros, counted_tokens = coalesce(:counted_tokens, counted_tokens),
    counted_micros = CASE WHEN :counted_tokens IS NULL THEN counted_micros ELSE :cost_micros END
WHERE id = :id AND state <> 'closed'

-- name: drop_request
-- A reservation that another budget refused: nothing was sent.
DELETE FROM model_requests WHERE id = :id AND state = 'open'

-- name: open_requests
SELECT id, opened_at, pid, start_id, boot_id, pid_ns, host FROM model_requests WHERE state = 'open'

-- name: lose_request
UPDATE model_requests SET state = 'lost' WHERE id = :id AND state = 'open'

-- name: used_between
-- `:until` lies ahead: what was counted before a clock was set back counts, but not what is of another year.
SELECT coalesce(sum(counted_tokens), 0) AS tokens, coalesce(sum(counted_micros), 0) AS micros
FROM model_requests WHERE opened_at > :since AND opened_at <= :until

-- name: used_by_run
SELECT coalesce(sum(counted_tokens), 0) AS tokens FROM model_requests WHERE run_id = :run_id

-- name: counted_between
SELECT opened_at, counted_tokens AS tokens, coalesce(counted_micros, 0) AS micros FROM model_requests
WHERE opened_at > :since AND opened_at <= :until ORDER BY opened_at

-- name: totals_since
SELECT count(*) AS requests,
    count(*) FILTER (WHERE state = 'closed' AND outcome <> 'ok') AS failed,
    count(*) FILTER (WHERE state = 'open') AS running,
    count(*) FILTER (WHERE state = 'lost') AS lost,
    coalesce(sum(input_tokens), 0) AS input_tokens,
    coalesce(sum(output_tokens), 0) AS output_tokens,
    coalesce(sum(cache_read_tokens), 0) AS cache_read_tokens,
    coalesce(sum(cache_write_tokens), 0) AS cache_write_tokens,
    coalesce(sum(counted_tokens), 0) AS counted_tokens,
    coalesce(sum(counted_tokens) FILTER (WHERE input_tokens IS NULL), 0) AS reserved_tokens,
    sum(cost_micros) AS cost_micros,
    count(*) FILTER (WHERE cost_micros IS NULL AND state <> 'open') AS unknown_cost,
    coalesce(sum(seconds), 0.0) AS seconds,
    min(opened_at) AS first_at, max(opened_at) AS last_at,
    CASE :part WHEN 'run' THEN run_id WHEN 'phase' THEN phase WHEN 'model' THEN model
        WHEN 'workspace' THEN workspace_id ELSE '' END AS part
FROM model_requests WHERE opened_at > :since GROUP BY part ORDER BY last_at DESC, part

-- name: standing
SELECT model, kind, failures, since, until, message FROM model_standing
WHERE fingerprint = :fingerprint ORDER BY since, model

-- name: set_standing
INSERT INTO model_standing (fingerprint, model, kind, failures, since, until, message)
VALUES (:fingerprint, :model, :kind, :failures, :since, :until, :message)
ON CONFLICT (fingerprint, model) DO UPDATE SET kind = excluded.kind, failures = excluded.failures,
    since = excluded.since, until = excluded.until, message = excluded.message

-- name: clear_standing
DELETE FROM model_standing WHERE fingerprint = :fingerprint AND model = :model

-- name: forget_old_standing
DELETE FROM model_standing WHERE since < :before
