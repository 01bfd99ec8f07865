import type { Db } from '../open.ts';

/** What a client said of a file that it uploaded. */
export interface FineTuningFileRow {
  readonly id: string;
  readonly filename: string;
  readonly expiresAt: string | null;
}

/** What a request to OpenAI's fine-tuning API said of its job. */
export interface FineTuningJobRow {
  readonly jobId: number;
  readonly modelName: string;
  readonly suffix: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly trainingFile: string;
  readonly validationFile: string | null;
  readonly learningRateMultiplier: number;
}

/** What a request of this API meant by a stop. */
export type StoppedAs = 'paused' | 'cancelled';

/** A job's curves as CSV; `content` is `null` once they were deleted. */
export interface FineTuningResultRow {
  readonly jobId: number;
  readonly createdAt: string;
  readonly content: string | null;
}

/** What OpenAI's fine-tuning API knows of datasets and jobs, beyond what they are. */
export interface FineTuningStore {
  putFile(file: FineTuningFileRow): void;
  getFile(id: string): FineTuningFileRow | null;
  files(): FineTuningFileRow[];
  removeFile(id: string): void;
  putJob(job: FineTuningJobRow): void;
  getJob(jobId: number): FineTuningJobRow | null;
  /** The job whose model has, or will have, this name. */
  jobIdOfModel(modelName: string): number | null;
  setStoppedAs(jobId: number, stoppedAs: StoppedAs | null): void;
  getStoppedAs(jobId: number): StoppedAs | null;
  /**
   * The numbers of jobs before `before`, newest first.
   * @param metadata pairs that each must have, or `null` for those without any.
   */
  jobIds(filter: {
    readonly before: number | null;
    readonly limit: number;
    readonly metadata: Readonly<Record<string, string>> | null;
  }): number[];
  /** Forgets what belongs to jobs that no longer exist. */
  prune(): void;
  putResult(result: FineTuningResultRow): void;
  getResult(jobId: number): FineTuningResultRow | null;
  results(): FineTuningResultRow[];
}

export function createFineTuningStore(db: Db): FineTuningStore {
  const fileColumns = 'id, filename, expires_at AS expiresAt';
  const putFile = db.prepare(
    'INSERT OR REPLACE INTO fine_tuning_files (id, filename, expires_at) VALUES (@id, @filename, @expiresAt)',
  );
  const getFile = db.prepare(`SELECT ${fileColumns} FROM fine_tuning_files WHERE id = ?`);
  const files = db.prepare(`SELECT ${fileColumns} FROM fine_tuning_files`);
  const removeFile = db.prepare('DELETE FROM fine_tuning_files WHERE id = ?');
  const putJob = db.prepare(
    `INSERT OR REPLACE INTO fine_tuning_jobs (job_id, model_name, suffix, metadata, training_file, validation_file,
       learning_rate_multiplier)
     VALUES (@jobId, @modelName, @suffix, @metadata, @trainingFile, @validationFile, @learningRateMultiplier)`,
  );
  const getJob = db.prepare(
    `SELECT job_id AS jobId, model_name AS modelName, suffix, metadata, training_file AS trainingFile,
       validation_file AS validationFile, learning_rate_multiplier AS learningRateMultiplier
     FROM fine_tuning_jobs WHERE job_id = ?`,
  );
  const jobOfModel = db.prepare('SELECT job_id FROM fine_tuning_jobs WHERE model_name = ?').pluck();
  const setStop = db.prepare('INSERT OR REPLACE INTO fine_tuning_stops (job_id, stopped_as) VALUES (?, ?)');
  const clearStop = db.prepare('DELETE FROM fine_tuning_stops WHERE job_id = ?');
  const getStop = db.prepare('SELECT stopped_as FROM fine_tuning_stops WHERE job_id = ?').pluck();
  const jobIds = db
    .prepare(
      `SELECT jobs.id FROM jobs LEFT JOIN fine_tuning_jobs AS tuning ON tuning.job_id = jobs.id
       WHERE jobs.id < @before AND CASE WHEN @pairs IS NULL THEN coalesce(tuning.metadata, '{}') = '{}' ELSE NOT EXISTS (
         SELECT 1 FROM json_each(@pairs) AS wanted WHERE NOT EXISTS (
           SELECT 1 FROM json_each(coalesce(tuning.metadata, '{}')) AS pair
           WHERE pair.key = wanted.key AND pair.value = wanted.value)) END
       ORDER BY jobs.id DESC LIMIT @limit`,
    )
    .pluck();
  const prunes = ['fine_tuning_jobs', 'fine_tuning_stops', 'fine_tuning_results'].map((table) =>
    db.prepare(`DELETE FROM ${table} WHERE job_id NOT IN (SELECT id FROM jobs)`),
  );
  const resultColumns = 'job_id AS jobId, created_at AS createdAt, content';
  const putResult = db.prepare(
    'INSERT OR REPLACE INTO fine_tuning_results (job_id, created_at, content) VALUES (@jobId, @createdAt, @content)',
  );
  const getResult = db.prepare(`SELECT ${resultColumns} FROM fine_tuning_results WHERE job_id = ?`);
  const results = db.prepare(
    `SELECT ${resultColumns} FROM fine_tuning_results WHERE job_id IN (SELECT id FROM jobs)`,
  );
  return {
    putFile: (file) => void putFile.run(file),
    getFile: (id) => (getFile.get(id) as FineTuningFileRow | undefined) ?? null,
    files: () => files.all() as FineTuningFileRow[],
    removeFile: (id) => void removeFile.run(id),
    putJob: (job) => void putJob.run({ ...job, metadata: JSON.stringify(job.metadata) }),
    getJob(jobId) {
      const row = getJob.get(jobId) as (FineTuningJobRow & { metadata: string }) | undefined;
      return row === undefined ? null : { ...row, metadata: JSON.parse(row.metadata) };
    },
    jobIdOfModel: (modelName) => (jobOfModel.get(modelName) as number | undefined) ?? null,
    setStoppedAs(jobId, stoppedAs) {
      if (stoppedAs === null) clearStop.run(jobId);
      else setStop.run(jobId, stoppedAs);
    },
    getStoppedAs: (jobId) => (getStop.get(jobId) as StoppedAs | undefined) ?? null,
    jobIds: ({ before, limit, metadata }) =>
      jobIds.all({
        before: before ?? Number.MAX_SAFE_INTEGER,
        limit,
        pairs: metadata === null ? null : JSON.stringify(metadata),
      }) as number[],
    prune() {
      for (const statement of prunes) statement.run();
    },
    putResult: (result) => void putResult.run(result),
    getResult: (jobId) => (getResult.get(jobId) as FineTuningResultRow | undefined) ?? null,
    results: () => results.all() as FineTuningResultRow[],
  };
}
