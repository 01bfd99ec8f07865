-- What a job's series is picked by. Both are read out of the payload, those of frames that are here already, too.
ALTER TABLE events ADD COLUMN kind TEXT AS (json_extract(payload, '$.kind')) VIRTUAL;
ALTER TABLE events ADD COLUMN step INTEGER AS (json_extract(payload, '$.step')) VIRTUAL;
CREATE INDEX events_by_step ON events (job_id, kind, step) WHERE type = 'metrics';
