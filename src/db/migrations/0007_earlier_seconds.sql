-- How long a job ran before it was last resumed, in seconds; started_at is the start of its latest attempt.
ALTER TABLE jobs ADD COLUMN earlier_seconds REAL NOT NULL DEFAULT 0;
