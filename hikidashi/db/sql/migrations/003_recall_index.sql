-- The index by which a prompt finds facts (design section 9). It holds nothing that is not in `facts`, and can be made
-- anew from it. Retired facts are not in it.

-- Names: what a key's parts and the aliases are called, folded and without inflection, several words joined by a
-- blank (`drawer/names.py`). A name goes with the last thing that it names.
CREATE TABLE recall_names (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    named INTEGER NOT NULL                  -- rows of recall_key_names and recall_alias_names
) STRICT;

-- Parts of a key. `how`: 1 the first part, 2 another one, 4 a word that says little by itself.
CREATE TABLE recall_key_names (
    name_id INTEGER NOT NULL,
    fact_id INTEGER NOT NULL,
    how INTEGER NOT NULL,
    PRIMARY KEY (name_id, fact_id)
) STRICT, WITHOUT ROWID;

-- Aliases. All facts of one verb and tool have the same ones, a hundred and more, so a set of them is kept once.
CREATE TABLE recall_alias_sets (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,            -- of the aliases
    facts INTEGER NOT NULL                  -- how many facts have this set; it goes with the last one
) STRICT;

-- `how`: 3 an alias, 4 a word that says little by itself.
CREATE TABLE recall_alias_names (
    name_id INTEGER NOT NULL,
    set_id INTEGER NOT NULL,
    how INTEGER NOT NULL,
    PRIMARY KEY (name_id, set_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX recall_alias_names_of_set ON recall_alias_names (set_id);

-- What is indexed of each fact, so that it can be taken out whatever became of the fact itself.
CREATE TABLE recall_facts (
    fact_id INTEGER PRIMARY KEY,
    set_id INTEGER,                         -- its aliases; NULL for none
    rule INTEGER NOT NULL,                  -- 1 for a rule
    key_names TEXT NOT NULL                 -- JSON: IDs of recall_names
) STRICT;

CREATE INDEX recall_facts_of_set ON recall_facts (set_id);
CREATE INDEX recall_facts_rules ON recall_facts (rule) WHERE rule = 1;

-- What ranking reads of dozens of facts in a turn, without their long bodies and lists of aliases.
CREATE INDEX recall_briefs ON facts (
    id, scope, key, type, status, confidence, updated_at, last_seen, uses, machine_id, rules_version, version
);

-- In how many facts a word stands; '' counts the facts.
CREATE TABLE recall_words (
    word TEXT PRIMARY KEY,
    facts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The words themselves, cut by `drawer/terms.py` and joined by blanks; the row ID is the fact's. Every character
-- outside ASCII belongs to a word here, so the tokenizer gives back what was put in.
CREATE VIRTUAL TABLE recall_text USING fts5 (
    words, tokenize = "ascii tokenchars '.+#'", detail = none, columnsize = 0
);
