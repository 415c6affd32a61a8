-- The drawer: facts and their versions, and what was seen of a key.

-- name: fact
SELECT * FROM facts WHERE scope = :scope AND key = :key

-- name: all_facts
SELECT * FROM facts
WHERE scope = :scope AND (:type IS NULL OR type = :type) AND (:status IS NULL OR status = :status)
ORDER BY key

-- name: fact_keys
SELECT key FROM facts WHERE scope = :scope ORDER BY key

-- name: count_facts
SELECT status, type, count(*) AS facts FROM facts WHERE scope = :scope GROUP BY status, type

-- name: versions
SELECT version, type, body, proof, confidence, origin, at FROM fact_versions WHERE fact_id = :fact_id ORDER BY version

-- The same key replaces: one version more, in use again, and what probes and calls said of the text before is gone.
-- name: put_fact
INSERT INTO facts (
    scope, key, type, body, confidence, proof, status, probe, aliases, trust, origin, digest, machine_id, machine_name,
    source, rules_version, version, created_at, updated_at, last_seen
) VALUES (
    :scope, :key, :type, :body, :confidence, :proof, 'active', :probe, :aliases, :trust, :origin, :digest, :machine_id,
    :machine_name, :source, :rules_version, 1, :at, :at, :at
)
ON CONFLICT (scope, key) DO UPDATE SET
    type = excluded.type, body = excluded.body, confidence = excluded.confidence, proof = excluded.proof,
    status = 'active', probe = excluded.probe, aliases = excluded.aliases, trust = excluded.trust,
    origin = excluded.origin, digest = excluded.digest, machine_id = excluded.machine_id,
    machine_name = excluded.machine_name, source = excluded.source, rules_version = excluded.rules_version,
    version = facts.version + 1, updated_at = excluded.updated_at, last_seen = excluded.last_seen,
    last_verified = NULL, last_failed = NULL, failure = '', decayed_at = NULL
RETURNING *

-- name: add_version
INSERT INTO fact_versions (fact_id, version, type, body, proof, confidence, origin, at)
VALUES (:fact_id, :version, :type, :body, :proof, :confidence, :origin, :at)

-- name: set_status
UPDATE facts SET status = :status WHERE scope = :scope AND key = :key RETURNING *

-- An explicit read counts, and revives a stale fact; a retired one only a write.
-- name: read
UPDATE facts SET
    last_seen = max(last_seen, :at), uses = uses + 1,
    status = CASE status WHEN 'stale' THEN 'active' ELSE status END
WHERE id = :id
RETURNING *

-- name: probe_passed
UPDATE facts SET
    confidence = 1.0, proof = :said, last_seen = max(last_seen, :at), last_verified = :at, last_failed = NULL,
    failure = '', status = CASE status WHEN 'stale' THEN 'active' ELSE status END
WHERE id = :id AND version = :version

-- A failure that is older than what is known already changes nothing.
-- name: probe_failed
UPDATE facts SET last_failed = :at, failure = :said, confidence = min(confidence, :confidence)
WHERE id = :id AND version = :version AND coalesce(last_failed, '') <= :at AND coalesce(last_verified, '') <= :at

-- name: add_sighting
INSERT INTO sightings (
    scope, key, anchor, host, session_id, path, line, at, verb, tool, target, outcome, told
) VALUES (
    :scope, :key, :anchor, :host, :session_id, :path, :line, :at, :verb, :tool, :target, :outcome, :told
) ON CONFLICT (scope, key, anchor) DO NOTHING

-- name: sightings
SELECT scope, key, anchor, host, session_id, path, line, at, verb, tool, target, outcome, told
FROM sightings WHERE scope = :scope AND key = :key ORDER BY at, anchor
