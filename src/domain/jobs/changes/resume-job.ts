import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { resumableStates } from '../../../contract/jobs.ts';
import { AppError } from '../../../errors.ts';
import { endsWithin, findTrainer, killTrainer } from '../../../trainer/processes/supervisor.ts';
import type { JobSpec } from '../../../trainer/protocol.ts';
import { type Job, jobName } from '../../job-record/job.ts';
import { runSeconds } from '../../job-record/timing/run-seconds.ts';
import { workersOf } from '../run/job-runs.ts';
import { admission } from './admission.ts';
import type { JobParts } from './job-parts.ts';

/** The columns from the last run that a resume clears. */
const forgotten = {
  stopRequested: false,
  discardRequested: false,
  acknowledged: false,
  startedAt: null,
  endedAt: null,
  resultMetrics: null,
  errorCode: null,
  errorMessage: null,
  errorAdvice: null,
  errorEvidence: null,
  exitCode: null,
  exitSignal: null,
  pid: null,
  pidStarted: null,
  progress: null,
  phase: null,
  phaseProgress: null,
  phaseDetail: null,
};

/** Resumes a job, as `Jobs.resume`. */
export async function resumeJob(parts: JobParts, id: number, queue: boolean): Promise<Job> {
  const { records, runs, folder, waits } = parts;
  const job = records.get(id);
  const admit = await admission(parts, queue);
  const workers = job.spec === null ? 1 : workersOf(job.spec as JobSpec);
  admit(workers);
  if (!resumableStates.includes(job.state)) {
    throw new AppError(
      'conflict',
      `${jobName(id)} is ${job.state}; only a job that was stopped, interrupted or has failed can be resumed.`,
    );
  }
  if (!existsSync(join(folder(id), 'spec.json'))) {
    throw new AppError(
      'conflict',
      `The folder of ${jobName(id)} is gone, so it cannot be resumed. Start a new training.`,
    );
  }
  // The process of the last run may still be exiting.
  const previous = await findTrainer(folder(id), null);
  if (previous !== null && !(await endsWithin(previous, waits.lingerMs)))
    await killTrainer(previous, waits.termMs);
  // Before the state changes: a queued job must not have an old stop request.
  await rm(join(folder(id), 'stop'), { force: true });
  admit(workers);
  records.move(id, 'queued', { ...forgotten, earlierSeconds: runSeconds(job) });
  await runs.launchNext();
  return records.get(id);
}
