-- The highest progress of the latest attempt, in percent. A phase can have several parts that are each counted from 0.
ALTER TABLE jobs ADD COLUMN progress REAL;
