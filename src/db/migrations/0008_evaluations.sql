-- Datasets that were scored with a model, a checkpoint or a base model.
CREATE TABLE evaluations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL,
  subject TEXT NOT NULL,                    -- what answered: base model, model, run, step
  dataset TEXT NOT NULL,
  shape TEXT NOT NULL,
  rows INTEGER NOT NULL,                    -- how many are scored
  figures TEXT,                             -- null until it is completed
  warnings TEXT NOT NULL DEFAULT '[]',
  error TEXT,
  created_at TEXT NOT NULL,
  started_at TEXT,
  ended_at TEXT
);

-- The results of the first rows.
CREATE TABLE evaluation_rows (
  evaluation_id INTEGER NOT NULL REFERENCES evaluations (id) ON DELETE CASCADE,
  line INTEGER NOT NULL,                    -- of the dataset, from 1
  result TEXT NOT NULL,
  PRIMARY KEY (evaluation_id, line)
) WITHOUT ROWID;
