-- What a turn looks up (design section 9). Reads only; every statement meets an index.

-- name: indexed_facts
SELECT facts FROM recall_words WHERE word = ''

-- name: names
SELECT id, name, named FROM recall_names WHERE name IN (SELECT value FROM json_each(:names))

-- Names that begin with a pair of characters, or with two words.
-- name: names_from
SELECT id, name, named FROM recall_names WHERE name >= :first AND name < :last ORDER BY name LIMIT :limit

-- name: of_key_name
SELECT fact_id, how FROM recall_key_names WHERE name_id = :name_id ORDER BY fact_id DESC LIMIT :limit

-- name: sets_of_name
SELECT set_id, how FROM recall_alias_names WHERE name_id = :name_id ORDER BY set_id DESC LIMIT :limit

-- name: of_set
SELECT fact_id FROM recall_facts WHERE set_id = :set_id ORDER BY fact_id DESC LIMIT :limit

-- name: set_of_facts
SELECT fact_id, set_id FROM recall_facts WHERE fact_id IN (SELECT value FROM json_each(:ids)) AND set_id IS NOT NULL

-- name: word_counts
SELECT word, facts FROM recall_words WHERE word IN (SELECT value FROM json_each(:words))

-- `word` comes in double quotes, and holds none.
-- name: holding
SELECT rowid FROM recall_text WHERE recall_text MATCH :word

-- name: rules
SELECT fact_id FROM recall_facts WHERE rule = 1 ORDER BY fact_id DESC LIMIT :limit

-- name: facts
SELECT * FROM facts WHERE id IN (SELECT value FROM json_each(:ids)) AND status <> 'retired'

-- name: words_of_facts
SELECT rowid, words FROM recall_text WHERE rowid IN (SELECT value FROM json_each(:ids))

-- name: of_keys
SELECT * FROM facts
WHERE scope = :scope AND key IN (SELECT value FROM json_each(:keys)) AND status <> 'retired'

-- name: all_rules
SELECT * FROM facts WHERE type = 'rule' AND status <> 'retired' ORDER BY updated_at DESC, key LIMIT :limit
