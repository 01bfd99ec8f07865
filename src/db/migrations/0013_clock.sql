-- What the latest attempt was expected to take and took so far, as JSON: what the time left is told by.
ALTER TABLE jobs ADD COLUMN clock TEXT;
