import type { FineTuningStore, StoppedAs } from '../../db/tables/fine-tuning.ts';
import type { Job } from '../job-record/job.ts';

/** The states of OpenAI's jobs, and `paused`, which its API has and its list lacks. */
export const fineTuningStates = [
  'validating_files',
  'queued',
  'running',
  'paused',
  'succeeded',
  'failed',
  'cancelled',
] as const;
export type FineTuningState = (typeof fineTuningStates)[number];

/**
 * A job's state in OpenAI's terms. Rows and model are checked first thing in a run. A stop by other means than this
 * API is a cancellation.
 * @param stoppedAs what the last request of this API to stop it meant.
 */
export function fineTuningState(
  job: Pick<Job, 'state' | 'phase'>,
  stoppedAs: StoppedAs | null,
): FineTuningState {
  switch (job.state) {
    case 'queued':
      return 'queued';
    case 'starting':
      return 'validating_files';
    case 'running':
      return job.phase === null || job.phase === 'check' ? 'validating_files' : 'running';
    case 'stopping':
    case 'stopped':
      return stoppedAs ?? 'cancelled';
    case 'completed':
      return 'succeeded';
    case 'failed':
    case 'interrupted':
      return 'failed';
  }
}

/** A job's state, with what is stored about its stop. */
export const stateOf = (job: Job, store: FineTuningStore): FineTuningState =>
  fineTuningState(job, store.getStoppedAs(job.id));
