import { unfinishedStates } from '../../../contract/jobs.ts';
import { AppError } from '../../../errors.ts';
import { killTrainer, stopTrainer } from '../../../trainer/processes/supervisor.ts';
import { type Job, jobName } from '../../job-record/job.ts';
import type { JobParts } from './job-parts.ts';

/** Stops a job, as `Jobs.stop`; with `discard` at once, for `Jobs.discard`. */
export async function stopJob(parts: JobParts, id: number | undefined, discard: boolean): Promise<Job> {
  const { store, records, runs, folder, waits } = parts;
  const asked = id === undefined ? records.unfinished() : records.get(id);
  if (asked === null)
    throw new AppError('conflict', 'No training is in progress, so there is nothing to stop.');
  // A process that is being started would train for a job that has ended.
  await runs.launched(asked.id);
  const job = records.get(asked.id);
  if (!unfinishedStates.includes(job.state)) {
    throw new AppError('conflict', `${jobName(job.id)} is ${job.state}, so there is nothing to stop.`);
  }
  // Stored first, so that the intent survives a crash of this service.
  if (discard) store.jobs.update(job.id, { discardRequested: true });
  const run = runs.of(job.id);
  if (job.state === 'queued' || run === undefined) return records.end(job.id, 'stopped');
  if (job.state !== 'stopping') records.move(job.id, 'stopping', { stopRequested: true });
  if (run.trainer !== null) {
    void (discard ? killTrainer(run.trainer, 0) : stopTrainer(run.trainer, folder(job.id), waits));
  }
  await run.followed;
  return records.get(job.id);
}
