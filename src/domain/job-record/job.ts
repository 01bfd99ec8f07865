import { derivedExport } from '../../contract/derived-export.ts';
import { type JobState, type Phase, phases, phasesOf } from '../../contract/jobs.ts';
import type { ExportOutcome, LineOf, Verification } from '../../contract/journal.ts';
import type { JobRow } from '../../db/tables/jobs.ts';
import { inSentences } from '../../errors.ts';
import { defaultName } from './identity.ts';
import type { RunClock } from './timing/run-clock.ts';
import { secondsLeft } from './timing/time-left.ts';

export {
  exportedFile,
  exportOutcome,
  exportReasons,
  fieldSchemas,
  type Parent,
  parent,
  verification,
} from '../../trainer/protocol.ts';

/** A job with the domain's types for values stored as text. */
export interface Job extends JobRow {
  readonly state: JobState;
  readonly phase: Phase | null;
  readonly lastMetric: LineOf<'metric'> | null;
  readonly clock: RunClock | null;
  readonly resultMetrics: Readonly<Record<string, number | null>> | null;
  readonly verification: Verification | null;
  /** `null` until it has completed, or as `exportOf` derives it. */
  readonly export: ExportOutcome | null;
  readonly artifacts: readonly Pick<LineOf<'artifact'>, 'kind' | 'path' | 'bytes' | 'quantization'>[];
}

/** What became of a completed job's GGUF files; `null` until it has completed. */
export const exportOf = (job: Job): ExportOutcome | null =>
  job.state === 'completed' ? (job.export ?? derivedExport(job.artifacts)) : null;

/** Why an export failed, with advice; `null` if it did not fail. */
export const exportFailure = ({ state, reason, advice }: ExportOutcome): string | null =>
  state === 'failed'
    ? inSentences(['The export to GGUF failed', reason, advice].filter((part) => part !== null))
    : null;

/** The latest metrics; `null` before the first step. */
export function lastPointOf(job: Job): Omit<LineOf<'metric'>, 'seq' | 'time' | 'type'> | null {
  if (job.lastMetric === null) return null;
  const { seq: _seq, time: _time, type: _type, ...point } = job.lastMetric;
  return point;
}

/** A job's ID in the API. */
export const jobName = (jobId: number) => `train_${jobId}`;

/** What a job is called; its default name if it was stored without one. */
export function displayNameOf({ displayName, datasetName, spec }: Job): string {
  const { settings = {} } = (spec ?? {}) as { readonly settings?: Readonly<Record<string, unknown>> };
  return displayName || defaultName(datasetName, settings);
}

/** Progress of the phases before and after training, in percent. */
const preparation = phasesOf('Prepare');
const exporting = phasesOf('Export', 'Verify');
const trainFrom = 5;
const trainTo = 90;

/** A job's progress from 0 to 100; 100 only when complete. It never falls within an attempt. */
export function progressOf(job: Job): number {
  if (job.state === 'completed') return 100;
  const metric = job.lastMetric;
  const trained = metric?.total_steps ? Math.min(1, metric.step / metric.total_steps) : 0;
  const within = job.phaseProgress ?? 0;
  const before = job.phase === null ? -1 : preparation.indexOf(job.phase);
  const after = job.phase === null ? -1 : exporting.indexOf(job.phase);
  let percent = trainFrom + (trainTo - trainFrom) * trained;
  if (after >= 0) percent = trainTo + ((100 - trainTo) * (after + within)) / exporting.length;
  else if (before >= 0 && metric === null) percent = (trainFrom * (before + within)) / preparation.length;
  else if (job.phase === null) percent = 0;
  return Math.max(job.progress ?? 0, Math.min(99.9, Math.round(percent * 10) / 10));
}

/** When a job is expected to end, in milliseconds since 1970; `null` before that is known, and of one that does not run. */
export function expectedEnd({ state, clock }: Job): number | null {
  if (clock === null || (state !== 'starting' && state !== 'running')) return null;
  const left = secondsLeft(clock);
  return left === null ? null : Math.round((clock.at + left) * 1000);
}

/** The same as a time stamp. */
export function expectedEndOf(job: Job): string | null {
  const end = expectedEnd(job);
  return end === null ? null : new Date(end).toISOString();
}

/** A sentence about what a job is doing or how it ended. */
export function messageOf(job: Job): string {
  switch (job.state) {
    case 'queued':
      return 'Waiting to start';
    case 'starting':
      return 'Starting the trainer';
    case 'running': {
      const words = job.phase === null ? 'Running' : phases[job.phase].label;
      const metric = job.lastMetric;
      if (job.phase === 'train' && metric !== null) {
        const loss = metric.loss === null ? '' : `, loss ${metric.loss.toPrecision(3)}`;
        return `${words}: step ${metric.step} of ${metric.total_steps ?? '?'}${loss}`;
      }
      return job.phaseDetail === null ? words : `${words}: ${job.phaseDetail}`;
    }
    case 'stopping':
      return 'Stopping: a checkpoint is being saved';
    case 'completed': {
      const failure = job.export && exportFailure(job.export);
      return inSentences(['Training completed', ...(failure === null ? [] : [failure])]);
    }
    case 'stopped':
      return job.lastMetric === null
        ? 'Training was stopped before its first step; it can be started again'
        : `Training was stopped at step ${job.lastMetric.step}; it can be resumed`;
    case 'failed':
    case 'interrupted':
      return errorOf(job) ?? 'Training failed';
  }
}

/** The message in the response to a start. */
export const startedMessage = (job: Job, warnings: readonly string[]) =>
  inSentences([
    job.state === 'queued'
      ? `Training of ${job.modelName} waits for the one that is running`
      : `Training of ${job.modelName} started`,
    ...warnings,
  ]);

/** Why a job failed, with advice; `null` if it did not fail. */
export function errorOf(job: Job): string | null {
  if (job.state !== 'failed' && job.state !== 'interrupted') return null;
  return [job.errorMessage ?? 'The training failed.', job.errorAdvice].filter(Boolean).join(' ');
}
