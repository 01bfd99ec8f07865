-- What an analysis has found in the rows, as JSON, with the version of the file that it is of; and in how many rows. A later
-- migration clears both if their form changes.
ALTER TABLE datasets ADD COLUMN analysis TEXT;
ALTER TABLE datasets ADD COLUMN findings INTEGER;
