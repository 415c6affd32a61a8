-- The index of a turn's look-up: writes of drawer/index.py. All run in the transaction that changes the fact.

-- name: indexed
SELECT set_id, key_names FROM recall_facts WHERE fact_id = :fact_id

-- name: put_name
INSERT INTO recall_names (name, named) VALUES (:name, 1)
ON CONFLICT (name) DO UPDATE SET named = named + 1 RETURNING id

-- name: put_key_name
INSERT INTO recall_key_names (name_id, fact_id, how) VALUES (:name_id, :fact_id, :how)

-- name: take_key_name
DELETE FROM recall_key_names WHERE name_id = :name_id AND fact_id = :fact_id

-- name: unname
UPDATE recall_names SET named = named - 1 WHERE id = :name_id

-- name: unname_of_set
UPDATE recall_names SET named = named - 1 WHERE id IN (SELECT name_id FROM recall_alias_names WHERE set_id = :set_id)

-- name: take_unnamed
DELETE FROM recall_names WHERE id = :name_id AND named <= 0

-- name: take_unnamed_of_set
DELETE FROM recall_names
WHERE id IN (SELECT name_id FROM recall_alias_names WHERE set_id = :set_id) AND named <= 0

-- name: join_set
UPDATE recall_alias_sets SET facts = facts + 1 WHERE digest = :digest RETURNING id

-- name: put_set
INSERT INTO recall_alias_sets (digest, facts) VALUES (:digest, 1) RETURNING id

-- name: leave_set
UPDATE recall_alias_sets SET facts = facts - 1 WHERE id = :set_id RETURNING facts

-- name: put_alias_name
INSERT INTO recall_alias_names (name_id, set_id, how) VALUES (:name_id, :set_id, :how)

-- name: take_alias_names
DELETE FROM recall_alias_names WHERE set_id = :set_id

-- name: take_set
DELETE FROM recall_alias_sets WHERE id = :set_id

-- name: put_fact
INSERT INTO recall_facts (fact_id, set_id, rule, key_names) VALUES (:fact_id, :set_id, :rule, :key_names)

-- name: take_fact
DELETE FROM recall_facts WHERE fact_id = :fact_id

-- name: words_of
SELECT words FROM recall_text WHERE rowid = :fact_id

-- name: put_words
INSERT INTO recall_text (rowid, words) VALUES (:fact_id, :words)

-- name: take_words
DELETE FROM recall_text WHERE rowid = :fact_id

-- name: count_word
INSERT INTO recall_words (word, facts) VALUES (:word, 1) ON CONFLICT (word) DO UPDATE SET facts = facts + 1

-- name: uncount_word
UPDATE recall_words SET facts = facts - 1 WHERE word = :word

-- name: take_uncounted
DELETE FROM recall_words WHERE word = :word AND facts <= 0

-- name: all_indexed
SELECT fact_id FROM recall_facts ORDER BY fact_id

-- name: to_index
SELECT * FROM facts WHERE status <> 'retired' ORDER BY id

-- name: rebuild_text
INSERT INTO recall_text (recall_text) VALUES ('rebuild')
