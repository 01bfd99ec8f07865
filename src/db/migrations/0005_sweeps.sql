-- A sweep is a list of jobs that vary the settings of one request.
CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  state TEXT NOT NULL,
  request TEXT NOT NULL,                    -- the training request that all trials share
  space TEXT NOT NULL,                      -- the settings that vary, and their values
  trials INTEGER NOT NULL,                  -- how many are wanted
  metric TEXT NOT NULL,
  direction TEXT NOT NULL,
  culling INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  ended_at TEXT,
  error TEXT
);

-- No reference to jobs: one that is registered again from its folder is deleted and inserted.
CREATE TABLE sweep_trials (
  sweep_id INTEGER NOT NULL REFERENCES sweeps (id) ON DELETE CASCADE,
  number INTEGER NOT NULL,                  -- from 1
  job_id INTEGER NOT NULL UNIQUE,
  parameters TEXT NOT NULL,
  culled INTEGER NOT NULL DEFAULT 0,        -- stopped because others were better at the same point
  resumed INTEGER NOT NULL DEFAULT 0,       -- how often it was resumed after an interruption
  PRIMARY KEY (sweep_id, number)
) WITHOUT ROWID;
