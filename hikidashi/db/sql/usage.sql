-- Uses of facts and records, and tokens of sessions.

-- name: record
INSERT INTO usage_events (kind, subject, session_id, via, amount, at)
VALUES (:kind, :subject, :session_id, :via, :amount, :at)

-- name: uses
SELECT kind, via, session_id, count(*) AS uses, min(at) AS first_at, max(at) AS last_at
FROM usage_events WHERE subject = :subject
GROUP BY kind, via, session_id ORDER BY first_at, kind, via, session_id
