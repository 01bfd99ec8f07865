-- What was deleted and can be restored: its rows, and its files, which are in the folder of the bin named by the ID.
CREATE TABLE bin (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  ref TEXT NOT NULL,                        -- what the API knows it by
  name TEXT NOT NULL,                       -- what people call it
  bytes INTEGER NOT NULL,                   -- of its files and rows
  deleted_at TEXT NOT NULL,
  kept INTEGER NOT NULL,                    -- 0 while it is being deleted for good
  paths TEXT NOT NULL                       -- of its files before, relative to the data directory; JSON
) WITHOUT ROWID;
CREATE TABLE bin_rows (
  bin_id TEXT NOT NULL REFERENCES bin (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,                  -- in the order in which they are inserted again
  table_name TEXT NOT NULL,
  row TEXT NOT NULL,                        -- an object of columns; those that later versions add get their defaults
  PRIMARY KEY (bin_id, number)
) WITHOUT ROWID;
