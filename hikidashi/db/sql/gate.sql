-- The gate: what waits for a person's yes, what was decided, what calls say of facts (design section 8).
-- Every statement that moves a candidate names the state that it moves from, so that two approvals are one.

-- name: waiting
SELECT * FROM candidates WHERE state = 'waiting' ORDER BY id

-- name: waiting_of_key
SELECT * FROM candidates WHERE state = 'waiting' AND scope = :scope AND key = :key

-- name: candidate
SELECT * FROM candidates WHERE id = :id

-- name: decided_like
-- What became of a name that waits no more.
SELECT * FROM candidates WHERE state <> 'waiting' AND (id = :id OR key = :key) ORDER BY decided_at DESC LIMIT 1

-- name: put_candidate
-- The same proposal has the same ID: one that was decided or has expired waits again.
INSERT INTO candidates (
    id, scope, key, type, body, confidence, proof, probe, aliases, trust, origin, digest, machine_id, machine_name,
    source, rules_version, state, sessions, first_seen, last_seen
) VALUES (
    :id, :scope, :key, :type, :body, :confidence, :proof, :probe, :aliases, :trust, :origin, :digest, :machine_id,
    :machine_name, :source, :rules_version, 'waiting', :sessions, :at, :at
)
ON CONFLICT (id) DO UPDATE SET
    type = excluded.type, body = excluded.body, confidence = excluded.confidence, proof = excluded.proof,
    probe = excluded.probe, aliases = excluded.aliases, trust = excluded.trust, origin = excluded.origin,
    digest = excluded.digest, machine_id = excluded.machine_id, machine_name = excluded.machine_name,
    source = excluded.source, rules_version = excluded.rules_version, state = 'waiting',
    sessions = excluded.sessions, first_seen = excluded.first_seen, last_seen = excluded.last_seen, later_until = NULL,
    decided_at = NULL

-- name: seen_again
UPDATE candidates SET sessions = :sessions, last_seen = max(last_seen, :at) WHERE id = :id AND state = 'waiting'

-- name: better_text
UPDATE candidates SET
    type = :type, body = :body, confidence = :confidence, proof = :proof, probe = :probe, aliases = :aliases,
    trust = :trust, origin = :origin, digest = :digest, machine_id = :machine_id, machine_name = :machine_name,
    source = :source, rules_version = :rules_version
WHERE id = :id AND state = 'waiting'

-- name: drop_candidate
-- Another content of its key takes its place.
DELETE FROM candidates WHERE id = :id AND state = 'waiting'

-- name: expire
UPDATE candidates SET state = 'expired', decided_at = :at WHERE state = 'waiting' AND last_seen < :before

-- name: settle
-- A person wrote the same by hand instead of approving it.
UPDATE candidates SET state = 'approved', decided_at = :at
WHERE state = 'waiting' AND EXISTS (
    SELECT 1 FROM facts
    WHERE facts.scope = candidates.scope AND facts.key = candidates.key AND facts.status <> 'retired'
        AND facts.type = candidates.type AND facts.digest = candidates.digest AND facts.body = candidates.body
        AND (facts.machine_id = candidates.machine_id OR '' IN (facts.machine_id, candidates.machine_id))
)

-- name: approve
UPDATE candidates SET state = 'approved', decided_at = :at WHERE id = :id AND state = 'waiting' RETURNING *

-- name: reject
UPDATE candidates SET state = 'rejected', decided_at = :at WHERE id = :id AND state = 'waiting' RETURNING *

-- name: put_off
UPDATE candidates SET later_until = :until WHERE id = :id AND state = 'waiting' RETURNING *

-- name: wait_again
-- A decision was taken back.
UPDATE candidates SET state = 'waiting', decided_at = NULL, later_until = :later_until
WHERE id = :id AND state = :state

-- name: sessions_seen
SELECT count(DISTINCT session_id) AS sessions FROM sightings
WHERE scope = :scope AND key = :key AND outcome = 'ok'

-- name: last_success
SELECT coalesce(max(at), '') AS at FROM sightings WHERE scope = :scope AND key = :key AND outcome = 'ok'

-- name: last_failures
SELECT at, session_id, outcome, told FROM sightings
WHERE scope = :scope AND key = :key AND outcome <> 'ok' AND at > :since ORDER BY at DESC

-- name: fact_evidence
-- A call of its verb and target succeeded at :at: a failure before that is history.
UPDATE facts SET
    last_seen = max(last_seen, :at), confidence = max(confidence, :confidence),
    status = CASE WHEN status = 'stale' AND coalesce(last_failed, '') <= :at THEN 'active' ELSE status END,
    failure = CASE WHEN coalesce(last_failed, '') <= :at THEN '' ELSE failure END,
    last_failed = CASE WHEN coalesce(last_failed, '') <= :at THEN NULL ELSE last_failed END
WHERE id = :id

-- name: fact_failed
-- A failure that is older than what is known already changes nothing.
UPDATE facts SET
    last_failed = :at, failure = :said,
    status = CASE WHEN :stale AND status = 'active' AND type = 'capability' THEN 'stale' ELSE status END
WHERE id = :id AND coalesce(last_failed, '') <= :at AND coalesce(last_verified, '') < :at

-- name: restore_fact
-- The approval that wrote version :undone is taken back.
UPDATE facts SET
    type = :type, body = :body, confidence = :confidence, proof = :proof, status = :status, probe = :probe,
    aliases = :aliases, trust = :trust, origin = :origin, digest = :digest, machine_id = :machine_id,
    machine_name = :machine_name, source = :source, rules_version = :rules_version, version = :version,
    updated_at = :updated_at, last_seen = :last_seen, last_verified = :last_verified, last_failed = :last_failed,
    failure = :failure, decayed_at = :decayed_at
WHERE id = :id AND version = :undone
RETURNING *

-- name: delete_fact
DELETE FROM facts WHERE id = :id AND version = :undone

-- name: delete_version
DELETE FROM fact_versions WHERE fact_id = :id AND version = :undone
