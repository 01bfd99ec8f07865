-- Names that move from model to model: each stands for the target of its last move.
CREATE TABLE alias_moves (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  alias TEXT NOT NULL,
  target TEXT NOT NULL,                     -- a model's ID, or the name of a base model or a checkpoint
  moved_at TEXT NOT NULL
);
CREATE INDEX moves_of_alias ON alias_moves (alias, number);

-- A share of the requests of an alias that another model answers, to compare the two.
CREATE TABLE alias_splits (
  alias TEXT PRIMARY KEY,
  target TEXT NOT NULL,                     -- as above
  percent INTEGER NOT NULL,
  started_at TEXT NOT NULL,
  grader TEXT                               -- the name of the grader that scores the answers of both; NULL without one
);
