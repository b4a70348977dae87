-- key is the breaker of a dependency that has one for each key; empty: its own.
ALTER TABLE event ADD COLUMN key TEXT NOT NULL DEFAULT '';
