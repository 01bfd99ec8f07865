import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unfinishedStates } from '../../../contract/jobs.ts';
import { AppError } from '../../../errors.ts';
import { jobName } from '../../job-record/job.ts';
import type { JobParts } from './job-parts.ts';

/** Deletes a job with its folder and logs, as `Jobs.remove`. */
export async function removeJob(parts: JobParts, id: number): Promise<void> {
  const { store, frames, records, folder, places, release } = parts;
  const refuseUnfinished = () => {
    const job = records.get(id);
    if (!unfinishedStates.includes(job.state)) return job;
    throw new AppError('conflict', `${jobName(id)} is ${job.state}. Stop it before deleting it.`);
  };
  await release(refuseUnfinished());
  const { discardRequested } = refuseUnfinished();
  frames.commit((emit) => {
    store.jobs.remove(id);
    // Without a job id, because the stored frames of this job are deleted with it.
    emit('status', null, {
      job_id: jobName(id),
      state: 'deleted',
      discarded: discardRequested || undefined,
    });
  });
  await rm(folder(id), { recursive: true, force: true });
  if (places.logsDir !== null) await rm(join(places.logsDir, jobName(id)), { recursive: true, force: true });
}
