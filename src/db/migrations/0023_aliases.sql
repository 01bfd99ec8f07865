-- Names that move from model to model: each stands for the target of its last move.
CREATE TABLE alias_moves (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  alias TEXT NOT NULL,
  target TEXT NOT NULL,                     -- a model's ID, or the name of a base model or a checkpoint
  moved_at TEXT NOT NULL
);
CREATE INDEX moves_of_alias ON alias_moves (alias, number);
