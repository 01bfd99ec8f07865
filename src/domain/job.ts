import type { JobRow } from '../db/jobs.ts';
import type { ArtifactLine, MetricLine } from '../trainer/protocol.ts';
import type { JobState } from './job-states.ts';

export { phaseNames } from '../trainer/protocol.ts';

/** A job with the types that the domain gives to what the database keeps as text. */
export interface Job extends JobRow {
  readonly state: JobState;
  readonly lastMetric: MetricLine | null;
  readonly resultMetrics: Readonly<Record<string, number | null>> | null;
  readonly verification: Readonly<Record<string, unknown>> | null;
  readonly artifacts: readonly Pick<ArtifactLine, 'kind' | 'path' | 'bytes' | 'quantization'>[];
}

/** The newest point of a job's series; `null` before the first step. */
export function lastPointOf(job: Job): Omit<MetricLine, 'seq' | 'time' | 'type'> | null {
  if (job.lastMetric === null) return null;
  const { seq: _seq, time: _time, type: _type, ...point } = job.lastMetric;
  return point;
}

/** The name of a job on the wire. */
export const jobName = (jobId: number) => `train_${jobId}`;

/** Phases before the first step, and after the last; training has what lies between, in percent. */
const preparation = ['check', 'download', 'load', 'probe'];
const exporting = ['merge', 'convert', 'quantize', 'verify'];
const trainFrom = 5;
const trainTo = 90;

/** How far a job is, 0 to 100: 100 only when it is complete. */
export function progressOf(job: Job): number {
  if (job.state === 'completed') return 100;
  const metric = job.lastMetric;
  const trained = metric?.total_steps ? Math.min(1, metric.step / metric.total_steps) : 0;
  const within = job.phaseProgress ?? 0;
  const before = preparation.indexOf(job.phase ?? '');
  const after = exporting.indexOf(job.phase ?? '');
  let percent = trainFrom + (trainTo - trainFrom) * trained;
  if (after >= 0) percent = trainTo + ((100 - trainTo) * (after + within)) / exporting.length;
  else if (before >= 0 && metric === null) percent = (trainFrom * (before + within)) / preparation.length;
  else if (job.phase === null) percent = 0;
  return Math.min(99.9, Math.round(percent * 10) / 10);
}

const phaseWords: Readonly<Record<string, string>> = {
  check: 'Checking model and rows',
  download: 'Downloading the model',
  load: 'Loading the model',
  probe: 'Trying the largest step',
  train: 'Training',
  evaluate: 'Evaluating',
  merge: 'Merging the adapter',
  convert: 'Writing the GGUF file',
  quantize: 'Quantizing',
  verify: 'Verifying the GGUF file against the trained model',
};

/** What a job does or how it ended, in a sentence. */
export function messageOf(job: Job): string {
  switch (job.state) {
    case 'queued':
      return 'Waiting to start';
    case 'starting':
      return 'Starting the trainer';
    case 'running': {
      const words = phaseWords[job.phase ?? ''] ?? 'Running';
      const metric = job.lastMetric;
      if (job.phase === 'train' && metric !== null) {
        const loss = metric.loss === null ? '' : `, loss ${metric.loss.toPrecision(4)}`;
        return `${words}: step ${metric.step} of ${metric.total_steps ?? '?'}${loss}`;
      }
      return job.phaseDetail === null ? words : `${words}: ${job.phaseDetail}`;
    }
    case 'stopping':
      return 'Stopping: a checkpoint is being saved';
    case 'completed':
      return 'Training completed';
    case 'stopped':
      return `Training was stopped${job.lastMetric ? ` at step ${job.lastMetric.step}` : ''}; it can be resumed`;
    case 'failed':
    case 'interrupted':
      return errorOf(job) ?? 'Training failed';
  }
}

/** What the answer to a start says. */
export const startedMessage = (job: Job) =>
  job.state === 'queued'
    ? `Training of ${job.modelName} waits for the one that is running`
    : `Training of ${job.modelName} started`;

/** Why a job failed, with advice; `null` when it did not. */
export function errorOf(job: Job): string | null {
  if (job.state !== 'failed' && job.state !== 'interrupted') return null;
  return [job.errorMessage ?? 'The training failed.', job.errorAdvice].filter(Boolean).join(' ');
}
