-- OpenAI's evals, their runs and output items, as objects of its API (docs/openai-evals.md), and the files that they read.
CREATE TABLE evals (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  object TEXT NOT NULL,
  created_at INTEGER NOT NULL GENERATED ALWAYS AS (json_extract(object, '$.created_at')) STORED,
  updated_at INTEGER NOT NULL               -- Unix seconds, as created_at
);

CREATE TABLE eval_runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  eval_id TEXT NOT NULL REFERENCES evals (id) ON DELETE CASCADE,
  object TEXT NOT NULL,
  created_at INTEGER NOT NULL GENERATED ALWAYS AS (json_extract(object, '$.created_at')) STORED,
  status TEXT NOT NULL GENERATED ALWAYS AS (json_extract(object, '$.status')) STORED,
  asks TEXT                                 -- how a model is asked; NULL if the rows have answers
);
CREATE INDEX runs_of_eval ON eval_runs (eval_id);
CREATE INDEX runs_by_status ON eval_runs (status);

CREATE TABLE eval_items (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  run_id TEXT NOT NULL REFERENCES eval_runs (id) ON DELETE CASCADE,
  row TEXT,                                 -- NULL once it is scored
  object TEXT,                              -- NULL until then
  status TEXT GENERATED ALWAYS AS (json_extract(object, '$.status')) STORED
);
CREATE INDEX items_of_run ON eval_items (run_id, number);

CREATE TABLE eval_files (
  id TEXT PRIMARY KEY,
  filename TEXT NOT NULL,
  content TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT
) WITHOUT ROWID;
