import type { Parameters } from '../../contract/sweeps.ts';
import type { Store } from '../../db/store.ts';
import { AppError, asAppError } from '../../errors.ts';
import { type Job, jobName } from '../job-record/job.ts';
import type { Jobs } from '../jobs/jobs.ts';
import type { TrainingRequest } from '../training/training-request.ts';
import { openTrials } from './next-step.ts';
import type { Sweep, Trial } from './sweep.ts';

/** What is done to the jobs of sweeps' trials. */
export interface Trials {
  /** Resumes a trial that was interrupted, and forgets one that a killed service did not prepare. */
  mend(trial: Trial): Promise<void>;
  /**
   * Queues the job of a sweep's next trial, unless `mayStart` denies it when the job is stored.
   * @returns false if the queue is full.
   */
  start(
    sweep: Sweep,
    parameters: Parameters,
    request: TrainingRequest,
    mayStart: () => boolean,
  ): Promise<boolean>;
  cull(jobId: number): void;
  /** Stops those that wait or run, with checkpoints. */
  stop(sweep: Sweep): Promise<void>;
}

export interface TrialsOptions {
  readonly store: Pick<Store, 'jobs' | 'sweeps'>;
  readonly jobs: Jobs;
  readonly logger: { warn(fields: object, text: string): void };
}

/** How often a trial is resumed that was interrupted, as by a loss of power. */
const mostResumes = 2;

export function createTrials({ store, jobs, logger }: TrialsOptions): Trials {
  /** Stops a job that may have ended in the meantime. */
  async function stopQuietly(jobId: number): Promise<void> {
    await unlessConflict(jobs.stop(jobId)).catch((error) => {
      logger.warn({ job: jobName(jobId), error: asAppError(error).message }, 'A trial could not be stopped');
    });
  }

  return {
    async mend({ row, job }) {
      if (job?.state === 'failed' && job.spec === null) {
        await jobs.remove(job.id, true);
        store.sweeps.removeTrial(job.id);
      } else if (job?.state === 'interrupted' && row.resumed < mostResumes) {
        store.sweeps.setResumed(job.id, row.resumed + 1);
        await unlessConflict(jobs.resume(job.id, { queue: true }));
      }
    },

    async start(sweep, parameters, request, mayStart) {
      const number = (sweep.trialsDone.at(-1)?.number ?? 0) + 1;
      let jobId: number | null = null;
      const put = (job: Pick<Job, 'id'>) => {
        if (!mayStart()) throw new AppError('conflict', `${sweep.name} has ended.`);
        jobId = job.id;
        store.sweeps.putTrial({ sweepId: sweep.id, number, jobId, parameters });
      };
      // Its graders were accepted when the sweep was started.
      const started = jobs.start({ ...request, export: 'none', queue: true }, put, true);
      try {
        return (await unlessConflict(started)) !== null;
      } catch (error) {
        if (jobId !== null && store.jobs.get(jobId) === null) store.sweeps.removeTrial(jobId);
        throw error;
      }
    },

    cull(jobId) {
      // Stored first, so that it survives a crash of this service.
      store.sweeps.setCulled(jobId);
      void stopQuietly(jobId);
    },

    async stop(sweep) {
      await Promise.all(openTrials(sweep).map(({ row }) => stopQuietly(row.jobId)));
    },
  };
}

/** @returns null if it is refused for the state of the job or the queue. */
async function unlessConflict<T>(made: Promise<T>): Promise<T | null> {
  try {
    return await made;
  } catch (error) {
    if (error instanceof AppError && error.kind === 'conflict') return null;
    throw error;
  }
}
