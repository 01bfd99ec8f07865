-- Documents, of which rows are made, as the text of their pages.
CREATE TABLE documents (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  sha256 TEXT NOT NULL,                     -- of the file
  size_bytes INTEGER NOT NULL,
  characters INTEGER NOT NULL,
  pages TEXT NOT NULL,                      -- [{"page": 1, "text": "…"}, …]
  page_count INTEGER NOT NULL,
  pages_without_text INTEGER NOT NULL,
  created_at TEXT NOT NULL
) WITHOUT ROWID;

-- Datasets that are being made, and were made, by asking a model about passages or rows.
CREATE TABLE row_makings (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  record TEXT NOT NULL,
  state TEXT NOT NULL GENERATED ALWAYS AS (json_extract(record, '$.state')) STORED
);
CREATE INDEX makings_by_state ON row_makings (state);

-- What the model is asked about, in the order in which it is asked.
CREATE TABLE row_sources (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  making INTEGER NOT NULL REFERENCES row_makings (number) ON DELETE CASCADE,
  source TEXT NOT NULL,
  answer TEXT,                              -- NULL until it has answered
  rows TEXT                                 -- those that are kept; NULL until it is decided
);
CREATE INDEX sources_of_making ON row_sources (making, number);
