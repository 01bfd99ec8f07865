-- What became of the GGUF files (ExportOutcome of src/contract/journal.ts). Where it is null, as in rows of earlier
-- versions, it follows from the artifacts (src/contract/derived-export.ts).
ALTER TABLE jobs ADD COLUMN export TEXT;
ALTER TABLE models ADD COLUMN export TEXT;
