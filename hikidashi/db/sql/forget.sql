-- Leaving no trace of a key (`forget`).

-- name: is_known
SELECT EXISTS (SELECT 1 FROM facts WHERE scope = :scope AND key = :key)
    OR EXISTS (SELECT 1 FROM candidates WHERE scope = :scope AND key = :key)
    OR EXISTS (SELECT 1 FROM sightings WHERE scope = :scope AND key = :key)
    OR EXISTS (SELECT 1 FROM usage_events WHERE subject = :subject)

-- name: forget_fact
DELETE FROM facts WHERE scope = :scope AND key = :key RETURNING id

-- name: forget_candidates
DELETE FROM candidates WHERE scope = :scope AND key = :key

-- name: forget_sightings
DELETE FROM sightings WHERE scope = :scope AND key = :key

-- name: forget_uses
DELETE FROM usage_events WHERE subject = :subject

-- Sessions that go on, whose extraction noted something under the key.
-- name: notes_of_key
SELECT host, path, state FROM watermarks WHERE instr(state, :plain) OR instr(state, :escaped)

-- name: set_notes
UPDATE watermarks SET state = :state WHERE host = :host AND path = :path

-- Writes every page anew: what pages keep between their rows goes too.
-- name: rewrite
VACUUM

-- Copies the write-ahead log into the database and cuts it to nothing, once no reader needs it.
-- name: empty_log
PRAGMA wal_checkpoint(TRUNCATE)
