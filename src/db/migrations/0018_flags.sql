-- Rows that someone has flagged, by the SHA-1 of their lines: a flag stays with a row when other rows are edited.
CREATE TABLE dataset_flags (
  dataset TEXT NOT NULL REFERENCES datasets (name) ON DELETE CASCADE ON UPDATE CASCADE,
  row TEXT NOT NULL,
  PRIMARY KEY (dataset, row)
) WITHOUT ROWID;
