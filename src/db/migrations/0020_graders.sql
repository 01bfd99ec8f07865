-- What says how good an answer is, by its name; the definition is JSON.
CREATE TABLE graders (
  name TEXT PRIMARY KEY,
  definition TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;
