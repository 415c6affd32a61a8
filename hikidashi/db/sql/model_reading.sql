-- Reading by a model (design section 5.7). What one transaction of a chunk holds: the entries (staging.sql), the
-- candidates (gate.sql), the events that count as shown, the mark, and the report so far.

-- name: mark
SELECT session_id, byte_offset, line_number, events, part, parts, tail_hash, last_at, ended_at,
    context, size, mtime_ns, settled, passed, plan, failures
FROM model_marks WHERE host = :host AND path = :path;

-- name: set_mark
INSERT INTO model_marks (host, path, session_id, byte_offset, line_number, events, part, parts, tail_hash, last_at,
    ended_at, context, size, mtime_ns, settled, passed, plan, failures, updated_at)
VALUES (:host, :path, :session_id, :byte_offset, :line_number, :events, :part, :parts, :tail_hash, :last_at,
    :ended_at, :context, :size, :mtime_ns, :settled, :passed, :plan, :failures, :updated_at)
ON CONFLICT (host, path) DO UPDATE SET session_id = :session_id, byte_offset = :byte_offset,
    line_number = :line_number, events = :events, part = :part, parts = :parts, tail_hash = :tail_hash,
    last_at = :last_at, ended_at = :ended_at, context = :context, size = :size, mtime_ns = :mtime_ns,
    settled = :settled, passed = :passed, plan = :plan, failures = :failures, updated_at = :updated_at;

-- name: enqueue
INSERT INTO model_queue (path, named, queued_at) VALUES (:path, :named, :queued_at) ON CONFLICT (path, named) DO NOTHING;

-- name: queued
SELECT path, named FROM model_queue ORDER BY queued_at, path;

-- name: dequeue
DELETE FROM model_queue WHERE path = :path AND named = :named;

-- name: withhold
INSERT INTO withheld (id, host, path, line, content) VALUES (:id, :host, :path, :line, :content)
ON CONFLICT (id) DO NOTHING;

-- name: left_by_model
-- What no model came to: behind the mark of its file, or in a file without one.
SELECT content FROM withheld
WHERE NOT EXISTS (
    SELECT 1 FROM model_marks AS mark
    WHERE mark.host = withheld.host AND mark.path = withheld.path AND withheld.line < mark.line_number)
ORDER BY id;

-- name: withheld_count
SELECT count(*) AS entries FROM withheld
WHERE NOT EXISTS (
    SELECT 1 FROM model_marks AS mark
    WHERE mark.host = withheld.host AND mark.path = withheld.path AND withheld.line < mark.line_number);

-- name: read_by_model
DELETE FROM withheld WHERE host = :host AND path = :path AND line < :line;

-- name: forget_withheld
DELETE FROM withheld;

-- name: start_extraction
INSERT INTO extractions (run_id, model, outcome, started_at, report)
VALUES (:run_id, :model, 'running', :started_at, :report)
ON CONFLICT (run_id) DO UPDATE SET outcome = 'running';

-- name: drop_vain_extractions
DELETE FROM extractions WHERE answered = 0 AND outcome <> 'running' AND run_id NOT IN (
    SELECT run_id FROM extractions WHERE answered = 0 ORDER BY started_at DESC, run_id DESC LIMIT :keep);

-- name: note_extraction
UPDATE extractions SET answered = :answered, report = :report WHERE run_id = :run_id;

-- name: end_extraction
UPDATE extractions SET outcome = :outcome, finished_at = :finished_at, answered = :answered, report = :report
WHERE run_id = :run_id;

-- name: crashed_extractions
-- Only the one that holds the lock may say so: whoever ran before it is gone.
UPDATE extractions SET outcome = 'crashed', finished_at = :finished_at WHERE outcome = 'running';

-- name: unfinished_extraction
SELECT 1 FROM extractions WHERE outcome = 'running' LIMIT 1;

-- name: has_answered
SELECT 1 FROM extractions WHERE model = :model AND answered > 0 LIMIT 1;

-- name: last_extraction
SELECT run_id, model, outcome, answered, started_at, finished_at, report FROM extractions
ORDER BY started_at DESC, run_id DESC LIMIT 1;

-- name: extractions_like
-- `:prefix` is checked to be letters and digits. Two are enough to say that it is not one run's alone.
SELECT run_id, model, outcome, answered, started_at, finished_at, report FROM extractions
WHERE run_id GLOB :prefix || '*' ORDER BY run_id LIMIT 2;

-- name: standing_bodies
-- The newest of what is known: a claim that says the same adds nothing.
SELECT body FROM (SELECT body FROM facts WHERE status <> 'retired' ORDER BY id DESC LIMIT 2000)
UNION ALL
SELECT body FROM (SELECT body FROM candidates WHERE state = 'waiting' ORDER BY rowid DESC LIMIT 2000);

-- name: standing_entries
SELECT content FROM entries WHERE session_id = :session_id ORDER BY id DESC LIMIT 500;
