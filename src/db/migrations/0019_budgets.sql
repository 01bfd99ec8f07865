-- What a key of the scope "train" may use in all, as JSON.
ALTER TABLE access_keys ADD COLUMN budget TEXT;

-- What such keys have used. It stays used when the run, the dataset or the key is deleted.
CREATE TABLE key_uses (
  key_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  ref TEXT NOT NULL,
  minutes REAL NOT NULL DEFAULT 0,
  energy_wh REAL NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (kind, ref)
) WITHOUT ROWID;
CREATE INDEX key_uses_by_key ON key_uses (key_id);
