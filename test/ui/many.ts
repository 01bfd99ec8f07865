import { join } from 'node:path';
import { Database } from '../../src/db/sqlite.ts';

/**
 * Fills the database of a service that is not running with runs and models: `train_1` on `a.jsonl` with steps, stopped;
 * the other runs on `b.jsonl`, failed; models `tuned-1` and so on, of seven base models.
 * @param dataDir a service was started in it once.
 */
export function storeMany(
  dataDir: string,
  { runs, models, steps }: { readonly runs: number; readonly models: number; readonly steps: number },
): void {
  const db = new Database(join(dataDir, 'database', 'hone.sqlite'));
  const now = new Date().toISOString();
  db.exec('BEGIN');
  db.prepare(
    `INSERT INTO jobs (id, model_id, state, task, provider, strategy, model_name, dataset_name, spec, created_at,
       started_at, ended_at)
     VALUES (1, 'long', 'stopped', 'text-generation', 'standard', 'sft', 'owner/name', 'a.jsonl',
       '{"settings":{},"export":null}', ?, ?, ?)`,
  ).run(now, now, now);
  db.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO jobs (id, model_id, state, task, provider, strategy, model_name, dataset_name, spec, created_at,
       started_at, ended_at, acknowledged)
     SELECT i, 'run-' || i, 'failed', 'text-generation', 'standard', 'sft', 'owner/name', 'b.jsonl', '{}', ?, ?, ?, 1 FROM n`,
  ).run(runs, now, now, now);
  db.prepare(
    `WITH RECURSIVE n (step) AS (SELECT 1 UNION ALL SELECT step + 1 FROM n WHERE step < ?)
     INSERT INTO events (seq, job_id, type, time, payload)
     SELECT 1000 + step, 1, 'metrics', ?, json_object('kind', 'train', 'step', step, 'total_steps', ?,
       'epoch', step / 1000.0, 'total_epochs', 100, 'loss', 1.0 + 100.0 / step, 'learning_rate', 0.0002,
       'grad_norm', 1, 'tokens', step, 'tokens_per_second', 1000, 'elapsed_seconds', step, 'eta_seconds', 0,
       'memory_bytes', 1000000, 'extra', json('{}'), 'progress', 50)
     FROM n`,
  ).run(steps, now, steps);
  db.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO models (model_id, name, base_model, task, provider, strategy, dataset_name, created_at,
       size_bytes, path, config, metrics, artifacts)
     SELECT 'model-' || i, 'tuned-' || i, 'owner/base-' || (i % 7), 'text-generation', 'standard', 'sft', 'a.jsonl',
       ?, i * 1000, '/nowhere/' || i, '{}', '{}', '[]'
     FROM n`,
  ).run(models, now);
  db.exec('COMMIT');
  db.close();
}
