-- Reading again what older redaction rules let pass (design section 5.4).

-- name: get_rules
SELECT value FROM meta WHERE key = 'redaction_rules'

-- name: set_rules
INSERT INTO meta (key, value) VALUES ('redaction_rules', :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- name: facts_read
SELECT id AS row_id, version, scope, key, body, proof, failure, aliases, probe, source FROM facts
WHERE rules_version < :rules

-- name: versions_read
SELECT fact_id, fact_versions.version, fact_versions.body, fact_versions.proof, scope, key
FROM fact_versions JOIN facts ON facts.id = fact_id

-- name: candidates_read
SELECT rowid AS row_id, scope, key, body, proof, aliases, probe, source FROM candidates WHERE rules_version < :rules

-- name: sightings_read
SELECT scope, key, anchor, target, told FROM sightings

-- name: fact_passed
UPDATE facts SET rules_version = :rules WHERE id = :row_id AND version = :version

-- name: fact_redacted
UPDATE facts SET
    key = :key, body = :body, proof = :proof, failure = :failure, aliases = :aliases, probe = :probe, source = :source
WHERE id = :row_id AND version = :version
RETURNING *

-- name: version_redacted
UPDATE fact_versions SET body = :body, proof = :proof WHERE fact_id = :fact_id AND version = :version

-- name: candidates_passed
UPDATE candidates SET rules_version = :rules WHERE rowid = :row_id

-- name: candidate_redacted
UPDATE candidates SET
    key = :key, body = :body, proof = :proof, aliases = :aliases, probe = :probe, source = :source
WHERE rowid = :row_id

-- name: sighting_redacted
UPDATE sightings SET target = :target, told = :told WHERE scope = :scope AND key = :key AND anchor = :anchor

-- name: sightings_renamed
UPDATE sightings SET key = :new WHERE scope = :scope AND key = :old

-- name: uses_renamed
UPDATE usage_events SET subject = :new WHERE subject = :old
