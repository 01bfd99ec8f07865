-- Keys and sessions are stored as SHA-256 hashes: what is read here opens nothing.
CREATE TABLE access_keys (
  id TEXT PRIMARY KEY,                      -- the public part of the key
  name TEXT NOT NULL,
  hash BLOB NOT NULL,
  scope TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT
);

CREATE TABLE access_sessions (
  hash BLOB PRIMARY KEY,
  key_id TEXT NOT NULL,                     -- not a reference: the key of the environment is in no table
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX access_sessions_by_key ON access_sessions (key_id);
CREATE TRIGGER access_sessions_end_with_their_key AFTER DELETE ON access_keys
BEGIN
  DELETE FROM access_sessions WHERE key_id = OLD.id;
END;
