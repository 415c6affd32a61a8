-- What a turn looks up (design section 9): reads that meet an index each. And, after the turn has its answer, what it
-- leaves.

-- name: indexed_facts
SELECT facts FROM recall_words WHERE word = ''

-- name: names
SELECT id, name, named FROM recall_names WHERE name IN (SELECT value FROM json_each(:names))

-- Names that begin with a pair of characters, or with two words. `behind` is what sorts behind all that begin so.
-- name: names_from
SELECT n.id, n.name, n.named FROM json_each(:firsts) AS f
CROSS JOIN recall_names AS n ON n.name >= f.value AND n.name < f.value || :behind LIMIT :limit

-- A word that says little by itself (`how` 4) is followed where few facts have it.
-- name: of_key_names
SELECT name_id, fact_id, how FROM recall_key_names
WHERE name_id IN (SELECT value FROM json_each(:name_ids))
    AND (how < 4 OR name_id IN (SELECT value FROM json_each(:rare))) LIMIT :limit

-- name: of_key_name
SELECT fact_id, how FROM recall_key_names
WHERE name_id = :name_id AND how < 4 ORDER BY fact_id DESC LIMIT :limit

-- name: of_key_name_among
SELECT fact_id, how FROM recall_key_names
WHERE name_id = :name_id AND how < 4 AND fact_id IN (SELECT value FROM json_each(:ids))

-- name: of_both_names
SELECT k.fact_id FROM recall_key_names AS k
CROSS JOIN recall_key_names AS o ON o.name_id = :other AND o.fact_id = k.fact_id AND o.how < 4
WHERE k.name_id = :name_id AND k.how < 4 ORDER BY k.fact_id DESC LIMIT :limit

-- name: of_name_and_sets
SELECT k.fact_id FROM recall_key_names AS k
CROSS JOIN recall_facts AS f ON f.fact_id = k.fact_id AND f.set_id IN (SELECT value FROM json_each(:sets))
WHERE k.name_id = :name_id AND k.how < 4 ORDER BY k.fact_id DESC LIMIT :limit

-- name: sets_of_names
SELECT n.name_id, n.set_id, n.how, s.facts FROM recall_alias_names AS n
CROSS JOIN recall_alias_sets AS s ON s.id = n.set_id
WHERE n.name_id IN (SELECT value FROM json_each(:name_ids)) LIMIT :limit

-- name: of_sets
SELECT fact_id, set_id FROM recall_facts WHERE set_id IN (SELECT value FROM json_each(:set_ids)) LIMIT :limit

-- name: of_set
SELECT fact_id, set_id FROM recall_facts WHERE set_id = :set_id ORDER BY fact_id DESC LIMIT :limit

-- name: set_of_facts
SELECT fact_id, set_id FROM recall_facts WHERE fact_id IN (SELECT value FROM json_each(:ids)) AND set_id IS NOT NULL

-- name: word_counts
SELECT word, facts FROM recall_words WHERE word IN (SELECT value FROM json_each(:words))

-- `word` comes in double quotes, and holds none.
-- name: holding
SELECT rowid FROM recall_text WHERE recall_text MATCH :word

-- name: rules
SELECT fact_id FROM recall_facts WHERE rule = 1 ORDER BY fact_id DESC LIMIT :limit

-- What ranking needs of facts; bodies and aliases are read of those that are given only.
-- name: briefs
SELECT id, scope, key, type, status, confidence, updated_at, last_seen, uses, machine_id, rules_version, version
FROM facts INDEXED BY recall_briefs WHERE id IN (SELECT value FROM json_each(:ids)) AND status <> 'retired'

-- name: briefs_of_keys
SELECT id, scope, key, type, status, confidence, updated_at, last_seen, uses, machine_id, rules_version, version
FROM facts WHERE scope = :scope AND key IN (SELECT value FROM json_each(:keys)) AND status <> 'retired'

-- name: note
SELECT id, scope, key, type, status, body, confidence, proof, trust, origin, machine_id, machine_name, version,
    source, updated_at, last_seen, last_verified, last_failed, failure
FROM facts WHERE id = :id

-- name: words_of_facts
SELECT rowid, words FROM recall_text WHERE rowid IN (SELECT value FROM json_each(:ids))

-- name: bodies
SELECT id, body FROM facts WHERE id IN (SELECT value FROM json_each(:ids))

-- The prompt named these facts: they were asked for. A clock that was set back moves nothing.
-- name: move_seen
UPDATE facts SET last_seen = max(last_seen, :at) WHERE id IN (SELECT value FROM json_each(:ids))

-- The session was given these facts without asking. One that was forgotten meanwhile leaves no trace.
-- name: note_exposures
INSERT INTO usage_events (kind, subject, session_id, via, at)
SELECT 'exposure', 'fact:' || scope || ':' || key, :session_id, :via, :at
FROM facts WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id
