import type { SourceFile, SourceJob } from '../../openai-source/schemas.ts';
import type { MovedFile, MovedJob } from './moved-records.ts';

/** Of seconds since 1970; the largest is the latest time that JavaScript has. */
const isoTime = (seconds: number) => new Date(Math.min(Math.max(0, seconds), 8.64e12) * 1000).toISOString();

/** A listed file, with what is known of it from an earlier move. */
export function toMovedFile(file: SourceFile, before: MovedFile | undefined): MovedFile {
  const same = before?.bytes === file.bytes && before.state === 'stored' ? before : null;
  return {
    id: file.id,
    filename: file.filename,
    purpose: file.purpose,
    bytes: file.bytes,
    created_at: isoTime(file.created_at),
    state: same === null ? 'listed' : 'stored',
    dataset: same?.dataset ?? null,
    problem: same?.problem ?? null,
  };
}

/** The file of a job that the list of files lacks. */
export const lostFile = (id: string, problem: string): MovedFile => ({
  id,
  filename: '',
  purpose: 'fine-tune',
  bytes: 0,
  created_at: isoTime(0),
  state: 'unavailable',
  dataset: null,
  problem,
});

export function toMovedJob(job: SourceJob, before: MovedJob | undefined): MovedJob {
  const method = job.method?.type ?? 'supervised';
  const { supervised, dpo, reinforcement } = job.method ?? {};
  const detail = { supervised, dpo, reinforcement }[method];
  // Older jobs have them beside `method`.
  const hyperparameters = { ...job.hyperparameters, ...detail?.hyperparameters };
  const plain = Object.entries(hyperparameters).filter(
    (entry): entry is [string, number | string] =>
      typeof entry[1] === 'number' || typeof entry[1] === 'string',
  );
  return {
    id: job.id,
    created_at: isoTime(job.created_at),
    finished_at: job.finished_at === null ? null : isoTime(job.finished_at),
    status: job.status,
    model: job.model,
    fine_tuned_model: job.fine_tuned_model,
    method,
    hyperparameters: Object.fromEntries(plain),
    seed: job.seed,
    suffix: job.user_provided_suffix ?? job.suffix ?? suffixOf(job.fine_tuned_model),
    grader: reinforcement?.grader ?? null,
    response_format: reinforcement?.response_format ?? null,
    training_file: job.training_file,
    validation_file: job.validation_file,
    result_files: [...job.result_files],
    metrics: before?.metrics ?? null,
  };
}

/** The fourth part of `ft:<base>:<organization>:<suffix>:<id>`. */
function suffixOf(model: string | null): string | null {
  const parts = model?.split(':') ?? [];
  return parts.length >= 5 && parts[0] === 'ft' ? parts.at(-2) || null : null;
}
