-- The SHA-256 of the rows that an evaluation scores; null until they are copied.
ALTER TABLE evaluations ADD COLUMN rows_digest TEXT;
