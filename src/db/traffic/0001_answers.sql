-- Answers of chat completions that clients asked to keep. What is deleted is overwritten (PRAGMA secure_delete).
CREATE TABLE answers (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  owner TEXT,                               -- the ID of the access key; NULL without one
  model TEXT NOT NULL,                      -- as the request named it
  answered_by TEXT NOT NULL,                -- what the name stood for
  created_at INTEGER NOT NULL,              -- Unix seconds
  bytes INTEGER NOT NULL,
  rating TEXT CHECK (rating IN ('up', 'down')),
  metadata TEXT NOT NULL,                   -- JSON
  milliseconds REAL NOT NULL,               -- from the request to the end of the answer
  -- What may be long is last: a filter by the columns before reads none of it.
  correction TEXT,
  messages TEXT NOT NULL,                   -- JSON, as they were sent
  completion TEXT NOT NULL,                 -- JSON, without the columns above
  words TEXT NOT NULL                       -- what a search finds
);
-- What is kept of each model is counted, and its size summed up, without reading answers.
CREATE INDEX answers_by_model ON answers (model, number, bytes);
CREATE INDEX answers_by_rating ON answers (rating, number) WHERE rating IS NOT NULL;

-- What graders give answers.
CREATE TABLE answer_scores (
  number INTEGER NOT NULL,                  -- of the answer
  grader TEXT NOT NULL,                     -- the digest of its definition
  score REAL,                               -- 0 to 1; NULL where the answer could not be scored
  PRIMARY KEY (number, grader)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE answer_words USING fts5 (words, content = 'answers', content_rowid = 'number');
INSERT INTO answer_words (answer_words, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER answers_are_searched AFTER INSERT ON answers
BEGIN
  INSERT INTO answer_words (rowid, words) VALUES (NEW.number, NEW.words);
END;
CREATE TRIGGER answers_are_forgotten AFTER DELETE ON answers
BEGIN
  INSERT INTO answer_words (answer_words, rowid, words) VALUES ('delete', OLD.number, OLD.words);
  DELETE FROM answer_scores WHERE number = OLD.number;
END;
