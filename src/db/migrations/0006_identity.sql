-- Names, notes and tags that people give to runs and models.
ALTER TABLE jobs ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
ALTER TABLE models ADD COLUMN display_name TEXT NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN notes TEXT NOT NULL DEFAULT '';
ALTER TABLE models ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';

-- The default names of earlier runs and models, as src/domain/job-record/identity.ts makes them:
-- dataset · epochs · learning rate in scientific notation without trailing zeros (3e-3).
CREATE TEMP VIEW named AS
SELECT id, dataset, epochs,
  rtrim(rtrim(substr(rate, 1, 4), '0'), '.') || 'e' || CAST(substr(rate, 6) AS INTEGER) AS rate
FROM (
  SELECT id,
    CASE WHEN lower(substr(dataset_name, -6)) = '.jsonl' THEN substr(dataset_name, 1, length(dataset_name) - 6)
      ELSE dataset_name END AS dataset,
    json_extract(spec, '$.settings.num_train_epochs') AS epochs,
    printf('%.2e', json_extract(spec, '$.settings.learning_rate')) AS rate
  FROM main.jobs
  WHERE json_type(spec, '$.settings.num_train_epochs') IN ('integer', 'real')
    AND json_type(spec, '$.settings.learning_rate') IN ('integer', 'real')
);
UPDATE jobs SET display_name = (
  SELECT substr(dataset, 1, 80) || ' · ' || printf('%.6g', epochs) || CASE WHEN epochs = 1 THEN ' epoch · ' ELSE ' epochs · ' END || rate
  FROM named WHERE named.id = jobs.id
) WHERE id IN (SELECT id FROM named);
DROP VIEW named;
UPDATE models SET display_name = coalesce(
  (SELECT display_name FROM jobs WHERE jobs.id = models.job_id AND display_name <> ''), name);

-- What runs are searched and filtered by, without reading their specifications.
CREATE INDEX jobs_by_identity ON jobs (display_name, notes, tags, model_name, dataset_name, state, task, provider, strategy);
