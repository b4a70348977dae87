-- Times are milliseconds since 1970 in UTC, 0 for none; durations are nanoseconds.

CREATE TABLE event (
	id         INTEGER PRIMARY KEY,
	at         INTEGER NOT NULL,
	dependency TEXT    NOT NULL,
	kind       TEXT    NOT NULL,
	from_state TEXT    NOT NULL,
	to_state   TEXT    NOT NULL,
	reason     TEXT    NOT NULL,
	by         TEXT    NOT NULL,
	note       TEXT    NOT NULL,
	cause      TEXT    NOT NULL,
	open_for   INTEGER NOT NULL,
	step       INTEGER NOT NULL,
	good       INTEGER NOT NULL,
	failed     INTEGER NOT NULL,
	slow       INTEGER NOT NULL,
	run        INTEGER NOT NULL,
	text       TEXT    NOT NULL
) STRICT;
CREATE INDEX event_at         ON event (at);
CREATE INDEX event_dependency ON event (dependency, id);
CREATE INDEX event_kind       ON event (kind, id);

-- nonce tells an act that is written a second time from another one: two processes
-- may have given the same id.
CREATE TABLE act (
	id      INTEGER PRIMARY KEY,
	nonce   INTEGER NOT NULL UNIQUE,
	at      INTEGER NOT NULL,
	name    TEXT    NOT NULL,
	target  TEXT    NOT NULL,
	by      TEXT    NOT NULL,
	role    TEXT    NOT NULL,
	address TEXT    NOT NULL,
	reason  TEXT    NOT NULL,
	until   INTEGER NOT NULL,
	result  TEXT    NOT NULL,
	key     TEXT    NOT NULL,
	detail  TEXT    NOT NULL
) STRICT;
CREATE INDEX act_at     ON act (at);
CREATE INDEX act_target ON act (target, id);

-- What is in force, by kind: override, dependency, maintenance, token, breaker,
-- answer; and the file's own id. value is JSON: all of it is in memory while the
-- gateway runs, and nothing is ever selected by what is inside.
CREATE TABLE state (
	kind  TEXT    NOT NULL,
	id    TEXT    NOT NULL,
	at    INTEGER NOT NULL,
	value TEXT    NOT NULL,
	PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
INSERT INTO state VALUES ('file', 'id', 0, json_quote(hex(randomblob(16))));

CREATE TABLE point (
	dependency TEXT    NOT NULL,
	step       INTEGER NOT NULL, -- seconds: 10, 60, 600
	at         INTEGER NOT NULL,
	good       INTEGER NOT NULL,
	failed     INTEGER NOT NULL,
	slow       INTEGER NOT NULL,
	ignored    INTEGER NOT NULL,
	refused    INTEGER NOT NULL,
	p50        INTEGER NOT NULL,
	p95        INTEGER NOT NULL,
	state      TEXT    NOT NULL,
	PRIMARY KEY (dependency, step, at)
) STRICT, WITHOUT ROWID;
