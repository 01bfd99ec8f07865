-- The names that a dataset had before, as JSON, the first one first: runs and file IDs refer to it by these.
ALTER TABLE datasets ADD COLUMN former_names TEXT NOT NULL DEFAULT '[]';
