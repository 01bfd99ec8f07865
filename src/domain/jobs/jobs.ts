import { join } from 'node:path';
import { resumableStates } from '../../contract/jobs.ts';
import type { FieldIssue } from '../../errors.ts';
import { numberOf } from '../bin/number-of.ts';
import type { Emit } from '../events/frame-log.ts';
import { type Job, jobName } from '../job-record/job.ts';
import { findFaults } from '../training/judge-request.ts';
import type { ReadRequest, TrainingRequest } from '../training/training-request.ts';
import type { JobParts, JobsOptions } from './changes/job-parts.ts';
import { type DeletedWith, jobRestored, removeJob, removeJobs } from './changes/remove-jobs.ts';
import { resumeJob } from './changes/resume-job.ts';
import { type Started, startJob } from './changes/start-job.ts';
import { stopJob } from './changes/stop-job.ts';
import { createJobHistory, type JobHistory } from './job-history.ts';
import { createJobIdentity, type IdentifyJob } from './job-identity.ts';
import { createJobRecords, type JobReader } from './job-records.ts';
import { recoverRuns } from './run/job-recovery.ts';
import { createJobRuns } from './run/job-runs.ts';

/** The life cycle of training jobs. */
export interface Jobs extends JobReader, JobHistory {
  /**
   * Starts a job; with `queue` it waits while there are no devices for it.
   * @param also runs in the transaction that stores the job.
   * @throws AppError `invalid`, `not_found`, `disk_full`, or `conflict` if it would have to wait and `queue` is not set,
   * or the queue is full.
   */
  start(
    request: TrainingRequest,
    also?: (job: Pick<Job, 'id' | 'modelId'>) => void,
    mayDefine?: boolean,
  ): Promise<Started>;
  /** Every error for which a start would reject a request, as far as the request can be read. */
  faults(request: ReadRequest): Promise<readonly FieldIssue[]>;
  /**
   * Stops a job (by default the running one) with a checkpoint; a queued job is removed from the queue. Resolves when
   * the job has ended. @throws AppError `conflict` when there is nothing to stop.
   */
  stop(id?: number): Promise<Job>;
  /**
   * Ends a job without saving anything, then deletes it with its checkpoints; if it completed in the meantime, it is
   * kept with its model. Resolves with the ended job. @throws AppError `conflict` as `stop` does.
   */
  discard(id: number): Promise<Job>;
  /**
   * Resumes a job; with `queue` it waits while there are no devices for it.
   * @throws AppError `conflict` when the job cannot be resumed now.
   */
  resume(id: number, options?: { readonly queue?: boolean }): Promise<Job>;
  /** Deletes a job. @returns its ID in the bin, if it is kept. */
  remove(id: number, permanently?: boolean): Promise<string | null>;
  /** Deletes jobs together with what they belong to, as one entry of the bin. */
  removeWith(ids: readonly number[], others: DeletedWith, permanently?: boolean): Promise<string | null>;
  /** Called in the transaction that restores a job together with what it belongs to. */
  restored(id: number, emit: Emit): void;
  readonly identify: IdentifyJob;
  /** Acknowledges a finished job. Returns false, and changes nothing, while a job is unfinished. */
  acknowledge(): boolean;
  /** Finds the trainers started by an earlier service, and ends the jobs whose trainer is gone. */
  recover(): Promise<void>;
  /** Stops following; trainers keep running. */
  close(): Promise<void>;
}

export function createJobs(options: JobsOptions): Jobs {
  const { store, frames, judges, places, waits, logger } = options;
  let markRecovered = () => {};
  const recovered = new Promise<void>((resolve) => {
    markRecovered = resolve;
  });
  const folder = (id: number) => join(places.jobsDir, jobName(id));
  const records = createJobRecords(store, frames);
  const { move, end, ...reader } = records;
  const runs = createJobRuns({ ...options, ...options.machine }, records, folder);
  const parts: JobParts = { ...options, records, runs, folder };

  async function stop(id: number | undefined, discard: boolean): Promise<Job> {
    // Until recovery is done, a trainer started by an earlier service is unknown and cannot be stopped.
    await recovered;
    return stopJob(parts, id, discard);
  }

  const remove = (id: number, permanently?: boolean) => removeJob(parts, id, permanently);
  const restored = (id: number, emit: Emit) => jobRestored(parts, id, emit);
  options.bin.restores('run', { restored: ({ ref }, emit) => restored(numberOf(ref), emit) });

  /** Deletes a job that is marked as discarded, once it has ended without a model. */
  async function discardEnded(id: number): Promise<void> {
    const job = store.jobs.get(id) as Job | null;
    if (job?.discardRequested && resumableStates.includes(job.state)) await remove(id);
  }

  return {
    ...reader,
    ...createJobHistory(store, reader.get, folder),
    start: (request, also, mayDefine) => startJob(parts, request, also, mayDefine),
    faults: (request) => findFaults(request, judges),
    stop: (id) => stop(id, false),
    async discard(id) {
      const ended = await stop(id, true);
      await discardEnded(id);
      return ended;
    },
    resume: (id, { queue = false } = {}) => resumeJob(parts, id, queue),
    remove,
    removeWith: (ids, others, permanently) => removeJobs(parts, ids, others, permanently),
    restored,
    identify: createJobIdentity(options, reader.get, folder),
    acknowledge() {
      if (reader.unfinished() !== null) return false;
      const newest = store.jobs.newest();
      if (newest !== null && !newest.acknowledged) store.jobs.update(newest.id, { acknowledged: true });
      return true;
    },
    async recover() {
      await recoverRuns({ store, records, runs, folder, waits, onEnded: discardEnded, logger });
      for (const { id } of store.jobs.toDiscard()) await discardEnded(id);
      await runs.launchNext();
      markRecovered();
    },
    close: () => runs.close(),
  };
}
