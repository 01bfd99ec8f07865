-- What OpenAI's fine-tuning API knows of datasets and jobs, beyond what they are.
-- No references to jobs: one that is registered again from its folder is deleted and inserted.
CREATE TABLE fine_tuning_files (
  id TEXT PRIMARY KEY,                      -- derived from the dataset's name and time of upload
  filename TEXT NOT NULL,                   -- as the client named it
  expires_at TEXT
) WITHOUT ROWID;

CREATE TABLE fine_tuning_jobs (
  job_id INTEGER PRIMARY KEY,
  model_name TEXT NOT NULL UNIQUE,          -- ft:<base>:hone:<suffix>:<id>
  suffix TEXT,
  metadata TEXT NOT NULL,                   -- an object of strings
  training_file TEXT NOT NULL,
  validation_file TEXT,
  learning_rate_multiplier REAL NOT NULL
);

CREATE TABLE fine_tuning_stops (
  job_id INTEGER PRIMARY KEY,
  stopped_as TEXT NOT NULL                  -- paused or cancelled, by a request of this API
);

CREATE TABLE fine_tuning_results (
  job_id INTEGER PRIMARY KEY,
  created_at TEXT NOT NULL,
  content TEXT                              -- NULL once it was deleted
);
