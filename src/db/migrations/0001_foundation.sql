-- Times are ISO 8601 UTC text; sizes are bytes; objects are JSON text.
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  model_id TEXT NOT NULL UNIQUE,            -- UUID given to the model that the job will make
  state TEXT NOT NULL,
  task TEXT NOT NULL,
  provider TEXT NOT NULL,
  strategy TEXT NOT NULL,
  model_name TEXT NOT NULL,
  dataset_name TEXT NOT NULL,
  spec TEXT NOT NULL,                       -- the trainer's job specification
  created_at TEXT NOT NULL,
  started_at TEXT,
  ended_at TEXT,
  pid INTEGER,
  pid_started TEXT,                         -- tells a process from a later one with the same number
  journal_offset INTEGER NOT NULL DEFAULT 0,-- bytes of the journal that are stored here
  stop_requested INTEGER NOT NULL DEFAULT 0,
  discard_requested INTEGER NOT NULL DEFAULT 0,
  acknowledged INTEGER NOT NULL DEFAULT 0,  -- reset_status has been called since it ended
  phase TEXT,
  phase_progress REAL,
  phase_detail TEXT,
  last_metric TEXT,                         -- the newest metric line
  result_metrics TEXT,
  verification TEXT,
  artifacts TEXT NOT NULL DEFAULT '[]',
  error_code TEXT,
  error_message TEXT,
  error_advice TEXT,
  error_evidence TEXT,
  exit_code INTEGER,
  exit_signal TEXT
);
CREATE INDEX jobs_by_state ON jobs (state);

-- What was published on the socket and can be replayed; the series of a job's metrics is its rows of
-- type 'metrics'. seq is the frame's own.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  job_id INTEGER REFERENCES jobs (id) ON DELETE CASCADE,
  type TEXT NOT NULL,
  time TEXT NOT NULL,
  payload TEXT NOT NULL
);
CREATE INDEX events_by_job ON events (job_id, type, seq);

CREATE TABLE models (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  model_id TEXT NOT NULL UNIQUE,
  job_id INTEGER REFERENCES jobs (id) ON DELETE SET NULL,
  name TEXT NOT NULL,
  base_model TEXT NOT NULL,
  task TEXT NOT NULL,
  provider TEXT NOT NULL,
  strategy TEXT NOT NULL,
  dataset_name TEXT NOT NULL,
  created_at TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  path TEXT NOT NULL,
  config TEXT NOT NULL,
  metrics TEXT NOT NULL,
  verification TEXT,
  artifacts TEXT NOT NULL
);
CREATE INDEX models_by_task ON models (task);

CREATE TABLE datasets (
  name TEXT PRIMARY KEY,
  num_examples INTEGER NOT NULL,
  size_bytes INTEGER NOT NULL,
  uploaded_at TEXT NOT NULL,
  validation TEXT NOT NULL
);

CREATE TABLE session (
  key TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
